//! The sending end: a lease on what is read, and which side goes on with the sequence.
//!
//! # Orderings
//! The phase is one word, moved by compare-and-swap, AcqRel: of commit and abort one wins, and what its side did before that is
//! seen by the other (model `commit_vs_abort`). `read` is set with Release after the lease has given its blocks back, and looked at with
//! Acquire before the source writes: it finds them its own (model `swap_answer_vs_append`). `sound` is a number that hands on nothing:
//! Relaxed.

use alloc::vec::Vec;
use core::fmt;

use super::error::NotOpen;
use super::format::KvFormat;
use crate::block::BlockId;
use crate::error::OutOfMemory;
use crate::lease::Lease;
use crate::prefix::Namespace;
use crate::shared::Shared;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{AtomicU64, mutant};

/// What the computed positions of a sequence are offered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// Somebody else gets the content too; the sequence goes on here.
    Copy,
    /// The sequence itself is to go on elsewhere. Meanwhile it has one owner: it does not grow here unless the move is aborted, and not
    /// there before the move is committed.
    Move,
}

/// How far an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It can be read; nobody of this process does.
    Offered,
    /// An [`Import`](crate::Import) reads it.
    Linked,
    /// The other side has it.
    Committed,
    /// It is over, and the source keeps the sequence.
    Aborted,
}

impl Phase {
    const fn from_bits(bits: u64) -> Self {
        match bits {
            0 => Self::Offered,
            1 => Self::Linked,
            2 => Self::Committed,
            _ => Self::Aborted,
        }
    }
    /// Why the phase does not move on from here.
    const fn not_open(self) -> NotOpen {
        match self {
            Self::Linked => NotOpen::Linked,
            Self::Committed => NotOpen::Committed,
            _ => NotOpen::Aborted,
        }
    }
}

/// The computed blocks of a sequence, offered to be read.
///
/// A handle: clones are handles of the same export, and any thread may use them. While it is offered a [`Lease`] holds the blocks, with
/// its owner and its deadline; it ends with the last answer of the [`Import`](crate::Import) that reads them, at the latest when its
/// end has come: what is read after that does not count.
#[derive(Clone)]
pub struct Export {
    cell: Shared<Cell>,
}

struct Cell {
    phase: AtomicU64,
    handover: Handover,
    /// Called off, the sequence waits for the reader.
    waits: bool,
    lease: Lease,
    positions: usize,
    /// 1: nobody reads the blocks any more, and the lease has given them back.
    read: AtomicU64,
    /// Content from this position on turned out bad.
    sound: AtomicU64,
    block_size: usize,
    /// What the namespace is.
    namespace: Vec<u8>,
    format: Option<Shared<KvFormat>>,
}

impl Export {
    pub(crate) fn try_new(
        (handover, waits): (Handover, bool),
        lease: &Lease,
        (positions, block_size): (usize, usize),
        namespace: &Namespace,
        format: Option<Shared<KvFormat>>,
    ) -> Result<Self, OutOfMemory> {
        let cell = Cell {
            phase: AtomicU64::new(Phase::Offered as u64),
            handover,
            waits,
            lease: lease.clone(),
            positions,
            read: AtomicU64::new(0),
            sound: AtomicU64::new(u64::MAX),
            block_size,
            namespace: namespace.try_encoded()?,
            format,
        };
        match Shared::try_new(cell) {
            Ok(cell) => Ok(Self { cell }),
            Err(_) => Err(OutOfMemory),
        }
    }

    /// The blocks to be read, in the order of the table.
    #[must_use]
    pub fn ids(&self) -> &[BlockId] {
        self.cell.lease.ids()
    }

    /// Computed positions in them.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.cell.positions
    }

    /// Whether the sequence goes with them.
    #[must_use]
    pub fn handover(&self) -> Handover {
        self.cell.handover
    }

    /// What holds the blocks meanwhile.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        &self.cell.lease
    }

    /// How far it is, at this instant.
    #[must_use]
    pub fn phase(&self) -> Phase {
        Phase::from_bits(self.cell.phase.load(Acquire))
    }

    /// Calls it off: the source keeps the sequence. If nobody reads the blocks they are given back at once, otherwise with the
    /// reader's last answer.
    ///
    /// # Errors
    /// [`NotOpen`]: it has been committed or aborted before.
    ///
    /// One read-modify-write, and one a block given back. No allocation.
    pub fn abort(&self) -> Result<(), NotOpen> {
        let open = |phase| matches!(phase, Phase::Offered | Phase::Linked);
        if self.advance(open, Phase::Aborted)? == Phase::Offered {
            self.was_read();
        }
        Ok(())
    }

    /// A reader outside of this process has all of it, and goes on with the sequence if that was to be moved: gives the blocks back. What
    /// an [`Import`](crate::Import) reads is committed by its registry instead.
    ///
    /// # Errors
    /// [`NotOpen`]: it has been committed or aborted before, or an import reads it; or its lease is over, so that what was read may have
    /// been anything. That aborts it.
    ///
    /// As [`abort`](Self::abort).
    pub fn finish(&self) -> Result<(), NotOpen> {
        if self.phase() == Phase::Offered && !self.is_readable() {
            self.abort()?;
            return Err(NotOpen::LeaseOver);
        }
        self.advance(|phase| phase == Phase::Offered, Phase::Committed)?;
        self.was_read();
        Ok(())
    }

    /// An import begins to read. False: another one does, or it is over, or its lease.
    pub(crate) fn link(&self) -> bool {
        let offered = |phase| phase == Phase::Offered;
        self.is_readable() && self.advance(offered, Phase::Linked).is_ok()
    }

    /// The import that reads it did not come about.
    pub(crate) fn unlink(&self) {
        let linked = |phase| phase == Phase::Linked;
        if self.advance(linked, Phase::Offered).is_err() {
            // Called off meanwhile, for a reader that does not come.
            self.was_read();
        }
    }

    /// The import that reads it has everything.
    pub(crate) fn commit(&self) -> Result<(), NotOpen> {
        self.advance(|phase| phase == Phase::Linked, Phase::Committed)
            .map(drop)
    }

    /// Nobody reads the blocks any more.
    pub(crate) fn was_read(&self) {
        // It may be over already: then they were given back then.
        let _ = self.cell.lease.end();
        self.cell.read.store(1, Release);
    }

    /// Whether the sequence waits for the reader.
    pub(crate) fn is_swap(&self) -> bool {
        self.cell.waits
    }

    /// Whether somebody still reads the blocks, and the sequence waits for that even if it is called off.
    pub(crate) fn source_waits(&self) -> bool {
        if mutant("source-trusts-lease") {
            return self.cell.waits && self.cell.lease.is_live();
        }
        self.cell.waits && self.cell.read.load(Acquire) == 0
    }

    /// Whether what is read is what was offered.
    pub(crate) fn is_readable(&self) -> bool {
        self.cell.lease.is_live() && self.sound() >= self.positions()
    }

    /// Content from a position on turned out bad: what is read of it does not count any more.
    pub(crate) fn spoil(&self, position: usize) {
        self.cell.sound.fetch_min(position as u64, Relaxed);
        // Committed: the other side has what was read before.
        let _ = self.abort();
    }

    /// Positions before the first whose content turned out bad.
    pub(crate) fn sound(&self) -> usize {
        usize::try_from(self.cell.sound.load(Relaxed)).unwrap_or(usize::MAX)
    }

    pub(crate) fn block_size(&self) -> usize {
        self.cell.block_size
    }

    pub(crate) fn is_of(&self, namespace: &Namespace) -> bool {
        namespace.encoded() == self.cell.namespace
    }

    pub(crate) fn format(&self) -> Option<&KvFormat> {
        self.cell.format.as_deref()
    }

    /// Moves the phase on from one that `from` accepts, and returns that.
    fn advance(&self, from: impl Fn(Phase) -> bool, to: Phase) -> Result<Phase, NotOpen> {
        let word = &self.cell.phase;
        let mut current = word.load(if mutant("phase-relaxed") {
            Relaxed
        } else {
            Acquire
        });
        loop {
            let phase = Phase::from_bits(current);
            if !from(phase) {
                return Err(phase.not_open());
            }
            let (success, failure) = if mutant("phase-relaxed") {
                (Relaxed, Relaxed)
            } else {
                (AcqRel, Acquire)
            };
            if mutant("phase-by-store") {
                word.store(to as u64, Relaxed);
                return Ok(phase);
            }
            match word.compare_exchange(current, to as u64, success, failure) {
                Ok(_) => return Ok(phase),
                // The other side was first.
                Err(actual) => current = actual,
            }
        }
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("handover", &self.handover())
            .field("phase", &self.phase())
            .field("positions", &self.positions())
            .field("ids", &self.ids())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Export>();
};

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::lease::{Leases, Owner};
    use crate::pool::{BlockPool, PoolConfig};

    #[test]
    fn an_export_that_is_called_off_for_a_reader_that_does_not_come_gives_its_blocks_back() {
        let pool = BlockPool::new(&PoolConfig::new(2, 1)).unwrap();
        let mut worker = pool.worker().unwrap();
        let mut leases = Leases::new(&pool, 2).unwrap();
        let space = Namespace::new();
        for aborted in [false, true] {
            let mut chain = pool.chain(&space);
            let mut promise = pool.reserve(2).unwrap();
            chain.take(&mut worker, &mut promise, 2).unwrap();
            let lease = leases
                .keep(Owner::new(1), Lease::NO_DEADLINE, chain)
                .unwrap();
            let export =
                Export::try_new((Handover::Move, false), &lease, (2, 1), &space, None).unwrap();
            assert!(export.link() && !export.link());
            assert_eq!(export.finish(), Err(NotOpen::Linked));
            if aborted {
                export.abort().unwrap();
                assert_eq!(pool.available(), 0, "a reader may come");
            }
            export.unlink();
            let phase = if aborted {
                Phase::Aborted
            } else {
                Phase::Offered
            };
            assert_eq!((export.phase(), lease.is_live()), (phase, !aborted));
            assert_eq!(export.abort().is_err(), aborted);
            assert_eq!(pool.available(), 2);
        }
    }
}
