//! Taking findability back: `invalidate` and `clear`.
//!
//! *Cut* ends it at once for one block, held or not; lookups stop there, so everything below is out of reach too. What is below is
//! then cut as well, deepest first, so that each copy's event goes out in an order that a router can follow. Of
//! all these the idle ones become free, leaf first, as far as there are credits to do it with (reservations stand); the others
//! are reclaimed by anyone later, the held ones after their last release.
//!
//! Somebody may be publishing below a block just when it is cut. The pool's `cuts` number tells: it is raised before each scan,
//! and a publisher compares it before and after. Either the scan sees what was published, or the publisher sees the number
//! change and looks for cuts in its own chain ([`cut_what_hangs`](Core::cut_what_hangs)). So no findable-looking block is left
//! below a cut one, and at rest the events replayed are what can be found.
//!
//! # Orderings
//! Cutter: CAS *cut*; raise `cuts`; SeqCst fence; load the states. Publisher: store the state; SeqCst fence; load `cuts`.
//! Both are store, fence, load on two words: at least one of them sees the other's store (model `publish-vs-invalidate`).
//!
//! # Complexity
//! A few passes over all blocks. Allocates a byte a block and 16 a block removed.

use alloc::vec::Vec;

use super::claim::{Childless, Cut};
use super::core::Core;
use super::free::FreeMap;
use super::node::Link;
use crate::block::BlockId;
use crate::error::{ClearError, InvalidateError};
use crate::event::{EventKind, Findable};
use crate::sync::Ordering::{AcqRel, Acquire, SeqCst};
use crate::sync::fence;

/// What is to be cut with everything below it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Root {
    /// One node.
    Node(Link),
    /// First blocks of the namespace that this link stands for.
    Namespace(Link),
    /// Every first block.
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Below {
    Unknown,
    Yes,
    No,
}

/// One block to cut: deepest first, then by id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Doomed {
    depth: core::cmp::Reverse<u32>,
    block: BlockId,
    generation: u64,
}

/// Memory for one pass, had before anything is changed.
struct Scratch {
    below: Vec<Below>,
    doomed: Vec<Doomed>,
}

impl Scratch {
    fn new(blocks: usize) -> Option<Self> {
        let mut below = Vec::new();
        below.try_reserve_exact(blocks).ok()?;
        below.resize(blocks, Below::Unknown);
        let mut doomed = Vec::new();
        doomed.try_reserve(64).ok()?;
        Some(Self { below, doomed })
    }
}

impl Core {
    /// Takes back one block and all below it. Returns how many became free.
    pub(crate) fn invalidate(&self, block: BlockId) -> Result<usize, InvalidateError> {
        let capacity = self.capacity();
        if block.index() >= capacity {
            return Err(InvalidateError::OutOfRange { block, capacity });
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
        let root = Link::new(block, current.generation());
        let below = self.fell(Root::Node(root), EventKind::Removed, &mut scratch);
        self.tell(EventKind::Removed, told);
        Ok(below + usize::from(self.free_cut(block, current.generation())))
    }

    /// Takes back every block of a namespace, or every block. Returns how many became free.
    pub(crate) fn clear(&self, root: Root) -> Result<usize, ClearError> {
        let mut scratch = Scratch::new(self.states.len()).ok_or(ClearError::OutOfMemory)?;
        Ok(self.fell(root, EventKind::Cleared, &mut scratch))
    }

    /// A block was cut and has children after all: they are cut too, and then it is told of. Without memory for it they are only
    /// out of reach, and told of when they are reclaimed.
    #[cold]
    pub(crate) fn tell_subtree_gone(
        &self,
        block: BlockId,
        generation: u64,
        told: Option<Findable>,
    ) {
        if self.events.is_some() {
            if let Some(mut scratch) = Scratch::new(self.states.len()) {
                self.fell(
                    Root::Node(Link::new(block, generation)),
                    EventKind::Removed,
                    &mut scratch,
                );
            }
        }
        self.tell(EventKind::Removed, told);
    }

    /// Cuts everything below the root (and the root too, if it is a namespace), until nothing of it is findable.
    fn fell(&self, root: Root, kind: EventKind, scratch: &mut Scratch) -> usize {
        let mut freed = 0;
        loop {
            self.cuts.0.fetch_add(1, AcqRel);
            fence(SeqCst);
            self.find_doomed(root, scratch);
            if scratch.doomed.is_empty() {
                return freed;
            }
            scratch.doomed.sort_unstable();
            for doomed in &scratch.doomed {
                if let Some(Cut(told)) = self.cut_any(doomed.block, doomed.generation) {
                    self.tell(kind, told);
                }
            }
            for doomed in &scratch.doomed {
                freed += usize::from(self.free_cut(doomed.block, doomed.generation));
            }
        }
    }

    /// Collects the findable blocks below the root.
    fn find_doomed(&self, root: Root, scratch: &mut Scratch) {
        let Scratch { below, doomed } = scratch;
        below.fill(Below::Unknown);
        doomed.clear();
        for block in self.ids() {
            let state = self.state(block).load(Acquire);
            if !state.is_findable() || !self.is_below(block, state.generation(), root, below) {
                continue;
            }
            if doomed.len() == doomed.capacity() && doomed.try_reserve(doomed.len()).is_err() {
                // These first; the next pass finds the others.
                return;
            }
            let depth = core::cmp::Reverse(self.nodes.get(block).depth());
            doomed.push(Doomed {
                depth,
                block,
                generation: state.generation(),
            });
        }
    }

    /// Whether the way up from a block leads to the root. Remembers what it learns on the way.
    fn is_below(&self, block: BlockId, generation: u64, root: Root, below: &mut [Below]) -> bool {
        let mut at = Link::new(block, generation);
        let mut verdict = Below::No;
        // No further than the chain is long: a way that is changing under our feet has an end.
        let most = self.nodes.get(block).depth() as usize + 2;
        let mut length = 0;
        while length < most {
            let Some(here) = at.block() else {
                verdict = match root {
                    Root::All => Below::Yes,
                    Root::Namespace(namespace) if namespace == at => Below::Yes,
                    _ => Below::No,
                };
                break;
            };
            if below[here.index()] != Below::Unknown {
                verdict = below[here.index()];
                break;
            }
            if self.state(here).load(Acquire).generation() != at.generation() {
                break;
            }
            at = self.nodes.get(here).parent();
            length += 1;
            if matches!(root, Root::Node(node) if node == at) {
                verdict = Below::Yes;
                break;
            }
        }
        let mut at = block;
        for _ in 0..length {
            below[at.index()] = verdict;
            let Some(parent) = self.nodes.get(at).parent().block() else {
                break;
            };
            at = parent;
        }
        verdict == Below::Yes
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

    /// Makes a cut block free if it is idle, has no children, and a credit can be had for as long as it takes.
    fn free_cut(&self, block: BlockId, generation: u64) -> bool {
        let idle = |core: &Self| {
            let state = core.state(block).load(Acquire);
            state.generation() == generation && state.is_idle()
        };
        if !idle(self) || self.credits.withdraw_available(1).is_err() {
            return false;
        }
        let claim = self.claim_cut(block, generation, None, Childless::Count);
        let freed = claim.is_some();
        if let Some(claim) = claim {
            let block = self.settle(claim);
            let (word, bit) = FreeMap::<64>::place(block);
            self.free.insert(word, bit);
        }
        self.credits.deposit(1);
        freed
    }

    /// After a publisher saw `cuts` change: cuts those of its blocks that hang below a cut one, deepest first. `chain` are its
    /// published blocks from the root. Returns how many hang.
    #[cold]
    pub(crate) fn cut_what_hangs(
        &self,
        chain: impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + Clone,
    ) -> usize {
        let Some(first_cut) = chain
            .clone()
            .position(|block| self.state(block).load(Acquire).is_cut())
        else {
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
