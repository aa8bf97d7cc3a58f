//! Known failures of other allocators (`CASES.md`), as far as they need blocks and chains only. Each test bears its case's id.
//!
//! Elsewhere, and why:
//! * C001, C003, C004 (double release, stale handle): blocks are given back by consuming what holds them, so these do not compile.
//!   They are `compile_fail` examples in `src/pool/blocks.rs`; at run time they return with the registry's handles (`sequence_cases.rs`).
//! * C014 (c), C065 to C070: window and hybrid groups, which are not in the first version.
//! * C051, C052, C056, and C027, C028 once more with pins: `leases.rs`. C082: `layout.rs`.
//! * C015, C049, C050, C053, C055, C086 (imports, holds, host copies), C057 to C059 (fences), C077 (two pools): `lifetime_cases.rs`,
//!   and there C030, C032, C038, C054, C060, C083, C084 and C085 as far as they need imports, fences or a registry that hears of bad content.
//! * C041 (a), C044 to C048 (copy at the first write, drafts, truncation), C060, C075 (preemption): `sequence_cases.rs`, where the
//!   cases of this file that speak of requests return at the level of the registry.
//! * C061 to C064: several shards. C079 to C081: `copies/cases.rs`.
//!
//! What is said of sequences in C002, C006, C013, C016, C031, C042, C043, C054 and C084 is tested here for chains:
//! an admission is reserve, find, take and push; the growth that it is promised is what stays of its reservation.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use std::collections::BTreeSet;

use kvblock::{
    BlockId, BlockPool, Blocks, Chain, ClearError, Contents, Event, EventKind, EventReader,
    ExtraKey, Field, Holder, JoinError, LengthMismatch, Namespace, PoolConfig, Prompt,
    PublishError, Published, Refused, Reservation, Stopped, TakeError, Worker, WrongPool,
};

use support::{distinct, never_fits, pool, pool_with_constant_hash, shortfall, text};

// ---- the words of the cases

/// A request: its chain, what it was promised, its tokens.
struct Request<'p> {
    chain: Chain<'p>,
    promise: Reservation<'p>,
    tokens: Vec<u32>,
    hit: usize,
}

impl Request<'_> {
    fn blocks(&self) -> usize {
        self.chain.len()
    }
}

/// One thread that works on a pool.
struct On<'p> {
    pool: &'p BlockPool,
    worker: Worker,
    reader: Option<EventReader<'p>>,
}

impl<'p> On<'p> {
    fn new(pool: &'p BlockPool) -> Self {
        Self {
            pool,
            worker: pool.worker().expect("a worker"),
            reader: pool.events(),
        }
    }

    /// What an admission would charge, and what it would hit.
    fn charge(
        &self,
        namespace: &Namespace,
        tokens: &[u32],
        growth: usize,
    ) -> Result<usize, Refused> {
        let size = self.pool.block_size();
        let in_all = (tokens.len() + growth).div_ceil(size);
        if in_all > self.pool.capacity() {
            return Err(self.pool.check(in_all).expect_err("more than the pool has"));
        }
        let hit = self
            .pool
            .probe(&Prompt::new(namespace, tokens))
            .expect("no slices but the tokens");
        Ok(in_all - hit.held)
    }

    /// The predictor.
    fn query(&self, tokens: &str) -> Result<(), Refused> {
        self.pool
            .check(self.charge(&Namespace::new(), &text(tokens), 0)?)
    }

    fn admit(&mut self, tokens: &str) -> Result<Request<'p>, Refused> {
        self.admit_in(&Namespace::new(), tokens, 0)
    }

    fn admit_with_growth(&mut self, tokens: &str, growth: usize) -> Result<Request<'p>, Refused> {
        self.admit_in(&Namespace::new(), tokens, growth)
    }

    fn admit_in(
        &mut self,
        namespace: &Namespace,
        tokens: &str,
        growth: usize,
    ) -> Result<Request<'p>, Refused> {
        let tokens = text(tokens);
        let mut promise = self
            .pool
            .reserve(self.charge(namespace, &tokens, growth)?)?;
        let prompt = Prompt::new(namespace, &tokens);
        let mut chain = self
            .pool
            .find(&mut self.worker, &prompt, &mut promise)
            .expect("all of one pool");
        let size = self.pool.block_size();
        let hit = chain.len() * size;
        let fresh = tokens.len().div_ceil(size) - chain.len();
        let fresh = promise
            .take(&mut self.worker, fresh)
            .expect("a promise is kept");
        chain.push(fresh).expect("all of one pool");
        Ok(Request {
            chain,
            promise,
            tokens,
            hit,
        })
    }

    /// The request goes on: from its promise, and beyond it from what is available.
    fn append(&mut self, request: &mut Request<'p>, tokens: &str) -> Result<(), Refused> {
        let more = text(tokens);
        let blocks = (request.tokens.len() + more.len()).div_ceil(self.pool.block_size());
        let missing = blocks - request.chain.len();
        request
            .promise
            .grow(missing.saturating_sub(request.promise.len()))?;
        let blocks = request
            .promise
            .take(&mut self.worker, missing)
            .expect("a promise is kept");
        request.chain.push(blocks).expect("all of one pool");
        request.tokens.extend(more);
        Ok(())
    }

    /// K/V of the first `n` tokens is written: publish the full blocks below. How many were stored, how many duplicates.
    #[track_caller]
    fn computed(&mut self, request: &mut Request<'p>, n: usize) -> (usize, usize) {
        let published = self.publish(request, n);
        assert_eq!(published.stopped, None);
        (published.stored, published.duplicates)
    }

    fn publish(&mut self, request: &mut Request<'p>, n: usize) -> Published {
        let size = self.pool.block_size();
        let from = request.chain.published() * size;
        let contents = Contents::new(&request.tokens[from..n / size * size]);
        request
            .chain
            .publish(&mut self.worker, &contents, None)
            .expect("the chain has these blocks")
    }

    /// `P48 idle`: admitted, computed, released.
    fn idle(&mut self, tokens: &str) {
        self.idle_in(&Namespace::new(), tokens);
    }

    fn idle_in(&mut self, namespace: &Namespace, tokens: &str) {
        let mut request = self.admit_in(namespace, tokens, 0).expect("it fits");
        let n = request.tokens.len();
        self.computed(&mut request, n);
        self.release(request);
    }

    fn fork(&mut self, request: &Request<'p>) -> Request<'p> {
        Request {
            chain: request
                .chain
                .fork(&mut self.worker)
                .expect("few references"),
            promise: self.pool.reserve(0).expect("nothing always fits"),
            tokens: request.tokens.clone(),
            hit: request.hit,
        }
    }

    fn release(&mut self, request: Request<'p>) {
        request
            .chain
            .release(&mut self.worker)
            .expect("all of one pool");
    }

    fn take(&mut self, n: usize) -> Result<Blocks<'p>, Refused> {
        let mut reservation = self.pool.reserve(n)?;
        Ok(reservation
            .take(&mut self.worker, n)
            .expect("a promise is kept"))
    }

    fn give_back(&mut self, blocks: Blocks<'p>) {
        blocks.release(&mut self.worker).expect("all of one pool");
    }

    fn evict(&mut self, n: usize) -> usize {
        self.pool
            .evict(&mut self.worker, n)
            .expect("all of one pool")
    }

    /// Matched tokens.
    fn probe(&self, tokens: &str) -> usize {
        self.probe_in(&Namespace::new(), tokens)
    }

    fn probe_in(&self, namespace: &Namespace, tokens: &str) -> usize {
        support::probe(self.pool, namespace, tokens)
    }

    /// What was stored and removed since the last look.
    fn news(&mut self) -> (Vec<BlockId>, Vec<BlockId>) {
        support::news(self.reader.as_mut().expect("events are on"))
    }

    #[track_caller]
    fn counts(&self, free: usize, idle: usize, held: usize) {
        support::counts(self.pool, free, idle, held);
    }

    #[track_caller]
    fn reserved(&self, n: usize) {
        assert_eq!(self.pool.reserved(), n, "reserved");
    }

    #[track_caller]
    fn audit(&self, holders: &[&dyn Holder]) {
        assert_eq!(self.pool.audit(holders), Ok(()), "audit");
    }
}

// ---- 1. double free and stale handles

#[test]
fn c002_two_owners_of_one_block_by_two_finds() {
    let pool = pool(7, 16);
    let mut on = On::new(&pool);
    on.idle("P16");
    let a = on.admit("P17").expect("it fits");
    let a2 = on.admit("P17").expect("it fits");
    assert_eq!(
        (a.hit, a2.hit, a.chain.ids()[0]),
        (16, 16, a2.chain.ids()[0])
    );
    on.counts(4, 0, 3);
    on.release(a);
    on.counts(5, 0, 2);
    on.release(a2);
    on.counts(6, 1, 0);
    let all = on.take(7).expect("all are available");
    distinct(all.ids(), 7);
    assert_eq!(shortfall(on.take(1)), 1);
    on.audit(&[&all]);
}

#[test]
fn c002_two_owners_of_one_block_by_a_fork() {
    let pool = pool(7, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P1").expect("it fits");
    let a2 = on.fork(&a);
    on.counts(6, 0, 1);
    on.release(a);
    on.counts(6, 0, 1);
    on.release(a2);
    on.counts(7, 0, 0);
    let all = on.take(7).expect("all are available");
    distinct(all.ids(), 7);
    assert_eq!(shortfall(on.take(1)), 1);
    on.audit(&[&all]);
}

#[test]
fn c005_lookup_result_used_after_the_block_was_evicted() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P17");
    on.counts(3, 1, 0);
    assert_eq!(on.probe("P17"), 16);
    let x = on.take(4).expect("free and idle");
    on.counts(0, 0, 4);
    on.give_back(x);
    on.counts(4, 0, 0);
    let a = on.admit("P17").expect("it fits");
    assert_eq!((a.hit, a.blocks()), (0, 2));
    on.counts(2, 0, 2);
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c006_no_size_makes_more_than_there_is() {
    let pool = pool(9, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P48").expect("it fits");
    on.counts(6, 0, 3);
    assert_eq!(on.take(0).expect("nothing always fits").len(), 0);
    assert_eq!(
        a.promise
            .take(&mut on.worker, 0)
            .expect("nothing always fits")
            .len(),
        0
    );
    assert_eq!(a.promise.shrink(0), Ok(()));
    assert_eq!(a.promise.grow(0), Ok(()));
    assert_eq!(a.promise.split(0).expect("nothing always fits").len(), 0);
    assert_eq!(a.chain.split_off(3).expect("the end is a place").len(), 0);
    assert_eq!(on.evict(0), 0);
    assert_eq!(pool.maintain(&mut on.worker, 0), Ok(0));
    let exceeds = a
        .promise
        .shrink(usize::MAX)
        .expect_err("nothing is promised");
    assert_eq!((exceeds.asked, exceeds.left), (usize::MAX, 0));
    assert_eq!(never_fits(a.promise.grow(usize::MAX)), (usize::MAX, 9));
    assert_eq!(never_fits(on.take(usize::MAX)), (usize::MAX, 9));
    assert_eq!(a.blocks(), 3);
    on.counts(6, 0, 3);
    on.reserved(0);
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c007_handle_of_one_pool_given_to_another() {
    let (x_pool, y_pool) = (pool(4, 16), pool(4, 16));
    let (mut x, mut y) = (On::new(&x_pool), On::new(&y_pool));
    let a = x.take(1).expect("it is free");
    let refused = a.release(&mut y.worker).expect_err("blocks of X");
    assert_eq!(refused.error, WrongPool);
    let mut chain = y_pool.chain(&Namespace::new());
    let refused = chain.push(refused.value).expect_err("blocks of X");
    assert_eq!((refused.error, chain.len()), (JoinError::WrongPool, 0));
    let mut of_x = x_pool.chain(&Namespace::new());
    of_x.push(refused.value).expect("blocks of X");
    let tokens = text("P16");
    let published = of_x.publish(&mut y.worker, &Contents::new(&tokens), None);
    assert_eq!(published, Err(PublishError::WrongPool));
    assert_eq!(of_x.published(), 0);
    x.counts(3, 0, 1);
    y.counts(4, 0, 0);
    let all = y.take(4).expect("all are free");
    assert_eq!(shortfall(y.take(1)), 1);
    x.audit(&[&of_x]);
    y.audit(&[&all, &chain]);
}

// ---- 2. a refused call changes nothing

#[test]
fn c008_failed_admission_does_not_empty_the_cache() {
    let pool = pool(100, 1);
    let mut on = On::new(&pool);
    on.idle("P50");
    let x = on.take(40).expect("they are free");
    on.counts(10, 50, 40);
    on.news();
    assert_eq!(shortfall(on.admit("Q100")), 40);
    on.counts(10, 50, 40);
    assert_eq!(on.news(), (vec![], vec![]));
    assert_eq!(on.probe("P51"), 50);
    on.audit(&[&x]);
}

#[test]
fn c009_failed_admission_leaves_hit_blocks_unheld() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P48").expect("it fits");
    on.computed(&mut a, 48);
    let mut b = on.admit("P48+Q48").expect("it fits");
    on.computed(&mut b, 96);
    on.release(b);
    let c = on.admit("R32").expect("it fits");
    on.counts(2, 3, 5);
    assert_eq!(shortfall(on.admit("P48+Q48+S48")), 1);
    on.counts(2, 3, 5);
    on.reserved(0);
    on.release(a);
    on.counts(2, 6, 2);
    on.audit(&[&c.chain, &c.promise]);
}

#[test]
fn c010_short_allocation_takes_nothing() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let x = on.take(2).expect("they are free");
    assert_eq!(shortfall(on.take(3)), 1);
    on.counts(2, 0, 2);
    let y = on.take(2).expect("they are free");
    on.counts(0, 0, 4);
    on.audit(&[&x, &y]);
}

#[test]
fn c011_clearing_the_cache_while_a_request_lives() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    on.idle("P80");
    let a = on.admit("Q16").expect("it fits");
    on.counts(2, 5, 1);
    assert_eq!(pool.clear(&mut on.worker, None), Ok::<usize, ClearError>(5));
    on.counts(7, 0, 1);
    assert_eq!(on.probe("P81"), 0);
    on.audit(&[&a.chain, &a.promise]);
}

// ---- 3. predictor and allocator; never and later

#[test]
fn c012_larger_than_the_pool_is_a_final_answer() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    assert_eq!(never_fits(on.admit("P129")), (9, 8));
    let q = on
        .admit("Q64")
        .expect("nobody queues behind the impossible one");
    on.counts(4, 0, 4);
    on.release(q);
    let p = on.admit("P128").expect("it fits exactly");
    on.counts(0, 0, 8);
    on.release(p);
    let p = on.admit_with_growth("P112", 16).expect("it fits exactly");
    on.counts(1, 0, 7);
    on.reserved(1);
    on.release(p);
    assert_eq!(never_fits(on.admit_with_growth("P112", 17)), (9, 8));
    assert_eq!(never_fits(pool.reserve(9)), (9, 8));
    on.counts(8, 0, 0);
    on.reserved(0);
    on.audit(&[]);
}

#[test]
fn c013_admission_looks_at_the_whole_need() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let x = on.take(6).expect("they are free");
    assert_eq!(shortfall(on.admit("P128")), 4);
    assert_eq!(shortfall(on.admit_with_growth("P16", 112)), 4);
    on.counts(4, 0, 6);
    on.reserved(0);
    on.audit(&[&x]);
}

#[test]
fn c014_predictor_and_allocator_count_the_same_blocks() {
    let pool_a = pool(6, 2);
    let mut on = On::new(&pool_a);
    assert_eq!(on.query("P12"), Ok(()));
    let a = on.admit("P12").expect("the predictor said so");
    assert_eq!(a.blocks(), 6);
    on.counts(0, 0, 6);
    on.audit(&[&a.chain, &a.promise]);

    let pool_b = pool(6, 2);
    let mut on = On::new(&pool_b);
    let x = on.take(1).expect("it is free");
    let predicted = on.query("P12").expect_err("one is missing");
    let refused = on.admit("P12").map(|_| ()).expect_err("one is missing");
    assert_eq!(predicted, refused);
    assert_eq!(shortfall::<()>(Err(refused)), 1);
    on.counts(5, 0, 1);
    on.audit(&[&x]);
}

// ---- 4. reservations

#[test]
fn c016_two_half_loaded_requests_do_not_both_hold_and_wait() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit_with_growth("P80", 48).expect("it fits");
    on.counts(5, 0, 5);
    on.reserved(3);
    assert_eq!(shortfall(on.admit_with_growth("Q80", 48)), 6);
    on.counts(5, 0, 5);
    on.append(&mut a, "A48").expect("it was promised");
    on.counts(2, 0, 8);
    on.reserved(0);
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c017_ordinary_admission_cannot_eat_a_reservation() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let mut r = pool.reserve(6).expect("it fits");
    assert_eq!(shortfall(on.admit("P80")), 1);
    let a = on.admit("P64").expect("four are left");
    on.counts(6, 0, 4);
    on.reserved(6);
    let x = r.take(&mut on.worker, 6).expect("they were promised");
    on.counts(0, 0, 10);
    on.reserved(0);
    on.audit(&[&a.chain, &a.promise, &x, &r]);
}

#[test]
fn c018_a_reservation_is_spent_by_its_owner_and_ends_once() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let mut r1 = pool.reserve(4).expect("it fits");
    let mut r2 = pool.reserve(4).expect("it fits");
    match r1.take(&mut on.worker, 5).map(|_| ()) {
        Err(TakeError::Exceeds(short)) => assert_eq!((short.asked, short.left), (5, 4)),
        other => panic!("five of four: {other:?}"),
    }
    assert_eq!((r1.len(), r2.len()), (4, 4));
    assert_eq!(shortfall(on.take(1)), 1);
    let x = r2.take(&mut on.worker, 4).expect("they were promised");
    let y = r1.take(&mut on.worker, 2).expect("they were promised");
    on.counts(2, 0, 6);
    on.reserved(2);
    drop(r1);
    on.counts(2, 0, 6);
    on.reserved(0);
    on.audit(&[&x, &y, &r2]);
}

#[test]
fn c019_a_hit_cannot_pull_idle_blocks_out_from_under_a_reservation() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    on.idle("P96");
    on.counts(4, 6, 0);
    let r = pool.reserve(10).expect("free and idle");
    on.counts(4, 6, 0);
    assert_eq!(on.probe("P97"), 96);
    assert_eq!(shortfall(on.admit("P49")), 4);
    on.counts(4, 6, 0);
    drop(r);
    let a = on.admit("P49").expect("it fits");
    on.counts(3, 3, 4);
    on.audit(&[&a.chain, &a.promise]);
}

// ---- 5. eviction order; eviction of blocks in use

#[test]
fn c020_tail_first() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P64");
    on.counts(0, 4, 0);
    let mut taken = Vec::new();
    for left in [48, 32, 16] {
        taken.push(on.take(1).expect("one is idle"));
        assert_eq!(on.probe("P65"), left);
    }
    let holders: Vec<&dyn Holder> = taken.iter().map(|blocks| blocks as &dyn Holder).collect();
    on.audit(&holders);
}

#[test]
fn c021_free_blocks_first_then_the_oldest_release() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P87").expect("it fits");
    on.computed(&mut a, 87);
    let mut b = on.admit("Q48").expect("it fits");
    on.computed(&mut b, 48);
    on.release(a);
    on.release(b);
    on.counts(2, 8, 0);
    let w = on.take(2).expect("two are free");
    on.counts(0, 8, 2);
    assert_eq!((on.probe("P81"), on.probe("Q49")), (80, 48));
    let x = on.take(3).expect("idle");
    assert_eq!(on.probe("P81"), 32);
    let y = on.take(2).expect("idle");
    assert_eq!((on.probe("P81"), on.probe("Q49")), (0, 48));
    let z = on.take(1).expect("idle");
    assert_eq!(on.probe("Q49"), 32);
    on.audit(&[&w, &x, &y, &z]);
}

#[test]
fn c022_hits_are_held_before_room_is_made_for_the_rest() {
    let pool = pool(2, 16);
    let mut on = On::new(&pool);
    on.idle("P16");
    on.idle("Q16");
    on.counts(0, 2, 0);
    let (stored, _) = on.news();
    let a = on.admit("P16+Q16").expect("it fits");
    assert_eq!(a.hit, 16, "P is hit although it is the older one");
    assert_eq!(
        on.news(),
        (vec![], vec![stored[1]]),
        "exactly Q's block is removed"
    );
    on.counts(0, 0, 2);
    assert_eq!(on.probe("Q17"), 0);
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c023_eviction_skips_blocks_that_have_a_reader() {
    let pool = pool(2, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P16").expect("it fits");
    on.computed(&mut a, 16);
    assert_eq!(on.evict(2), 0);
    on.counts(1, 0, 1);
    assert_eq!(on.probe("P17"), 16);
    assert_eq!(shortfall(on.take(2)), 1);
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c024_a_short_overlap_does_not_pin_the_rest_of_a_long_cached_prompt() {
    let pool = pool(128, 1);
    let mut on = On::new(&pool);
    on.idle("P128");
    on.counts(0, 128, 0);
    let a = on.admit("P1+Q3").expect("it fits");
    assert_eq!(a.hit, 1);
    on.counts(0, 124, 4);
    assert_eq!(on.probe("P128"), 125);
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c025_holders_survive_a_divergence_in_the_middle_of_a_held_prefix() {
    let pool = pool(16, 16);
    let mut on = On::new(&pool);
    on.idle("P128");
    let a = on.admit("P81").expect("it fits");
    on.counts(7, 3, 6);
    let mut b = on.admit("P48+Q32").expect("it fits");
    assert_eq!(b.hit, 48);
    on.computed(&mut b, 80);
    on.release(b);
    on.release(a);
    on.counts(6, 10, 0);
    assert_eq!(on.evict(16), 10);
    on.counts(16, 0, 0);
    on.audit(&[]);
}

#[test]
fn c026_losing_a_middle_block_cuts_the_chain() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P48");
    let (stored, _) = on.news();
    assert_eq!(pool.invalidate(&mut on.worker, stored[1]), Ok(2));
    assert_eq!(on.probe("P49"), 16);
    assert_eq!(
        on.news(),
        (vec![], vec![stored[2], stored[1]]),
        "the unreachable third block leaves first"
    );
    assert_eq!(on.evict(4), 1);
    on.counts(4, 0, 0);
    on.audit(&[]);
}

#[test]
fn c027_batched_eviction_respects_a_pin() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P16");
    on.idle("Q16");
    on.idle("R16");
    let mut pay = pool.reserve(1).expect("it fits");
    let pin = pool
        .find(
            &mut on.worker,
            &Prompt::new(&Namespace::new(), &text("Q17")),
            &mut pay,
        )
        .expect("one pool");
    assert_eq!((pin.len(), pay.len()), (1, 0));
    assert_eq!(on.evict(3), 2);
    on.counts(3, 0, 1);
    assert_eq!(
        (on.probe("P17"), on.probe("R17"), on.probe("Q17")),
        (0, 0, 16)
    );
    pin.release(&mut on.worker).expect("one pool");
    on.counts(3, 1, 0);
    on.audit(&[&pay]);
}

#[test]
fn c028_pin_and_unpin_of_an_idle_block_leaves_one_queue_entry() {
    let pool = pool(3, 16);
    let mut on = On::new(&pool);
    on.idle("P16");
    let mut pay = pool.reserve(1).expect("it fits");
    let pin = pool
        .find(
            &mut on.worker,
            &Prompt::new(&Namespace::new(), &text("P17")),
            &mut pay,
        )
        .expect("one pool");
    on.counts(2, 0, 1);
    pin.release(&mut on.worker).expect("one pool");
    on.counts(2, 1, 0);
    let all = on.take(3).expect("all are available");
    distinct(all.ids(), 3);
    assert_eq!(shortfall(on.take(1)), 1);
    on.audit(&[&all, &pay]);
}

#[test]
fn c029_probing_is_not_an_access() {
    let pool = pool(2, 16);
    let mut on = On::new(&pool);
    on.idle("P16");
    on.idle("Q16");
    for _ in 0..10 {
        assert_eq!(on.probe("P17"), 16);
    }
    let x = on.take(1).expect("one is idle");
    assert_eq!((on.probe("P17"), on.probe("Q17")), (0, 16));
    let report = pool.report();
    assert_eq!(
        (report.hits, report.misses, report.second_chances),
        (0, 0, 0)
    );
    on.audit(&[&x]);
}

// ---- 6. publishing, sealing, duplicates

#[test]
fn c030_nothing_is_published_before_it_is_written() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P33").expect("it fits");
    on.release(a);
    on.counts(8, 0, 0);
    assert_eq!(on.probe("P33"), 0);
    on.idle("P64");
    assert_eq!(on.evict(8), 4);
    let mut b2 = on.admit("P64").expect("it fits");
    assert_eq!(b2.hit, 0);
    on.counts(4, 0, 4);
    assert_eq!(on.probe("P65"), 0);
    on.computed(&mut b2, 64);
    assert_eq!(on.probe("P65"), 64);
    on.audit(&[&b2.chain, &b2.promise]);
}

#[test]
fn c031_publish_no_further_than_what_is_written() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P33").expect("it fits");
    on.computed(&mut a, 20);
    assert_eq!(on.probe("P33"), 16);
    on.computed(&mut a, 33);
    assert_eq!(on.probe("P33"), 32);
    // More than the chain has.
    let more = text("X32");
    match a.chain.publish(&mut on.worker, &Contents::new(&more), None) {
        Err(PublishError::LengthMismatch(LengthMismatch {
            what: Field::Tokens,
            expected: 16,
            got: 32,
            ..
        })) => {}
        other => panic!("two blocks of one: {other:?}"),
    }
    // Not a full block.
    match a
        .chain
        .publish(&mut on.worker, &Contents::new(&more[..15]), None)
    {
        Err(PublishError::LengthMismatch(LengthMismatch {
            what: Field::Tokens,
            expected: 0,
            got: 15,
            ..
        })) => {}
        other => panic!("a block of 15: {other:?}"),
    }
    assert_eq!(on.probe("P33"), 32);
    let (stored, removed) = on.news();
    assert_eq!((stored.len(), removed.len()), (2, 0));
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c032_same_prompt_twice_in_flight() {
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let pool = pool(10, 16);
        let mut on = On::new(&pool);
        let mut a = on.admit("P33").expect("it fits");
        let mut b = on.admit("P33").expect("it fits");
        assert_eq!(b.hit, 0, "nothing is written yet");
        on.counts(4, 0, 6);
        on.computed(&mut a, 33);
        let c = on.admit("P33").expect("it fits");
        assert_eq!(c.hit, 32);
        on.counts(3, 0, 7);
        assert_eq!(on.computed(&mut b, 33), (0, 2));
        let mut requests = [Some(a), Some(b), Some(c)];
        for which in order {
            assert_eq!(on.probe("P33"), 32, "release order {order:?}");
            on.release(requests[which].take().expect("each once"));
        }
        assert_eq!(on.probe("P33"), 32, "release order {order:?}");
        on.counts(8, 2, 0);
        let (stored, removed) = on.news();
        assert_eq!(
            (stored.len(), removed.len()),
            (2, 0),
            "release order {order:?}"
        );
        let all = on.take(10).expect("all are available");
        distinct(all.ids(), 10);
        assert_eq!(on.news().1.len(), 2, "two evictions");
        on.audit(&[&all]);
    }
}

#[test]
fn c033_blocks_are_shareable_as_soon_as_written() {
    let pool = pool(200, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P2048").expect("it fits");
    on.computed(&mut a, 2048);
    let b = on.admit("P2049").expect("it fits");
    assert_eq!(b.hit, 2048, "while A runs");
    on.release(b);
    on.append(&mut a, "G512").expect("it fits");
    on.computed(&mut a, 2560);
    on.release(a);
    let c = on.admit("P2048+G512+Q1").expect("it fits");
    assert_eq!(c.hit, 2560, "generated blocks included");
    on.counts(39, 0, 161);
    on.audit(&[&c.chain, &c.promise]);
}

#[test]
fn c034_a_fully_cached_prompt_still_has_one_token_to_compute() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P32");
    on.counts(2, 2, 0);
    let mut a = on.admit("P32").expect("it fits");
    assert_eq!(a.hit, 16);
    on.counts(1, 1, 2);
    assert_eq!(on.computed(&mut a, 32), (0, 1));
    on.release(a);
    on.counts(2, 2, 0);
    on.audit(&[]);
}

#[test]
fn c034_skipping_the_last_token_is_an_option() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P32");
    let (namespace, tokens) = (Namespace::new(), text("P32"));
    let prompt = Prompt::new(&namespace, &tokens).full_hit(true);
    assert_eq!(
        pool.probe(&prompt)
            .expect("no slices but the tokens")
            .positions,
        32
    );
    let mut pay = pool.reserve(2).expect("it fits");
    let chain = pool
        .find(&mut on.worker, &prompt, &mut pay)
        .expect("one pool");
    assert_eq!((chain.len(), chain.published(), pay.len()), (2, 2, 0));
    on.audit(&[&chain, &pay]);
}

// ---- 7. identity and isolation

#[test]
fn c035_forced_hash_collision_between_siblings() {
    let pool = pool_with_constant_hash(100, 1);
    let mut on = On::new(&pool);
    for second in ["B1", "C1", "D1", "E1", "F1", "G1"] {
        on.idle(&format!("A1+{second}"));
    }
    on.counts(93, 7, 0);
    for second in ["B1", "C1", "D1", "E1", "F1", "G1"] {
        assert_eq!(on.probe(&format!("A1+{second}+Z1")), 2);
    }
    assert_eq!(on.evict(100), 7);
    on.counts(100, 0, 0);
    on.audit(&[]);
}

#[test]
fn c036_forced_collision_with_nothing_in_common() {
    let pool = pool_with_constant_hash(8, 16);
    let mut on = On::new(&pool);
    on.idle("P16");
    let mut q = on.admit("Q17").expect("it fits");
    assert_eq!(q.hit, 0);
    on.computed(&mut q, 17);
    on.release(q);
    assert_eq!((on.probe("P17"), on.probe("Q17")), (16, 16));
    assert_eq!(on.evict(8), 2);
    on.counts(8, 0, 0);
    on.audit(&[]);
}

#[test]
fn c037_adapter_x_is_not_salt_x() {
    let pool = pool(12, 16);
    let mut on = On::new(&pool);
    on.idle_in(&Namespace::new().adapter("X", 1), "P48");
    assert_eq!(on.probe_in(&Namespace::new().salt("X"), "P49"), 0);
    assert_eq!(on.probe_in(&Namespace::new(), "P49"), 0);
    assert_eq!(on.probe_in(&Namespace::new().adapter("X", 1), "P49"), 48);
    assert_eq!(on.probe_in(&Namespace::new().adapter("X", 2), "P49"), 0);
    on.audit(&[]);
}

#[test]
fn c038_salt_separates_tenants_on_every_path() {
    let pool = pool(12, 16);
    let mut on = On::new(&pool);
    let (s1, s2) = (Namespace::new().salt("s1"), Namespace::new().salt("s2"));
    on.idle_in(&s1, "P48");
    assert_eq!(on.probe_in(&s2, "P49"), 0);
    let a = on.admit_in(&s2, "P49", 0).expect("it fits");
    assert_eq!(a.hit, 0);
    on.counts(5, 3, 4);
    assert_eq!(on.probe_in(&s1, "P49"), 48);
    on.idle_in(&s1, "R32");
    assert_eq!((on.probe("R33"), on.probe_in(&s1, "R33")), (0, 32));
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c039_image_identity_includes_its_offset_in_the_block() {
    // What an engine gives: the image and where it begins, seen from the block.
    let image = |image: u128, start: i64, block: i64| {
        let offset = u64::from_ne_bytes((start - block * 16).to_ne_bytes());
        ExtraKey::new(image << 64 | u128::from(offset))
    };
    const I: u128 = 1;
    const J: u128 = 2;
    let pool = pool(16, 16);
    let mut on = On::new(&pool);
    let namespace = Namespace::new();
    let publish = |on: &mut On<'_>, tokens: &[u32], extra: &[ExtraKey]| {
        let mut chain = pool.chain(&namespace);
        chain
            .push(on.take(3).expect("they are free"))
            .expect("one pool");
        let contents = Contents::new(&tokens[..32]).extra(extra);
        let published = chain
            .publish(&mut on.worker, &contents, None)
            .expect("the chain has these blocks");
        assert_eq!(published.stored, 2);
        chain.release(&mut on.worker).expect("one pool");
    };
    let probe = |tokens: &[u32], extra: &[ExtraKey]| {
        pool.probe(&Prompt::new(&namespace, tokens).extra(extra))
            .expect("two extra keys for two blocks")
            .positions
    };
    let p = [4_711; 33];
    publish(&mut on, &p, &[image(I, 11, 0), image(I, 11, 1)]);
    assert_eq!(probe(&p, &[image(I, 11, 0), image(I, 11, 1)]), 32);
    assert_eq!(probe(&p, &[image(J, 11, 0), image(J, 11, 1)]), 0);
    assert_eq!(probe(&p, &[image(I, 14, 0), image(I, 14, 1)]), 0);
    let q = text("Q33");
    publish(&mut on, &q, &[ExtraKey::NONE, image(I, 20, 1)]);
    assert_eq!(probe(&q, &[ExtraKey::NONE, image(J, 20, 1)]), 16);
    on.audit(&[]);
}

#[test]
fn c040_equal_block_under_another_parent() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    on.idle("X16+Z16");
    on.idle("Y16");
    on.counts(5, 3, 0);
    assert_eq!(on.probe("Y16+Z16+W1"), 16);
    assert_eq!(on.probe("X16+Z16+W1"), 32);
    on.audit(&[]);
}

// ---- 8. fork, partial blocks, beams

#[test]
fn c041_b_fork_at_a_block_border_copies_nothing() {
    let pool = pool(10, 4);
    let mut on = On::new(&pool);
    let mut a = on.admit("P8").expect("it fits");
    let mut b = on.fork(&a);
    on.append(&mut a, "Q1").expect("it fits");
    on.append(&mut b, "R1").expect("it fits");
    on.counts(6, 0, 4);
    assert_eq!(a.chain.ids()[..2], b.chain.ids()[..2]);
    assert_ne!(a.chain.ids()[2], b.chain.ids()[2]);
    on.release(a);
    on.release(b);
    on.counts(10, 0, 0);
    on.audit(&[]);
}

/// What a copy at the first write comes to: a block of its own in the place of the shared partial tail.
fn own_tail<'p>(on: &mut On<'p>, request: &mut Request<'p>) {
    let tail = request
        .chain
        .split_off(request.blocks() - 1)
        .expect("it has a tail");
    tail.release(&mut on.worker).expect("one pool");
    request
        .chain
        .push(on.take(1).expect("it fits"))
        .expect("one pool");
}

#[test]
fn c042_beams_have_a_shared_prefix_and_private_tails() {
    let pool_10 = pool(10, 16);
    let mut on = On::new(&pool_10);
    let mut beams = vec![on.admit("P40").expect("it fits")];
    for _ in 0..3 {
        let beam = on.fork(&beams[0]);
        beams.push(beam);
    }
    on.counts(7, 0, 3);
    beams[1..]
        .iter_mut()
        .for_each(|beam| own_tail(&mut on, beam));
    on.counts(4, 0, 6);
    beams
        .iter_mut()
        .for_each(|beam| on.append(beam, "A16").expect("it fits"));
    on.counts(0, 0, 10);
    beams.into_iter().for_each(|beam| on.release(beam));
    on.counts(10, 0, 0);
    on.audit(&[]);

    let pool_9 = pool(9, 16);
    let mut on = On::new(&pool_9);
    let mut beams = vec![on.admit("P40").expect("it fits")];
    for _ in 0..3 {
        let mut beam = on.fork(&beams[0]);
        own_tail(&mut on, &mut beam);
        beams.push(beam);
    }
    let (last, first) = beams.split_last_mut().expect("four beams");
    first
        .iter_mut()
        .for_each(|beam| on.append(beam, "A16").expect("it fits"));
    assert_eq!(shortfall(on.append(last, "A16")), 1);
    assert_eq!(last.blocks(), 3);
    on.counts(0, 0, 9);
}

#[test]
fn c043_a_live_partial_tail_is_not_shared_through_the_index() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P21").expect("it fits");
    on.computed(&mut a, 21);
    let mut b = on.admit("P21").expect("it fits");
    assert_eq!(b.hit, 16);
    on.counts(5, 0, 3);
    on.append(&mut a, "Q1").expect("it fits");
    on.append(&mut b, "R1").expect("it fits");
    on.counts(5, 0, 3);
    assert_eq!(a.chain.ids()[0], b.chain.ids()[0]);
    assert_ne!(a.chain.ids()[1], b.chain.ids()[1]);
    on.audit(&[&a.chain, &a.promise, &b.chain, &b.promise]);
}

// ---- 10. one bad block

#[test]
fn c054_one_bad_block_two_users() {
    let pool = pool(12, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P64").expect("it fits");
    on.computed(&mut a, 64);
    let mut b = on.admit("P64+Q16").expect("it fits");
    on.computed(&mut b, 80);
    assert_eq!(b.hit, 64);
    assert_eq!(
        pool.invalidate(&mut on.worker, a.chain.ids()[2]),
        Ok(0),
        "held blocks stay"
    );
    assert_eq!(on.probe("P65"), 32);
    assert_eq!((a.blocks(), b.blocks()), (4, 5));
    on.counts(7, 0, 5);
    on.append(&mut a, "R16").expect("it fits");
    let published = on.publish(&mut a, 80);
    assert_eq!(
        (published.stored, published.duplicates, published.stopped),
        (0, 0, Some(Stopped::Cut))
    );
    on.release(a);
    on.release(b);
    assert_eq!(on.probe("P65"), 32);
    // What was cut went free with its last owner.
    on.counts(10, 2, 0);
    assert_eq!(on.evict(12), 2);
    on.counts(12, 0, 0);
    on.audit(&[]);
}

// ---- 14. events

#[test]
fn c071_removed_only_when_the_last_copy_goes() {
    let pool = pool(6, 16);
    let mut on = On::new(&pool);
    let mut a = on.admit("P17").expect("it fits");
    let mut b = on.admit("P17").expect("it fits");
    on.computed(&mut a, 17);
    on.computed(&mut b, 17);
    on.release(a);
    assert_eq!(on.probe("P17"), 16);
    on.release(b);
    assert_eq!(on.probe("P17"), 16);
    let (stored, removed) = on.news();
    assert_eq!((stored.len(), removed.len()), (1, 0));
    assert_eq!(on.evict(6), 1);
    assert_eq!(on.news(), (vec![], stored));
    on.audit(&[]);
}

#[test]
fn c072_root_before_leaf_own_parent_per_block() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let mut reader = pool.events().expect("events are on");
    let mut events = Vec::new();
    let mut a = on.admit("P40").expect("it fits");
    on.computed(&mut a, 40);
    reader.read(&mut events);
    assert_eq!(events.len(), 2, "two full blocks, no part of the third");
    a.tokens = text("P40");
    on.append(&mut a, "A24").expect("it fits");
    a.tokens = text("P64");
    on.computed(&mut a, 64);
    reader.read(&mut events);
    let of = |what: fn(&Event) -> u64| events.iter().map(what).collect::<Vec<_>>();
    assert!(events.iter().all(|event| event.kind == EventKind::Stored));
    assert_eq!(
        events
            .iter()
            .map(|event| event.copy.block)
            .collect::<Vec<_>>(),
        a.chain.ids()
    );
    assert_eq!(of(|event| event.sequence), [0, 1, 2, 3]);
    assert_eq!(of(|event| u64::from(event.copy.depth)), [0, 1, 2, 3]);
    let keys = of(|event| event.copy.key);
    let parents: Vec<_> = events.iter().map(|event| event.copy.parent_key).collect();
    assert_eq!(parents, [None, Some(keys[0]), Some(keys[1]), Some(keys[2])]);
    assert_eq!(
        keys.iter().collect::<BTreeSet<_>>().len(),
        4,
        "four contents, four keys"
    );
    on.audit(&[&a.chain, &a.promise]);
}

#[test]
fn c073_evictions_are_reported_exactly_leaf_before_root() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    on.idle("P128");
    let (h, _) = on.news();
    let mut replayed: BTreeSet<BlockId> = h.iter().copied().collect();
    assert_eq!((replayed.len(), on.probe("P129")), (8, 128));
    let mut taken = Vec::new();
    for (n, removed, left) in [
        (3, vec![h[7], h[6], h[5]], 5),
        (0, vec![], 5),
        (3, vec![h[4], h[3], h[2]], 2),
    ] {
        taken.push(on.take(n).expect("idle"));
        let (stored, gone) = on.news();
        assert_eq!((stored, &gone), (vec![], &removed));
        gone.iter()
            .for_each(|block| assert!(replayed.remove(block)));
        assert_eq!((replayed.len(), on.probe("P129")), (left, left * 16));
        let findable: BTreeSet<BlockId> = pool
            .snapshot()
            .copies
            .iter()
            .map(|copy| copy.block)
            .collect();
        assert_eq!(replayed, findable);
    }
    let holders: Vec<&dyn Holder> = taken.iter().map(|blocks| blocks as &dyn Holder).collect();
    on.audit(&holders);
}

#[test]
fn c074_a_slow_consumer_never_blocks_the_allocator_and_sees_the_gap() {
    let pool = BlockPool::new(&PoolConfig::new(8, 16).events(4)).expect("a sound configuration");
    let mut on = On::new(&pool);
    let mut reader = pool.events().expect("events are on");
    let mut a = on.admit("P112").expect("it fits");
    for n in 1..=7 {
        assert_eq!(on.computed(&mut a, n * 16), (1, 0));
    }
    assert_eq!(on.probe("P113"), 112);
    let mut events = Vec::new();
    assert_eq!(reader.read(&mut events), 3, "three are missing");
    assert_eq!(
        events
            .iter()
            .map(|event| event.sequence)
            .collect::<Vec<_>>(),
        [3, 4, 5, 6]
    );
    on.release(a);
    assert_eq!(on.evict(1), 1);
    events.clear();
    assert_eq!(reader.read(&mut events), 0);
    assert_eq!(
        events
            .iter()
            .map(|event| event.sequence)
            .collect::<Vec<_>>(),
        [7]
    );
    on.audit(&[]);
}

// ---- 15. statistics

#[test]
fn c076_held_idle_and_free_are_three_numbers() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    for round in 1..=20_usize {
        let letter = char::from(b'A' + u8::try_from(round).expect("few rounds"));
        let mut a = on.admit(&format!("{letter}48")).expect("it fits");
        assert_eq!(pool.report().held, 3, "round {round}");
        on.computed(&mut a, 48);
        assert_eq!(pool.report().held, 3, "round {round}");
        on.release(a);
        match round {
            1 => on.counts(7, 3, 0),
            2 => on.counts(4, 6, 0),
            3 => on.counts(1, 9, 0),
            _ => on.counts(0, 10, 0),
        }
    }
    on.audit(&[]);
}

#[test]
fn c078_a_refused_admission_is_not_a_query() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P32");
    let before = pool.report();
    let x = on.take(2).expect("two are free");
    for _ in 0..3 {
        assert_eq!(shortfall(on.admit("P48+Q16")), 2);
    }
    let after = pool.report();
    assert_eq!(
        (after.hits, after.misses),
        (before.hits, before.misses),
        "three refusals"
    );
    assert_eq!(after.refused_shortfall, before.refused_shortfall + 3);
    on.give_back(x);
    let a = on.admit("P48+Q16").expect("it fits");
    assert_eq!(a.hit, 32);
    on.counts(0, 0, 4);
    let after = pool.report();
    // Three of the four blocks may match, one is left to compute.
    assert_eq!(
        (after.hits - before.hits, after.misses - before.misses),
        (2, 1)
    );
    on.audit(&[&a.chain, &a.promise]);
}

// ---- 17. deadlock and progress

#[test]
fn c084_every_entry_point_may_evict() {
    let full = |pool: &BlockPool| {
        let mut on = On::new(pool);
        on.idle("P128");
        on.counts(0, 8, 0);
    };
    let pool_1 = pool(8, 16);
    full(&pool_1);
    let mut on = On::new(&pool_1);
    let x = on.take(1).expect("one is idle");
    assert_eq!(pool_1.report().reclaims, 1);
    on.audit(&[&x]);

    let pool_2 = pool(8, 16);
    full(&pool_2);
    let mut r = pool_2.reserve(1).expect("one is idle");
    assert_eq!(pool_2.report().reclaims, 0, "a promise evicts nothing");
    let mut on = On::new(&pool_2);
    let x = r.take(&mut on.worker, 1).expect("it was promised");
    assert_eq!(pool_2.report().reclaims, 1);
    on.audit(&[&x, &r]);

    let pool_3 = pool(8, 16);
    full(&pool_3);
    let mut on = On::new(&pool_3);
    let mut a = on.admit("Q16").expect("one is idle");
    on.counts(0, 7, 1);
    on.append(&mut a, "R1").expect("one is idle");
    on.counts(0, 6, 2);
    let mut b = on.fork(&a);
    on.counts(0, 6, 2);
    own_tail(&mut on, &mut b);
    on.counts(0, 5, 3);
    assert_eq!(pool_3.report().reclaims, 3);
    on.audit(&[&a.chain, &a.promise, &b.chain, &b.promise]);
}

#[test]
fn c085_released_blocks_are_usable_at_once() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    for _ in 0..1000 {
        let x = on.take(8).expect("all are free");
        on.give_back(x);
    }
    on.counts(8, 0, 0);
    on.audit(&[]);
}

/// What was cleared takes its places out of the order with it: what comes after is reclaimed by its own release.
#[test]
fn the_order_after_a_clear_is_that_of_release() {
    let pool = pool(4, 1);
    let mut on = On::new(&pool);
    for round in 0..2_u32 {
        let chains: Vec<_> = (0..4_u32)
            .map(|n| {
                let mut chain = pool.chain(&Namespace::new());
                let mut promise = pool.reserve(1).expect("it is free");
                chain
                    .take(&mut on.worker, &mut promise, 1)
                    .expect("a promise is kept");
                let _ = chain
                    .publish(&mut on.worker, &Contents::new(&[10 * round + n]), None)
                    .expect("one block");
                chain
            })
            .collect();
        let order: Vec<_> = chains.iter().map(|chain| chain.ids()[0]).collect();
        if round == 0 {
            for chain in chains.into_iter().rev() {
                chain.release(&mut on.worker).expect("its own pool");
            }
            assert_eq!(pool.clear(&mut on.worker, None), Ok(4));
        } else {
            for chain in chains {
                chain.release(&mut on.worker).expect("its own pool");
            }
            let mut promise = pool.reserve(4).expect("all are idle");
            let taken = promise.take(&mut on.worker, 4).expect("a promise is kept");
            assert_eq!(taken.ids(), order);
            assert_eq!(pool.report().second_chances, 0);
        }
    }
}

/// Tokens of thousands of held blocks at the head of the order are dropped, not counted as looks in vain: what is taken behind them is
/// still the oldest release, and no search of all blocks is needed while nobody is stopped.
#[test]
fn tokens_of_held_blocks_do_not_end_the_search_in_order() {
    let pool = BlockPool::new(&PoolConfig::new(4_096, 1)).expect("a sound configuration");
    let mut worker = pool.worker().expect("memory");
    let space = Namespace::new();
    let publish = |worker: &mut kvblock::Worker, tokens: &[u32]| {
        let mut promise = pool.reserve(tokens.len()).expect("room");
        let mut chain = pool.chain(&space);
        chain
            .take(worker, &mut promise, tokens.len())
            .expect("reserved");
        let stored = chain.publish(worker, &kvblock::Contents::new(tokens), None);
        assert_eq!(stored.expect("lengths").stored, tokens.len());
        chain
    };
    let held: Vec<u32> = (0..3_000).collect();
    let chain = publish(&mut worker, &held);
    chain.release(&mut worker).expect("its own");
    let prompt = Prompt::new(&space, &held).full_hit(true);
    let mut pay = pool.reserve(3_000).expect("room");
    let found = pool.find(&mut worker, &prompt, &mut pay).expect("lengths");
    assert_eq!(found.len(), 3_000);

    // Two chains behind those tokens; of equal lengths, so that ids tell nothing of the order.
    let [first, second] = [10_000, 20_000].map(|from| {
        let tokens: Vec<u32> = (from..from + 548).collect();
        (publish(&mut worker, &tokens), tokens)
    });
    for (chain, _) in [(second.0, ()), (first.0, ())] {
        chain.release(&mut worker).expect("its own");
    }
    assert_eq!(pool.report().free, 0);
    let taken = pool.reserve(500).expect("room").take(&mut worker, 500);
    assert_eq!(taken.expect("reserved").len(), 500);
    let left = |tokens: &[u32]| {
        let prompt = Prompt::new(&space, tokens).full_hit(true);
        pool.probe(&prompt).expect("lengths").positions
    };
    assert_eq!((left(&second.1), left(&first.1)), (48, 548));
    assert_eq!(pool.report().sweeps, 0);
}
