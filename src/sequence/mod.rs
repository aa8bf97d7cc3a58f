//! Sequences over one pool: the layer that a scheduler talks to.
//!
//! | what | where |
//! | --- | --- |
//! | names, slots, labels | `handle`, `registry`, `labels` |
//! | one sequence: cursor, table, promise; what is known and computed | `sequence`, `seal`, `pending` |
//! | admission and its budgets | `growth`, `admission` |
//! | growth in steps, what it takes, copy tickets | `append`, `need`, `step`, `ticket` |
//! | telling tokens and progress | `marks` |
//! | shortening, branching, duplicates, ending and taking along | `truncate`, `branch`, `duplicates`, `end` |
//! | content from elsewhere, for elsewhere, held for later | `transit`, `import`, `export`, `pin` |
//! | to another tier and back | `swap` |
//! | what goes along is what the request says | `content` |
//! | bad content | `renew` |
//! | reading, what is to be computed, choosing victims, statistics, audit | `view`, `demand`, `victims`, `statistics`, `audit` |

mod admission;
mod append;
mod audit;
mod branch;
mod config;
mod content;
mod demand;
mod duplicates;
mod end;
mod error;
mod export;
mod growth;
mod handle;
mod import;
mod labels;
mod marks;
mod need;
mod pending;
mod pin;
mod registry;
mod renew;
mod seal;
#[expect(clippy::module_inception, reason = "the file is about one sequence")]
mod sequence;
mod statistics;
mod step;
mod swap;
mod ticket;
mod transit;
mod truncate;
mod victims;
mod view;

pub(crate) use self::admission::Draft;
pub use self::admission::{Admit, Admitted, Cost};
pub use self::audit::SequencesInconsistency;
pub use self::config::SequencesConfig;
pub use self::end::Detached;
pub(crate) use self::error::MayRefuse;
pub use self::error::{
    AdmitError, AppendError, AttachError, Beyond, BranchError, CapReached, CommitError,
    ComputedError, CopyPending, DetachError, EndAfterError, ExportError, ImportError, MoveAborted,
    NotArrived, NotNext, OtherNamespace, PinError, ReadError, SourceTaken, Stale, TokensError,
    TooManySequences, TooManyWriters, TooShort, TruncateAfterError, TruncateError, UnknownFormat,
    VictimsError,
};
pub(crate) use self::export::Offer;
pub use self::export::Terms;
pub use self::growth::{Budget, Growth};
pub use self::handle::Handle;
pub use self::import::{Imported, Incoming, Loading};
pub(crate) use self::need::{Need, Until};
pub use self::statistics::HitStatistics;
pub use self::step::{Failure, Step, TableChange};
pub use self::swap::{
    AlreadyCopied, NoSuchShard, NotCopied, Swap, SwapAbortError, SwapCopyError, SwapError,
    SwapFinishError, SwapOver,
};
pub(crate) use self::swap::{
    Copies, SwapStage, check_content, check_copied, check_pool, source_is_gone,
};
pub use self::ticket::CopyTicket;
pub use self::transit::InTransit;
pub(crate) use self::truncate::Cutback;
pub use self::victims::Victim;
pub use self::view::SequenceState;

use self::registry::Registry;
use self::sequence::entries_for;
pub(crate) use self::statistics::Statistics;
use self::ticket::Tickets;
use crate::block::BlockId;
use crate::error::{CreateError, OutOfMemory};
use crate::pool::{BlockPool, Core, Lane, Worker};
use crate::shared::Shared;
use crate::transfer::{Export, Import, KvFormat};
use alloc::vec::Vec;

/// The sequences of one scheduler over one pool.
///
/// A registry has one owner; many may share a pool, one for each scheduler thread. What a sequence holds is given back when it is
/// released, preempted, or dropped with the registry, and so is what pending copies hold: the engine must be done with them before
/// it drops the registry.
pub struct Sequences {
    pool: BlockPool,
    worker: Worker,
    registry: Registry,
    tickets: Tickets,
    /// Imports with blocks that writers may still touch, of living sequences or not.
    loads: Vec<Import>,
    /// Exports, most of which are not over.
    exports: Vec<Export>,
    watermark: u32,
    /// Positions for which each slot had room from the start.
    positions: usize,
    format: Option<Shared<KvFormat>>,
    statistics: Statistics,
}

impl Sequences {
    /// Makes a registry with its slots.
    ///
    /// # Errors
    /// [`CreateError`] names what is wrong with the configuration, or the memory that could not be had.
    pub fn new(pool: BlockPool, config: &SequencesConfig) -> Result<Self, CreateError> {
        config.check(pool.max_blocks())?;
        let Some(format) = &config.format else {
            return Self::with_format(pool, config, None);
        };
        if pool.block_size() != format.block_size() {
            return Err(CreateError::Format {
                pool: pool.block_size(),
                format: format.block_size(),
            });
        }
        let copy = format.try_clone().ok_or(CreateError::OutOfMemory {
            bytes: size_of_val(format.plane_bytes()),
        })?;
        let shared = Shared::try_new(copy);
        let format = shared.map_err(|(_, bytes)| CreateError::OutOfMemory { bytes })?;
        Self::with_format(pool, config, Some(format))
    }

    /// Another registry over the same pool, with the same format whatever the configuration says.
    pub(crate) fn another(&self, config: &SequencesConfig) -> Result<Self, CreateError> {
        config.check(self.pool.max_blocks())?;
        Self::with_format(self.pool.clone(), config, self.format.clone())
    }

    fn with_format(
        pool: BlockPool,
        config: &SequencesConfig,
        format: Option<Shared<KvFormat>>,
    ) -> Result<Self, CreateError> {
        let block_size = pool.block_size();
        let positions = config.positions.min(pool.max_blocks() * block_size);
        let tickets = if positions > 0 {
            let entries = positions.div_ceil(block_size);
            Tickets::with_room(config.max_sequences, entries)?
        } else {
            Tickets::default()
        };
        Ok(Self {
            worker: pool.worker()?,
            registry: Registry::new(&pool.core, config.max_sequences, positions)?,
            tickets,
            loads: Vec::new(),
            exports: Vec::new(),
            format,
            positions,
            watermark: u32::try_from(config.watermark).unwrap_or(u32::MAX),
            statistics: Statistics::default(),
            pool,
        })
    }

    /// The pool below.
    #[must_use]
    pub const fn pool(&self) -> &BlockPool {
        &self.pool
    }

    /// A lane of the pool with room for so many releases that wait at once, each of a sequence as long as the slots have
    /// [room](SequencesConfig::positions) for: a slot that gives its buffers to the lane gets as large ones back.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// Allocates about 8 bytes for each block of each release.
    pub fn lane(&self, releases: usize) -> Result<Lane, OutOfMemory> {
        let blocks = match self.positions {
            0 => 0,
            positions => entries_for(positions, self.pool.block_size()),
        };
        Lane::with_room(&self.pool.core, releases, blocks)
    }

    /// Sequences that live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.registry.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sequences that can live at once.
    #[must_use]
    pub fn max_sequences(&self) -> usize {
        self.registry.max()
    }

    /// Whether it has nothing: no sequence, no copy, no load.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_empty() && self.tickets.len() == 0 && self.loads.iter().all(Import::is_settled)
    }

    /// The lowest slots are used first, as by a new registry. There are no sequences.
    pub(crate) fn use_slots_in_order(&mut self) {
        self.registry.use_in_order();
    }

    /// The sequence of a slot, which must be below the number of slots.
    pub(crate) fn in_slot(&self, slot: usize) -> Option<Handle> {
        self.registry.in_slot(slot)
    }

    /// Blocks that admissions leave available.
    #[must_use]
    pub const fn watermark(&self) -> usize {
        self.watermark as usize
    }

    /// How the content of blocks is laid out, if that is known.
    #[must_use]
    pub fn format(&self) -> Option<&KvFormat> {
        self.format.as_deref()
    }

    /// Every block table with its sequence's positions.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&[BlockId], usize)> {
        let table = |(cursor, sequence): (&sequence::Cursor, _)| {
            let sequence: &sequence::Sequence = sequence;
            (&*sequence.chain.ids, cursor.positions)
        };
        self.registry.iter().map(table)
    }

    pub(crate) fn pending_copies(&self) -> usize {
        self.tickets.len()
    }

    pub(crate) const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub(crate) fn core(&self) -> &Core {
        &self.pool.core
    }

    /// Counts a refusal, if the error is one.
    pub(crate) fn count_refused(&self, error: &impl MayRefuse) {
        if let Some(refused) = error.refused() {
            self.core().count_refusal(refused);
        }
    }

    /// Credits set aside for all sequences.
    pub(crate) fn promised(&self) -> usize {
        let credits = |(_, sequence): (_, &sequence::Sequence)| sequence.credits() as usize;
        self.registry.iter().map(credits).sum()
    }
}

impl Drop for Sequences {
    fn drop(&mut self) {
        self.tickets.release(&self.pool.core);
        self.registry.release_all(&self.pool.core);
    }
}

impl core::fmt::Debug for Sequences {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sequences")
            .field("pool", &self.pool)
            .field("sequences", &self.len())
            .field("pending_copies", &self.tickets.len())
            .finish_non_exhaustive()
    }
}
