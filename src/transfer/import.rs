//! The receiving end: blocks that writers outside are filling.
//!
//! Beside the sequence whose table they are in, the import holds each block until its last writer is done with it. So whatever
//! becomes of the sequence, nothing is reused while a writer may touch it; and as a block with two owners is not published, none is
//! findable before it has arrived.
//!
//! # Orderings
//! A writer's answer is AcqRel: what it wrote happens before the block is published or freed, whoever comes last (models
//! `writers_vs_publish`, `answer_vs_abort`). `left` is lowered after the block has been given back, AcqRel: who sees zero sees all
//! of them given back (`settled_after_blocks`), and whoever brings it to zero ends the source's lease after all that was read there
//! (`readers_vs_source`). `ended` and `given_up` are numbers that hand on nothing: Relaxed.

use alloc::boxed::Box;
use core::fmt;
use core::ops::Range;

use super::arrival::{Arrival, MAX_WRITERS};
use super::error::AnswerError;
use super::export::Export;
use super::flights::Flight;
use crate::array::array;
use crate::block::BlockId;
use crate::error::CreateError;
use crate::pool::{Atomic, BlockList, BlockPool, Core, Holder, Holds, address};
use crate::shared::Shared;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::{AtomicU64, mutant};

/// Blocks of a sequence that peers, a store or a copy engine are filling.
///
/// A handle: clones are handles of the same import, and any thread may use them. Each writer answers once for each block, in any
/// order of blocks: it [has written](Self::arrived) it, or [will not](Self::failed); and at the latest it says that it [touches
/// nothing more](Self::end). Until then the blocks stay held, whether the sequence goes on or not.
///
/// The registry that made it keeps a handle until the last answer. Dropping the last handle, with the registry, says that all writers are
/// done.
#[derive(Clone)]
pub struct Import {
    cell: Shared<Cell>,
}

struct Cell {
    pool: BlockPool,
    /// In the order of the table.
    blocks: BlockList,
    arrivals: Box<[Atomic<Arrival>]>,
    writers: usize,
    /// Writers that have ended.
    ended: AtomicU64,
    /// Blocks that some writer may still touch.
    left: AtomicU64,
    /// 1: nobody waits for it any more.
    given_up: AtomicU64,
    source: Option<Export>,
    /// Its bytes under way.
    flight: Option<Flight>,
}

/// What an accepted answer of a writer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// It counts.
    Taken,
    /// The writer is done with the blocks; nobody waits for their content any more.
    Unwanted,
    /// The source's lease was over when the answer came, so what was read there may have been anything: the blocks have failed.
    SourceGone,
}

/// What an import is made of.
pub(crate) struct Parts {
    pub(crate) writers: usize,
    pub(crate) flight: Option<Flight>,
    pub(crate) source: Option<Export>,
}

impl Import {
    /// Room for an import of up to `blocks` blocks.
    pub(crate) fn try_new(pool: &BlockPool, blocks: usize) -> Result<Self, CreateError> {
        let mut list = BlockList::new();
        list.try_reserve(blocks)
            .map_err(|_| CreateError::OutOfMemory {
                bytes: blocks * size_of::<BlockId>(),
            })?;
        let cell = Cell {
            pool: pool.clone(),
            blocks: list,
            arrivals: array(blocks, |_| Atomic::new(Arrival::expected(1)))?,
            writers: 0,
            ended: AtomicU64::new(0),
            left: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
            source: None,
            flight: None,
        };
        let cell =
            Shared::try_new(cell).map_err(|(_, bytes)| CreateError::OutOfMemory { bytes })?;
        Ok(Self { cell })
    }

    /// Begins: holds these blocks, which their owner alone holds. There is room for them, and this is the only handle.
    pub(crate) fn begin(&mut self, blocks: &[BlockId], parts: Parts) {
        let Some(cell) = self.cell.get_mut() else {
            return;
        };
        for (block, arrival) in blocks.iter().zip(&cell.arrivals) {
            let counted = cell.pool.core.hold(*block, 1);
            debug_assert!(counted.is_ok(), "it has one owner");
            arrival.store(Arrival::expected(parts.writers), Relaxed);
        }
        cell.blocks.extend_from_slice(blocks);
        cell.left.store(blocks.len() as u64, Relaxed);
        cell.writers = parts.writers;
        cell.flight = parts.flight;
        cell.source = parts.source;
        if blocks.is_empty() {
            cell.land();
        }
    }

    /// The blocks to be filled, in the order of the table.
    #[must_use]
    pub fn ids(&self) -> &[BlockId] {
        &self.cell.blocks
    }

    /// Writers, numbered from 0.
    #[must_use]
    pub fn writers(&self) -> usize {
        self.cell.writers
    }

    /// Blocks that some writer may still touch, at this instant.
    #[must_use]
    pub fn left(&self) -> usize {
        usize::try_from(self.cell.left.load(Acquire)).unwrap_or(usize::MAX)
    }

    /// Whether no writer touches any block any more.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.left() == 0
    }

    /// Whether somebody still waits for the content.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.cell.given_up.load(Relaxed) == 0
    }

    /// A writer has written its part of these blocks, named by their places in [`ids`](Self::ids), and touches them no more.
    ///
    /// # Errors
    /// [`AnswerError`]: an unknown or repeated answer is not obeyed, for none of the blocks. (A writer that answers from two threads at
    /// once has each block answered once, by either; who was late for one is told [`AnswerError::Repeated`].)
    ///
    /// One read-modify-write a block, and the last writer's release of it. No allocation.
    pub fn arrived(&self, writer: usize, blocks: Range<usize>) -> Result<Answer, AnswerError> {
        self.check(writer, &blocks)?;
        let source_gone = self
            .cell
            .source
            .as_ref()
            .is_some_and(|it| !it.is_readable());
        self.answer(writer, blocks, !source_gone)?;
        Ok(match (self.is_wanted(), source_gone) {
            (false, _) => Answer::Unwanted,
            (true, true) => Answer::SourceGone,
            (true, false) => Answer::Taken,
        })
    }

    /// A writer has not written its part of these blocks, and touches them no more.
    ///
    /// # Errors
    /// As [`arrived`](Self::arrived).
    pub fn failed(&self, writer: usize, blocks: Range<usize>) -> Result<Answer, AnswerError> {
        self.check(writer, &blocks)?;
        self.answer(writer, blocks, false)?;
        Ok(if self.is_wanted() {
            Answer::Taken
        } else {
            Answer::Unwanted
        })
    }

    /// A writer touches nothing more: blocks that it has not answered for have failed. Returns how many.
    ///
    /// # Errors
    /// [`AnswerError::NoSuchWriter`], [`AnswerError::Ended`].
    ///
    /// As [`arrived`](Self::arrived) for all blocks.
    pub fn end(&self, writer: usize) -> Result<usize, AnswerError> {
        self.check(writer, &(0..0))?;
        let bit = 1 << writer;
        if self.cell.ended.fetch_or(bit, Relaxed) & bit != 0 {
            return Err(AnswerError::Ended { writer });
        }
        let missing = (0..self.ids().len()).filter(|&at| self.cell.answer(writer, at, false));
        Ok(missing.count())
    }

    fn check(&self, writer: usize, blocks: &Range<usize>) -> Result<(), AnswerError> {
        let Cell { writers, .. } = *self.cell;
        if writer >= writers {
            return Err(AnswerError::NoSuchWriter { writer, writers });
        }
        let (end, len) = (blocks.end, self.ids().len());
        if end > len {
            return Err(AnswerError::OutOfRange { end, blocks: len });
        }
        let answered = |&at: &usize| !self.arrival(at).is_expected_from(writer);
        match blocks.clone().find(answered) {
            Some(at) => Err(AnswerError::Repeated { writer, at }),
            None => Ok(()),
        }
    }

    /// Of two answers of one writer at the same time each block obeys one, and who was late for any is told.
    fn answer(
        &self,
        writer: usize,
        blocks: Range<usize>,
        written: bool,
    ) -> Result<(), AnswerError> {
        let mut late = None;
        for at in blocks {
            if !self.cell.answer(writer, at, written) {
                late = late.or(Some(at));
            }
        }
        late.map_or(Ok(()), |at| Err(AnswerError::Repeated { writer, at }))
    }

    fn arrival(&self, at: usize) -> Arrival {
        self.cell.arrivals[at].load(Acquire)
    }

    /// Blocks that have arrived from `at` on without a gap.
    pub(crate) fn arrived_from(&self, at: usize) -> usize {
        (at..self.ids().len())
            .take_while(|&at| self.arrival(at).has_arrived())
            .count()
    }

    /// Whether a block was not written.
    pub(crate) fn has_failed(&self, at: usize) -> bool {
        let arrival = self.arrival(at);
        arrival.is_settled() && !arrival.has_arrived()
    }

    /// Nobody waits for the content any more.
    pub(crate) fn give_up(&self) {
        self.cell.given_up.store(1, Relaxed);
        if let Some(source) = &self.cell.source {
            // It may have been committed: then this side goes on with what it has.
            let _ = source.abort();
        }
    }

    /// Positions before the first that the source found bad.
    pub(crate) fn sound(&self) -> usize {
        self.source().map_or(usize::MAX, Export::sound)
    }

    pub(crate) fn core(&self) -> &Core {
        &self.cell.pool.core
    }

    pub(crate) fn source(&self) -> Option<&Export> {
        self.cell.source.as_ref()
    }

    /// Blocks that it holds.
    pub(crate) fn held(&self) -> impl Iterator<Item = BlockId> + '_ {
        let settled = |&(at, _): &(usize, _)| !self.arrival(at).is_settled();
        let blocks = self.ids().iter().copied().enumerate();
        blocks.filter(settled).map(|(_, block)| block)
    }
}

impl Cell {
    /// A writer answers for a block. False: it had before.
    fn answer(&self, writer: usize, at: usize, written: bool) -> bool {
        let word = &self.arrivals[at];
        let mut current = word.load(Acquire);
        loop {
            if !current.is_expected_from(writer) && !mutant("answer-obeyed-twice") {
                return false;
            }
            let next = current.answered(writer, written);
            let order = if mutant("answer-relaxed") {
                Relaxed
            } else {
                AcqRel
            };
            match word.compare_exchange(current, next, order, Acquire) {
                Ok(_) if next.is_settled() || mutant("first-answer-frees") => {
                    self.settle(at);
                    return true;
                }
                Ok(_) => return true,
                // Another writer answered.
                Err(actual) => current = actual,
            }
        }
    }

    /// Nobody touches the block any more.
    fn settle(&self, at: usize) {
        self.pool.core.release(core::iter::once(self.blocks[at]));
        let order = if mutant("left-relaxed") {
            Relaxed
        } else {
            AcqRel
        };
        if self.left.fetch_sub(1, order) == 1 {
            self.land();
        }
    }

    /// Nobody touches anything any more.
    fn land(&self) {
        if let Some(flight) = &self.flight {
            flight.land();
        }
        if let Some(source) = &self.source {
            source.was_read();
        }
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        for writer in 0..self.writers {
            for at in 0..self.blocks.len() {
                self.answer(writer, at, false);
            }
        }
    }
}

/// For an audit when its registry is gone: while that lives, it accounts for its imports itself.
impl Holder for Import {}

impl Holds for Import {
    fn pool(&self) -> *const () {
        address(&self.cell.pool.core)
    }
    fn references(&self, visit: &mut dyn FnMut(BlockId)) {
        self.held().for_each(visit);
    }
}

impl fmt::Debug for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import")
            .field("ids", &self.ids())
            .field("writers", &self.writers())
            .field("left", &self.left())
            .field("wanted", &self.is_wanted())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Import>();
    assert!(MAX_WRITERS < u64::BITS as usize);
};
