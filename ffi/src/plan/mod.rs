//! How many blocks fit into the memory of a rank, and of ranks that share one table.

mod input;
mod instance;
mod rank;

pub use self::input::*;
pub use self::instance::*;
pub use self::rank::*;
