//! The shards that must all hold a sequence for it to run: [`Instance`].
//!
//! In *lockstep* all ranks have the same table: one registry over one pool, which has as many blocks as the smallest rank. *Split*, each
//! shard has a pool, a registry and so a table of its own; what one call does is done on all of them or on none.
//!
//! A call over several shards goes in steps, each over all shards in rising order before the next: look (loads only: most refusals
//! come from here, and nothing has changed), make room, take the credits, hold what is found, and then what cannot fail. Only other
//! threads can make a later step fail; then those before it are undone.
//!
//! | what | where |
//! | --- | --- |
//! | how many blocks fit a rank's memory | `plan` |
//! | ranks, and who is the smallest | `rank` |
//! | admission; growth in steps | `admission`, `append` |
//! | telling tokens and progress | `marks` |
//! | shortening, branching, duplicates | `shape` |
//! | the end, now or after a fence; taking along | `end` |
//! | content from elsewhere, for elsewhere, held for later | `import`, `export`, `pin` |
//! | to another tier and back | `swap` |
//! | bad content | `renew` |
//! | more blocks, or fewer | `elastic` |
//! | reading, choosing victims, audit | `view`, `audit` |

mod admission;
mod append;
mod audit;
mod elastic;
mod end;
mod error;
mod export;
mod import;
mod marks;
mod pin;
mod plan;
mod rank;
mod renew;
mod shape;
mod swap;
mod view;

pub use self::admission::Costs;
pub use self::append::InstanceStep;
pub use self::audit::InstanceInconsistency;
pub use self::end::DetachedInstance;
pub use self::error::{InstanceError, InstanceResizeError};
pub use self::export::InstanceExport;
pub use self::import::{InstanceImported, InstanceIncoming};
pub use self::plan::{
    CapacityPlan, InstancePlan, InstancePlanError, KvShape, Margin, PlanError, PlanInput, PlanStep,
    PlanTerm, RankMemory,
};
pub use self::rank::Rank;
pub use self::swap::InstanceSwap;

use self::rank::Ranks;
use crate::pool::{BlockPool, PoolConfig};
use crate::sequence::{MayRefuse, Sequences, SequencesConfig};
use crate::sync::mutant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use smallvec::SmallVec;

/// Most shards of a split instance: what a call notes of each of them lies on the stack. Ranks in lockstep may be more.
pub const MAX_SHARDS: usize = 16;

/// One value a shard. It never needs memory of its own.
pub(crate) type PerShard<T> = SmallVec<[T; MAX_SHARDS]>;

/// A registry of sequences over the shards that must all hold one for it to run.
///
/// What [`Sequences`] does over one pool it does over all of them, or over none: a refusal names the shard, and nothing has changed on
/// any. One [`Handle`](crate::Handle) names a sequence on all shards. Positions, tokens and watermarks are the same everywhere;
/// which blocks a sequence has, and how much of its content is findable, is each shard's own: [`shards`](Self::shards) shows it. A hit is
/// as long as the shortest one.
///
/// ```
/// use kvblock::{
///     Admit, AdmitError, BlockPool, Growth, Instance, Namespace, PoolConfig, Prompt, Rank, Refused, Sequences, SequencesConfig, ShardId,
/// };
///
/// // Two ranks in lockstep: the smaller one bounds the instance.
/// let ranks = [Rank::new(ShardId::new(0), 512), Rank::new(ShardId::new(1), 510)];
/// let instance = Instance::lockstep(&ranks, &PoolConfig::new(512, 16), &SequencesConfig::new(8))?;
/// assert_eq!((instance.capacity(0), instance.stranded(0)), (510, 2));
///
/// // Two pipeline stages with a pool each. Two blocks fit the first, not the second: it is refused, and nothing is taken.
/// let stages = [8, 1].into_iter().enumerate().map(|(stage, blocks)| {
///     let pool = BlockPool::new(&PoolConfig::new(blocks, 16).shard(ShardId::new(stage as u32)))?;
///     Sequences::new(pool, &SequencesConfig::new(8))
/// });
/// let mut instance = Instance::split(stages.collect::<Result<Vec<_>, _>>()?)?;
/// let (space, prompt) = (Namespace::new(), [1; 32]);
/// let request = Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand);
/// let refused = instance.admit(&request).unwrap_err();
/// assert!(matches!(refused, AdmitError::Refused(Refused::NeverFits { shard, .. }) if shard == ShardId::new(1)));
/// assert_eq!(instance.shards()[0].pool().available(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Instance {
    /// One in lockstep, else one a shard. All of them use their slots alike.
    shards: Box<[Sequences]>,
    /// In lockstep, who stands behind the one shard.
    ranks: Option<Ranks>,
}

impl Instance {
    /// An instance whose ranks hold every sequence under the same ids: a pool with as many blocks as the smallest rank, named after it.
    /// Of `pool`, blocks, `max_blocks` and shard are replaced.
    ///
    /// # Errors
    /// [`InstanceError`]; no ranks, equal names, or what [`BlockPool::new`] and [`Sequences::new`] refuse.
    pub fn lockstep(
        ranks: &[Rank],
        pool: &PoolConfig,
        sequences: &SequencesConfig,
    ) -> Result<Self, InstanceError> {
        let ranks = Ranks::new(ranks)?;
        let (usable, max_blocks) = ranks.common();
        let pool = pool.clone().resized(usable, max_blocks);
        let pool = BlockPool::new(&pool.shard(ranks.smallest()))?;
        let registry = Sequences::new(pool, sequences)?;
        let mut shards = Vec::new();
        shards
            .try_reserve_exact(1)
            .map_err(|_| InstanceError::OutOfMemory)?;
        shards.push(registry);
        Ok(Self {
            shards: shards.into_boxed_slice(),
            ranks: Some(ranks),
        })
    }

    /// An instance of shards with a pool each: the stages of a pipeline. The registries must be vacant, over different pools with
    /// different [`ShardId`](crate::ShardId)s, and have blocks of one size and as many slots; at most [`MAX_SHARDS`].
    ///
    /// # Errors
    /// [`InstanceError`] names the first shard that does not fit to the others.
    pub fn split(mut shards: Vec<Sequences>) -> Result<Self, InstanceError> {
        let Some(first) = shards.first() else {
            return Err(InstanceError::NoShards);
        };
        let (block_size, slots) = (first.pool().block_size(), first.max_sequences());
        if shards.len() > MAX_SHARDS {
            let asked = shards.len();
            return Err(InstanceError::TooManyShards { asked });
        }
        for (at, it) in shards.iter().enumerate() {
            let shard = it.pool().shard();
            if it.pool().block_size() != block_size {
                return Err(InstanceError::BlockSize {
                    shard,
                    got: it.pool().block_size(),
                    expected: block_size,
                });
            }
            if it.max_sequences() != slots {
                return Err(InstanceError::Slots {
                    shard,
                    got: it.max_sequences(),
                    expected: slots,
                });
            }
            if !it.is_unused() {
                return Err(InstanceError::InUse { shard });
            }
            if shards[..at]
                .iter()
                .any(|other| other.pool().shard() == shard)
            {
                return Err(InstanceError::SameShard { shard });
            }
        }
        for it in &mut shards {
            it.use_slots_in_order();
        }
        Ok(Self {
            shards: shards.into_boxed_slice(),
            ranks: None,
        })
    }

    /// Another registry over the same shards, for another scheduler thread; each shard keeps its format.
    ///
    /// # Errors
    /// [`InstanceError`]: what [`Sequences::new`] refuses.
    pub fn another(&self, sequences: &SequencesConfig) -> Result<Self, InstanceError> {
        let mut shards = Vec::new();
        shards
            .try_reserve_exact(self.shards.len())
            .map_err(|_| InstanceError::OutOfMemory)?;
        for it in &self.shards {
            shards.push(it.another(sequences)?);
        }
        Ok(Self {
            shards: shards.into_boxed_slice(),
            ranks: self.ranks.clone(),
        })
    }

    /// The registries of its shards, to be read: one in lockstep, else one for each shard.
    #[must_use]
    pub fn shards(&self) -> &[Sequences] {
        &self.shards
    }

    /// Token positions of a block.
    #[must_use]
    pub fn block_size(&self) -> usize {
        self.first().pool().block_size()
    }

    /// Sequences that live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sequences that can live at once.
    #[must_use]
    pub fn max_sequences(&self) -> usize {
        self.first().max_sequences()
    }

    /// Whether all ranks have one table.
    #[must_use]
    pub const fn is_lockstep(&self) -> bool {
        self.ranks.is_some()
    }

    /// Shards, or ranks in lockstep.
    #[must_use]
    pub fn width(&self) -> usize {
        self.ranks.as_ref().map_or(self.shards.len(), Ranks::len)
    }

    /// What stands behind it: each rank in lockstep, else each shard's pool. Below [`width`](Self::width).
    #[must_use]
    pub fn rank(&self, at: usize) -> Option<Rank> {
        match &self.ranks {
            Some(ranks) => ranks.get(at),
            None => self.shards.get(at).map(|it| {
                let pool = it.pool();
                Rank::new(pool.shard(), pool.capacity()).max_blocks(pool.max_blocks())
            }),
        }
    }

    /// Blocks of a shard, or rank, that sequences can use: those of the smallest in lockstep. 0 if there is no such.
    #[must_use]
    pub fn capacity(&self, at: usize) -> usize {
        self.shard_of(at).map_or(0, |it| it.pool().capacity())
    }

    /// Blocks of a rank that no sequence can use, as another rank has none beside them. 0 where each shard has its own pool.
    #[must_use]
    pub fn stranded(&self, at: usize) -> usize {
        self.rank(at)
            .map_or(0, |rank| rank.blocks.saturating_sub(self.capacity(at)))
    }

    /// The registry of a shard, or of a rank.
    fn shard_of(&self, at: usize) -> Option<&Sequences> {
        (at < self.width()).then_some(())?;
        self.shards.get(self.place_of(at))
    }

    /// Where the registry of a shard, or of a rank, is.
    const fn place_of(&self, at: usize) -> usize {
        if self.is_lockstep() { 0 } else { at }
    }

    /// There is one.
    fn first(&self) -> &Sequences {
        &self.shards[0]
    }

    /// Counts a refusal, if the error is one, on the shard that it names.
    pub(crate) fn count_refused(&self, error: &impl MayRefuse) {
        let mut shards = self.shards.iter();
        if let Some(it) = shards.find(|it| error.is_of(it.pool().shard())) {
            it.count_refused(error);
        }
    }

    /// Calls a step on each shard in rising order; if one fails, `undo` on those before it, in falling order.
    fn on_all<T, E>(
        &mut self,
        mut step: impl FnMut(usize, &mut Sequences) -> Result<T, E>,
        mut undo: impl FnMut(usize, &mut Sequences, T),
    ) -> Result<PerShard<T>, E> {
        let mut done = PerShard::new();
        for at in 0..self.shards.len() {
            match step(at, &mut self.shards[at]) {
                Ok(it) => done.push(it),
                Err(error) => {
                    while let Some(it) = done.pop().filter(|_| !mutant("shards-not-undone")) {
                        undo(done.len(), &mut self.shards[done.len()], it);
                    }
                    return Err(error);
                }
            }
        }
        Ok(done)
    }

    /// Calls a step that changes nothing on each shard, in rising order.
    fn look<T, E>(
        &self,
        mut step: impl FnMut(usize, &Sequences) -> Result<T, E>,
    ) -> Result<PerShard<T>, E> {
        let shards = self.shards.iter().enumerate();
        shards.map(|(at, it)| step(at, it)).collect()
    }
}
