//! Known failures of other allocators (`CASES.md`) at the level of the registry. Each test bears its case's id; numbers are the
//! case's own.
//!
//! Elsewhere, and why:
//! * C014 (c), C065 to C070: window and hybrid groups, which are not in the first version.
//! * C015, C049, C050, C053, C055, C086 (imports, holds, host copies), C057 to C059 (fences), C077 (two pools), C083 (what an import
//!   fills), the imports of C038 and C084, and C054 with a registry that hears of it: `lifetime_cases.rs`. C051, C052, C056: `leases.rs`.
//! * C061 to C064: several shards. C079 to C081: `copies/cases.rs`. C082: `layout.rs`.
//! * C010, C018, C023, C027 to C029 speak of blocks and reservations only: `cases.rs`.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use std::collections::BTreeSet;

use kvblock::{
    Admit, AdmitError, Admitted, AppendError, BlockId, BlockPool, Blocks, ClearError,
    ComputedError, Contents, CopyTicket, Cost, EventKind, EventReader, ExtraKey, Growth, Handle,
    Holder, Namespace, PoolConfig, Prompt, Refused, Sequences, SequencesConfig, Stale, Step,
    Worker,
};

use support::{distinct, never_fits, pool, pool_with_constant_hash, shortfall, text};

// ---- the words of the cases

/// One scheduler on a pool, and a thread's worker for calls on the pool itself.
struct On<'p> {
    pool: &'p BlockPool,
    seqs: Sequences,
    worker: Worker,
    reader: Option<EventReader<'p>>,
    step: Step,
}

impl<'p> On<'p> {
    fn new(pool: &'p BlockPool) -> Self {
        Self {
            pool,
            seqs: Sequences::new(pool.clone(), &SequencesConfig::new(64)).expect("a registry"),
            worker: pool.worker().expect("a worker"),
            reader: pool.events(),
            step: Step::default(),
        }
    }

    /// The predictor.
    fn query(&self, tokens: &str, growth: usize) -> Result<Cost, AdmitError> {
        let (namespace, tokens) = (Namespace::new(), text(tokens));
        let prompt = Prompt::new(&namespace, &tokens);
        self.seqs.check(&Admit::new(prompt, promise(growth)))
    }

    fn admitted(&mut self, tokens: &str) -> Result<Admitted, AdmitError> {
        let (namespace, tokens) = (Namespace::new(), text(tokens));
        let prompt = Prompt::new(&namespace, &tokens);
        self.seqs.admit(&Admit::new(prompt, Growth::OnDemand))
    }

    fn admit(&mut self, tokens: &str) -> Result<Handle, AdmitError> {
        Ok(self.admitted(tokens)?.handle)
    }

    fn admit_with_growth(&mut self, tokens: &str, growth: usize) -> Result<Handle, AdmitError> {
        self.admit_in(&Namespace::new(), tokens, growth)
    }

    fn admit_in(
        &mut self,
        namespace: &Namespace,
        tokens: &str,
        growth: usize,
    ) -> Result<Handle, AdmitError> {
        let tokens = text(tokens);
        let prompt = Prompt::new(namespace, &tokens);
        Ok(self
            .seqs
            .admit(&Admit::new(prompt, promise(growth)))?
            .handle)
    }

    /// The sequence goes on with these tokens: the copies that this asks for.
    fn append(&mut self, a: Handle, tokens: &str) -> Result<Vec<CopyTicket>, AppendError> {
        let tokens = text(tokens);
        self.seqs.append(a, tokens.len(), &mut self.step)?;
        let known = self.seqs.state(a).expect("it lives").known;
        self.seqs
            .tokens(a, known, &Contents::new(&tokens))
            .expect("they are the next ones");
        Ok(self.step.copies().to_vec())
    }

    /// What it would take.
    fn query_append(&self, a: Handle, n: usize) -> Result<usize, AppendError> {
        self.seqs.check_append(a, n)
    }

    /// K/V of the first `n` tokens is written. How many blocks were stored, how many were duplicates.
    #[track_caller]
    fn computed(&mut self, a: Handle, n: usize) -> (u64, u64) {
        let before = self.pool.report();
        self.seqs.computed(a, n).expect("it has these positions");
        let after = self.pool.report();
        (
            after.stored - before.stored,
            after.duplicates - before.duplicates,
        )
    }

    /// `P48 idle`: admitted, computed, released.
    fn idle(&mut self, tokens: &str) {
        self.idle_in(&Namespace::new(), tokens);
    }

    fn idle_in(&mut self, namespace: &Namespace, tokens: &str) {
        let a = self.admit_in(namespace, tokens, 0).expect("it fits");
        self.computed(a, text(tokens).len());
        self.release(a);
    }

    fn fork(&mut self, a: Handle) -> Handle {
        let mut child = [a];
        self.seqs.fork(a, &mut child).expect("there is room");
        child[0]
    }

    #[track_caller]
    fn release(&mut self, a: Handle) {
        assert_eq!(self.seqs.release(a), Ok(()));
    }

    fn copied(&mut self, tickets: Vec<CopyTicket>) {
        for ticket in tickets {
            self.seqs.copied(ticket).expect("it is pending");
        }
    }

    /// The table.
    #[track_caller]
    fn ids(&self, a: Handle) -> Vec<BlockId> {
        self.seqs.table(a).expect("it lives").to_vec()
    }

    #[track_caller]
    fn blocks(&self, a: Handle) -> usize {
        self.ids(a).len()
    }

    /// Hit positions of an admission that has just been made: nothing more was computed since.
    #[track_caller]
    fn hit(&self, a: Handle) -> usize {
        self.seqs.state(a).expect("it lives").computed
    }

    fn take(&mut self, n: usize) -> Result<Blocks<'p>, Refused> {
        let mut reservation = self.pool.reserve(n)?;
        Ok(reservation
            .take(&mut self.worker, n)
            .expect("a promise is kept"))
    }

    fn evict(&mut self, n: usize) -> usize {
        self.pool
            .evict(&mut self.worker, n)
            .expect("all of one pool")
    }

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
    fn audit(&self, others: &[&dyn Holder]) {
        assert_eq!(self.seqs.audit(others), Ok(()), "audit");
    }
}

/// What a case calls growth: nothing, or so many tokens promised.
const fn promise(growth: usize) -> Growth {
    if growth == 0 {
        Growth::OnDemand
    } else {
        Growth::Cap(growth)
    }
}

/// The cap and what was asked for, in positions.
#[track_caller]
fn cap_reached<T: core::fmt::Debug>(result: Result<T, AppendError>) -> (usize, usize) {
    match result {
        Err(AppendError::CapReached(error)) => (error.cap, error.asked),
        other => panic!("that the cap is reached was expected, not {other:?}"),
    }
}

// ---- 1. double free and stale handles

#[test]
fn c001_same_handle_released_twice() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P16").expect("it fits");
    on.counts(3, 0, 1);
    on.release(a);
    on.counts(4, 0, 0);
    assert_eq!(on.seqs.release(a), Err(Stale));
    assert_eq!(on.seqs.preempt(a), Err(Stale));
    on.counts(4, 0, 0);
    let all = on.admit("Q64").expect("it fits exactly");
    distinct(&on.ids(all), 4);
    assert_eq!(never_fits(on.admit("R65")), (5, 4));
    on.audit(&[]);
}

#[test]
fn c002_two_owners_of_one_block_both_released() {
    let pool = pool(7, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P16").expect("it fits");
    let a2 = on.fork(a);
    assert_eq!(on.ids(a), on.ids(a2));
    on.counts(6, 0, 1);
    on.release(a);
    on.counts(6, 0, 1);
    on.release(a2);
    on.counts(7, 0, 0);
    let all = on.admit("Q112").expect("it fits exactly");
    distinct(&on.ids(all), 7);
    assert_eq!(shortfall(on.admit("R1")), 1);
    on.audit(&[]);
}

#[test]
fn c003_double_free_does_not_make_a_later_admission_panic() {
    let pool = pool(15, 16);
    let mut on = On::new(&pool);
    let x = on.admit("P48").expect("it fits");
    on.release(x);
    on.counts(15, 0, 0);
    assert_eq!(on.seqs.release(x), Err(Stale));
    on.counts(15, 0, 0);
    assert_eq!(never_fits(on.admit("Q256")), (16, 15));
    let all = on.admit("Q240").expect("it fits exactly");
    distinct(&on.ids(all), 15);
    on.audit(&[]);
}

#[test]
fn c004_old_handle_after_its_slot_has_a_new_owner() {
    let pool = pool(1, 16);
    let config = SequencesConfig::new(1);
    let mut on = On::new(&pool);
    on.seqs = Sequences::new(pool.clone(), &config).expect("a registry");
    let h1 = on.admit("P16").expect("it fits");
    on.release(h1);
    let h2 = on.admit("Q16").expect("it fits");
    assert_eq!((h1.slot(), h2.slot()), (0, 0));
    assert_ne!(h1, h2);
    assert_eq!(on.seqs.release(h1), Err(Stale));
    on.counts(0, 0, 1);
    assert_eq!(shortfall(on.take(1)), 1);
    on.release(h2);
    on.counts(1, 0, 0);
    on.audit(&[]);
}

#[test]
fn c005_lookup_result_used_after_the_block_was_evicted() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P17").expect("it fits");
    on.computed(a, 17);
    on.release(a);
    on.counts(3, 1, 0);
    assert_eq!(on.probe("P17"), 16);
    let cost = on.query("P17", 0).expect("it fits");
    assert_eq!((cost.hit_idle, cost.fresh), (1, 1));
    let x = on.take(4).expect("free and idle");
    on.counts(0, 0, 4);
    drop(x);
    on.counts(4, 0, 0);
    let admitted = on.admitted("P17").expect("it fits");
    assert_eq!((admitted.hit, admitted.fresh), (0, 2));
    on.counts(2, 0, 2);
    on.audit(&[]);
}

#[test]
fn c006_a_target_below_what_is_held_is_not_a_negative_need() {
    let pool = pool(9, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P48").expect("it fits");
    on.counts(6, 0, 3);
    for positions in [16, 0, 48] {
        assert_eq!(on.seqs.ensure(a, positions, &mut on.step), Ok(()));
        assert!(on.step.fresh().is_empty());
    }
    assert_eq!(on.seqs.check_append(a, 0), Ok(0));
    assert_eq!(on.seqs.append(a, 0, &mut on.step), Ok(()));
    assert_eq!(on.take(0).expect("nothing always fits").len(), 0);
    assert_eq!(never_fits(on.seqs.append(a, 1000, &mut on.step)), (66, 9));
    assert!(on.seqs.append(a, usize::MAX, &mut on.step).is_err());
    assert!(on.seqs.ensure(a, usize::MAX, &mut on.step).is_err());
    assert_eq!(on.blocks(a), 3);
    on.counts(6, 0, 3);
    on.reserved(0);
    on.audit(&[]);
}

#[test]
fn c007_handle_of_one_registry_given_to_another() {
    let pool = pool(8, 16);
    let mut x = On::new(&pool);
    let mut y = On::new(&pool);
    let a = x.admit("P16").expect("it fits");
    assert_eq!(y.seqs.release(a), Err(Stale));
    let b = y.admit("Q16").expect("it fits");
    assert_eq!(a.slot(), b.slot());
    assert_eq!(y.seqs.release(a), Err(Stale));
    assert_eq!(x.seqs.release(b), Err(Stale));
    assert!(y.seqs.computed(a, 16).is_err());
    assert!(y.seqs.append(a, 1, &mut y.step).is_err());
    assert_eq!((x.blocks(a), y.blocks(b)), (1, 1));
    x.counts(6, 0, 2);
    x.audit(&[&y.seqs]);
    y.audit(&[&x.seqs]);
}

/// Shards of their own give handles of their own.
#[test]
fn c007_handle_of_one_shard_given_to_another() {
    let pools = [0, 1, 2].map(|shard| {
        let config = PoolConfig::new(4, 16).shard(kvblock::ShardId::new(shard));
        BlockPool::new(&config).expect("a sound configuration")
    });
    let mut shards = pools.each_ref().map(On::new);
    let handles: Vec<_> = (shards.iter_mut())
        .map(|on| on.admit("P16").expect("it fits"))
        .collect();
    for (number, on) in shards.iter_mut().enumerate() {
        for (other, &handle) in handles.iter().enumerate() {
            assert_eq!(handle.slot(), 0);
            if other != number {
                assert_eq!(on.seqs.release(handle), Err(Stale));
            }
        }
        on.counts(3, 0, 1);
        on.audit(&[]);
    }
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
    let a = on.admit("P48").expect("it fits");
    on.computed(a, 48);
    let b = on.admit("P48+Q48").expect("it fits");
    on.computed(b, 96);
    on.release(b);
    on.admit("R32").expect("it fits");
    on.counts(2, 3, 5);
    assert_eq!(shortfall(on.admit("P48+Q48+S48")), 1);
    on.counts(2, 3, 5);
    on.reserved(0);
    on.release(a);
    on.counts(2, 6, 2);
    on.audit(&[]);
}

#[test]
fn c010_short_append_takes_nothing() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let x = on.take(1).expect("it is free");
    let a = on.admit("P16").expect("it fits");
    assert_eq!(shortfall(on.append(a, "Q48")), 1);
    assert_eq!(on.blocks(a), 1);
    on.counts(2, 0, 2);
    on.append(a, "Q32").expect("two are free");
    on.counts(0, 0, 4);
    on.audit(&[&x]);
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
    // What was not published before is not touched.
    assert_eq!(on.computed(a, 16), (1, 0));
    assert_eq!(on.probe("Q17"), 16);
    on.audit(&[]);
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
    let cost = on.query("P12", 0).expect("it fits exactly");
    assert_eq!((cost.blocks, cost.fresh, cost.charge()), (6, 6, 6));
    let a = on.admit("P12").expect("the predictor said so");
    assert_eq!(on.blocks(a), 6);
    on.counts(0, 0, 6);
    on.audit(&[]);

    let pool_b = pool(6, 2);
    let mut on = On::new(&pool_b);
    let x = on.take(1).expect("it is free");
    let predicted = on.query("P12", 0).expect_err("one is missing");
    let refused = on.admit("P12").expect_err("one is missing");
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
    let a = on.admit_with_growth("P80", 48).expect("it fits");
    on.counts(5, 0, 5);
    on.reserved(3);
    assert_eq!(shortfall(on.admit_with_growth("Q80", 48)), 6);
    on.counts(5, 0, 5);
    for _ in 0..48 {
        on.append(a, "A1").expect("it was promised");
    }
    on.counts(2, 0, 8);
    on.reserved(0);
    assert_eq!(cap_reached(on.append(a, "A1")), (128, 129));
    on.counts(2, 0, 8);
    on.audit(&[]);
}

#[test]
fn c017_ordinary_admission_cannot_eat_a_reservation() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let r = on.admit_with_growth("R0", 96).expect("six are promised");
    assert_eq!(on.blocks(r), 0);
    on.reserved(6);
    assert_eq!(shortfall(on.admit("P80")), 1);
    on.admit("P64").expect("four are left");
    on.counts(6, 0, 4);
    on.reserved(6);
    on.append(r, "R96").expect("they were promised");
    on.counts(0, 0, 10);
    on.reserved(0);
    on.audit(&[]);
}

#[test]
fn c018_a_promise_is_spent_by_its_owner_and_ends_once() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let r1 = on.admit_with_growth("P0", 64).expect("it fits");
    let r2 = on.admit_with_growth("Q0", 64).expect("it fits");
    on.reserved(8);
    assert_eq!(cap_reached(on.append(r1, "P80")), (64, 80));
    on.reserved(8);
    assert_eq!(shortfall(on.take(1)), 1);
    on.append(r2, "Q64").expect("it was promised");
    on.append(r1, "P32").expect("it was promised");
    on.counts(2, 0, 6);
    on.reserved(2);
    on.release(r1);
    on.counts(4, 0, 4);
    on.reserved(0);
    assert_eq!(on.seqs.release(r1), Err(Stale));
    on.counts(4, 0, 4);
    on.reserved(0);
    on.audit(&[]);
}

#[test]
fn c019_a_hit_cannot_pull_idle_blocks_out_from_under_a_reservation() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    on.idle("P96");
    on.counts(4, 6, 0);
    let r = on.admit_with_growth("R0", 160).expect("free and idle");
    on.counts(4, 6, 0);
    assert_eq!(on.probe("P97"), 96);
    assert_eq!(shortfall(on.admit("P49")), 4);
    on.counts(4, 6, 0);
    on.release(r);
    on.admit("P49").expect("it fits");
    on.counts(3, 3, 4);
    on.audit(&[]);
}

// ---- 5. eviction order

#[test]
fn c020_tail_first() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P64");
    on.counts(0, 4, 0);
    let q = on.admit("Q0").expect("nothing always fits");
    for left in [48, 32, 16] {
        on.append(q, "Q16").expect("one is idle");
        assert_eq!(on.probe("P65"), left);
    }
    on.audit(&[]);
}

#[test]
fn c021_free_blocks_first_then_the_oldest_release() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P87").expect("it fits");
    on.computed(a, 87);
    let b = on.admit("Q48").expect("it fits");
    on.computed(b, 48);
    on.release(a);
    on.release(b);
    on.counts(2, 8, 0);
    let x = on.admit("X32").expect("two are free");
    on.counts(0, 8, 2);
    assert_eq!((on.probe("P81"), on.probe("Q49")), (80, 48));
    on.append(x, "X48").expect("idle");
    assert_eq!(on.probe("P81"), 32);
    on.append(x, "X32").expect("idle");
    assert_eq!((on.probe("P81"), on.probe("Q49")), (0, 48));
    on.append(x, "X16").expect("idle");
    assert_eq!(on.probe("Q49"), 32);
    on.audit(&[]);
}

#[test]
fn c022_hits_are_held_before_room_is_made_for_the_rest() {
    let pool = pool(2, 16);
    let mut on = On::new(&pool);
    on.idle("P16");
    on.idle("Q16");
    on.counts(0, 2, 0);
    let (stored, _) = on.news();
    let admitted = on.admitted("P16+Q16").expect("it fits");
    assert_eq!(
        (admitted.hit, admitted.fresh),
        (16, 1),
        "P is hit although it is the older one"
    );
    assert_eq!(
        on.news(),
        (vec![], vec![stored[1]]),
        "exactly Q's block is removed"
    );
    on.counts(0, 0, 2);
    assert_eq!(on.probe("Q17"), 0);
    on.audit(&[]);
}

#[test]
fn c024_a_short_overlap_does_not_pin_the_rest_of_a_long_cached_prompt() {
    let pool = pool(128, 1);
    let mut on = On::new(&pool);
    on.idle("P128");
    on.counts(0, 128, 0);
    let admitted = on.admitted("P1+Q3").expect("it fits");
    assert_eq!((admitted.hit, admitted.fresh), (1, 3));
    on.counts(0, 124, 4);
    assert_eq!(on.probe("P128"), 125);
    on.audit(&[]);
}

#[test]
fn c025_holders_survive_a_divergence_in_the_middle_of_a_held_prefix() {
    let pool = pool(16, 16);
    let mut on = On::new(&pool);
    on.idle("P128");
    let a = on.admit("P81").expect("it fits");
    on.counts(7, 3, 6);
    let b = on.admit("P48+Q32").expect("it fits");
    assert_eq!(on.hit(b), 48);
    on.computed(b, 80);
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
    let admitted = on.admitted("P49").expect("it fits");
    assert_eq!((admitted.hit, admitted.fresh), (16, 3));
    on.release(admitted.handle);
    assert_eq!(on.evict(4), 1);
    on.counts(4, 0, 0);
    on.audit(&[]);
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
    let b2 = on.admit("P64").expect("it fits");
    assert_eq!(on.hit(b2), 0);
    on.counts(4, 0, 4);
    assert_eq!(on.probe("P65"), 0);
    on.computed(b2, 64);
    assert_eq!(on.probe("P65"), 64);
    on.audit(&[]);
}

#[test]
fn c031_publish_no_further_than_what_is_written() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P33").expect("it fits");
    on.computed(a, 20);
    assert_eq!(on.probe("P33"), 16);
    on.computed(a, 33);
    assert_eq!(on.probe("P33"), 32);
    match on.seqs.computed(a, 34) {
        Err(ComputedError::Beyond(beyond)) => {
            assert_eq!((beyond.asked, beyond.positions), (34, 33));
        }
        other => panic!("34 of 33 positions: {other:?}"),
    }
    assert_eq!(on.probe("P33"), 32);
    // Less than it was says nothing.
    assert_eq!(on.computed(a, 5), (0, 0));
    assert_eq!(on.probe("P33"), 32);
    let (stored, removed) = on.news();
    assert_eq!((stored.len(), removed.len()), (2, 0));
    on.audit(&[]);
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
        let a = on.admit("P33").expect("it fits");
        let b = on.admit("P33").expect("it fits");
        assert_eq!(on.hit(b), 0, "nothing is written yet");
        on.counts(4, 0, 6);
        on.computed(a, 33);
        let c = on.admit("P33").expect("it fits");
        assert_eq!(on.hit(c), 32);
        on.counts(3, 0, 7);
        assert_eq!(on.computed(b, 33), (0, 2));
        let requests = [a, b, c];
        for which in order {
            assert_eq!(on.probe("P33"), 32, "release order {order:?}");
            on.release(requests[which]);
        }
        assert_eq!(on.probe("P33"), 32, "release order {order:?}");
        on.counts(8, 2, 0);
        let (stored, removed) = on.news();
        assert_eq!(
            (stored.len(), removed.len()),
            (2, 0),
            "release order {order:?}"
        );
        let all = on.admit("X160").expect("all are available");
        distinct(&on.ids(all), 10);
        assert_eq!(on.news().1.len(), 2, "two evictions");
        on.audit(&[]);
    }
}

#[test]
fn c032_the_second_copy_is_given_back_when_asked() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P33").expect("it fits");
    let b = on.admit("P33").expect("it fits");
    on.computed(a, 33);
    on.computed(b, 33);
    on.counts(4, 0, 6);
    assert_eq!(on.seqs.adopt_duplicates(b), Ok(2));
    on.counts(6, 0, 4);
    assert_eq!(on.ids(a)[..2], on.ids(b)[..2]);
    assert_ne!(on.ids(a)[2], on.ids(b)[2]);
    assert_eq!(on.seqs.dirty(b), Ok(0..3), "the engine must read it anew");
    on.audit(&[]);
}

#[test]
fn c033_blocks_are_shareable_as_soon_as_written() {
    let pool = pool(200, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P2048").expect("it fits");
    on.computed(a, 2048);
    let b = on.admit("P2049").expect("it fits");
    assert_eq!(on.hit(b), 2048, "while A runs");
    on.release(b);
    on.append(a, "G512").expect("it fits");
    on.computed(a, 2560);
    on.release(a);
    let c = on.admit("P2048+G512+Q1").expect("it fits");
    assert_eq!(on.hit(c), 2560, "generated blocks included");
    on.counts(39, 0, 161);
    on.audit(&[]);
}

#[test]
fn c034_a_fully_cached_prompt_still_has_one_token_to_compute() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    on.idle("P32");
    on.counts(2, 2, 0);
    let a = on.admit("P32").expect("it fits");
    assert_eq!(on.hit(a), 16);
    on.counts(1, 1, 2);
    assert_eq!(on.computed(a, 32), (0, 1));
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
    let admitted = on
        .seqs
        .admit(&Admit::new(prompt, Growth::OnDemand))
        .expect("it fits");
    assert_eq!((admitted.hit, admitted.fresh), (32, 0));
    on.counts(2, 0, 2);
    on.audit(&[]);
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
        let a = on.admit(&format!("A1+{second}+Z1")).expect("it fits");
        assert_eq!(on.hit(a), 2);
        on.release(a);
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
    let q = on.admit("Q17").expect("it fits");
    assert_eq!(on.hit(q), 0);
    on.computed(q, 17);
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
    for (namespace, hit) in [
        (Namespace::new().salt("X"), 0),
        (Namespace::new(), 0),
        (Namespace::new().adapter("X", 1), 48),
        (Namespace::new().adapter("X", 2), 0),
    ] {
        let a = on.admit_in(&namespace, "P49", 0).expect("it fits");
        assert_eq!(on.hit(a), hit, "{namespace:?}");
        on.release(a);
    }
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
    assert_eq!(on.hit(a), 0);
    on.counts(5, 3, 4);
    assert_eq!(on.probe_in(&s1, "P49"), 48);
    // What is appended has the namespace of the prompt, in a fork too.
    let b = on.fork(a);
    on.release(a);
    on.append(b, "P15").expect("it fits");
    on.computed(b, 64);
    assert_eq!(
        (on.probe("P49+P15+X1"), on.probe_in(&s1, "P49+P15+X1")),
        (0, 48)
    );
    assert_eq!(on.probe_in(&s2, "P49+P15+X1"), 64);
    on.release(b);
    on.idle_in(&s1, "R32");
    assert_eq!((on.probe("R33"), on.probe_in(&s1, "R33")), (0, 32));
    on.audit(&[]);
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
    let admit = |on: &mut On<'_>, tokens: &[u32], extra: &[ExtraKey]| {
        let prompt = Prompt::new(&namespace, tokens).extra(extra);
        let admit = Admit::new(prompt, Growth::OnDemand);
        on.seqs.admit(&admit).expect("it fits")
    };
    let hit = |on: &mut On<'_>, tokens: &[u32], extra: &[ExtraKey]| {
        let admitted = admit(on, tokens, extra);
        on.release(admitted.handle);
        admitted.hit
    };
    let p = [4_711; 33];
    let a = admit(&mut on, &p, &[image(I, 11, 0), image(I, 11, 1)]).handle;
    on.computed(a, 33);
    on.release(a);
    assert_eq!(hit(&mut on, &p, &[image(I, 11, 0), image(I, 11, 1)]), 32);
    assert_eq!(hit(&mut on, &p, &[image(J, 11, 0), image(J, 11, 1)]), 0);
    assert_eq!(hit(&mut on, &p, &[image(I, 14, 0), image(I, 14, 1)]), 0);
    // The image comes with the tokens that fill its block.
    let q = text("Q33");
    let b = admit(&mut on, &q[..20], &[ExtraKey::NONE]).handle;
    on.seqs.append(b, 13, &mut on.step).expect("it fits");
    let extra = [image(I, 20, 1)];
    let contents = Contents::new(&q[20..]).extra(&extra);
    on.seqs.tokens(b, 20, &contents).expect("the next ones");
    assert_eq!(on.computed(b, 33), (2, 0));
    on.release(b);
    assert_eq!(hit(&mut on, &q, &[ExtraKey::NONE, image(J, 20, 1)]), 16);
    assert_eq!(hit(&mut on, &q, &[ExtraKey::NONE, image(I, 20, 1)]), 32);
    on.audit(&[]);
}

/// Keys go with the tokens that they came with.
#[test]
fn c039_keys_of_tokens_that_were_taken_back_are_forgotten() {
    let pool = pool(16, 4);
    let mut on = On::new(&pool);
    let namespace = Namespace::new();
    let image = |n: u128| ExtraKey::new(n);
    let keys = |n: u64| [10, 20 + n, 30 + n];
    for keyed in [false, true] {
        let p = text(if keyed { "Q12" } else { "P12" });
        let of = |n: u64, from: usize| -> Vec<u64> {
            let keys = keys(n).to_vec();
            if keyed {
                keys[from..].to_vec()
            } else {
                Vec::new()
            }
        };
        let first = of(0, 0);
        let prompt = Prompt::new(&namespace, &p[..4]).keys(&first[..first.len().min(1)]);
        let request = Admit::new(prompt, Growth::OnDemand);
        let a = on.seqs.admit(&request).expect("it fits").handle;
        for n in [1, 2] {
            on.seqs.append(a, 8, &mut on.step).expect("it fits");
            let (extra, chain) = ([image(u128::from(n)); 2], of(n, 1));
            let contents = Contents::new(&p[4..]).extra(&extra).keys(&chain);
            on.seqs.tokens(a, 4, &contents).expect("the next ones");
            if n == 1 {
                on.seqs.truncate(a, 4).expect("nothing is published");
            }
        }
        assert_eq!(on.computed(a, 12), (3, 0));
        for (n, hit) in [(1, 4), (2, 12)] {
            let extra = [ExtraKey::NONE, image(n), image(n)];
            let chain = of(u64::try_from(n).expect("small"), 0);
            let prompt = Prompt::new(&namespace, &p).extra(&extra).keys(&chain);
            let found = pool.probe(&prompt.full_hit(true)).expect("three of each");
            assert_eq!(found.positions, hit, "keyed: {keyed}");
        }
        let (news, _) = on.news();
        assert_eq!(news.len(), 3);
        if keyed {
            let copies = pool.snapshot().copies;
            let mut stored: Vec<_> = (copies.iter())
                .filter(|copy| news.contains(&copy.block))
                .map(|copy| copy.key)
                .collect();
            stored.sort_unstable();
            assert_eq!(stored, keys(2));
        }
    }
    on.audit(&[]);
}

#[test]
fn c040_equal_block_under_another_parent() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    on.idle("X16+Z16");
    on.idle("Y16");
    on.counts(5, 3, 0);
    for (prompt, hit) in [("Y16+Z16+W1", 16), ("X16+Z16+W1", 32)] {
        let a = on.admit(prompt).expect("it fits");
        assert_eq!(on.hit(a), hit);
        on.release(a);
    }
    on.audit(&[]);
}

// ---- 8. fork, partial blocks, beams

#[test]
fn c041_a_copy_at_the_first_write_once() {
    let pool = pool(10, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P6").expect("it fits");
    let b = on.fork(a);
    on.counts(8, 0, 2);
    let copies = on.append(b, "Q1").expect("it fits");
    let (shared, own) = (on.ids(a)[1], on.ids(b)[1]);
    assert_ne!(shared, own);
    assert_eq!(on.step.fresh(), [own]);
    let [copy] = copies[..] else {
        panic!("{copies:?}")
    };
    assert_eq!((copy.src, copy.dst, copy.positions), (shared, own, 2));
    on.counts(7, 0, 3);
    on.seqs.step(&[], &mut on.step);
    assert!(on.step.copies().is_empty(), "a copy is asked for once");
    on.copied(copies);
    on.counts(7, 0, 3);
    assert_eq!(on.append(a, "R1").expect("it fits"), []);
    assert_eq!(on.ids(a)[1], shared, "its only owner writes in place");
    on.counts(7, 0, 3);
    on.release(a);
    on.release(b);
    on.counts(10, 0, 0);
    on.audit(&[]);
}

#[test]
fn c041_the_other_branch_does_not_write_under_a_pending_copy() {
    let pool = pool(10, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P6").expect("it fits");
    let b = on.fork(a);
    let shared = on.ids(a)[1];
    let mut copies = on.append(b, "Q1").expect("it fits");
    let second = on.append(a, "R1").expect("it fits");
    assert_eq!(second.len(), 1);
    assert_eq!((second[0].src, second[0].positions), (shared, 2));
    assert!(!on.ids(a).contains(&shared));
    on.counts(6, 0, 4);
    copies.extend(second);
    on.copied(copies);
    on.counts(7, 0, 3);
    on.release(a);
    on.release(b);
    on.counts(10, 0, 0);
    on.audit(&[]);
}

#[test]
fn c041_b_fork_at_a_block_border_copies_nothing() {
    let pool = pool(10, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P8").expect("it fits");
    let b = on.fork(a);
    assert_eq!(on.append(a, "Q1").expect("it fits"), []);
    assert_eq!(on.append(b, "R1").expect("it fits"), []);
    on.counts(6, 0, 4);
    assert_eq!(on.ids(a)[..2], on.ids(b)[..2]);
    assert_ne!(on.ids(a)[2], on.ids(b)[2]);
    on.release(a);
    on.release(b);
    on.counts(10, 0, 0);
    on.audit(&[]);
}

#[test]
fn c042_beams_have_a_shared_prefix_and_private_tails() {
    let pool_10 = pool(10, 16);
    let mut on = On::new(&pool_10);
    let a = on.admit("P40").expect("it fits");
    let mut beams = [a; 4];
    on.seqs.fork(a, &mut beams[1..]).expect("there is room");
    on.counts(7, 0, 3);
    let mut copies = 0;
    for beam in beams {
        let tickets = on.append(beam, "A1").expect("it fits");
        copies += tickets.len();
        on.copied(tickets);
    }
    assert_eq!(copies, 3);
    on.counts(4, 0, 6);
    for beam in beams {
        assert_eq!(on.append(beam, "B15").expect("it fits"), []);
    }
    on.counts(0, 0, 10);
    for beam in beams {
        on.release(beam);
    }
    on.counts(10, 0, 0);
    on.audit(&[]);

    let pool_9 = pool(9, 16);
    let mut on = On::new(&pool_9);
    let a = on.admit("P40").expect("it fits");
    let mut beams = [a; 4];
    on.seqs.fork(a, &mut beams[1..]).expect("there is room");
    for beam in beams {
        let tickets = on.append(beam, "A1").expect("it fits");
        on.copied(tickets);
    }
    for beam in &beams[..3] {
        on.append(*beam, "B15").expect("it fits");
    }
    assert_eq!(shortfall(on.append(beams[3], "B15")), 1);
    assert_eq!(on.blocks(beams[3]), 3);
    on.counts(0, 0, 9);
    on.audit(&[]);
}

/// The same four beams as one batch: one failure, the rest as if alone.
#[test]
fn c042_beams_in_one_step() {
    let pool = pool(9, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P40").expect("it fits");
    let mut beams = [a; 4];
    on.seqs.fork(a, &mut beams[1..]).expect("there is room");
    on.seqs.step(&beams.map(|beam| (beam, 1)), &mut on.step);
    // Nobody is alone before the copies are done: four of them.
    assert_eq!(on.step.copies().len(), 4);
    assert_eq!((on.step.failures().len(), on.step.slots().len()), (0, 4));
    on.counts(2, 0, 7);
    let tickets = on.step.copies().to_vec();
    on.copied(tickets);
    on.counts(3, 0, 6);
    on.seqs.step(&beams.map(|beam| (beam, 15)), &mut on.step);
    let [failure] = on.step.failures() else {
        panic!("{:?}", on.step.failures())
    };
    assert_eq!(failure.index, 3);
    assert_eq!(shortfall::<()>(Err(failure.error)), 1);
    assert_eq!(on.step.fresh().len(), 3);
    assert_eq!(on.step.slots().len(), 45, "none for the one that failed");
    on.counts(0, 0, 9);
    on.audit(&[]);
}

#[test]
fn c043_a_live_partial_tail_is_not_shared_through_the_index() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P21").expect("it fits");
    on.computed(a, 21);
    let b = on.admit("P21").expect("it fits");
    assert_eq!(on.hit(b), 16);
    on.counts(5, 0, 3);
    assert_eq!(on.append(a, "Q1").expect("it fits"), []);
    assert_eq!(on.append(b, "R1").expect("it fits"), []);
    on.counts(5, 0, 3);
    assert_eq!(on.ids(a)[0], on.ids(b)[0]);
    assert_ne!(on.ids(a)[1], on.ids(b)[1]);
    on.audit(&[]);
}

#[test]
fn c044_the_source_of_a_pending_copy_stays_held() {
    let pool = pool(3, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P6").expect("it fits");
    let b = on.fork(a);
    let copies = on.append(b, "Q1").expect("it fits");
    on.counts(0, 0, 3);
    on.release(a);
    assert_eq!(shortfall(on.take(1)), 1);
    on.counts(0, 0, 3);
    on.copied(copies);
    on.counts(1, 0, 2);
    let x = on.take(1).expect("the copy is done");
    on.counts(0, 0, 3);
    on.audit(&[&x]);
}

/// Both ends stay, whoever goes.
#[test]
fn c044_the_destination_of_a_pending_copy_stays_held() {
    let pool = pool(3, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P6").expect("it fits");
    let b = on.fork(a);
    let copies = on.append(b, "Q1").expect("it fits");
    on.release(b);
    on.release(a);
    on.counts(1, 0, 2);
    on.audit(&[]);
    on.copied(copies);
    on.counts(3, 0, 0);
    on.audit(&[]);
}

#[test]
fn c045_cost_of_appending_to_a_shared_tail() {
    let pool = pool(2, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P6").expect("it fits");
    let b = on.fork(a);
    let tables = (on.ids(a), on.ids(b));
    assert_eq!(shortfall(on.query_append(b, 1)), 1);
    assert_eq!(shortfall(on.query_append(a, 1)), 1);
    assert_eq!(shortfall(on.append(b, "Q1")), 1);
    assert_eq!((on.ids(a), on.ids(b)), tables);
    on.release(a);
    assert_eq!(on.query_append(b, 1), Ok(0));
    assert_eq!(on.append(b, "Q1").expect("it is alone"), []);
    on.counts(0, 0, 2);
    on.audit(&[]);
}

// ---- 9. speculative lookahead and rollback

#[test]
fn c046_draft_tokens_are_never_published() {
    let pool = pool(10, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P7").expect("it fits");
    assert_eq!(on.blocks(a), 2);
    on.seqs.ensure(a, 10, &mut on.step).expect("it fits");
    assert_eq!(on.blocks(a), 3);
    on.computed(a, 7);
    assert_eq!(on.probe("P9"), 4);
    // One draft is accepted.
    on.seqs.append(a, 1, &mut on.step).expect("there is room");
    on.seqs
        .tokens(a, 7, &Contents::new(&text("P8")[7..]))
        .expect("the next one");
    on.seqs.truncate(a, 8).expect("private blocks");
    assert_eq!(on.blocks(a), 2);
    on.counts(8, 0, 2);
    assert_eq!(on.probe("P9"), 4);
    on.computed(a, 8);
    assert_eq!(on.probe("P9"), 8);
    on.audit(&[]);
}

#[test]
fn c047_growth_that_is_reverted_leaves_no_trace() {
    let pool = pool(8, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P8").expect("it fits");
    let first = on.ids(a);
    for _ in 0..100 {
        on.append(a, "Q1").expect("it fits");
        assert_eq!(on.blocks(a), 3);
        on.seqs.truncate(a, 8).expect("a private block");
        assert_eq!(on.blocks(a), 2);
    }
    assert_eq!(on.ids(a), first);
    on.counts(6, 0, 2);
    on.audit(&[]);
}

#[test]
fn c048_roll_back_below_a_published_block_then_write_other_tokens() {
    let pool = pool(8, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P8").expect("it fits");
    on.computed(a, 8);
    let before = on.ids(a);
    on.seqs.truncate(a, 5).expect("one is free for the copy");
    assert_eq!(on.ids(a), before);
    let copies = on.append(a, "Q1").expect("its copy was paid");
    let [copy] = copies[..] else {
        panic!("{copies:?}")
    };
    let after = on.ids(a);
    assert_eq!(
        (copy.src, copy.dst, copy.positions),
        (before[1], after[1], 1)
    );
    assert_eq!((before[0], before[1] == after[1]), (after[0], false));
    on.copied(copies);
    on.computed(a, 6);
    on.counts(5, 1, 2);
    assert_eq!(on.probe("P9"), 8);
    on.audit(&[]);
}

/// A rejected draft costs no second copy while the first one is pending.
#[test]
fn c047_drafts_are_taken_back_while_a_copy_is_pending() {
    let pool = pool(4, 8);
    let mut on = On::new(&pool);
    let a = on.admit("P3").expect("it fits");
    let b = on.fork(a);
    let copies = on.append(b, "Q4").expect("one is free");
    assert_eq!(copies.len(), 1);
    let own = on.ids(b);
    for _ in 0..10 {
        on.seqs.truncate(b, 4).expect("its own block");
        assert_eq!(on.query_append(b, 4), Ok(0));
        assert_eq!(on.append(b, "R4").expect("it is its own"), []);
    }
    assert_eq!(on.ids(b), own);
    on.counts(2, 0, 2);
    // Back into what is being copied: that must not be written to before it has been.
    on.seqs.truncate(b, 2).expect("no promise");
    assert_eq!(on.query_append(b, 1), Ok(1));
    let second = on.append(b, "S1").expect("one is free");
    assert_eq!((second[0].src, second[0].positions), (own[0], 2));
    on.counts(1, 0, 3);
    on.copied(copies);
    on.copied(second);
    on.counts(2, 0, 2);
    on.audit(&[]);
}

/// The credit is taken at the call, so that the append after it cannot fail; where there is none the call says so.
#[test]
fn c048_rolling_back_into_a_published_block_pays_at_once() {
    let pool = pool(3, 4);
    let mut on = On::new(&pool);
    let a = on.admit("P8").expect("it fits");
    on.computed(a, 8);
    let x = on.take(1).expect("one is free");
    assert_eq!(shortfall(on.seqs.truncate(a, 5)), 1);
    let state = on.seqs.state(a).expect("it lives");
    assert_eq!((state.positions, state.known, state.computed), (8, 8, 8));
    drop(x);
    on.seqs.truncate(a, 5).expect("one is free");
    on.reserved(1);
    assert_eq!(shortfall(on.take(1)), 1);
    assert_eq!(on.append(a, "Q1").expect("it is paid").len(), 1);
    on.reserved(0);
    on.counts(0, 0, 3);
    on.audit(&[]);
}

// ---- 10. one bad block

#[test]
fn c054_one_bad_block_two_users() {
    let pool = pool(12, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P64").expect("it fits");
    on.computed(a, 64);
    let b = on.admit("P64+Q16").expect("it fits");
    on.computed(b, 80);
    assert_eq!(on.probe("P64+Q16+X1"), 80);
    let bad = on.ids(a)[2];
    assert_eq!(
        pool.invalidate(&mut on.worker, bad),
        Ok(0),
        "held blocks stay"
    );
    assert_eq!(on.probe("P65"), 32);
    assert_eq!((on.blocks(a), on.blocks(b)), (4, 5));
    on.counts(7, 0, 5);
    // What comes after it cannot be found either.
    on.append(a, "R16").expect("it fits");
    assert_eq!(on.computed(a, 80), (0, 0));
    assert_eq!(on.seqs.report().publishing_ended, 1);
    // The recompute takes new blocks from token 32 on, which can be shared again.
    on.seqs.truncate(b, 32).expect("at a border");
    on.append(b, "P64").map(|_| ()).expect("it fits");
    on.release(a);
    on.release(b);
    assert_eq!(on.probe("P65"), 32);
    // What was cut went free with its last owner.
    on.counts(10, 2, 0);
    assert_eq!(on.evict(12), 2);
    on.counts(12, 0, 0);
    on.audit(&[]);
}

// ---- 11. fences and steps in flight

#[test]
fn c060_a_late_result_of_a_preempted_request_is_rejected() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P33").expect("it fits");
    assert_eq!(on.seqs.preempt(a), Ok(()));
    assert_eq!(on.seqs.computed(a, 33), Err(ComputedError::Stale(Stale)));
    on.counts(4, 0, 0);
    let a2 = on.admit("P33").expect("it fits");
    on.counts(1, 0, 3);
    assert_eq!(on.seqs.computed(a, 33), Err(ComputedError::Stale(Stale)));
    assert_eq!(on.probe("P33"), 0);
    assert_eq!(on.blocks(a2), 3);
    on.audit(&[]);
}

// ---- 14. events

#[test]
fn c071_removed_only_when_the_last_copy_goes() {
    let pool = pool(6, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P17").expect("it fits");
    let b = on.admit("P17").expect("it fits");
    on.computed(a, 17);
    on.computed(b, 17);
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
    let p = text("P64");
    let a = on.admit("P40").expect("it fits");
    on.computed(a, 40);
    reader.read(&mut events);
    assert_eq!(events.len(), 2, "two full blocks, no part of the third");
    on.seqs.append(a, 24, &mut on.step).expect("it fits");
    let next = Contents::new(&p[40..]);
    on.seqs.tokens(a, 40, &next).expect("the next ones");
    on.computed(a, 64);
    reader.read(&mut events);
    assert!(events.iter().all(|event| event.kind == EventKind::Stored));
    let blocks: Vec<_> = events.iter().map(|event| event.copy.block).collect();
    assert_eq!(blocks, on.ids(a));
    let depths: Vec<_> = events.iter().map(|event| event.copy.depth).collect();
    assert_eq!(depths, [0, 1, 2, 3]);
    let keys: Vec<_> = events.iter().map(|event| event.copy.key).collect();
    let parents: Vec<_> = events.iter().map(|event| event.copy.parent_key).collect();
    assert_eq!(parents, [None, Some(keys[0]), Some(keys[1]), Some(keys[2])]);
    assert_eq!(
        keys.iter().collect::<BTreeSet<_>>().len(),
        4,
        "four contents, four keys"
    );
    on.audit(&[]);
}

#[test]
fn c073_evictions_are_reported_exactly_leaf_before_root() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    on.idle("P128");
    let (h, _) = on.news();
    let mut replayed: BTreeSet<BlockId> = h.iter().copied().collect();
    assert_eq!((replayed.len(), on.probe("P129")), (8, 128));
    let q = on.admit("Q0").expect("nothing always fits");
    for (tokens, removed, left) in [
        ("Q48", vec![h[7], h[6], h[5]], 5),
        ("Q0", vec![], 5),
        ("Q48", vec![h[4], h[3], h[2]], 2),
    ] {
        on.append(q, tokens).expect("idle");
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
    on.audit(&[]);
}

#[test]
fn c074_a_slow_consumer_never_blocks_the_allocator_and_sees_the_gap() {
    let pool = BlockPool::new(&PoolConfig::new(8, 16).events(4)).expect("a sound configuration");
    let mut on = On::new(&pool);
    let mut reader = pool.events().expect("events are on");
    let a = on.admit("P112").expect("it fits");
    for n in 1..=7 {
        assert_eq!(on.computed(a, n * 16), (1, 0));
    }
    assert_eq!(on.probe("P113"), 112);
    let mut events = Vec::new();
    assert_eq!(reader.read(&mut events), 3, "three are missing");
    let sequence = |events: &[kvblock::Event]| -> Vec<u64> {
        events.iter().map(|event| event.sequence).collect()
    };
    assert_eq!(sequence(&events), [3, 4, 5, 6]);
    on.release(a);
    assert_eq!(on.evict(1), 1);
    events.clear();
    assert_eq!(reader.read(&mut events), 0);
    assert_eq!(sequence(&events), [7]);
    on.audit(&[]);
}

// ---- 15. statistics

#[test]
fn c075_re_reads_after_preemption_are_counted_apart() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P80").expect("it fits");
    on.computed(a, 80);
    assert_eq!(on.seqs.preempt(a), Ok(()));
    let (namespace, tokens) = (Namespace::new(), text("P80"));
    let prompt = Prompt::new(&namespace, &tokens);
    let again = Admit::new(prompt, Growth::OnDemand).returning(true);
    let admitted = on.seqs.admit(&again).expect("it fits");
    assert_eq!(admitted.hit, 64);
    let report = on.seqs.report();
    let (first, returned) = (report.first, report.returned);
    assert_eq!((first.requests, first.queried, first.hit), (1, 80, 0));
    assert_eq!(
        (returned.requests, returned.queried, returned.hit),
        (1, 80, 64)
    );
    on.audit(&[]);
}

#[test]
fn c076_held_idle_and_free_are_three_numbers() {
    let pool = pool(10, 16);
    let mut on = On::new(&pool);
    for round in 1..=20_usize {
        let letter = char::from(b'A' + u8::try_from(round).expect("few rounds"));
        let a = on.admit(&format!("{letter}48")).expect("it fits");
        assert_eq!(pool.report().held, 3, "round {round}");
        on.computed(a, 48);
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
    let before = (on.seqs.report(), pool.report());
    let x = on.take(2).expect("two are free");
    for _ in 0..3 {
        assert_eq!(shortfall(on.admit("P48+Q16")), 2);
    }
    let after = (on.seqs.report(), pool.report());
    assert_eq!(after.0.first.requests, before.0.first.requests);
    assert_eq!(
        (after.1.hits, after.1.misses),
        (before.1.hits, before.1.misses),
        "three refusals"
    );
    assert_eq!(after.1.refused_shortfall, before.1.refused_shortfall + 3);
    drop(x);
    let a = on.admit("P48+Q16").expect("it fits");
    assert_eq!(on.hit(a), 32);
    on.counts(0, 0, 4);
    let (before, first) = (before.0.first, on.seqs.report().first);
    assert_eq!(
        (
            first.requests - before.requests,
            first.queried - before.queried,
            first.hit - before.hit
        ),
        (1, 64, 32)
    );
    on.audit(&[]);
}

// ---- 17. deadlock and progress

#[test]
fn c084_every_entry_point_may_evict() {
    let pool_1 = pool(8, 16);
    let mut on = On::new(&pool_1);
    on.idle("P128");
    on.counts(0, 8, 0);
    let r = on.admit_with_growth("R0", 16).expect("one is idle");
    assert_eq!(pool_1.report().reclaims, 0, "a promise evicts nothing");
    on.append(r, "R1").expect("it was promised");
    assert_eq!(pool_1.report().reclaims, 1);
    assert_eq!(cap_reached(on.seqs.ensure(r, 17, &mut on.step)), (16, 17));
    on.audit(&[]);

    let pool_2 = pool(8, 16);
    let mut on = On::new(&pool_2);
    on.idle("P128");
    let a = on.admit("Q16").expect("one is idle");
    on.counts(0, 7, 1);
    on.append(a, "R1").expect("one is idle");
    on.counts(0, 6, 2);
    let b = on.fork(a);
    on.counts(0, 6, 2);
    on.append(b, "S1").expect("one is idle");
    on.counts(0, 5, 3);
    assert_eq!(pool_2.report().reclaims, 3);
    on.seqs.ensure(b, 33, &mut on.step).expect("one is idle");
    assert_eq!(pool_2.report().reclaims, 4);
    on.audit(&[]);
}

#[test]
fn c085_released_blocks_are_usable_at_once() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    for _ in 0..1000 {
        let x = on.admit("P128").expect("all are free");
        on.release(x);
    }
    on.counts(8, 0, 0);
    on.audit(&[]);
}

// ---- beside the cases

#[test]
fn branches_that_share_all_they_have_are_preempted_together() {
    let pool = pool(4, 4);
    let mut on = On::new(&pool);
    let parent = on.admitted("P8").expect("room").handle;
    let mut children = [Handle::NONE; 2];
    on.seqs
        .fork(parent, &mut children)
        .expect("nothing is promised");
    let [child, other] = children;
    let mut victims = Vec::new();
    // The third keeps what the two give up.
    let freed = on.seqs.select_victims(&[parent, child], 1, &mut victims);
    assert_eq!((freed, victims.len()), (Ok(0), 0));
    let order = [parent, child, other];
    let freed = on.seqs.select_victims(&order, 1, &mut victims);
    assert_eq!(freed, Ok(2));
    let chosen: Vec<_> = victims.iter().map(|v| (v.handle, v.blocks)).collect();
    assert_eq!(chosen, [(parent, 0), (child, 0), (other, 2)]);
    for victim in victims {
        on.seqs.preempt(victim.handle).expect("it lives");
    }
    assert_eq!(pool.report().free, 4);
}
