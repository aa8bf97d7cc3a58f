//! Taking findability back: `invalidate`, `clear`, and what `shrink` does to the content of blocks that are to go.
//!
//! *Cut* ends it at once for one block, held or not; lookups stop there, so everything below is out of reach too. What is below is
//! then cut as well, deepest first, so that each copy's event goes out in an order that a router can follow. Then the
//! idle ones become free: once round the ring of tokens, which takes their places out of the order with them and leaves the
//! others' as they were. It needs a credit at hand (reservations stand); without one they are reclaimed by anyone later. The held ones
//! become free with their last reference (`release.rs`), those with children excepted: they are reclaimed after them.
//!
//! Somebody may be publishing below a block just when it is cut. The pool's `cuts` number tells: it is raised before each scan,
//! and a publisher compares it before and after. Either the scan sees what was published, or the publisher sees the number
//! change and looks for cuts in its own chain ([`cut_what_hangs`](Core::cut_what_hangs)). So no findable-looking block is left
//! below a cut one, or at the limit or above, and at rest the events replayed are what can be found.
//!
//! # Orderings
//! Cutter: CAS *cut*; raise `cuts`; SeqCst fence; load the states. Publisher: store the state; SeqCst fence; load `cuts`.
//! Both are store, fence, load on two words: at least one of them sees the other's store (model `publish-vs-invalidate`).
//!
//! # Complexity
//! A few passes over all blocks, however many others publish meanwhile: what was not there when the call began is cut only if it hangs
//! below something that was. Allocates 24 bytes a block and 16 a block removed.

use alloc::vec::Vec;

use super::claim::{Cut, Token};
use super::core::Core;
use super::credits::Credits;
use super::free::FreeMap;
use super::node::Link;
use super::order::Hand;
use super::state::State;
use crate::block::BlockId;
use crate::error::{ClearError, InvalidateError};
use crate::event::{EventKind, Findable};
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use crate::sync::fence;

/// What is to be cut with everything below it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Root {
    /// First blocks of the namespace that this link stands for.
    Namespace(Link),
    /// Every first block.
    All,
    /// Blocks from this id on, wherever they hang.
    Above(usize),
    /// Whatever hangs below a block that is cut.
    Cut,
}

impl Root {
    /// Whether everything below this place is meant; `None`: look further up.
    fn decides(self, at: Link, is_cut: bool) -> Option<bool> {
        match self {
            Self::Cut if is_cut => Some(true),
            Self::Above(limit) if at.block().is_some_and(|block| block.index() >= limit) => {
                Some(true)
            }
            Self::Namespace(namespace) if at.is_root() => Some(namespace == at),
            _ if at.is_root() => Some(matches!(self, Self::All)),
            _ => None,
        }
    }
}

/// What is known of a node at one generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    node: Option<Link>,
    below: bool,
}

impl Known {
    const NOTHING: Self = Self {
        node: None,
        below: false,
    };
}

/// One block to cut: deepest first, then by id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Doomed {
    depth: core::cmp::Reverse<u32>,
    block: BlockId,
    generation: u64,
}

/// Memory for one pass, had before anything is changed.
#[derive(Debug)]
pub(crate) struct Scratch {
    known: Vec<Known>,
    doomed: Vec<Doomed>,
}

impl Scratch {
    pub(crate) fn new(blocks: usize) -> Option<Self> {
        let mut known = Vec::new();
        known.try_reserve_exact(blocks).ok()?;
        known.resize(blocks, Known::NOTHING);
        let mut doomed = Vec::new();
        doomed.try_reserve(64).ok()?;
        Some(Self { known, doomed })
    }
}

/// The credits in hand of a call that frees blocks: it needs one while it takes a block, and a block that goes offline takes one along.
#[derive(Debug)]
pub(crate) struct Float {
    credits: u32,
    /// Blocks that took one along.
    retired: u32,
}

impl Float {
    pub(crate) const fn new(credits: u32) -> Self {
        Self {
            credits,
            retired: 0,
        }
    }

    /// Whether there is a credit, in hand or to be had.
    pub(crate) fn has_one(&mut self, credits: &Credits) -> bool {
        if self.credits == 0 && credits.withdraw_available(1).is_ok() {
            self.credits = 1;
        }
        self.credits > 0
    }

    /// Blocks go offline, no more than there are credits in hand.
    pub(crate) const fn retire(&mut self, blocks: u32) {
        self.credits -= blocks;
        self.retired += blocks;
    }

    /// Gives back what is left, and returns how many blocks went offline.
    pub(crate) fn close(self, credits: &Credits) -> usize {
        credits.deposit(self.credits);
        self.retired as usize
    }
}

impl Core {
    /// Takes back one block and all below it. Returns how many became free.
    pub(crate) fn invalidate(&self, block: BlockId) -> Result<usize, InvalidateError> {
        let max = self.states.len();
        if block.index() >= max {
            return Err(InvalidateError::OutOfRange {
                block,
                capacity: max,
            });
        }
        let mut scratch = Scratch::new(self.states.len()).ok_or(InvalidateError::OutOfMemory)?;
        let current = self.state(block).load(Acquire);
        let told = current
            .is_findable()
            .then(|| self.cut_any(block, current.generation()))
            .flatten();
        let Some(Cut(told)) = told else {
            return Err(InvalidateError::NotPublished { block });
        };
        self.fell(Root::Cut, EventKind::Removed, &mut scratch);
        self.tell(EventKind::Removed, told);
        Ok(self.free_all_that_is_cut())
    }

    /// Takes back every block of a namespace, or every block. Returns how many became free.
    pub(crate) fn clear(&self, root: Root) -> Result<usize, ClearError> {
        let mut scratch = Scratch::new(self.states.len()).ok_or(ClearError::OutOfMemory)?;
        self.fell(root, EventKind::Cleared, &mut scratch);
        Ok(self.free_all_that_is_cut())
    }

    fn free_all_that_is_cut(&self) -> usize {
        let mut float = Float::new(0);
        let freed = self.free_what_is_cut(&mut float);
        float.close(&self.credits);
        freed
    }

    /// A block was cut and has children after all: they are cut too, and then it is told of. Without memory for it they are only
    /// out of reach, and told of when they are reclaimed.
    #[cold]
    pub(crate) fn tell_subtree_gone(&self, told: Option<Findable>) {
        if self.events.is_some() {
            if let Some(mut scratch) = Scratch::new(self.states.len()) {
                self.fell(Root::Cut, EventKind::Removed, &mut scratch);
            }
        }
        self.tell(EventKind::Removed, told);
    }

    /// Cuts everything below the root (and the root too, if it is a namespace or a range of blocks), then whatever was published
    /// below that meanwhile. That ends: who publishes sees the cut at the next call. Of the latter nobody knows who cut what it hangs below,
    /// so it is told as a publisher tells it.
    pub(crate) fn fell(&self, root: Root, kind: EventKind, scratch: &mut Scratch) {
        let (mut root, mut kind) = (root, kind);
        loop {
            self.cuts.0.fetch_add(1, AcqRel);
            fence(SeqCst);
            let all = self.find_doomed(root, scratch);
            scratch.doomed.sort_unstable();
            for doomed in &scratch.doomed {
                if let Some(Cut(told)) = self.cut_any(doomed.block, doomed.generation) {
                    self.tell(kind, told);
                }
            }
            if all {
                if matches!(root, Root::Cut) && scratch.doomed.is_empty() {
                    return;
                }
                root = Root::Cut;
                kind = EventKind::Removed;
            }
        }
    }

    /// Collects the findable blocks below the root. False: there was no memory for all of them.
    fn find_doomed(&self, root: Root, scratch: &mut Scratch) -> bool {
        let Scratch { known, doomed } = scratch;
        known.fill(Known::NOTHING);
        doomed.clear();
        for block in self.ids() {
            let state = self.state(block).load(Acquire);
            if !state.is_findable() || !self.is_below(block, state.generation(), root, known) {
                continue;
            }
            if doomed.len() == doomed.capacity() && doomed.try_reserve(doomed.len()).is_err() {
                return false;
            }
            let depth = core::cmp::Reverse(self.nodes.get(block).depth());
            doomed.push(Doomed {
                depth,
                block,
                generation: state.generation(),
            });
        }
        true
    }

    /// The node's parent, and whether the node is cut; `None` if it is another node by now.
    fn look_up(&self, node: Link) -> Option<(Link, bool)> {
        let block = node.block()?;
        let same = |state: State| state.is_published() && state.generation() == node.generation();
        let state = self.state(block).load(Acquire);
        let parent = self.nodes.get(block).parent();
        // As a sequence lock: what was read is of this generation.
        fence(Acquire);
        (same(state) && same(self.state(block).load(Relaxed))).then_some((parent, state.is_cut()))
    }

    /// Whether the way up from a findable block leads to the root. Remembers what it learns on the way, by generation.
    fn is_below(&self, block: BlockId, generation: u64, root: Root, known: &mut [Known]) -> bool {
        let start = Link::new(block, generation);
        let mut at = start;
        let mut verdict = false;
        // No further than the chain is long: a way that is changing under our feet has an end.
        for _ in 0..self.nodes.get(block).depth() as usize + 2 {
            let known = at.block().map(|block| known[block.index()]);
            if let Some(known) = known.filter(|known| known.node == Some(at)) {
                verdict = known.below;
                break;
            }
            let looked = self.look_up(at);
            let is_cut = looked.is_some_and(|(_, is_cut)| is_cut);
            if let Some(decided) = root.decides(at, is_cut) {
                verdict = decided;
                break;
            }
            let Some((parent, _)) = looked else { break };
            at = parent;
        }
        let end = at;
        let mut at = start;
        while at != end {
            let (Some(block), Some((parent, _))) = (at.block(), self.look_up(at)) else {
                break;
            };
            known[block.index()] = Known {
                node: Some(at),
                below: verdict,
            };
            at = parent;
        }
        verdict
    }

    /// Sets *cut* on a findable block, held or not. `None`: it is not findable at this generation.
    fn cut_any(&self, block: BlockId, generation: u64) -> Option<Cut> {
        let word = self.state(block);
        let mut current = word.load(Acquire);
        while current.generation() == generation && current.is_findable() {
            let told = self.told(block, current);
            match word.compare_exchange(current, current.with_cut(), AcqRel, Acquire) {
                Ok(_) => return Some(Cut(told)),
                // An owner came or went, or a flag changed.
                Err(actual) => current = actual,
            }
        }
        None
    }

    /// Goes round the tokens and frees the idle blocks among them that are cut, while a credit can be had for as long as it takes;
    /// those at the limit or above go offline, and it with them. The other tokens keep their order. Returns how many it took.
    pub(crate) fn free_what_is_cut(&self, float: &mut Float) -> usize {
        let mut freed = 0;
        loop {
            let mut left = self.order.len();
            let mut hand = Hand::new();
            let mut inner = false;
            let before = freed;
            while left > 0 {
                self.order.pop(left, &mut hand);
                if hand.is_empty() {
                    break;
                }
                left -= hand.len().min(left);
                let mut back = Hand::new();
                for &token in &hand {
                    match self.free_if_cut(token, float) {
                        Some(Token::Claimed(claim)) => {
                            let (word, bit) = FreeMap::<64>::place(self.settle(claim));
                            float.retire(self.put_back(word, bit, self.capacity()));
                            freed += 1;
                        }
                        Some(other) => {
                            inner |= matches!(other, Token::Inner);
                            if !matches!(other, Token::Dropped) {
                                back.push(token);
                            }
                        }
                        None => back.push(token),
                    }
                }
                self.order.push(&back);
            }
            // Those with children when their turn came may have none now.
            if !inner || freed == before {
                return freed;
            }
        }
    }

    /// Looks at a token whose block is cut and idle, with a credit in hand; `None` for others, or without a credit.
    fn free_if_cut(&self, token: BlockId, float: &mut Float) -> Option<Token> {
        let state = self.state(token).load(Acquire);
        if !state.is_cut() || !state.is_idle() {
            return None;
        }
        float
            .has_one(&self.credits)
            .then(|| self.examine(token, true))
    }

    /// After a publisher saw `cuts` change: cuts those of its blocks that hang below one that is cut or at the limit or above,
    /// deepest first. `chain` are its published blocks from the root. Returns how many hang.
    #[cold]
    pub(crate) fn cut_what_hangs(
        &self,
        chain: impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + Clone,
    ) -> usize {
        let limit = self.capacity();
        let goes =
            |block: BlockId| block.index() >= limit || self.state(block).load(Acquire).is_cut();
        let Some(first_cut) = chain.clone().position(goes) else {
            return 0;
        };
        let hanging = chain.len() - first_cut;
        for block in chain.rev().take(hanging) {
            let generation = self.state(block).load(Acquire).generation();
            if let Some(Cut(told)) = self.cut_any(block, generation) {
                self.tell(EventKind::Removed, told);
            }
        }
        hanging
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{BlockPool, Contents, Namespace, PoolConfig};

    /// A reclaimer has cut a block and not seen yet that it has children.
    #[test]
    fn what_hangs_below_a_cut_of_somebody_else_is_not_told_to_be_cleared() {
        let pool = BlockPool::new(&PoolConfig::new(8, 1).events(64)).unwrap();
        let mut worker = pool.worker().unwrap();
        let mut reader = pool.events().unwrap();
        let spaces = [Namespace::new(), Namespace::new().salt("other")];
        let mut first = Vec::new();
        for space in &spaces {
            let mut promise = pool.reserve(3).unwrap();
            let mut chain = pool.chain(space);
            chain.take(&mut worker, &mut promise, 3).unwrap();
            let contents = Contents::new(&[1, 2, 3]);
            let stored = chain.publish(&mut worker, &contents, None).unwrap();
            assert_eq!(stored.stored, 3);
            first.push(chain.ids()[0]);
            chain.release(&mut worker).unwrap();
        }
        let generation = pool.core.state(first[1]).load(Acquire).generation();
        assert!(pool.core.cut_any(first[1], generation).is_some());
        assert_eq!(pool.clear(&mut worker, Some(&spaces[0])), Ok(6));
        let mut events = Vec::new();
        assert_eq!(reader.read(&mut events), 0);
        let told = |kind| events.iter().filter(|event| event.kind == kind).count();
        assert_eq!((told(EventKind::Stored), told(EventKind::Cleared)), (6, 3));
        assert_eq!(
            told(EventKind::Removed),
            2,
            "the cut block's are told by who cut it"
        );
    }
}
