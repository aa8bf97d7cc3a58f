//! Claims: an idle block without published children gives up its content and becomes private to the claimer.
//!
//! A claim is exact at its CAS and final; nothing is ever restored. After it come, in this order: the index entry goes, the event
//! `Removed` is sent, the parent's count of children is lowered. There are two ways to it, and the last owner of a
//! cut block has a third (`release.rs`).
//!
//! **With the block's token in hand** ([`examine`](Core::examine)). Only the token's holder clears *touched* or *queued* of a
//! published block (a last release clears *touched* only where it sets *queued*). So if the word is untouched when the
//! children are looked at, any hit since makes the claiming CAS fail, and only who hit the block could have published below it.
//!
//! **Without the token** ([`claim_without_token`](Core::claim_without_token)). A look at the children; a CAS that sets *cut*; a second
//! look; a CAS that claims. Cut with no references is frozen, so the second look binds. Cut is never taken back: a block that has
//! a child after all stays published and cut, and its subtree, no longer findable, is reclaimed leaf first by anyone.
//!
//! # Orderings
//! The claiming CAS is AcqRel. It pairs with the Release of the last owner's release (what the owner did with the memory happens
//! before its next use) and with the CAS of a hit (either it sees the new generation or the claim fails): models
//! `hit-vs-reclaim`, `publish-vs-token`, `publish-vs-sweep`, `uncut-3t`.

use super::core::Core;
use super::index::Home;
use super::node::Link;
use super::state::State;
use crate::block::BlockId;
use crate::event::{EventKind, Findable};
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::mutant;

/// A claimed block, with what is still to be done for its old content.
#[derive(Debug)]
#[must_use]
pub(crate) struct Claim {
    pub(crate) block: BlockId,
    parent: Link,
    home: Home,
    /// To be told of; `None` if nobody listens, or whoever cut the block has told.
    removed: Option<Findable>,
}

impl Claim {
    /// The parent of the old content.
    pub(crate) const fn parent(&self) -> Link {
        self.parent
    }
    /// Where the index had it.
    #[cfg(any(test, loom))]
    pub(crate) const fn home(&self) -> Home {
        self.home
    }
}

/// What became of a token.
#[derive(Debug)]
pub(crate) enum Token {
    /// Used up by a claim.
    Claimed(Claim),
    /// Gone: the block is held, its last release makes a new one.
    Dropped,
    /// To go to the tail.
    Back,
    /// To go to the tail: past the cap, but the block has children.
    Inner,
}

/// How a block without a token is known to have no children.
#[derive(Clone, Copy)]
pub(crate) enum Childless<'a> {
    /// Its count says so.
    Count,
    /// Nobody was found naming it, in a scan after it was cut: for when a stalled thread may owe the count a decrement.
    Scan(&'a dyn Fn() -> bool),
}

impl Core {
    /// The caller has the block's token. `past_cap`: no second chances.
    #[inline]
    pub(crate) fn examine(&self, block: BlockId, past_cap: bool) -> Token {
        let word = self.state(block);
        let mut current = word.load(Acquire);
        loop {
            if !current.is_published() {
                // Claimed without its token; whoever has the block now stores plainly, so hands off.
                if mutant("private-clears-queued") && current.references() > 0 {
                    let _ =
                        word.compare_exchange(current, current.with_queued(false), AcqRel, Acquire);
                    return Token::Dropped;
                }
                return Token::Back;
            }
            if current.references() > 0 {
                if mutant("held-keeps-queued") {
                    return Token::Dropped;
                }
                match word.compare_exchange(current, current.with_queued(false), AcqRel, Acquire) {
                    Ok(_) => return Token::Dropped,
                    // Another owner came or went.
                    Err(actual) => current = actual,
                }
                continue;
            }
            if current.is_touched() && !(past_cap && mutant("touched-ignored")) {
                match word.compare_exchange(current, current.with_touched(false), AcqRel, Acquire) {
                    Ok(_) if !past_cap => return Token::Back,
                    Ok(_) => current = current.with_touched(false),
                    // A hit or a cut.
                    Err(actual) => {
                        current = actual;
                        continue;
                    }
                }
            }
            if !mutant("no-look") && self.nodes.get(block).children().count() > 0 {
                return if past_cap { Token::Inner } else { Token::Back };
            }
            let claim = self.claim_of(block, current);
            if mutant("claim-by-store") {
                word.store(current.claimed(false), crate::sync::Ordering::Release);
                return Token::Claimed(claim);
            }
            match word.compare_exchange(current, current.claimed(false), AcqRel, Acquire) {
                Ok(_) => return Token::Claimed(claim),
                // A hit or a cut came first, or someone claimed it without the token.
                Err(actual) => current = actual,
            }
        }
    }

    /// Claims an idle block whose token is elsewhere, if its count of children is zero.
    pub(crate) fn claim_without_token(&self, block: BlockId) -> Option<Claim> {
        let current = self.state(block).load(Acquire);
        if !current.is_idle() || self.has_children(block, Childless::Count) {
            return None;
        }
        let cut_here = self.cut(block, current)?;
        self.claim_cut(block, current.generation(), cut_here, Childless::Count)
    }

    /// Sets *cut* on an idle block. `None`: it changed. `Some(None)`: it was cut already.
    pub(crate) fn cut(&self, block: BlockId, current: State) -> Option<Option<Cut>> {
        if current.is_cut() || mutant("no-cut") {
            return Some(None);
        }
        let told = self.told(block, current);
        self.state(block)
            .compare_exchange(current, current.with_cut(), AcqRel, Acquire)
            .ok()?;
        Some(Some(Cut(told)))
    }

    /// Claims a block that is cut and had no references then. If it turns out to have children it stays as it is, and whoever cut
    /// it tells that it and they are no longer findable.
    pub(crate) fn claim_cut(
        &self,
        block: BlockId,
        generation: u64,
        cut_here: Option<Cut>,
        childless: Childless<'_>,
    ) -> Option<Claim> {
        let word = self.state(block);
        let has_children = !mutant("no-look-after-cut") && self.has_children(block, childless);
        let mut current = word.load(Acquire);
        if has_children {
            if mutant("uncut") {
                let _ = word.compare_exchange(current, current.uncut(), AcqRel, Relaxed);
            }
            if let Some(Cut(told)) = cut_here {
                self.tell_subtree_gone(told);
            }
            return None;
        }
        let parent = self.nodes.get(block).parent();
        let home = self.home_of(block);
        while current.generation() == generation
            && current.is_idle()
            && (current.is_cut() || mutant("no-cut"))
        {
            // The token's holder may clear a flag in between; another reclaimer may take the block.
            let next = current.claimed(current.is_queued() && !mutant("sweep-drops-queued"));
            match word.compare_exchange(current, next, AcqRel, Acquire) {
                Ok(_) => {
                    let removed = cut_here.and_then(|Cut(told)| told);
                    return Some(Claim {
                        block,
                        parent,
                        home,
                        removed,
                    });
                }
                Err(actual) => current = actual,
            }
        }
        if let Some(Cut(told)) = cut_here {
            self.tell(EventKind::Removed, told);
        }
        None
    }

    fn has_children(&self, block: BlockId, childless: Childless<'_>) -> bool {
        match childless {
            Childless::Count => self.nodes.get(block).children().count() > 0,
            Childless::Scan(named) if !mutant("sweep-believes-counts") => named(),
            Childless::Scan(_) => self.nodes.get(block).children().count() > 0,
        }
    }

    /// What `Removed` will say of a block that is about to cease being findable. Read while it still names its parent.
    pub(crate) fn told(&self, block: BlockId, current: State) -> Option<Findable> {
        (self.events.is_some() && current.is_findable())
            .then(|| self.findable(block, current.generation()))
    }

    pub(crate) fn tell(&self, kind: EventKind, copy: Option<Findable>) {
        if let (Some(events), Some(copy)) = (&self.events, copy) {
            events.emit(kind, &copy);
        }
    }

    #[inline]
    pub(crate) fn claim_of(&self, block: BlockId, current: State) -> Claim {
        Claim {
            block,
            parent: self.nodes.get(block).parent(),
            home: self.home_of(block),
            removed: self.told(block, current),
        }
    }

    /// What is left to do for the old content: it leaves the index, the event is sent, the parent has a child less.
    #[inline]
    pub(crate) fn settle(&self, claim: Claim) -> BlockId {
        self.index.remove(claim.home, claim.block);
        self.tell(EventKind::Removed, claim.removed);
        if let Some(parent) = claim.parent.block() {
            self.nodes.get(parent).child_goes(claim.parent.generation());
        }
        claim.block
    }
}

/// Proof that this thread cut a block, with what it owes the event ring for that.
#[derive(Debug)]
pub(crate) struct Cut(pub(crate) Option<Findable>);
