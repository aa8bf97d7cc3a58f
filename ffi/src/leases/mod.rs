//! Blocks that are held for somebody who is no sequence: a transfer, a pin between two turns of a conversation.

// In the order of the header.

mod lease;

mod table;

mod chains;

pub use self::chains::*;
pub use self::lease::*;
pub use self::table::*;
