//! Plain memory, and the mover over it.

mod error;
#[allow(
    unsafe_code,
    reason = "the only file of `copy` that touches bytes through pointers"
)]
mod memory;
mod mover;

pub use self::error::HostMoverError;
pub use self::memory::HostMemory;
pub use self::mover::HostMover;
