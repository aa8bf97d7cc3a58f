//! What has become of one block that writers fill.
//!
//! ```text
//!  63       62                                              0
//! +--------+-------------------------------------------------+
//! | failed |       writers that may still touch the block      |
//! +--------+-------------------------------------------------+
//! ```
//! Each writer takes its own bit off, once. Whoever takes the last one off is the one who gives the block back.

use crate::pool::{Packed, packed};

/// Most writers of one transfer.
pub const MAX_WRITERS: usize = 63;

const FAILED: u64 = 1 << MAX_WRITERS;

/// One block's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrival(u64);

packed!(Arrival);

impl Arrival {
    /// Nobody has answered; there are 1 to [`MAX_WRITERS`].
    pub(super) const fn expected(writers: usize) -> Self {
        Self((FAILED - 1) >> (MAX_WRITERS - writers))
    }
    pub(super) const fn is_expected_from(self, writer: usize) -> bool {
        self.0 & 1 << writer != 0
    }
    /// A writer is done with it, and has written what it was to write or not.
    pub(super) const fn answered(self, writer: usize, written: bool) -> Self {
        let failed = if written { 0 } else { FAILED };
        Self(self.0 & !(1 << writer) | failed)
    }
    /// Nobody touches it any more.
    pub(super) const fn is_settled(self) -> bool {
        self.0 & (FAILED - 1) == 0
    }
    /// All of it is written.
    pub(super) const fn has_arrived(self) -> bool {
        self.0 == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_arrived_when_every_writer_wrote_it() {
        for writers in 1..=MAX_WRITERS {
            let mut good = Arrival::expected(writers);
            let mut bad = good;
            for writer in (0..writers).rev() {
                assert!(good.is_expected_from(writer) && !good.is_settled());
                good = good.answered(writer, true);
                bad = bad.answered(writer, writer != writers / 2);
                assert!(!good.is_expected_from(writer) && !bad.is_expected_from(writer));
            }
            assert!(!Arrival::expected(writers).is_expected_from(writers.min(MAX_WRITERS - 1) + 1));
            assert!(good.is_settled() && good.has_arrived());
            assert!(bad.is_settled() && !bad.has_arrived());
        }
    }
}
