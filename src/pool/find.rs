//! Finding a prefix: walks from the root, proves each block equal, and pins it.
//!
//! For each block: the parent's child hint, or else the index by the chain key, names candidates; the index comes first for as
//! long as keys are ready that a wrong hint has cost. A candidate is pinned in four steps: load its state (published, generation
//! g); compare parent, extra key and tokens; fence; CAS one reference more from a state of generation g. A mismatch takes no
//! credit, no reference and no touch.
//!
//! # Orderings
//! The state is loaded Acquire: content written before publishing is visible (`publish-vs-hit`). The Acquire fence after the
//! compare pairs with the Release fence before a rewriter's stores: whoever saw any new content fails the CAS
//! (`find-vs-rewrite`). The CAS is AcqRel: the device memory's content is visible to whoever pinned it (the payload cells of
//! `hit-vs-reclaim`).
//!
//! # Complexity
//! A few cache lines a block; hashing only where the hint fails. Finding allocates only if the worker has no buffer to spare.

use super::core::Core;
use super::credits::Credits;
use super::keys::{Ahead, Keys};
use super::node::Link;
use super::state::{MAX_REFERENCES, State};
use super::tally::Counter;
use super::worker::{BlockList, Worker};
use crate::block::BlockId;
use crate::prefix::{Identity, Prompt, Space};
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::{fence, mutant};

/// What idle hits are paid with.
#[derive(Debug)]
pub(crate) struct Purse<'c> {
    /// Credits at hand.
    left: u32,
    spent: u32,
    /// Where more come from, one at a time.
    source: Option<&'c Credits>,
}

impl<'c> Purse<'c> {
    /// Credits that a reservation has.
    pub(crate) const fn reserved(left: u32) -> Self {
        Self {
            left,
            spent: 0,
            source: None,
        }
    }
    /// Credits nobody has been promised.
    pub(crate) const fn available(credits: &'c Credits) -> Self {
        Self {
            left: 0,
            spent: 0,
            source: Some(credits),
        }
    }
    fn can_pay(&mut self) -> bool {
        if self.left == 0
            && self
                .source
                .is_some_and(|credits| credits.withdraw_available(1).is_ok())
        {
            self.left = 1;
        }
        self.left > 0
    }
    const fn pay(&mut self) {
        self.left -= 1;
        self.spent += 1;
    }
    /// What was paid for is given back, with its credits.
    pub(crate) const fn refund(&mut self, credits: u32) {
        self.left += credits;
        self.spent -= credits;
    }
    /// Closes the account: how many were spent. What came from the available ones and is left goes back.
    pub(crate) fn close(self) -> u32 {
        if let Some(credits) = self.source {
            credits.deposit(self.left);
        }
        self.spent
    }
}

/// What became of an attempt to pin a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pin {
    /// Held now; the state has its generation.
    Hit(State),
    /// Not what was looked for, or no longer.
    Miss,
    /// It is, but nothing is left to pay for an idle block.
    Unpaid,
}

/// What is being read-only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Probe {
    /// Token positions that would match.
    pub positions: usize,
    /// Matched blocks that someone holds: they cost nothing.
    pub held: usize,
    /// Matched blocks that are idle: each costs a credit.
    pub idle: usize,
}

/// One step of a walk: the place in the tree below which the next block is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The parent's name, or the namespace's.
    pub(crate) link: Link,
    pub(crate) depth: u32,
}

impl Place {
    pub(crate) const fn root(space: Space) -> Self {
        Self {
            link: Link::root(space.tag()),
            depth: 0,
        }
    }
    pub(crate) const fn below(self, block: BlockId, generation: u64) -> Self {
        Self {
            link: Link::new(block, generation),
            depth: self.depth + 1,
        }
    }
}

impl Core {
    /// Pins the longest prefix into `found`; returns nothing else: a shorter one than asked for is no error.
    pub(crate) fn find(
        &self,
        prompt: &Prompt<'_>,
        most: usize,
        purse: &mut Purse<'_>,
        found: &mut BlockList,
    ) {
        self.walk(prompt, most, |at, identity, candidate| {
            match self.pin(candidate, at.link, identity, purse) {
                Pin::Hit(state) => {
                    found.push(candidate);
                    Step::Found(state)
                }
                Pin::Miss => Step::Miss,
                Pin::Unpaid => Step::End,
            }
        });
    }

    /// A lookup of `most` blocks that found so many took place.
    pub(crate) fn count_lookup(worker: &mut Worker, found: usize, most: usize) {
        worker.hit(found);
        worker.count(Counter::Hits, found);
        worker.count(Counter::Misses, most - found);
    }

    /// Counts the longest prefix without holding or changing anything.
    pub(crate) fn probe(&self, prompt: &Prompt<'_>, most: usize) -> Probe {
        let mut probe = Probe {
            positions: 0,
            held: 0,
            idle: 0,
        };
        self.walk(prompt, most, |at, identity, candidate| {
            let state = self.state(candidate).load(Acquire);
            if !state.is_findable() || !self.nodes.matches(candidate, at.link, identity) {
                return Step::Miss;
            }
            // As a sequence lock: if the generation still is the same, what was compared was its content.
            if !mutant("no-probe-fence") {
                fence(Acquire);
            }
            let again = self.state(candidate).load(Relaxed);
            if !again.is_findable()
                || again.generation() != state.generation()
                || again.references() == MAX_REFERENCES
            {
                return Step::Miss;
            }
            probe.positions += self.block_size;
            if again.references() > 0 {
                probe.held += 1;
            } else {
                probe.idle += 1;
            }
            Step::Looked(state)
        });
        probe
    }

    /// Walks down from the root and offers candidates for each block until one is taken.
    #[inline]
    fn walk(
        &self,
        prompt: &Prompt<'_>,
        most: usize,
        mut offer: impl FnMut(Place, &Identity<'_>, BlockId) -> Step,
    ) {
        let space = self.space(prompt.namespace);
        let contents = prompt.contents();
        let mut at = Place::root(space);
        let mut keys = Keys::new(contents, most, Ahead::Find);
        for i in 0..most {
            let extra = contents.extra_of(i);
            let extra = if i == 0 {
                space.first(extra, self.secret)
            } else {
                extra
            };
            let identity = self.identity(contents.tokens_of(i, self.block_size), extra);
            let parent = at.link.block();
            let hint = parent.and_then(|parent| self.nodes.get(parent).hint());
            // Keys are ready only where a hint was wrong a moment ago: what the index has for them is asked first then.
            let guess = keys.ready(i).and_then(|ready| ready.likely).or(hint);
            let mut taken = None;
            if let Some(guess) = guess {
                match offer(at, &identity, guess) {
                    Step::Miss => {}
                    step => taken = Some((guess, step)),
                }
            }
            if taken.is_none() {
                let home = keys.of(self, i, at, extra).home;
                let others = self.index.candidates(home).chain(hint);
                let others = others.filter(|&other| Some(other) != guess);
                taken = offer_all(at, &identity, others, &mut offer);
            }
            // The engine gave another key when it was published: what follows hangs below that one.
            if let (Some((block, _)), Some(ready)) = (taken, keys.ready(i)) {
                if self.nodes.get(block).key() != ready.key {
                    keys.forget();
                }
            }
            let (block, state) = match taken {
                Some((block, Step::Found(state))) => {
                    if let Some(parent) = parent {
                        self.nodes.get(parent).set_hint(block);
                    }
                    (block, state)
                }
                Some((block, Step::Looked(state))) => (block, state),
                _ => return,
            };
            at = at.below(block, state.generation());
        }
    }

    /// The candidate gets one reference more, if it is this child of this parent.
    #[inline]
    pub(crate) fn pin(
        &self,
        block: BlockId,
        parent: Link,
        identity: &Identity<'_>,
        purse: &mut Purse<'_>,
    ) -> Pin {
        let word = self.state(block);
        let mut current = word.load(Acquire);
        let generation = current.generation();
        if !current.is_findable()
            || (!self.nodes.matches(block, parent, identity) && !mutant("pin-before-compare"))
        {
            return Pin::Miss;
        }
        if !mutant("no-fence") {
            fence(Acquire);
        }
        loop {
            let same = current.generation() == generation || mutant("no-gen-recheck");
            let findable =
                current.is_findable() || mutant("hit-ignores-cut") && current.is_published();
            // At the most references a hit is a miss.
            if !findable || !same || current.references() == MAX_REFERENCES {
                return Pin::Miss;
            }
            let idle = current.references() == 0;
            if idle && !purse.can_pay() {
                return Pin::Unpaid;
            }
            let next = current.held_once_more().with_touched(true);
            let (success, failure) = if mutant("hit-relaxed") {
                (Relaxed, Relaxed)
            } else {
                (AcqRel, Acquire)
            };
            match word.compare_exchange(current, next, success, failure) {
                Ok(_) => {
                    if idle {
                        purse.pay();
                    }
                    if current.is_fenced() && !mutant("hit-leaves-quarantine") {
                        self.settle_quarantine(block);
                    }
                    if mutant("pin-before-compare") && !self.nodes.matches(block, parent, identity)
                    {
                        self.release(core::iter::once(block));
                        return Pin::Miss;
                    }
                    return Pin::Hit(next);
                }
                // Another owner came or went, a flag changed, or the block was claimed.
                Err(actual) => current = actual,
            }
        }
    }
}

/// Offers one after the other until one is taken.
#[inline(never)]
fn offer_all(
    at: Place,
    identity: &Identity<'_>,
    candidates: impl Iterator<Item = BlockId>,
    offer: &mut impl FnMut(Place, &Identity<'_>, BlockId) -> Step,
) -> Option<(BlockId, Step)> {
    for candidate in candidates {
        match offer(at, identity, candidate) {
            Step::Miss => {}
            step => return Some((candidate, step)),
        }
    }
    None
}

/// What the walk's visitor says of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It is the block, and is held now.
    Found(State),
    /// It is the block; it was only looked at.
    Looked(State),
    /// It is not.
    Miss,
    /// The walk ends here.
    End,
}
