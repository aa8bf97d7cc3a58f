//! Statistics: counted by each worker in a cell of its own, summed when somebody asks.

use alloc::boxed::Box;

use crate::error::CreateError;
use crate::sync::Ordering::Relaxed;
use crate::sync::Padded;
use crate::sync::unmodelled::AtomicU64;

/// Cells of a pool. Workers beyond that share.
const CELLS: usize = if cfg!(loom) { 1 } else { 16 };

macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {
        /// What can be counted.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Counter { $($(#[$meta])* $name),+ }
        const COUNTERS: usize = [$(Counter::$name),+].len();
    };
}
counters! {
    /// Blocks found.
    Hits,
    /// Blocks looked up and not found.
    Misses,
    /// Blocks that became findable.
    Stored,
    /// Blocks whose content already was findable elsewhere.
    Duplicates,
    /// Publishing stopped because a duplicate could not be paid.
    Unpaid,
    /// Publishing stopped because both buckets were full.
    Declined,
    /// Idle blocks whose content was given up.
    Reclaims,
    /// Tokens sent back to the tail.
    SecondChances,
    /// Searches of the state words for want of a token.
    Sweeps,
    /// Refusals that waiting cannot help.
    RefusedNever,
    /// Refusals for now.
    RefusedShortfall,
}

#[derive(Debug)]
struct Cell([AtomicU64; COUNTERS]);

/// The counters of one pool.
#[derive(Debug)]
pub(crate) struct Tallies {
    cells: Box<[Padded<Cell>]>,
    workers: AtomicU64,
}

/// Which cell a worker counts in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellId(usize);

impl Tallies {
    pub(crate) fn new() -> Result<Self, CreateError> {
        let cells = super::array(CELLS, |_| {
            Padded(Cell(core::array::from_fn(|_| AtomicU64::new(0))))
        })?;
        Ok(Self {
            cells,
            workers: AtomicU64::new(0),
        })
    }

    pub(crate) const fn bytes(&self) -> usize {
        size_of_val::<[Padded<Cell>]>(&self.cells)
    }

    /// The cell of the next worker.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the remainder is below the number of cells"
    )]
    pub(crate) fn join(&self) -> CellId {
        CellId((self.workers.fetch_add(1, Relaxed) % CELLS as u64) as usize)
    }

    /// Relaxed: figures carry nothing.
    #[inline]
    pub(crate) fn count(&self, cell: CellId, counter: Counter, n: usize) {
        if n > 0 {
            self.cells[cell.0].0.0[counter as usize].fetch_add(n as u64, Relaxed);
        }
    }

    /// For calls without a worker.
    #[cold]
    pub(crate) fn count_anywhere(&self, counter: Counter) {
        self.count(CellId(0), counter, 1);
    }

    pub(crate) fn sum(&self, counter: Counter) -> u64 {
        self.cells
            .iter()
            .map(|cell| cell.0.0[counter as usize].load(Relaxed))
            .sum()
    }
}
