//! One shard: [`BlockPool`].
//!
//! Each structure has a file, and so has each operation over several of them:
//!
//! | structure | | operation | |
//! | --- | --- | --- | --- |
//! | `state` | the word that is the truth about a block | `reservation` | reserve, take |
//! | `credits` | rights to blocks | `find` | look up, compare, pin |
//! | `free` | free blocks: a bitmap | `publish` | make findable |
//! | `order` | idle blocks: a ring of tokens | `release` | give back |
//! | `node` | tree of prefixes, contents | `claim`, `reclaim` | take content back from idle blocks |
//! | `index` | chain key to node | `cut` | invalidate, clear |
//! | `worker`, `tally` | what a thread brings; statistics | `elastic` | more blocks, or fewer |
//! | `keys` | chain keys made ahead of a walk | `quarantine` | what only fences hold |
//! | `lane` | what waits for fences, in order of release | `audit` | recount everything |
//! | `offline` | blocks that are not in service | | |

mod audit;
mod blocks;
mod chain;
mod claim;
mod config;
mod core;
mod credits;
mod cut;
mod elastic;
mod find;
mod free;
mod index;
mod keys;
mod lane;
mod node;
mod offline;
mod order;
mod packed;
#[allow(unsafe_code)]
mod prefetch;
mod publish;
mod quarantine;
mod reclaim;
mod release;
mod reservation;
#[cfg(all(test, not(loom)))]
mod stalled;
mod state;
#[cfg(any(test, loom))]
#[doc(hidden)]
pub mod steps;
mod tally;
mod worker;

pub use self::audit::{Holder, Inconsistency};
pub use self::blocks::Blocks;
pub use self::chain::Chain;
pub use self::config::PoolConfig;
pub use self::elastic::{Grown, Shrunk};
pub use self::find::Probe;
pub use self::lane::{Fence, Lane};
pub use self::publish::{Published, Stopped};
pub use self::reservation::Reservation;
pub use self::worker::Worker;

pub(crate) use self::audit::{Holds, address};
pub(crate) use self::chain::RawChain;
pub(crate) use self::core::Core;
pub(crate) use self::find::Purse;
pub(crate) use self::packed::{Atomic, Packed, packed};
pub(crate) use self::tally::Counter;
pub(crate) use self::worker::BlockList;

use self::cut::Root;
use self::free::FreeMap;
use self::node::Link;
use self::order::HAND;
use self::prefetch::prefetch;
use crate::array::{array, try_push};
use crate::block::{BlockId, ShardId};
use crate::error::{
    ClearError, CreateError, FindError, InvalidateError, LengthMismatch, OutOfMemory, Refused,
    ResizeError, WrongPool, or_abort,
};
use crate::event::{EventReader, EventRing, Findable, Snapshot};
use crate::prefix::{Namespace, Prompt};
use crate::shared::Shared;
use crate::sync::Ordering::Acquire;

/// The blocks of one shard: free, idle, held, and who each one is.
///
/// A handle: cloning it is cheap and gives another handle of the same pool. All calls may run concurrently. The hot ones are
/// lock-free: each finishes in a bounded number of steps, or because another thread has made progress. A refusal is true at
/// one instant; nothing waits.
///
/// Exact after every operation of a single thread, and at rest: `capacity = free + idle + held + quarantined` and
/// `available = free + idle − reserved`. With one thread the same calls on the same configuration give the same ids, hits
/// and reclaims, on every machine.
///
/// ```
/// use kvblock::{BlockPool, Contents, Namespace, PoolConfig, Prompt};
///
/// let pool = BlockPool::new(&PoolConfig::new(64, 4))?;
/// let mut worker = pool.worker()?;
/// let space = Namespace::new();
/// let prompt = [1, 2, 3, 4, 5, 6, 7, 8, 9];
///
/// // A promise first: 3 blocks, whatever happens next.
/// let mut promise = pool.reserve(3)?;
/// let mut chain = pool.find(&mut worker, &Prompt::new(&space, &prompt), &mut promise)?;
/// assert_eq!(chain.len(), 0);
/// chain.take(&mut worker, &mut promise, 3)?;
/// // The engine computes K/V of the prompt into chain.ids(). Then two blocks are full, and can be shared.
/// chain.publish(&mut worker, &Contents::new(&prompt[..8]), None)?;
///
/// let mut promise = pool.reserve(3)?;
/// let second = pool.find(&mut worker, &Prompt::new(&space, &prompt), &mut promise)?;
/// assert_eq!(second.ids(), &chain.ids()[..2]);
/// assert_eq!(promise.len(), 3, "hits on held blocks are free");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// What borrows a pool refers to the shared core and not to the handle that it was made of: `ffi/src/held.rs` relies on that.
#[derive(Clone, Debug)]
pub struct BlockPool {
    pub(crate) core: Shared<Core>,
}

impl BlockPool {
    /// Makes a pool with all its bookkeeping: nothing is allocated for it later.
    ///
    /// # Errors
    /// [`CreateError`] names what is wrong with the configuration, or the memory that could not be had.
    pub fn new(config: &PoolConfig) -> Result<Self, CreateError> {
        let core = Shared::try_new(Core::new(config)?)
            .map_err(|(_, bytes)| CreateError::OutOfMemory { bytes })?;
        Ok(Self { core })
    }

    /// Makes what one thread needs for the hot calls. Allocates.
    ///
    /// # Errors
    /// [`CreateError::OutOfMemory`].
    pub fn worker(&self) -> Result<Worker, CreateError> {
        Worker::new(&self.core)
    }

    /// The shard that this pool is.
    #[must_use]
    pub fn shard(&self) -> ShardId {
        self.core.shard()
    }

    /// Blocks below the limit: what [`Refused::NeverFits`] compares with. Blocks that [`shrink`](Self::shrink) left draining are not
    /// among them.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.core.capacity()
    }

    /// Blocks in service: those below the limit, and those above it that still drain. One load for 64 blocks.
    #[must_use]
    pub fn in_service(&self) -> usize {
        self.core.offline.in_service_count(self.max_blocks())
    }

    /// Blocks that there is bookkeeping for: as many can be online.
    #[must_use]
    pub fn max_blocks(&self) -> usize {
        self.core.states.len()
    }

    /// Token positions of a block.
    #[must_use]
    pub fn block_size(&self) -> usize {
        self.core.block_size
    }

    /// Free and idle blocks that are promised to nobody. One load.
    #[must_use]
    pub fn available(&self) -> usize {
        self.core.credits.now().available as usize
    }

    /// Promised blocks that have not been taken. One load.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.core.credits.now().reserved as usize
    }

    /// Released blocks that only fences hold: they come back by themselves when these pass. One load, but for a pool that is smaller
    /// than it can be: then also one for 64 blocks above its limit, as those don't come back.
    #[must_use]
    pub fn quarantined(&self) -> usize {
        self.core.returning()
    }

    /// A lane for the fences of one stream or peer. Allocates nothing yet.
    pub fn lane(&self) -> Lane {
        Lane::new(&self.core)
    }

    /// Whether [`reserve`](Self::reserve) would promise `n` blocks at this instant. Changes nothing.
    ///
    /// # Errors
    /// The refusal that `reserve` would give.
    pub fn check(&self, n: usize) -> Result<(), Refused> {
        self.core.check(n, 0).map(drop)
    }

    /// Promises `n` blocks.
    ///
    /// # Errors
    /// [`Refused::NeverFits`]: more than the capacity. [`Refused::Shortfall`]: more than is available now.
    ///
    /// One read-modify-write.
    #[inline]
    pub fn reserve(&self, n: usize) -> Result<Reservation<'_>, Refused> {
        Ok(Reservation::new(&self.core, self.core.reserve(n, 0)?))
    }

    /// How much of a prompt [`find`](Self::find) would find at this instant. Holds nothing and changes nothing, not even the order
    /// of reclaim.
    ///
    /// # Errors
    /// [`LengthMismatch`]: not one extra key or chain key for each whole block.
    pub fn probe(&self, prompt: &Prompt<'_>) -> Result<Probe, LengthMismatch> {
        let most = prompt.matchable(self.core.block_size)?;
        Ok(self.core.probe(prompt, most))
    }

    /// Holds the longest prefix of a prompt that is findable, proven equal block by block.
    ///
    /// Blocks that somebody holds cost nothing; an idle one costs a credit of `pay`. The chain ends at the first block that is
    /// not findable, or for which nothing is left to pay. It may be empty.
    ///
    /// # Errors
    /// [`FindError::LengthMismatch`]: not one extra key or chain key for each whole block. [`FindError::WrongPool`]: worker or
    /// reservation of another pool. [`FindError::OutOfMemory`]: no memory for the table.
    ///
    /// A few cache lines and one read-modify-write a block. No allocation in steady state.
    pub fn find<'p>(
        &'p self,
        worker: &mut Worker,
        prompt: &Prompt<'_>,
        pay: &mut Reservation<'_>,
    ) -> Result<Chain<'p>, FindError> {
        worker.belongs(&self.core)?;
        if !pay.belongs(&self.core) {
            return Err(FindError::WrongPool);
        }
        let most = prompt.matchable(self.core.block_size)?;
        // Room for the whole prompt, as far as a pool can have it.
        let table = prompt.tokens.len().div_ceil(self.core.block_size);
        let mut found = worker.buffer(table.min(self.core.states.len()))?;
        let cuts = self.core.cuts.0.load(Acquire);
        pay.lend(|purse| self.core.find(prompt, most, purse, &mut found));
        Core::count_lookup(worker, found.len(), most);
        let space = self.core.space(prompt.namespace);
        Ok(Chain::new(&self.core, RawChain::new(space, found, cuts)))
    }

    /// An empty chain for prompts of a namespace.
    pub fn chain(&self, namespace: &Namespace) -> Chain<'_> {
        let space = self.core.space(namespace);
        let cuts = self.core.cuts.0.load(Acquire);
        Chain::new(&self.core, RawChain::new(space, BlockList::new(), cuts))
    }

    /// Brings the next `n` blocks online: the ids from [`capacity`](Self::capacity) on. Those of them that were still draining are
    /// taken back, and stay what they are.
    ///
    /// ```
    /// use kvblock::{BlockPool, PoolConfig};
    /// let pool = BlockPool::new(&PoolConfig::new(64, 16).max_blocks(256))?;
    /// let mut worker = pool.worker()?;
    /// pool.grow(192)?;
    /// assert_eq!((pool.capacity(), pool.available()), (256, 256));
    /// // The memory of the upper blocks is needed elsewhere. Two of them are held.
    /// let held = pool.reserve(66)?.take(&mut worker, 66)?;
    /// let shrunk = pool.shrink(&mut worker, 192)?;
    /// assert_eq!((shrunk.offline, shrunk.draining), (190, 2));
    /// drop(held);
    /// assert_eq!(pool.shrink(&mut worker, 0)?.draining, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ResizeError::BeyondMax`]: more than [`max_blocks`](Self::max_blocks). [`ResizeError::InProgress`]: another thread is
    /// growing or shrinking the pool; a thread that stopped in there for ever ends that, and nothing else.
    ///
    /// One read-modify-write for each 64 ids, and one for each 64 blocks that come online. No allocation. Nobody waits for it.
    pub fn grow(&self, n: usize) -> Result<Grown, ResizeError> {
        Ok(self.core.prepare_grow(n)?.finish())
    }

    /// Takes the upper `n` of the blocks below the limit out of service, so that their memory can be used for something else. No live
    /// block moves.
    ///
    /// What is published there, held or not, and all below it in the tree is no longer findable. Free and idle blocks go offline
    /// at once, and idle ones elsewhere that hung below them become free. Held blocks stay valid for their owners: they *drain*, are
    /// published no more, and go offline when they are released. The memory of a block may be given away once it is offline: of all
    /// from the limit on, when nothing is left [draining](Shrunk::draining). [`grow`](Self::grow) takes a shrink back.
    ///
    /// `shrink(.., 0)` moves nothing and collects what did not go by itself: a block that another thread released during a
    /// shrink, one with children when it was released, or one that a truncated sequence gave back into its promise. To be called from
    /// time to time while blocks drain.
    ///
    /// # Errors
    /// Nothing changes. [`ResizeError::Refused`] with [`Refused::Shortfall`]: the free and idle blocks that are to go (`needed`) are more
    /// than those promised to nobody. [`ResizeError::NothingLeft`]: no block would be online. [`ResizeError::InProgress`]: another thread
    /// is growing or shrinking the pool. [`ResizeError::OutOfMemory`]: no memory for the list of blocks.
    /// [`ResizeError::WrongPool`].
    ///
    /// A few passes over all blocks. Allocates as [`clear`](Self::clear) does. Nobody waits for it.
    pub fn shrink(&self, worker: &mut Worker, n: usize) -> Result<Shrunk, ResizeError> {
        worker.belongs(&self.core)?;
        Ok(self.core.prepare_shrink(n)?.finish())
    }

    /// Frees up to `n` idle blocks, in the order of reclaim, and returns how many. Reservations stand: it evicts no more than is
    /// available.
    ///
    /// As taking them; and looks at the bitmap once.
    ///
    /// # Errors
    /// [`WrongPool`].
    pub fn evict(&self, worker: &mut Worker, n: usize) -> Result<usize, WrongPool> {
        worker.belongs(&self.core)?;
        let most = n.min(self.available()).min(self.core.idle());
        let mut evicted = 0;
        while evicted < most {
            let want = (most - evicted).min(HAND);
            let Ok(credits) = u32::try_from(want.min(self.available())) else {
                break;
            };
            if credits == 0 {
                break;
            }
            if self.core.credits.withdraw_available(credits).is_err() {
                // Somebody took some: as many as there are now.
                continue;
            }
            let mut hand = [BlockId::NONE; HAND];
            let got = self.core.reclaim(worker, &mut hand[..credits as usize]);
            let limit = self.core.capacity();
            let retired: u32 = hand[..got]
                .iter()
                .map(|&block| {
                    let (word, bit) = FreeMap::<64>::place(block);
                    self.core.put_back(word, bit, limit)
                })
                .sum();
            self.core.credits.deposit(credits - retired);
            evicted += got;
            if got == 0 {
                break;
            }
        }
        Ok(evicted)
    }

    /// Makes every block of a namespace, or of all, unfindable, and frees those that nobody holds as far as reservations allow. The
    /// held ones stay valid for their owners, and become free when they are released, after what was published below them. Returns how
    /// many became free.
    ///
    /// What is published while this runs may stay. Namespaces are told apart here by 39 bits of their digest (hits are compared by
    /// all 128): among very many, another one may lose its cache with this one.
    ///
    /// # Errors
    /// [`ClearError::OutOfMemory`]: no memory for the list of blocks. [`ClearError::WrongPool`].
    ///
    /// A few passes over all blocks.
    pub fn clear(
        &self,
        worker: &mut Worker,
        namespace: Option<&Namespace>,
    ) -> Result<usize, ClearError> {
        worker
            .belongs(&self.core)
            .map_err(|WrongPool| ClearError::WrongPool)?;
        self.core.clear(match namespace {
            Some(namespace) => Root::Namespace(Link::root(self.core.space(namespace).tag())),
            None => Root::All,
        })
    }

    /// Makes one published block and everything below it unfindable, because its content is bad: lookups stop there at once.
    /// Held ones stay valid for their owners, and become free when they are released. Returns how many blocks became free.
    ///
    /// # Errors
    /// [`InvalidateError::NotPublished`]: nothing to take back. [`InvalidateError::OutOfRange`], [`InvalidateError::OutOfMemory`],
    /// [`InvalidateError::WrongPool`].
    ///
    /// A few passes over all blocks.
    pub fn invalidate(
        &self,
        worker: &mut Worker,
        block: BlockId,
    ) -> Result<usize, InvalidateError> {
        worker
            .belongs(&self.core)
            .map_err(|WrongPool| InvalidateError::WrongPool)?;
        self.core.invalidate(block)
    }

    /// Does up to `steps` of the reclaimer's work beforehand: drops tokens of held blocks at the head of the order. Returns how
    /// many. Never needed, but keeps the longest call short after many hits.
    ///
    /// # Errors
    /// [`WrongPool`].
    pub fn maintain(&self, worker: &mut Worker, steps: usize) -> Result<usize, WrongPool> {
        worker.belongs(&self.core)?;
        Ok(self.core.maintain(steps))
    }

    /// Recounts everything from the blocks and from the tables of all holders. At rest only: calls under way look like
    /// inconsistencies.
    ///
    /// # Errors
    /// The first [`Inconsistency`]; [`OutOfMemory`](Inconsistency::OutOfMemory) says nothing about the pool.
    ///
    /// Passes over all blocks. Allocates.
    pub fn audit(&self, holders: &[&dyn Holder]) -> Result<(), Inconsistency> {
        self.core.audit(holders)
    }

    /// Reads the events from the first on. `None` if the pool keeps none.
    #[must_use]
    pub fn events(&self) -> Option<EventReader<'_>> {
        self.core.events.as_ref().map(EventReader::new)
    }

    /// Every findable copy, and which events that contains. Allocates, and aborts where there is no memory:
    /// [`try_snapshot`](Self::try_snapshot) tells.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        or_abort(self.try_snapshot())
    }

    /// Every findable copy, and which events that contains, if there is memory for the list.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// A pass over all blocks. Allocates.
    pub fn try_snapshot(&self) -> Result<Snapshot, OutOfMemory> {
        let range = || self.core.events.as_ref().map_or((0, 0), EventRing::range);
        let (from, _) = range();
        let mut copies: alloc::vec::Vec<Findable> = alloc::vec::Vec::new();
        for block in self.core.ids() {
            let state = self.core.state(block).load(Acquire);
            if !state.is_findable() {
                continue;
            }
            let copy = self.core.findable(block, state.generation());
            // What was read is its description only if it still is the same copy.
            crate::sync::fence(Acquire);
            if self.core.state(block).load(Acquire).generation() == state.generation() {
                try_push(&mut copies, copy)?;
            }
        }
        copies.sort_unstable_by_key(|copy| (copy.depth, copy.block));
        let (_, to) = range();
        Ok(Snapshot { copies, from, to })
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<BlockPool>();
    shared::<Reservation<'_>>();
    shared::<Blocks<'_>>();
    shared::<Chain<'_>>();
    sent::<Worker>();
};
