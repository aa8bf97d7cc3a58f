//! Blocks that are held for somebody who is no sequence: a transfer, a pin between two turns of a conversation.

mod chains;
mod lease;
mod table;

pub use self::chains::*;
pub use self::lease::*;
pub use self::table::*;
