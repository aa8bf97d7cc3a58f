//! Blocks that are held for somebody who is no sequence: a transfer, a pin between two turns of a conversation.

mod lease;
mod table;

pub use self::lease::*;
pub use self::table::*;
