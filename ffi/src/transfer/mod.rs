//! Moving the content of blocks between pools, or between a pool and a store: who may still touch what, and who goes on with a sequence.

mod export;
mod flights;
mod import;
mod writers;

pub use self::export::*;
pub use self::flights::*;
pub use self::import::*;
pub use self::writers::*;
