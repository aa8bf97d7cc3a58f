//! What two ends of a transfer have to agree on, and how much of it may be under way.

mod flights;
mod format;

pub use self::flights::{Flights, TooManyBytes};
pub use self::format::{ElementType, Incompatible, KvFormat};
