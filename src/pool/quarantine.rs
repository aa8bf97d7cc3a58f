//! Quarantine: blocks that only fences hold.
//!
//! A fence's reference is a reference like any other, so no block is reused before it is given back. What is kept here is only the
//! account: how many of a block's references are fences', and how many blocks have no others.
//!
//! ```text
//!  31                            1 0
//! +-------------------------------+-+
//! |       fences' references      | | counted: the block is among the quarantined
//! +-------------------------------+-+
//! ```
//! The state's flag *fenced* says that there are some, so that calls on other blocks never come here. Whoever changes the
//! references of a fenced block, or its fences, then [settles](Core::settle_quarantine) whether it is counted.
//!
//! # Orderings
//! Two words decide, the state and this one. Each call changes one, then stands behind a SeqCst fence, then reads both: of two
//! calls at once at least one sees the other's change, and who corrects the account looks again after that. So at rest the account
//! is exact (models `leave_vs_hit`, `release_after_vs_hit`, `two_lanes`, `three_ends`). The count of blocks is changed Relaxed: it
//! guards nothing.

use alloc::boxed::Box;

use super::core::Core;
use super::state::State;
use crate::array::array;
use crate::block::BlockId;
use crate::error::CreateError;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use crate::sync::{AtomicU32, AtomicU64, Padded, fence, mutant};

const COUNTED: u32 = 1;
const ONE_FENCE: u32 = 2;

/// Fences' references of each block, and the number of blocks that have no others.
#[derive(Debug)]
pub(crate) struct Quarantine {
    words: Box<[AtomicU32]>,
    blocks: Padded<AtomicU64>,
}

impl Quarantine {
    pub(crate) fn new(blocks: usize) -> Result<Self, CreateError> {
        Ok(Self {
            words: array(blocks, |_| AtomicU32::new(0))?,
            blocks: Padded(AtomicU64::new(0)),
        })
    }

    pub(crate) const fn bytes(&self) -> usize {
        size_of_val::<[AtomicU32]>(&self.words)
    }

    /// Blocks that only fences hold. One load.
    pub(crate) fn blocks(&self) -> usize {
        usize::try_from(self.blocks.0.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// References of a block that are fences'.
    pub(crate) fn fences(&self, block: BlockId) -> u64 {
        u64::from(self.word(block).load(Acquire) / ONE_FENCE)
    }

    fn word(&self, block: BlockId) -> &AtomicU32 {
        &self.words[block.index()]
    }
}

/// Between a change of one word and the look at the other.
fn stand() {
    if !mutant("quarantine-no-fence") {
        fence(SeqCst);
    }
}

impl Core {
    /// The caller's reference becomes a fence's.
    pub(crate) fn fence_in(&self, block: BlockId) {
        self.quarantine.word(block).fetch_add(ONE_FENCE, AcqRel);
        self.flag_fences(block);
        self.settle_quarantine(block);
    }

    /// A fence has passed: its reference is the caller's, to be given back and then [settled](Self::settle_quarantine).
    pub(crate) fn fence_out(&self, block: BlockId) {
        let before = self.quarantine.word(block).fetch_sub(ONE_FENCE, AcqRel);
        debug_assert!(before >= ONE_FENCE, "more fences passed than were set");
        if before / ONE_FENCE == 1 {
            self.flag_fences(block);
        }
    }

    /// Makes the state's flag say whether there are fences. The caller holds the block.
    fn flag_fences(&self, block: BlockId) {
        let state = self.state(block);
        loop {
            stand();
            let fenced = self.quarantine.fences(block) > 0;
            let mut current = state.load(Acquire);
            if current.is_fenced() == fenced {
                return;
            }
            while let Err(actual) =
                state.compare_exchange(current, current.with_fenced(fenced), AcqRel, Acquire)
            {
                // Another owner came or went, or set the flag.
                current = actual;
            }
            if mutant("fence-flag-once") {
                return;
            }
        }
    }

    /// After a change of a fenced block's references, or of its fences: counts it as quarantined, or no longer.
    #[cold]
    pub(crate) fn settle_quarantine(&self, block: BlockId) {
        let word = self.quarantine.word(block);
        loop {
            stand();
            let current = word.load(Acquire);
            let only = self.is_quarantined(block, self.state(block).load(Acquire));
            if only == (current & COUNTED != 0) {
                return;
            }
            // Counted first and counted out last: the number is never below zero.
            if only {
                self.quarantine.blocks.0.fetch_add(1, Relaxed);
            }
            let changed = word.compare_exchange(current, current ^ COUNTED, AcqRel, Acquire);
            if only != changed.is_ok() {
                self.quarantine.blocks.0.fetch_sub(1, Relaxed);
            }
            if mutant("quarantine-looks-once") {
                return;
            }
        }
    }

    /// Quarantined blocks that come back when their fences pass: those above the limit of the pool go offline then.
    pub(crate) fn returning(&self) -> usize {
        let all = self.quarantine.blocks();
        let (limit, size) = (self.capacity(), self.states.len());
        if all == 0 || limit == size {
            return all;
        }
        let leaves = |&block: &BlockId| self.is_quarantined(block, self.state(block).load(Acquire));
        let leaving = self.offline.in_service(limit, size).filter(leaves).count();
        all.saturating_sub(leaving)
    }

    /// Whether only fences hold a block that was seen in this state.
    pub(crate) fn is_quarantined(&self, block: BlockId, state: State) -> bool {
        let fences = self.quarantine.fences(block);
        fences > 0 && state.references() == fences
    }
}
