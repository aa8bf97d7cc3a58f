//! The arrays of one shard. Operations on them stand in files of their own.

use alloc::boxed::Box;

use super::config::PoolConfig;
use super::credits::Credits;
use super::free::FreeMap;
use super::index::{Home, Index};
use super::node::Nodes;
use super::offline::Offline;
use super::order::TokenRing;
use super::packed::Atomic;
use super::quarantine::Quarantine;
use super::state::{State, StateWord};
use super::tally::{Counter, Tallies};
use crate::array::array;
use crate::block::{BlockId, ShardId};
use crate::error::{CreateError, Refused};
use crate::event::{EventRing, Findable};
use crate::prefix::{ExtraKey, Hasher, Identity, Namespace, Proof, Secret, SipHasher13, Space};
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicU32, AtomicU64, Padded, unmodelled};

/// One shard. Made once; its arrays never move or grow, so nothing in it needs deferred reclamation.
///
/// The state words are the truth; bitmap, order and index are hints that an operation on the state word confirms.
pub(crate) struct Core {
    /// In lockstep it is the smallest rank, which may become another.
    shard: unmodelled::AtomicU32,
    pub(crate) block_size: usize,
    /// Ids below this are online. Moved by whoever has set `resizing`; see `elastic.rs`.
    limit: AtomicU32,
    /// 1 while the limit is being moved.
    pub(crate) resizing: AtomicU32,
    pub(crate) secret: Secret,
    /// That of the bare model: most pools know no other.
    bare: Space,
    pub(crate) hasher: Hasher,
    pub(crate) proof: Proof,
    pub(crate) states: Box<[StateWord]>,
    pub(crate) credits: Credits,
    pub(crate) free: FreeMap,
    pub(crate) offline: Offline,
    pub(crate) order: TokenRing,
    pub(crate) nodes: Nodes,
    pub(crate) index: Index,
    pub(crate) quarantine: Quarantine,
    pub(crate) events: Option<EventRing>,
    /// Grows with each call that cuts blocks which may have children. See `cut.rs`.
    pub(crate) cuts: Padded<AtomicU64>,
    pub(crate) tallies: Tallies,
    /// Of the next sequence or ticket, in whichever registry.
    epochs: unmodelled::AtomicU64,
}

impl Core {
    pub(crate) fn new(config: &PoolConfig) -> Result<Self, CreateError> {
        config.check()?;
        let max = config.max_blocks;
        let secret = Secret::from_bytes(config.secret);
        let online = u32::try_from(config.blocks).unwrap_or(u32::MAX);
        let events = if config.events > 0 {
            Some(EventRing::new(config.events)?)
        } else {
            None
        };
        Ok(Self {
            shard: unmodelled::AtomicU32::new(config.shard.get()),
            block_size: config.block_size,
            limit: AtomicU32::new(online),
            resizing: AtomicU32::new(0),
            secret,
            bare: Space::new(&Namespace::new(), secret),
            hasher: match &config.hasher {
                Some(hasher) => hasher.clone(),
                None => Hasher::Sip(SipHasher13::new(config.secret)),
            },
            proof: config.proof,
            states: array(max, |_| Atomic::new(State::FREE))?,
            credits: Credits::new(online),
            free: FreeMap::new(max, config.blocks)?,
            offline: Offline::new(max, config.blocks)?,
            order: TokenRing::new(max)?,
            nodes: Nodes::new(max, config.block_size, config.proof)?,
            index: Index::new(max)?,
            quarantine: Quarantine::new(max)?,
            events,
            cuts: Padded(AtomicU64::new(0)),
            tallies: Tallies::new()?,
            epochs: unmodelled::AtomicU64::new(first_epoch(config.shard)),
        })
    }

    /// The shard that refusals name. Relaxed: only a name.
    pub(crate) fn shard(&self) -> ShardId {
        ShardId::new(self.shard.load(Relaxed))
    }

    pub(crate) fn rename(&self, shard: ShardId) {
        self.shard.store(shard.get(), Relaxed);
    }

    #[inline]
    pub(crate) fn state(&self, block: BlockId) -> &StateWord {
        &self.states[block.index()]
    }

    /// A number that no other sequence or ticket of this pool has. Relaxed: each call changes it.
    pub(crate) fn next_epoch(&self) -> u64 {
        self.epochs.fetch_add(1, Relaxed)
    }

    /// Blocks below the limit.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.limit.load(Relaxed) as usize
    }

    /// Only for whoever is resizing. A pool has no more blocks than fit.
    pub(crate) fn move_limit(&self, to: usize) {
        self.limit
            .store(u32::try_from(to).unwrap_or(u32::MAX), Relaxed);
    }

    /// Idle blocks: those with a credit that are not free. An estimate while others work.
    pub(crate) fn idle(&self) -> usize {
        let now = self.credits.now();
        (now.available as usize + now.reserved as usize).saturating_sub(self.free.count())
    }

    /// Bytes of all arrays.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val::<[StateWord]>(&self.states)
            + self.free.bytes()
            + self.offline.bytes()
            + self.order.bytes()
            + self.nodes.node_bytes()
            + self.nodes.content_bytes()
            + self.index.bytes()
            + self.quarantine.bytes()
            + self.events.as_ref().map_or(0, EventRing::bytes)
            + self.tallies.bytes()
    }

    /// Every id, online or not.
    pub(crate) fn ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.states.len()).map(BlockId::from_index)
    }

    /// A namespace as this pool knows it.
    #[inline]
    pub(crate) fn space(&self, namespace: &Namespace) -> Space {
        if namespace.is_bare() {
            self.bare
        } else {
            Space::new(namespace, self.secret)
        }
    }

    /// What a block with these tokens is compared by.
    #[inline]
    pub(crate) fn identity<'a>(&self, tokens: &'a [u32], extra: ExtraKey) -> Identity<'a> {
        Identity::new(tokens, extra, self.proof, self.secret)
    }

    /// Where the index has a published block.
    #[inline]
    pub(crate) fn home_of(&self, block: BlockId) -> Home {
        let node = self.nodes.get(block);
        self.index.home(node.key(), node.depth())
    }

    /// A published block as events tell of it. Its parent must be there still: it is while the block is.
    pub(crate) fn findable(&self, block: BlockId, generation: u64) -> Findable {
        let node = self.nodes.get(block);
        Findable {
            block,
            generation,
            key: node.key(),
            parent_key: node
                .parent()
                .block()
                .map(|parent| self.nodes.get(parent).key()),
            depth: node.depth(),
        }
    }

    /// Whether `n` credits could be set aside, on top of `held` that are part of the same promise.
    #[inline]
    pub(crate) fn check(&self, n: usize, held: usize) -> Result<u32, Refused> {
        let capacity = self.capacity();
        let needed = n.saturating_add(held);
        match u32::try_from(n) {
            Ok(credits) if needed <= capacity => {
                let available = self.credits.now().available;
                if credits > available {
                    Err(self.shortfall(n, available))
                } else {
                    Ok(credits)
                }
            }
            _ => Err(Refused::NeverFits {
                shard: self.shard(),
                needed,
                capacity,
            }),
        }
    }

    pub(crate) fn shortfall(&self, needed: usize, available: u32) -> Refused {
        Refused::Shortfall {
            shard: self.shard(),
            needed,
            available: available as usize,
            quarantined: self.returning(),
        }
    }

    /// Sets `n` credits aside, on top of `held`. Decides as [`check`](Self::check) does.
    #[inline]
    pub(crate) fn reserve(&self, n: usize, held: usize) -> Result<u32, Refused> {
        let granted = self.check(n, held).and_then(|credits| {
            self.credits
                .reserve(credits)
                .map_err(|available| self.shortfall(n, available))?;
            Ok(credits)
        });
        if let Err(refused) = granted {
            self.count_refusal(refused);
        }
        granted
    }

    #[cold]
    pub(crate) fn count_refusal(&self, refused: Refused) {
        self.tallies.count_anywhere(match refused {
            Refused::NeverFits { .. } => Counter::RefusedNever,
            Refused::Shortfall { .. } => Counter::RefusedShortfall,
        });
    }
}

/// Where a pool begins to count: far apart for different shards, the same on every machine, and never zero.
const fn first_epoch(shard: ShardId) -> u64 {
    (shard.get() as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(1)
}

impl core::fmt::Debug for Core {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Core")
            .field("shard", &self.shard())
            .field("capacity", &self.capacity())
            .field("block_size", &self.block_size)
            .field("credits", &self.credits)
            .finish_non_exhaustive()
    }
}
