//! Names of sequences: a slot of the registry and the epoch of its present use.

use core::fmt;

const SLOT_BITS: u32 = 24;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;

/// Most slots of a registry. The number after the last one belongs to [`Name::NONE`].
pub(crate) const MAX_SLOTS: usize = (1 << SLOT_BITS) - 1;

/// A slot and the epoch of its use.
///
/// ```text
///  63                                        24 23              0
/// +--------------------------------------------+-----------------+
/// |                   epoch                    |      slot       |
/// +--------------------------------------------+-----------------+
/// ```
/// Epochs are drawn from the pool, so that no two names of it are equal, whichever registry gave them; those of different
/// shards begin far apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(super) struct Name(u64);

impl Name {
    /// No name: of a slot that does not exist.
    pub(super) const NONE: Self = Self(u64::MAX);

    pub(super) const fn new(slot: usize, epoch: u64) -> Self {
        debug_assert!(slot < MAX_SLOTS);
        Self(epoch << SLOT_BITS | slot as u64)
    }
    #[inline]
    pub(super) const fn slot(self) -> usize {
        (self.0 & SLOT_MASK) as usize
    }
    pub(super) const fn epoch(self) -> u64 {
        self.0 >> SLOT_BITS
    }
}

/// Names one sequence of one registry, from its admission to its end.
///
/// The engine's request id is only a label: a late call for an earlier run of the same request has an old handle, and is answered
/// [`Stale`](crate::Stale). No two sequences of a pool ever have equal handles, and those of pools with different
/// [`ShardId`](crate::ShardId)s are far apart: so give each pool its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Handle(pub(super) Name);

impl Handle {
    /// Names no sequence.
    pub const NONE: Self = Self(Name::NONE);

    /// The place in the registry; used again by later sequences. Below the registry's `max_sequences`.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.0.slot()
    }

    /// Which sequence or copy of the pool it was, counted through all of its registries.
    #[must_use]
    pub const fn epoch(self) -> u64 {
        self.0.epoch()
    }

    /// As a number, for callers in other languages.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0.0
    }

    /// The handle of a number. Any number will do: one that names no sequence is answered [`Stale`](crate::Stale).
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(Name(bits))
    }
}

impl Default for Handle {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (epoch {})", self.slot(), self.epoch())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sequence {:?}", self.0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn slots_and_epochs_come_back() {
        for slot in [0, 1, MAX_SLOTS - 1] {
            for epoch in [1, 2, (1 << 40) - 1] {
                let handle = Handle(Name::new(slot, epoch));
                assert_eq!((handle.slot(), handle.epoch()), (slot, epoch));
                assert_eq!(Handle::from_bits(handle.to_bits()), handle);
                assert_ne!(handle, Handle::NONE);
            }
        }
    }
}
