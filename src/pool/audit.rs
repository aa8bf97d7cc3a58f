//! Recounts everything from the blocks and from the holders' tables, and names the first block that disagrees.

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use hashbrown::HashMap;

use super::blocks::Blocks;
use super::chain::Chain;
use super::core::Core;
use super::index::Index;
use super::lane::Lane;
use super::node::Link;
use super::reservation::Reservation;
use crate::array::{try_bits, try_repeat};
use crate::block::BlockId;
use crate::error::OutOfMemory;
use crate::sync::Ordering::Acquire;

/// Somebody who holds blocks or credits of a pool: a [`Reservation`], [`Blocks`], a [`Chain`], a [`Lane`] and what is made of these.
pub trait Holder: sealed::Holds {}
impl Holder for Reservation<'_> {}
impl Holder for Blocks<'_> {}
impl Holder for Chain<'_> {}
impl Holder for Lane {}

pub(crate) fn address(core: &Core) -> *const () {
    core::ptr::from_ref(core).cast()
}

pub(crate) use sealed::Holds;

mod sealed {
    use super::{BlockId, Blocks, Chain, Lane, Reservation, address};

    pub trait Holds {
        /// The address of the pool's core.
        #[doc(hidden)]
        fn pool(&self) -> *const ();
        #[doc(hidden)]
        fn credits(&self) -> usize {
            0
        }
        /// Calls `visit` for each reference.
        #[doc(hidden)]
        fn references(&self, _visit: &mut dyn FnMut(BlockId)) {}
        /// Calls `visit` for each of these that waits for a fence.
        #[doc(hidden)]
        fn fences(&self, _visit: &mut dyn FnMut(BlockId)) {}
    }
    impl Holds for Reservation<'_> {
        fn pool(&self) -> *const () {
            address(self.core())
        }
        fn credits(&self) -> usize {
            self.len()
        }
    }
    impl Holds for Blocks<'_> {
        fn pool(&self) -> *const () {
            address(self.core())
        }
        fn references(&self, visit: &mut dyn FnMut(BlockId)) {
            self.ids().iter().copied().for_each(visit);
        }
    }
    impl Holds for Chain<'_> {
        fn pool(&self) -> *const () {
            address(self.core())
        }
        fn references(&self, visit: &mut dyn FnMut(BlockId)) {
            self.raw().held().for_each(visit);
        }
    }
    impl Holds for Lane {
        fn pool(&self) -> *const () {
            address(self.core())
        }
        fn references(&self, visit: &mut dyn FnMut(BlockId)) {
            self.waiting().for_each(visit);
        }
        fn fences(&self, visit: &mut dyn FnMut(BlockId)) {
            self.waiting().for_each(visit);
        }
    }
}

/// The first thing that an audit found not to add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inconsistency {
    /// There was no memory to count all: nothing is known to be wrong.
    OutOfMemory,
    /// A holder is another pool's.
    ForeignHolder,
    /// The block's count of references is not what the holders hold.
    References {
        /// Which.
        block: BlockId,
        /// What its state says.
        counted: u64,
        /// What the holders given hold.
        held: u64,
    },
    /// The block's count of references that wait for fences is not what the lanes have.
    Fences {
        /// Which.
        block: BlockId,
        /// What is counted for it.
        counted: u64,
        /// What waits in the lanes given.
        waiting: u64,
    },
    /// The number of quarantined blocks is not that of the blocks which only fences hold.
    Quarantined {
        /// What is counted.
        recorded: usize,
        /// Blocks that only fences hold.
        blocks: usize,
    },
    /// The bitmap and the block's state disagree on whether it is free.
    Free {
        /// Which.
        block: BlockId,
        /// What the bitmap says.
        in_bitmap: bool,
    },
    /// A block is marked offline that is below the limit, held, published or free; or one is findable at the limit or above.
    Offline {
        /// Which.
        block: BlockId,
    },
    /// A summary of the bitmap hides free blocks.
    Summary {
        /// The first of them.
        block: BlockId,
    },
    /// A published block's parent is not the one it was published below.
    Orphan {
        /// Which.
        block: BlockId,
    },
    /// A held block's parent is not held, so the parent's credit could not be spent.
    HeldUnderIdle {
        /// Which.
        block: BlockId,
    },
    /// The count of children is not the number of published blocks that name this parent.
    Children {
        /// Which.
        block: BlockId,
        /// What its word says.
        counted: u64,
        /// How many name it.
        named: u64,
    },
    /// A published block is not in the index exactly once, in one of its buckets; or an unpublished one is.
    Index {
        /// Which.
        block: BlockId,
    },
    /// A block's tokens in the ring are not what its state says.
    Tokens {
        /// Which.
        block: BlockId,
        /// Tokens in the ring.
        tokens: usize,
    },
    /// An idle block has no token.
    IdleWithoutToken {
        /// Which.
        block: BlockId,
    },
    /// Credits are not the free and idle blocks.
    Credits {
        /// Available and reserved credits.
        recorded: usize,
        /// Free and idle blocks.
        blocks: usize,
    },
    /// Reserved credits are not what the holders were promised.
    Reserved {
        /// What the credits say.
        recorded: usize,
        /// What the reservations given have left.
        promised: usize,
    },
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ForeignHolder => f.write_str("a holder belongs to another pool"),
            Self::OutOfMemory => f.write_str("no memory for an audit"),
            Self::References {
                block,
                counted,
                held,
            } => {
                write!(
                    f,
                    "block {block} counts {counted} references, its holders have {held}"
                )
            }
            Self::Fences {
                block,
                counted,
                waiting,
            } => {
                write!(
                    f,
                    "block {block} counts {counted} fences, {waiting} wait in the lanes"
                )
            }
            Self::Quarantined { recorded, blocks } => {
                write!(
                    f,
                    "{recorded} quarantined blocks counted, fences alone hold {blocks}"
                )
            }
            Self::Free {
                block,
                in_bitmap: true,
            } => {
                write!(
                    f,
                    "block {block} is in the bitmap of free blocks, but is not free"
                )
            }
            Self::Free {
                block,
                in_bitmap: false,
            } => write!(f, "block {block} is free, but not in the bitmap"),
            Self::Offline { block } => {
                write!(f, "block {block} and the limit of the pool disagree")
            }
            Self::Summary { block } => write!(f, "a summary of the bitmap hides block {block}"),
            Self::Orphan { block } => write!(f, "block {block} is published, its parent is not"),
            Self::HeldUnderIdle { block } => write!(f, "block {block} is held, its parent is not"),
            Self::Children {
                block,
                counted,
                named,
            } => {
                write!(
                    f,
                    "block {block} counts {counted} children, {named} name it"
                )
            }
            Self::Index { block } => write!(f, "block {block} and the index disagree"),
            Self::Tokens { block, tokens } => write!(
                f,
                "block {block} has {tokens} tokens, its state says otherwise"
            ),
            Self::IdleWithoutToken { block } => write!(f, "block {block} is idle and has no token"),
            Self::Credits { recorded, blocks } => {
                write!(f, "{recorded} credits for {blocks} free and idle blocks")
            }
            Self::Reserved { recorded, promised } => {
                write!(f, "{recorded} credits reserved, {promised} promised")
            }
        }
    }
}
impl Error for Inconsistency {}

impl From<OutOfMemory> for Inconsistency {
    fn from(OutOfMemory: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// What the state of a shard is to be, as its owners know it.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// References of each block.
    pub(crate) held: Vec<u64>,
    /// Those of them that wait for fences.
    pub(crate) fenced: Vec<u64>,
    /// Credits set aside.
    pub(crate) promised: usize,
    /// What threads that stopped in the middle have not given back.
    pub(crate) stopped: Stopped,
}

/// What is in the hands of stopped threads; nothing, at rest.
#[derive(Debug, Default)]
pub(crate) struct Stopped {
    /// Tokens.
    pub(crate) tokens: Vec<BlockId>,
    /// Credits withdrawn for which there is no block yet, or whose block has come back without them.
    pub(crate) credits: usize,
    /// Claimed blocks whose old identity has not been settled, and their parents.
    pub(crate) claims: Vec<(BlockId, Link)>,
}

impl Stopped {
    fn has_claimed(&self, block: BlockId) -> bool {
        self.claims.iter().any(|&(claimed, _)| claimed == block)
    }
}

impl Core {
    /// See [`BlockPool::audit`](crate::BlockPool::audit).
    pub(crate) fn audit(&self, holders: &[&dyn Holder]) -> Result<(), Inconsistency> {
        if holders.iter().any(|holder| holder.pool() != address(self)) {
            return Err(Inconsistency::ForeignHolder);
        }
        let mut account = Account {
            held: try_repeat(0, self.states.len())?,
            fenced: try_repeat(0, self.states.len())?,
            promised: holders.iter().map(|holder| holder.credits()).sum(),
            stopped: Stopped::default(),
        };
        for holder in holders {
            holder.references(&mut |block| account.held[block.index()] += 1);
            holder.fences(&mut |block| account.fenced[block.index()] += 1);
        }
        self.audit_account(&account)
    }

    /// Compares everything with the account.
    pub(crate) fn audit_account(&self, account: &Account) -> Result<(), Inconsistency> {
        self.audit_states(account)?;
        self.audit_quarantine(account)?;
        self.audit_tree(&account.stopped)?;
        self.audit_index(&account.stopped)?;
        self.audit_tokens(&account.stopped)?;
        self.audit_credits(account)
    }

    fn audit_states(&self, account: &Account) -> Result<(), Inconsistency> {
        for (block, &held) in self.ids().zip(&account.held) {
            let state = self.state(block).load(Acquire);
            if state.references() != held {
                return Err(Inconsistency::References {
                    block,
                    counted: state.references(),
                    held,
                });
            }
            if account.stopped.has_claimed(block) {
                continue;
            }
            let in_bitmap = self.free.contains(block);
            let offline = self.offline.contains(block);
            let above = block.index() >= self.capacity();
            let in_use = in_bitmap || state.is_published() || held > 0;
            if offline && (in_use || !above) || above && state.is_findable() {
                return Err(Inconsistency::Offline { block });
            }
            if in_bitmap != (!offline && !state.is_published() && held == 0) {
                return Err(Inconsistency::Free { block, in_bitmap });
            }
        }
        self.free.audit().map_err(|word| Inconsistency::Summary {
            block: BlockId::from_index(word * 64),
        })
    }

    fn audit_quarantine(&self, account: &Account) -> Result<(), Inconsistency> {
        let mut blocks = 0;
        for (block, &waiting) in self.ids().zip(&account.fenced) {
            let counted = self.quarantine.fences(block);
            let state = self.state(block).load(Acquire);
            if counted != waiting || state.is_fenced() != (waiting > 0) {
                return Err(Inconsistency::Fences {
                    block,
                    counted,
                    waiting,
                });
            }
            blocks += usize::from(self.is_quarantined(block, state));
        }
        let recorded = self.quarantine.blocks();
        if recorded != blocks {
            return Err(Inconsistency::Quarantined { recorded, blocks });
        }
        Ok(())
    }

    fn audit_tree(&self, stopped: &Stopped) -> Result<(), Inconsistency> {
        let mut named: HashMap<Link, u64> = HashMap::new();
        let mut name = |parent| {
            named.try_reserve(1).map_err(|_| OutOfMemory)?;
            *named.entry(parent).or_default() += 1;
            Ok::<(), OutOfMemory>(())
        };
        let published = || {
            self.ids()
                .map(|block| (block, self.state(block).load(Acquire)))
                .filter(|(_, s)| s.is_published())
        };
        for (block, state) in published() {
            let link = self.nodes.get(block).parent();
            if let Some(parent) = link.block() {
                let above = self.state(parent).load(Acquire);
                if !above.is_published() || above.generation() != link.generation() {
                    return Err(Inconsistency::Orphan { block });
                }
                if state.references() > 0 && above.references() == 0 {
                    return Err(Inconsistency::HeldUnderIdle { block });
                }
                name(link)?;
            }
        }
        for &(_, parent) in &stopped.claims {
            name(parent)?;
        }
        for (block, state) in published() {
            let children = self.nodes.get(block).children();
            let named = named
                .get(&Link::new(block, state.generation()))
                .copied()
                .unwrap_or(0);
            if children.generation() != state.generation() || children.count() != named {
                return Err(Inconsistency::Children {
                    block,
                    counted: children.count(),
                    named,
                });
            }
        }
        Ok(())
    }

    fn audit_index(&self, stopped: &Stopped) -> Result<(), Inconsistency> {
        let mut seen = try_bits(self.states.len())?;
        for (bucket, block) in self.index.entries() {
            if stopped.has_claimed(block) {
                continue;
            }
            let state = self.state(block).load(Acquire);
            if !state.is_published()
                || seen.replace(block.index(), true)
                || !Index::is_home(self.home_of(block), bucket)
            {
                return Err(Inconsistency::Index { block });
            }
        }
        let lost = self
            .ids()
            .find(|&block| self.state(block).load(Acquire).is_published() && !seen[block.index()]);
        lost.map_or(Ok(()), |block| Err(Inconsistency::Index { block }))
    }

    fn audit_tokens(&self, stopped: &Stopped) -> Result<(), Inconsistency> {
        let mut tokens = try_repeat(0, self.states.len())?;
        self.order
            .tokens()
            .chain(stopped.tokens.iter().copied())
            .for_each(|token| tokens[token.index()] += 1);
        for (block, tokens) in self.ids().zip(tokens) {
            let state = self.state(block).load(Acquire);
            if tokens != usize::from(state.is_queued()) {
                return Err(Inconsistency::Tokens { block, tokens });
            }
            if state.is_idle() && !state.is_queued() {
                return Err(Inconsistency::IdleWithoutToken { block });
            }
        }
        Ok(())
    }

    fn audit_credits(&self, account: &Account) -> Result<(), Inconsistency> {
        let now = self.credits.now();
        let (available, reserved) = (now.available as usize, now.reserved as usize);
        let blocks = self
            .ids()
            .filter(|&block| !self.offline.contains(block))
            .filter(|&block| self.state(block).load(Acquire).references() == 0)
            .count();
        if available + reserved + account.stopped.credits != blocks {
            return Err(Inconsistency::Credits {
                recorded: available + reserved,
                blocks,
            });
        }
        if reserved != account.promised {
            return Err(Inconsistency::Reserved {
                recorded: reserved,
                promised: account.promised,
            });
        }
        Ok(())
    }
}
