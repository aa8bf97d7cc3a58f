//! Finding a block for a credit: free ones first, then idle ones in the order of reclaim, then a search.
//!
//! The caller holds a credit for each block asked for. So a block for each is free or idle, in the hand of a thread that
//! is about to put it there, or taken by one whose own block is: whoever finds nothing looks again, and somebody has made
//! progress. A thread stopped anywhere hides at most its own credits' worth: what it hides of tokens and counts is found by the
//! sweep, what it hides of the bitmap by looking at the bitmap's lowest level.
//!
//! # Complexity
//! A call for `n` blocks gives at most 16,384 + 8 n second chances (see [`Worker`]; fewer in pools of less than 65,536 blocks).
//! Tokens that no claim could use go by without counting: those of held blocks are dropped, once for each hit that made them so
//! (`maintain` does that beforehand); those of parents, and of blocks that were claimed without their token, go to the tail. The
//! sweep looks at all state words and runs only when some thread is stopped.

use super::claim::{Childless, Claim, Token};
use super::core::Core;
use super::free::Run;
use super::node::Link;
use super::order::{HAND, Hand};
use super::tally::Counter;
use super::worker::Worker;
use crate::block::BlockId;
use crate::sync::Ordering::{Acquire, Relaxed};

/// How many tokens behind the first one a block's contents are fetched, and before that its state and node, which say where they
/// are in the index.
const SOON: u64 = 1;
const LATER: u64 = 4;
/// Steps down the child hints for one token.
const STEPS_DOWN: usize = 16;
/// Tokens looked at in vain, beyond two rounds of the ring, before the state words are searched.
const PATIENCE: usize = if cfg!(loom) { 1 } else { 512 };

impl Core {
    /// Gets a block for each place, held once by the caller, who has as many credits.
    #[inline]
    pub(crate) fn obtain(&self, worker: &mut Worker, places: &mut [BlockId]) {
        let got = self.obtain_free(&mut worker.hint, places);
        if got < places.len() {
            self.obtain_idle(worker, &mut places[got..]);
        }
    }

    #[inline]
    pub(crate) fn obtain_free(&self, hint: &mut usize, places: &mut [BlockId]) -> usize {
        let want = places.len();
        let mut places = places.iter_mut();
        self.free
            .claim(hint, want, |run| self.own(run, &mut places))
    }

    fn obtain_idle(&self, worker: &mut Worker, places: &mut [BlockId]) {
        let mut got = 0;
        loop {
            let reclaimed = self.reclaim(worker, &mut places[got..]);
            for place in &mut places[got..][..reclaimed] {
                self.own(Run::one(*place), core::iter::once(place));
            }
            got += reclaimed;
            if got == places.len() {
                return;
            }
            got += self.obtain_free(&mut worker.hint, &mut places[got..]);
            if got < places.len() {
                let (want, mut places) = (places.len() - got, places[got..].iter_mut());
                got += self.free.claim_any(want, |run| self.own(run, &mut places));
            }
            if got == places.len() {
                return;
            }
            crate::sync::relax();
        }
    }

    /// Makes obtained blocks held, and puts them into places. They are the caller's alone: without an owner, and out of the bitmap
    /// or claimed; so their words are stored plainly.
    #[inline]
    pub(crate) fn own<'p>(&self, run: Run, places: impl Iterator<Item = &'p mut BlockId>) {
        let words = &self.states[run.first.index()..][..run.len];
        for ((word, block), place) in words.iter().zip(run.ids()).zip(places) {
            word.store(word.load(Relaxed).held_once_more(), Relaxed);
            *place = block;
        }
    }

    /// Reclaims idle blocks into the first places, and returns how many: fewer than there are places only if no more are to be
    /// found at this instant. They have no owner yet.
    pub(crate) fn reclaim(&self, worker: &mut Worker, places: &mut [BlockId]) -> usize {
        let mut got = self.reclaim_in_order(worker, places);
        while got < places.len() && !crate::sync::mutant("no-sweep") {
            let swept = self.sweep(worker, &mut places[got..]);
            if swept == 0 {
                break;
            }
            got += swept;
        }
        worker.count(Counter::Reclaims, got);
        got
    }

    /// By the tokens.
    pub(crate) fn reclaim_in_order(&self, worker: &mut Worker, places: &mut [BlockId]) -> usize {
        let mut got = 0;
        let mut trips = 0;
        let mut fruitless = 0;
        let (mut hand, mut back) = (Hand::new(), Hand::new());
        while got < places.len() {
            self.order.pop(places.len() - got, &mut hand);
            if hand.is_empty() {
                break;
            }
            self.prefetch_for_claims(&hand);
            let before = got;
            back.clear();
            for &token in &hand {
                let past_cap = worker.allowance == 0;
                let claim = match self.examine(token, past_cap) {
                    Token::Claimed(claim) => Some(claim),
                    // The ring is shorter by it: no look in vain.
                    Token::Dropped => continue,
                    Token::Back => {
                        worker.trip();
                        back.push(token);
                        None
                    }
                    Token::Inner => {
                        worker.trip();
                        back.push(token);
                        self.claim_leaf_below(worker, token)
                    }
                };
                match claim {
                    Some(claim) => {
                        worker.claimed();
                        places[got] = self.settle(claim);
                        got += 1;
                    }
                    None => fruitless += 1,
                }
            }
            self.prefetch_for_later();
            trips += back.len();
            self.order.push(&back);
            if got > before {
                fruitless = 0;
            } else if fruitless > 2 * self.order.len() + PATIENCE {
                break;
            }
        }
        worker.count(Counter::SecondChances, trips);
        got
    }

    #[inline]
    fn prefetch_for_claims(&self, hand: &Hand) {
        for &token in hand {
            super::prefetch(&self.states, token.index());
            self.nodes.prefetch(token);
        }
        for &token in hand {
            self.index.prefetch(self.home_of(token));
        }
    }

    /// Later calls will look at the tokens that come now, and give their blocks away: their lines are fetched while the caller
    /// works. When each call wants one block this is all the time there is.
    #[inline]
    fn prefetch_for_later(&self) {
        if cfg!(loom) {
            return;
        }
        if let Some(soon) = self.order.peek(SOON) {
            self.index.prefetch(self.home_of(soon));
            self.nodes.prefetch_content(soon);
        }
        if let Some(later) = self.order.peek(LATER) {
            super::prefetch(&self.states, later.index());
            self.nodes.prefetch(later);
        }
    }

    /// An idle leaf below an idle block, where the child hints lead to one. Goes on where the worker's last descent ended: after a few
    /// steps, or above the leaf that it claimed. So a long chain is gone down once, and then taken from its end.
    #[cold]
    fn claim_leaf_below(&self, worker: &mut Worker, token: BlockId) -> Option<Claim> {
        let begun = worker.descent.take().filter(|&at| self.is_idle_at(at));
        let mut at = match begun {
            Some(at) => at,
            None => Link::new(token, self.state(token).load(Acquire).generation()),
        };
        for _ in 0..STEPS_DOWN {
            let block = at.block()?;
            if self.nodes.get(block).children().count() == 0 {
                let claim = self.claim_without_token(block)?;
                worker.descent = Some(claim.parent());
                return Some(claim);
            }
            let child = self.nodes.get(block).hint()?;
            let below = Link::new(child, self.state(child).load(Acquire).generation());
            if self.nodes.get(child).parent() != at || !self.is_idle_at(below) {
                return None;
            }
            at = below;
        }
        worker.descent = Some(at);
        None
    }

    fn is_idle_at(&self, at: Link) -> bool {
        at.block().is_some_and(|block| {
            let state = self.state(block).load(Acquire);
            state.is_idle() && state.generation() == at.generation()
        })
    }

    /// By the state words: for when tokens, or decrements of counts, are in the hands of stopped threads.
    ///
    /// Believes no counts. Marks every named parent; cuts idle blocks that nobody names; marks again, which binds for those cut;
    /// claims those still not named.
    #[cold]
    pub(crate) fn sweep(&self, worker: &mut Worker, places: &mut [BlockId]) -> usize {
        worker.count(Counter::Sweeps, 1);
        self.mark_parents(&mut worker.marks);
        let mut cut = Hand::new();
        let mut cuts: [Option<(u64, Option<super::claim::Cut>)>; HAND] = [const { None }; HAND];
        for block in self.ids() {
            if cut.len() == places.len().min(HAND) {
                break;
            }
            let current = self.state(block).load(Acquire);
            if !current.is_idle() || is_marked(&worker.marks, block) {
                continue;
            }
            if let Some(cut_here) = self.cut(block, current) {
                cuts[cut.len()] = Some((current.generation(), cut_here));
                cut.push(block);
            }
        }
        self.mark_parents(&mut worker.marks);
        let mut got = 0;
        for (&block, cut) in cut.iter().zip(&mut cuts) {
            let Some((generation, cut_here)) = cut.take() else {
                continue;
            };
            let named = || is_marked(&worker.marks, block);
            if let Some(claim) =
                self.claim_cut(block, generation, cut_here, Childless::Scan(&named))
            {
                places[got] = self.settle(claim);
                got += 1;
            }
        }
        for _ in 0..got {
            worker.claimed();
        }
        got
    }

    /// Marks every block that a published block names as its parent.
    pub(crate) fn mark_parents(&self, marks: &mut [u64]) {
        marks.fill(0);
        for block in self.ids() {
            if self.state(block).load(Acquire).is_published() {
                if let Some(parent) = self.nodes.get(block).parent().block() {
                    marks[parent.index() / 64] |= 1 << (parent.index() % 64);
                }
            }
        }
    }

    /// Drops up to `steps` tokens at the head that no reclaim could use: those of held published blocks. Ends at the first
    /// other one. Returns how many it dropped.
    pub(crate) fn maintain(&self, steps: usize) -> usize {
        let mut dropped = 0;
        let mut hand = Hand::new();
        while dropped < steps {
            let Some(token) = self.order.peek(0) else {
                break;
            };
            let state = self.state(token).load(Relaxed);
            if !state.is_published() || state.references() == 0 {
                break;
            }
            // Another thread may have popped that one; whatever comes is dropped or put back.
            self.order.pop(1, &mut hand);
            for &token in &hand {
                if !self.drop_token_if_held(token) {
                    self.order.push(&[token]);
                    return dropped;
                }
                dropped += 1;
            }
        }
        dropped
    }

    /// Drops the token if its block is held and published: true. The caller has it in hand.
    pub(crate) fn drop_token_if_held(&self, block: BlockId) -> bool {
        use crate::sync::Ordering::AcqRel;
        let word = self.state(block);
        let mut current = word.load(Acquire);
        while current.is_published() && current.references() > 0 {
            match word.compare_exchange(current, current.with_queued(false), AcqRel, Acquire) {
                Ok(_) => return true,
                // Another owner came or went.
                Err(actual) => current = actual,
            }
        }
        false
    }
}

pub(crate) fn is_marked(marks: &[u64], block: BlockId) -> bool {
    marks[block.index() / 64] >> (block.index() % 64) & 1 == 1
}
