//! Operations taken apart, for the model checker and the stalled-thread tests: a thread can be stopped between any two of these
//! steps. Nothing here is another implementation; each step is what the operation itself calls.

#![cfg_attr(not(loom), allow(dead_code))]
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    missing_debug_implementations
)]

use alloc::vec;
use alloc::vec::Vec;

use super::audit::{Account, Inconsistency, Stopped};
use super::chain::RawChain;
use super::claim::{Childless, Claim, Token};
use super::find::{Pin, Place, Purse};
use super::free::{FreeMap, Run};
use super::order::Hand;
use super::publish::Published;
use super::tally::Counter;
use super::worker::{BlockList, Worker};
use super::{BlockPool, Core};
use crate::block::BlockId;
use crate::event::{EventKind, EventReader, EventRing, Findable};
use crate::prefix::{Contents, ExtraKey, Namespace, Prompt, Space};
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};

/// What became of a token that was looked at.
pub enum Looked {
    Claimed(Unsettled),
    Dropped,
    Back,
}

/// A claimed block whose old identity is still to be settled.
#[must_use]
pub struct Unsettled(Claim);

impl Unsettled {
    pub fn block(&self) -> BlockId {
        self.0.block
    }
}

/// The steps of one pool.
#[derive(Clone)]
pub struct Steps(pub BlockPool);

impl Steps {
    fn core(&self) -> &Core {
        &self.0.core
    }

    // ---- credits and blocks

    pub fn withdraw(&self, n: u32) -> bool {
        self.core().credits.withdraw_available(n).is_ok()
    }
    pub fn deposit(&self, n: u32) {
        self.core().credits.deposit(n);
    }
    /// Takes blocks for credits in hand.
    pub fn take(&self, worker: &mut Worker, n: usize) -> Vec<BlockId> {
        let mut got = vec![BlockId::NONE; n];
        self.core().obtain(worker, &mut got);
        got
    }
    pub fn take_free(&self, worker: &mut Worker) -> Option<BlockId> {
        self.one(|place| self.core().obtain_free(&mut worker.hint, place))
    }
    pub fn take_in_order(&self, worker: &mut Worker) -> Option<BlockId> {
        self.one(|place| self.core().reclaim_in_order(worker, place))
            .map(|block| self.own(block))
    }
    pub fn take_swept(&self, worker: &mut Worker) -> Option<BlockId> {
        self.one(|place| self.core().sweep(worker, place))
            .map(|block| self.own(block))
    }
    fn one(&self, fill: impl FnOnce(&mut [BlockId]) -> usize) -> Option<BlockId> {
        let mut place = [BlockId::NONE];
        (fill(&mut place) == 1).then_some(place[0])
    }
    fn own(&self, block: BlockId) -> BlockId {
        let mut place = [BlockId::NONE];
        self.core().own(Run::one(block), place.iter_mut());
        block
    }
    pub fn free_blocks(&self) -> usize {
        self.core()
            .ids()
            .filter(|&block| self.core().free.contains(block))
            .count()
    }

    // ---- tokens and claims

    pub fn allow(&self, worker: &mut Worker, trips: u32) {
        worker.allowance = trips;
    }
    pub fn pop(&self) -> Option<BlockId> {
        let mut hand = Hand::new();
        self.core().order.pop(1, &mut hand);
        hand.pop()
    }
    pub fn push(&self, token: BlockId) {
        self.core().order.push(&[token]);
    }
    /// A thread that stopped between its place in the ring and its store.
    pub fn stall_a_push(&self) {
        self.core().order.stall_a_push();
    }
    pub fn tokens(&self) -> Vec<BlockId> {
        self.core().order.tokens().collect()
    }
    pub fn is_queued(&self, block: BlockId) -> bool {
        self.core().state(block).load(Acquire).is_queued()
    }
    pub fn is_findable(&self, block: BlockId) -> bool {
        self.core().state(block).load(Acquire).is_findable()
    }
    pub fn is_published(&self, block: BlockId) -> bool {
        self.core().state(block).load(Acquire).is_published()
    }
    pub fn is_untouched_and_unheld(&self, block: BlockId) -> bool {
        let state = self.core().state(block).load(Acquire);
        !state.is_touched() && state.references() == 0
    }
    /// Looks at a token in hand.
    pub fn examine(&self, token: BlockId, past_cap: bool) -> Looked {
        match self.core().examine(token, past_cap) {
            Token::Claimed(claim) => Looked::Claimed(Unsettled(claim)),
            Token::Dropped => Looked::Dropped,
            Token::Back | Token::Inner => Looked::Back,
        }
    }
    /// Clears *touched* with the token in hand.
    pub fn clear_touched(&self, token: BlockId) {
        let word = self.core().state(token);
        let mut current = word.load(Acquire);
        while current.is_idle() {
            match word.compare_exchange(current, current.with_touched(false), AcqRel, Acquire) {
                Ok(_) => return,
                Err(actual) => current = actual,
            }
        }
    }
    pub fn settle(&self, claim: Unsettled) -> BlockId {
        let block = self.core().settle(claim.0);
        self.own(block)
    }
    /// The sweep, aimed at one block.
    pub fn claim_swept(&self, worker: &mut Worker, block: BlockId) -> Option<Unsettled> {
        let core = self.core();
        let current = core.state(block).load(Acquire);
        core.mark_parents(&mut worker.marks);
        if !current.is_idle() || super::reclaim::is_marked(&worker.marks, block) {
            return None;
        }
        let cut_here = core.cut(block, current)?;
        core.mark_parents(&mut worker.marks);
        let named = || super::reclaim::is_marked(&worker.marks, block);
        core.claim_cut(
            block,
            current.generation(),
            cut_here,
            Childless::Scan(&named),
        )
        .map(Unsettled)
    }
    /// The way of the child hints, aimed at one block.
    pub fn claim_hinted(&self, block: BlockId) -> Option<Unsettled> {
        self.core().claim_without_token(block).map(Unsettled)
    }
    /// Only the cut.
    pub fn cut(&self, block: BlockId) -> bool {
        let current = self.core().state(block).load(Acquire);
        current.is_idle() && self.core().cut(block, current).is_some()
    }
    /// What no rule allows: takes a cut back.
    pub fn uncut(&self, block: BlockId) {
        let word = self.core().state(block);
        let current = word.load(Acquire);
        let _ = word.compare_exchange(current, current.uncut(), AcqRel, Acquire);
    }

    /// Passes by with a token in hand: drops it, or clears *touched* and puts it back.
    pub fn pass_by(&self, token: BlockId) {
        if !self.core().drop_token_if_held(token) {
            self.clear_touched(token);
            self.push(token);
        }
    }
    /// The first part of settling.
    pub fn unindex(&self, claim: &Unsettled) {
        self.core().index.remove(claim.0.home(), claim.0.block);
    }
    /// The last part of settling.
    pub fn lower_parent(&self, claim: &Unsettled) {
        let parent = claim.0.parent();
        if let Some(block) = parent.block() {
            self.core().nodes.get(block).child_goes(parent.generation());
        }
    }
    /// Makes a claimed block held.
    pub fn own_claimed(&self, block: BlockId) {
        self.own(block);
    }
    /// Releases the last reference of a published block and stops between its place in the ring and its store.
    pub fn stop_while_releasing(&self, block: BlockId) {
        let word = self.core().state(block);
        let current = word.load(Acquire);
        let next = current.held_once_less().with_queued(true);
        word.compare_exchange(current, next, AcqRel, Relaxed).ok();
        self.stall_a_push();
    }

    // ---- sequences of tokens

    fn space(&self) -> Space {
        Space::new(&Namespace::new(), self.core().secret)
    }
    /// Pins the longest prefix; idle blocks are paid from what is available.
    pub fn find(&self, worker: &Worker, tokens: &[u32]) -> Vec<BlockId> {
        let core = self.core();
        let namespace = Namespace::new();
        let prompt = Prompt::new(&namespace, tokens).full_hit(true);
        let mut purse = Purse::available(&core.credits);
        let mut found = BlockList::new();
        let most = tokens.len() / core.block_size;
        core.find(&prompt, most, &mut purse, &mut found);
        purse.close();
        worker.count(Counter::Hits, found.len());
        found.into_vec()
    }
    /// Positions that would be found.
    pub fn probe(&self, tokens: &[u32]) -> usize {
        let namespace = Namespace::new();
        let prompt = Prompt::new(&namespace, tokens).full_hit(true);
        self.core()
            .probe(&prompt, tokens.len() / self.core().block_size)
            .positions
    }
    /// Offers a block as the first one with these tokens.
    pub fn offer(&self, block: BlockId, tokens: &[u32]) -> bool {
        let core = self.core();
        let extra = self.space().first(ExtraKey::NONE, core.secret);
        let mut purse = Purse::available(&core.credits);
        let root = Place::root(self.space()).link;
        let hit = core.pin(block, root, &core.identity(tokens, extra), &mut purse) != Pin::Miss;
        purse.close();
        hit
    }
    /// Publishes held private blocks below a held published path.
    pub fn publish(
        &self,
        worker: &mut Worker,
        path: &[BlockId],
        private: &[BlockId],
        tokens: &[u32],
    ) -> Published {
        let core = self.core();
        // Known to have no cuts when there were none in the pool.
        let mut chain = RawChain::new(self.space(), BlockList::from_slice(path), 0);
        chain.ids.extend_from_slice(private);
        let mut purse = Purse::available(&core.credits);
        let published = core.publish(
            worker,
            &mut chain,
            &Contents::new(tokens),
            private.len(),
            &mut purse,
        );
        purse.close();
        published
    }
    /// Gives back one reference of each, the last first.
    pub fn release(&self, path: &[BlockId]) {
        self.core().release(path.iter().rev().copied());
    }
    /// One reference more.
    pub fn hold(&self, block: BlockId) -> bool {
        self.core().hold(block, 1).is_ok()
    }
    // ---- at rest

    /// `held`: references by block. `tokens`, `credits`, `claims`: what stopped threads have.
    pub fn audit(
        &self,
        held: &[(BlockId, u64)],
        tokens: &[BlockId],
        credits: usize,
        claims: &[&Unsettled],
    ) -> Result<(), Inconsistency> {
        let mut account = Account {
            held: vec![0; self.core().states.len()],
            fenced: vec![0; self.core().states.len()],
            ..Account::default()
        };
        for &(block, n) in held {
            account.held[block.index()] += n;
        }
        account.stopped = Stopped {
            tokens: tokens.to_vec(),
            credits,
            claims: claims
                .iter()
                .map(|claim| (claim.0.block, claim.0.parent()))
                .collect(),
        };
        self.core().audit_account(&account)
    }
}

/// The bitmap of free blocks by itself, with two bits a word.
pub struct Bitmap(FreeMap<2>);

impl Bitmap {
    pub fn new(blocks: usize) -> Self {
        Self(FreeMap::new(blocks, blocks).unwrap_or_else(|error| panic!("{error}")))
    }
    pub fn claim(&self, want: usize) -> Vec<u32> {
        let mut got = vec![];
        self.0
            .claim(&mut 0, want, |run| got.extend(run.ids().map(BlockId::get)));
        got
    }
    pub fn insert(&self, block: u32) {
        let (word, bit) = FreeMap::<2>::place(BlockId::new(block));
        self.0.insert(word, bit);
    }
    pub fn is_announced(&self) -> bool {
        self.0.audit().is_ok()
    }
}

/// One block and its credit.
pub struct Credited(Steps);

impl Default for Credited {
    fn default() -> Self {
        Self::new()
    }
}

impl Credited {
    /// The block is held by the caller.
    pub fn new() -> Self {
        let pool =
            BlockPool::new(&crate::PoolConfig::new(1, 2)).unwrap_or_else(|error| panic!("{error}"));
        let steps = Steps(pool);
        let mut worker = steps.0.worker().unwrap_or_else(|error| panic!("{error}"));
        assert!(steps.withdraw(1));
        steps.take_free(&mut worker);
        Self(steps)
    }
    pub fn release(&self) {
        self.0.release(&[BlockId::new(0)]);
    }
    pub fn withdraw(&self) -> bool {
        self.0.withdraw(1)
    }
    pub fn has_free_block(&self) -> bool {
        self.0.free_blocks() == 1
    }
}

/// The event ring by itself. An event's key is its block's id.
pub struct Events(EventRing);

impl Events {
    pub fn new(slots: usize) -> Self {
        Self(EventRing::new(slots).unwrap_or_else(|error| panic!("{error}")))
    }
    pub fn emit(&self, block: u32) {
        let copy = Findable {
            block: BlockId::new(block),
            generation: 1,
            key: u64::from(block),
            parent_key: None,
            depth: 0,
        };
        self.0.emit(EventKind::Stored, &copy);
    }
    /// Reads on from a position: the new position, the events' blocks and keys, and how many were lost.
    pub fn read(&self, position: u64, seen: &mut Vec<(u32, u64)>, lost: &mut u64) -> u64 {
        let mut reader = EventReader::new(&self.0);
        reader.seek(position);
        let mut events = vec![];
        *lost += reader.read(&mut events);
        seen.extend(
            events
                .iter()
                .map(|event| (event.copy.block.get(), event.copy.key)),
        );
        reader.position()
    }
}
