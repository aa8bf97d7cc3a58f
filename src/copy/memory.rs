//! Which bytes a layout is over.

use core::fmt;

/// One memory: one space of block ids in one space of addresses. The numbers are the caller's.
///
/// Two layouts with the same `MemoryId` are over the same bytes, and a block id means the same block in both. Two layouts with different
/// ones have no byte in common; movers look at that where they can.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MemoryId(u32);

impl MemoryId {
    /// The memory with this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory {}", self.0)
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
