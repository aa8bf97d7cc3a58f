//! What a swap copies on one shard, and until when the copy may touch the blocks.

use alloc::vec::Vec;

use crate::block::BlockId;
use crate::error::OutOfMemory;
use crate::pool::{Core, Fence};
use crate::sequence::AlreadyCopied;
use crate::transfer::{Export, Import};

/// A pair for each block that comes; the one writer of an import answers for all of them when the copy's fence has passed.
#[derive(Debug)]
pub(crate) struct Copies {
    pairs: Vec<(BlockId, BlockId)>,
    found: usize,
    import: Import,
    /// When the copy is done; `None` before it was launched.
    until: Option<Fence>,
    /// The writer has answered.
    answered: bool,
}

impl Copies {
    /// Room for so many pairs.
    pub(crate) fn room(blocks: usize) -> Result<Vec<(BlockId, BlockId)>, OutOfMemory> {
        let mut pairs = Vec::new();
        pairs.try_reserve_exact(blocks).map_err(|_| OutOfMemory)?;
        Ok(pairs)
    }

    /// From what is offered to what is to be filled, for which there is [`room`](Self::room); the first `found` blocks need not come.
    pub(crate) fn new(
        mut pairs: Vec<(BlockId, BlockId)>,
        export: &Export,
        import: Import,
        found: usize,
    ) -> Self {
        let offered = export.ids();
        let found = found.min(offered.len());
        let come = offered[found..].iter().zip(import.ids());
        pairs.extend(come.map(|(&from, &to)| (from, to)));
        Self {
            answered: pairs.is_empty(),
            pairs,
            found,
            import,
            until: None,
        }
    }

    pub(crate) fn pairs(&self) -> &[(BlockId, BlockId)] {
        &self.pairs
    }

    /// Blocks that were found.
    pub(crate) const fn found(&self) -> usize {
        self.found
    }

    /// For whoever answers when the swap is gone.
    pub(crate) const fn import(&self) -> &Import {
        &self.import
    }

    pub(crate) fn core(&self) -> &Core {
        self.import.core()
    }

    /// A copy, or a part of it, is on its way until then.
    pub(crate) fn copying(&mut self, fence: Fence) -> Result<(), AlreadyCopied> {
        let (blocks, is_copied) = (self.pairs.len(), self.answered && !self.pairs.is_empty());
        match self.until {
            Some(until) if is_copied && until < fence => Err(AlreadyCopied {
                blocks,
                until,
                fence,
            }),
            until => {
                self.until = until.max(Some(fence));
                Ok(())
            }
        }
    }

    pub(crate) const fn until(&self) -> Option<Fence> {
        self.until
    }

    /// Nobody touches the blocks any more.
    pub(crate) const fn is_complete(&self) -> bool {
        self.answered
    }

    /// The timeline of the copy has come so far; `wanted`: what it copied counts.
    pub(crate) fn complete(&mut self, completed: Fence, wanted: bool) {
        if !self.answered && self.until.is_some_and(|until| until <= completed) {
            self.answer(wanted);
        }
    }

    /// What has not been launched will not be.
    pub(crate) fn call_off(&mut self) {
        if !self.answered && self.until.is_none() {
            self.answer(false);
        }
    }

    fn answer(&mut self, written: bool) {
        self.answered = true;
        for at in 0..self.pairs.len() {
            let block = at..at + 1;
            // Somebody with a clone of the import may have answered for some of them already.
            let _ = if written {
                self.import.arrived(0, block)
            } else {
                self.import.failed(0, block)
            };
        }
    }
}
