//! Known failures of other allocators (`CASES.md`) about who holds a block for how long: fences, leases, transfers, bad content. Each test
//! bears its case's id; numbers are the case's own.
//!
//! The calls of the cases, and ours: *import* is [`Sequences::import`], whose stored tokens are the positions that come; *done* is the
//! writers' last answer and a look at [`Sequences::loading`]; *abort* is the release of the sequence; a *host pool* is a second pool.
//!
//! Elsewhere, and why: C051, C052 and C056, and C027 and C028 with pins, are in `leases.rs`. C060, C084 and C085 without fences and
//! transfers, and C054 for blocks and chains, are in `cases.rs` and `sequence_cases.rs`.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use kvblock::{
    Admit, Admitted, Answer, AnswerError, BlockId, BlockPool, Blocks, ComputedError, EndAfterError,
    EventReader, Export, Fence, Growth, Handle, Holder, ImportError, Imported, Incoming, Lane,
    Lease, LeaseError, Leases, Loading, Namespace, Owner, Phase, Prompt, Refused, Sequences,
    SequencesConfig, Stale, Step, Terms, Worker,
};

use support::{distinct, pool, shortfall, text};

const NEVER: u64 = Lease::NO_DEADLINE;

/// One scheduler on a pool, its leases, and a thread's worker for calls on the pool itself.
struct On<'p> {
    pool: &'p BlockPool,
    seqs: Sequences,
    leases: Leases,
    worker: Worker,
    reader: EventReader<'p>,
}

impl<'p> On<'p> {
    fn new(pool: &'p BlockPool) -> Self {
        Self {
            pool,
            seqs: Sequences::new(pool.clone(), &SequencesConfig::new(64)).expect("a registry"),
            leases: Leases::new(pool, 1000).expect("memory"),
            worker: pool.worker().expect("a worker"),
            reader: pool.events().expect("events are on"),
        }
    }

    fn admitted(&mut self, space: &Namespace, tokens: &str) -> Result<Admitted, Refused> {
        let tokens = text(tokens);
        let prompt = Prompt::new(space, &tokens);
        let admitted = self.seqs.admit(&Admit::new(prompt, Growth::OnDemand));
        admitted.map_err(|error| match error {
            kvblock::AdmitError::Refused(refused) => refused,
            other => panic!("{other:?}"),
        })
    }

    fn admit(&mut self, tokens: &str) -> Result<Handle, Refused> {
        Ok(self.admitted(&Namespace::new(), tokens)?.handle)
    }

    fn import_in(
        &mut self,
        space: &Namespace,
        tokens: &str,
        incoming: &Incoming<'_>,
    ) -> Result<Imported, Refused> {
        let tokens = text(tokens);
        let prompt = Prompt::new(space, &tokens);
        let imported = self
            .seqs
            .import(&Admit::new(prompt, Growth::OnDemand), incoming);
        imported.map_err(|error| match error {
            ImportError::Admit(kvblock::AdmitError::Refused(refused)) => refused,
            other => panic!("{other:?}"),
        })
    }

    /// All of a text but `pending` tokens is stored, and one writer brings it.
    fn import(&mut self, tokens: &str, pending: usize) -> Result<Imported, Refused> {
        let stored = text(tokens).len() - pending;
        self.import_in(&Namespace::new(), tokens, &Incoming::new(stored, 1))
    }

    /// The transfer is done.
    #[track_caller]
    fn done(&mut self, imported: &Imported) -> Loading {
        let blocks = imported.import.ids().len();
        assert_eq!(imported.import.arrived(0, 0..blocks), Ok(Answer::Taken));
        self.seqs.loading(imported.handle).expect("it lives")
    }

    #[track_caller]
    fn computed(&mut self, a: Handle, n: usize) {
        self.seqs.computed(a, n).expect("it has these positions");
    }

    #[track_caller]
    fn release(&mut self, a: Handle) {
        assert_eq!(self.seqs.release(a), Ok(()));
    }

    #[track_caller]
    fn release_after(&mut self, a: Handle, lane: &mut Lane, fence: u64) {
        assert_eq!(self.seqs.release_after(a, lane, Fence(fence)), Ok(()));
    }

    fn idle(&mut self, tokens: &str) {
        let a = self.admit(tokens).expect("it fits");
        self.computed(a, text(tokens).len());
        self.release(a);
    }

    fn take(&mut self, n: usize) -> Result<Blocks<'p>, Refused> {
        let mut promise = self.pool.reserve(n)?;
        Ok(promise
            .take(&mut self.worker, n)
            .expect("a promise is kept"))
    }

    fn give_back(&mut self, blocks: Blocks<'_>) {
        blocks.release(&mut self.worker).expect("of this pool");
    }

    fn evict(&mut self, n: usize) -> usize {
        self.pool
            .evict(&mut self.worker, n)
            .expect("all of one pool")
    }

    /// What is cached of a text, all of it, offered to be copied for an owner; nobody else holds it.
    fn send(&mut self, owner: u64, tokens: &str) -> Export {
        let (space, tokens) = (Namespace::new(), text(tokens));
        let prompt = Prompt::new(&space, &tokens).full_hit(true);
        let admitted = self
            .seqs
            .admit(&Admit::new(prompt, Growth::OnDemand))
            .expect("it fits");
        assert_eq!(admitted.hit, tokens.len());
        let terms = Terms::copy(Owner::new(owner), NEVER);
        let export = self
            .seqs
            .export(admitted.handle, &space, &mut self.leases, &terms)
            .expect("it can be had");
        self.release(admitted.handle);
        export
    }

    fn probe(&self, tokens: &str) -> usize {
        support::probe(self.pool, &Namespace::new(), tokens)
    }

    #[track_caller]
    fn computed_and_blocks(&self, a: Handle) -> (usize, usize) {
        let state = self.seqs.state(a).expect("it lives");
        (state.computed, state.blocks)
    }

    /// How many blocks were stored and removed since the last look.
    fn news(&mut self) -> (usize, usize) {
        let (stored, removed) = support::news(&mut self.reader);
        (stored.len(), removed.len())
    }

    #[track_caller]
    fn counts(&self, free: usize, idle: usize, held: usize) {
        support::counts(self.pool, free, idle, held);
    }

    #[track_caller]
    fn audit(&self, others: &[&dyn Holder]) {
        let mut holders: Vec<&dyn Holder> = vec![&self.leases];
        holders.extend_from_slice(others);
        assert_eq!(self.seqs.audit(&holders), Ok(()), "audit");
    }
}

/// How many blocks are quarantined, as a refusal tells.
#[track_caller]
fn quarantined<T>(refused: Result<T, Refused>) -> usize {
    match refused.map(|_| ()) {
        Err(Refused::Shortfall { quarantined, .. }) => quarantined,
        other => panic!("a shortfall was expected, not {other:?}"),
    }
}

// ---- 3. predictor and allocator

#[test]
fn c015_swap_in_needs_room_for_the_pending_tokens_too() {
    let pool = pool(3, 4);
    let mut on = On::new(&pool);
    let x = on.take(1).expect("three are free");
    assert_eq!(shortfall(on.import("P9", 1)), 1);
    on.counts(2, 0, 1);
    on.audit(&[&x]);
    on.give_back(x);
    let a = on.import("P9", 1).expect("three are free");
    assert_eq!((a.import.ids().len(), a.fresh), (2, 3));
    on.counts(0, 0, 3);
    on.audit(&[]);
}

// ---- 6. publishing

#[test]
fn c030_nothing_is_published_before_it_has_arrived() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let a = on.import("P33", 1).expect("it fits");
    on.release(a.handle);
    assert_eq!(a.import.end(0), Ok(2));
    on.counts(8, 0, 0);
    assert_eq!(on.probe("P33"), 0);
    let b = on.import("P64", 0).expect("it fits");
    assert_eq!(on.done(&b).arrived, 64);
    on.release(b.handle);
    assert_eq!(on.evict(8), 4);
    let b2 = on.import("P64", 0).expect("it fits");
    assert_eq!(b2.hit, 0);
    on.counts(4, 0, 4);
    assert_eq!(on.probe("P65"), 0);
    on.done(&b2);
    assert_eq!(on.probe("P65"), 64);
    on.audit(&[]);
}

#[test]
fn c032_same_prompt_loaded_twice() {
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in ORDERS {
        let pool = pool(10, 16);
        let mut on = On::new(&pool);
        let a = on.import("P33", 1).expect("it fits");
        let b = on.import("P33", 1).expect("it fits");
        assert_eq!(b.hit, 0, "nothing has arrived yet");
        on.counts(4, 0, 6);
        on.done(&a);
        on.computed(a.handle, 33);
        let c = on.admitted(&Namespace::new(), "P33").expect("it fits");
        assert_eq!(c.hit, 32);
        on.counts(3, 0, 7);
        assert_eq!(on.probe("P33"), 32);
        on.done(&b);
        on.computed(b.handle, 33);
        assert_eq!(on.probe("P33"), 32);
        let all = [a.handle, b.handle, c.handle];
        for at in order {
            on.audit(&[]);
            on.release(all[at]);
            assert_eq!(on.probe("P33"), 32);
        }
        on.counts(8, 2, 0);
        assert_eq!(on.news(), (2, 0));
        distinct(on.take(10).expect("all are available").ids(), 10);
        assert_eq!(on.news(), (0, 2));
        on.audit(&[]);
    }
}

// ---- 7. identity

#[test]
fn c038_salt_separates_tenants_when_content_is_imported() {
    let pool = pool(12, 16);
    let mut on = On::new(&pool);
    let (s1, s2) = (Namespace::new().salt(b"s1"), Namespace::new().salt(b"s2"));
    let first = on.admitted(&s1, "P48").expect("it fits").handle;
    on.computed(first, 48);
    on.release(first);
    let in_space = |space, tokens| support::probe(&pool, space, tokens);
    assert_eq!(in_space(&s2, "P49"), 0);
    let a = on.admitted(&s2, "P49").expect("it fits");
    assert_eq!(a.hit, 0);
    on.counts(5, 3, 4);
    assert_eq!(in_space(&s1, "P49"), 48);
    let r = on
        .import_in(&s1, "R32", &Incoming::new(32, 1))
        .expect("it fits");
    on.done(&r);
    on.release(r.handle);
    assert_eq!((on.probe("R33"), in_space(&s1, "R33")), (0, 32));
    assert_eq!(in_space(&s2, "R33"), 0);
    on.counts(3, 5, 4);
    on.audit(&[]);
}

// ---- 10. transfers, holds, leases, abort

#[test]
fn c049_abort_during_a_load() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let a = on.import("P48", 0).expect("it fits");
    on.counts(5, 0, 3);
    on.release(a.handle);
    on.counts(5, 0, 3);
    on.audit(&[]);
    assert_eq!(a.import.arrived(0, 0..3), Ok(Answer::Unwanted));
    on.counts(8, 0, 0);
    assert_eq!((on.probe("P49"), on.news()), (0, (0, 0)));
    assert_eq!(
        a.import.arrived(0, 0..3),
        Err(AnswerError::Repeated { writer: 0, at: 0 })
    );
    assert_eq!(on.seqs.loading(a.handle), Err(Stale));
    on.counts(8, 0, 0);
    on.audit(&[]);
}

#[test]
fn c049_abort_in_the_middle_of_a_load() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let a = on.import("P48", 0).expect("it fits");
    a.import.arrived(0, 0..1).expect("it is expected");
    on.seqs.loading(a.handle).expect("it lives");
    on.release(a.handle);
    // What had arrived is good.
    on.counts(5, 1, 2);
    assert_eq!(a.import.end(0), Ok(2));
    assert_eq!(a.import.end(0), Err(AnswerError::Ended { writer: 0 }));
    on.counts(7, 1, 0);
    assert_eq!(on.probe("P49"), 16);
    on.audit(&[]);
}

/// A sequence is held as far as it is computed, and here nothing is; so the case's requests are chains.
#[test]
fn c050_two_holds_any_order_no_duplicate_no_shared_id() {
    for [first, second] in [[1, 2], [2, 1]] {
        let pool = pool(8, 16);
        let mut on = On::new(&pool);
        let space = Namespace::new();
        let mut chain = |n| {
            let mut promise = pool.reserve(n).expect("it fits");
            let mut chain = pool.chain(&space);
            chain
                .take(&mut on.worker, &mut promise, n)
                .expect("it is promised");
            chain
        };
        let (a, x) = (chain(3), chain(1));
        let mut hold = |id, chain| on.leases.grant(Owner::new(id), NEVER, chain);
        let leases = [1, 2].map(|id| hold(id, &a).expect("granted"));
        assert_eq!(
            hold(2, &x).err(),
            Some(LeaseError::OwnerTaken {
                owner: Owner::new(2)
            })
        );
        on.counts(4, 0, 4);
        on.audit(&[&a, &x]);
        x.release(&mut on.worker).expect("of this pool");
        a.release(&mut on.worker).expect("of this pool");
        on.counts(5, 0, 3);
        let done = |id: usize| leases[id - 1].end().map_err(|ended| ended.owner.get());
        assert_eq!(done(first), Ok(()));
        on.counts(5, 0, 3);
        assert_eq!(done(first), Err(first as u64));
        on.counts(5, 0, 3);
        on.audit(&[]);
        assert_eq!(done(second), Ok(()));
        on.counts(8, 0, 0);
        assert_eq!(done(second), Err(second as u64));
        on.counts(8, 0, 0);
        on.audit(&[]);
    }
}

/// The same for what is computed of a sequence.
#[test]
fn c050_two_pins_of_a_sequence() {
    for [first, second] in [[1, 2], [2, 1]] {
        let pool = pool(8, 16);
        let mut on = On::new(&pool);
        let a = on.admit("P48").expect("it fits");
        let x = on.admit("Q16").expect("it fits");
        on.computed(a, 48);
        on.computed(x, 16);
        let mut pin = |id, a| on.seqs.pin(a, &mut on.leases, Owner::new(id), NEVER);
        let leases = [1, 2].map(|id| pin(id, a).expect("granted"));
        assert!(pin(2, x).is_err());
        on.release(x);
        on.release(a);
        on.counts(4, 1, 3);
        let done = |id: usize| leases[id - 1].end().is_ok();
        assert!(done(first) && !done(first));
        on.counts(4, 1, 3);
        on.audit(&[]);
        assert!(done(second) && !done(second));
        on.counts(4, 4, 0);
        on.audit(&[]);
    }
}

#[test]
fn c053_a_load_becomes_visible_when_done() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let a = on.import("P32", 0).expect("it fits");
    assert_eq!(on.probe("P33"), 0);
    on.counts(6, 0, 2);
    let state = on.done(&a);
    assert_eq!((state.arrived, state.left, state.failed), (32, 0, false));
    assert_eq!((on.probe("P33"), on.news()), (32, (2, 0)));
    on.release(a.handle);
    on.counts(6, 2, 0);
    on.audit(&[]);
}

#[test]
fn c053_a_failed_load_never_becomes_visible() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let a = on.import("P32", 0).expect("it fits");
    on.counts(6, 0, 2);
    assert_eq!(a.import.failed(0, 0..2), Ok(Answer::Taken));
    let state = on.seqs.loading(a.handle).expect("it lives");
    assert_eq!((state.arrived, state.left, state.failed), (0, 0, true));
    assert_eq!(on.probe("P33"), 0);
    on.release(a.handle);
    on.counts(8, 0, 0);
    assert_eq!((on.probe("P33"), on.news()), (0, (0, 0)));
    on.audit(&[]);
}

#[test]
fn c054_one_bad_block_two_users() {
    let pool = pool(12, 16);
    let mut on = On::new(&pool);
    let a = on.admit("P64").expect("it fits");
    on.computed(a, 64);
    let b = on.admit("P64+Q16").expect("it fits");
    on.computed(b, 80);
    let before = [a, b].map(|it| on.seqs.table(it).expect("it lives").to_vec());
    let mut affected = Vec::new();
    on.seqs
        .invalidate(before[0][2], &mut affected)
        .expect("there is such a block");
    assert_eq!(affected, [a, b]);
    assert_eq!(on.computed_and_blocks(a), (32, 4));
    assert_eq!(on.computed_and_blocks(b), (32, 5));
    assert_eq!(on.probe("P65"), 32);
    on.counts(7, 0, 5);
    on.audit(&[]);

    // Each recomputes from token 32 on, in blocks that were never published.
    let mut step = Step::new();
    for (it, before) in [a, b].into_iter().zip(&before) {
        on.seqs.renew(it, &mut step).expect("seven are free");
        let entries: Vec<usize> = step.changes().iter().map(|it| it.entry).collect();
        assert_eq!(entries, (2..before.len()).collect::<Vec<_>>());
        let table = on.seqs.table(it).expect("it lives");
        assert_eq!(table[..2], before[..2]);
        assert!(table[2..].iter().all(|block| !before.contains(block)));
        on.audit(&[]);
    }
    // The three old ones could not be found again: they are free.
    on.counts(5, 0, 7);
    on.computed(a, 64);
    on.computed(b, 80);
    assert_eq!((on.probe("P65"), on.probe("P64+Q17")), (64, 80));
    on.release(a);
    on.release(b);
    on.counts(7, 5, 0);
    distinct(on.take(12).expect("all are available").ids(), 12);
    on.audit(&[]);
}

#[test]
fn c055_a_host_copy_being_loaded_back_is_not_evictable() {
    let (device, host) = (pool(4, 16), pool(2, 16));
    let (mut device, mut host) = (On::new(&device), On::new(&host));
    host.idle("P16");
    host.idle("Q16");
    let source = host.send(1, "P16");
    let tokens = text("P16");
    let space = Namespace::new();
    let loaded = device
        .seqs
        .import(
            &Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand),
            &Incoming::from_export(&source, 1),
        )
        .expect("it fits");
    assert_eq!(source.phase(), Phase::Linked);
    assert_eq!(host.evict(2), 1);
    assert_eq!((host.probe("P17"), host.probe("Q17")), (16, 0));
    host.counts(1, 0, 1);
    assert_eq!(device.probe("P17"), 0);
    device.done(&loaded);
    assert_eq!(source.phase(), Phase::Committed);
    host.counts(1, 1, 0);
    assert_eq!(host.evict(1), 1);
    host.counts(2, 0, 0);
    assert_eq!(device.probe("P17"), 16);
    assert_eq!(
        device.seqs.table(loaded.handle).expect("it lives"),
        loaded.import.ids()
    );
    device.audit(&[]);
    host.audit(&[]);
}

// ---- 11. fences

#[test]
fn c057_not_reusable_before_the_last_step_that_touches_it() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let mut lane = pool.lane();
    let a = on.admit("P48").expect("it fits");
    on.release_after(a, &mut lane, 3);
    assert_eq!(pool.quarantined(), 3);
    on.counts(1, 0, 0);
    assert_eq!(shortfall(on.take(2)), 1);
    assert_eq!(lane.complete(Fence(2)), 0);
    assert_eq!(pool.quarantined(), 3);
    on.audit(&[&lane]);
    assert_eq!(lane.complete(Fence(3)), 3);
    on.counts(4, 0, 0);
    let b = on.admit("P48").expect("it fits");
    on.release_after(b, &mut lane, 3);
    assert_eq!((pool.quarantined(), lane.len()), (0, 0));
    on.counts(4, 0, 0);
    on.audit(&[&lane]);
}

#[test]
fn c058_fenced_blocks_are_not_reclaimable_and_the_answer_says_so() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let mut lane = pool.lane();
    let a = on.admit("P64").expect("it fits");
    let b = on.admit("Q64").expect("it fits");
    on.release_after(b, &mut lane, 5);
    assert_eq!(pool.quarantined(), 4);
    on.counts(0, 0, 4);
    assert_eq!(shortfall(on.take(1)), 1);
    assert_eq!(quarantined(on.take(1)), 4);
    assert_eq!(quarantined(on.admit("R16")), 4);
    assert_eq!(on.computed_and_blocks(a).1, 4);
    on.audit(&[&lane]);
    assert_eq!(lane.complete(Fence(5)), 4);
    on.counts(4, 0, 4);
    assert_eq!(on.take(1).expect("four are free").len(), 1);
    on.audit(&[&lane]);
}

#[test]
fn c059_deferred_and_immediate_release_give_the_same_eviction_order() {
    for deferred in [false, true] {
        let pool = pool(8, 16);
        let mut on = On::new(&pool);
        let mut lane = pool.lane();
        let a = on.admit("P64").expect("it fits");
        let b = on.admit("Q64").expect("it fits");
        on.computed(a, 64);
        on.computed(b, 64);
        if deferred {
            on.release_after(a, &mut lane, 1);
            on.release_after(b, &mut lane, 1);
            assert_eq!(lane.complete(Fence(1)), 8);
        } else {
            on.release(a);
            on.release(b);
        }
        on.counts(0, 8, 0);
        let first = on.take(4).expect("eight are available");
        assert_eq!((on.probe("P65"), on.probe("Q65")), (0, 64));
        let second = on.take(1).expect("four are available");
        assert_eq!(on.probe("Q65"), 48);
        on.audit(&[&lane, &first, &second]);
    }
}

#[test]
fn c060_a_late_result_of_a_request_preempted_after_a_fence_is_rejected() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let mut lane = pool.lane();
    let a = on.admit("P33").expect("it fits");
    assert_eq!(on.seqs.preempt_after(a, &mut lane, Fence(1)), Ok(()));
    let late = |on: &mut On<'_>| on.seqs.computed(a, 33);
    assert_eq!(late(&mut on), Err(ComputedError::Stale(Stale)));
    assert_eq!(pool.quarantined(), 3);
    assert_eq!(lane.complete(Fence(1)), 3);
    on.counts(4, 0, 0);
    let a2 = on.admit("P33").expect("it fits");
    on.counts(1, 0, 3);
    assert_eq!(late(&mut on), Err(ComputedError::Stale(Stale)));
    assert_eq!(
        on.seqs.preempt_after(a, &mut lane, Fence(9)),
        Err(EndAfterError::Stale(Stale))
    );
    assert_eq!((on.probe("P33"), on.computed_and_blocks(a2).1), (0, 3));
    on.audit(&[&lane]);
}

// ---- 15. statistics

#[test]
fn c077_tiers_are_counted_apart() {
    let (device, host) = (pool(8, 16), pool(4, 16));
    let (mut device, mut host) = (On::new(&device), On::new(&host));
    let space = Namespace::new();
    let a = device.admit("P32").expect("it fits");
    device.computed(a, 32);
    let terms = Terms::copy(Owner::new(1), NEVER);
    let export = device
        .seqs
        .export(a, &space, &mut device.leases, &terms)
        .expect("it can be had");
    device.release(a);
    device.counts(6, 0, 2);
    let tokens = text("P32");
    let stored = host
        .seqs
        .import(
            &Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand),
            &Incoming::from_export(&export, 1),
        )
        .expect("it fits");
    host.counts(2, 0, 2);
    host.done(&stored);
    host.release(stored.handle);
    device.counts(6, 2, 0);
    host.counts(2, 2, 0);
    assert_eq!((device.probe("P33"), host.probe("P33")), (32, 32));
    device.audit(&[]);
    host.audit(&[]);
}

// ---- 16. copy plans

/// There is no list to drain: blocks of an admission that nobody fills are the last ones of its table, behind the import's; and
/// those of a load that failed are the ones from `arrived` on.
#[test]
fn c083_fresh_blocks_are_told_apart_from_loaded_ones() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    on.idle("P16");
    for fails in [false, true] {
        let a = on.import("P16+Q48", 32).expect("it fits");
        let table: Vec<BlockId> = on.seqs.table(a.handle).expect("it lives").to_vec();
        assert_eq!((a.hit, a.import.ids()), (16, &table[1..2]));
        let fresh = &table[table.len() - a.fresh + a.import.ids().len()..];
        distinct(fresh, 2);
        assert_eq!(fresh, &table[2..]);
        if fails {
            a.import.failed(0, 0..1).expect("it is expected");
            let state = on.seqs.loading(a.handle).expect("it lives");
            assert_eq!((state.arrived, state.failed), (16, true));
            assert_eq!(&table[state.arrived / 16..], &table[1..]);
        } else {
            assert_eq!(on.done(&a).arrived, 32);
        }
        on.audit(&[]);
        on.release(a.handle);
        on.evict(8);
        on.idle("P16");
    }
}

// ---- 17. progress

#[test]
fn c084_an_import_may_evict() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    on.idle("P128");
    on.counts(0, 8, 0);
    on.news();
    let a = on.import("Q16", 0).expect("eight are available");
    assert_eq!(on.news(), (0, 1));
    on.counts(0, 7, 1);
    assert_eq!((a.import.ids().len(), on.probe("P129")), (1, 112));
    on.audit(&[]);
}

#[test]
fn c085_what_a_lane_or_a_writer_gives_back_is_usable_at_once() {
    let pool = pool(8, 16);
    let mut on = On::new(&pool);
    let mut lane = pool.lane();
    for round in 1..=500 {
        let a = on.import("P128", 0).expect("eight are free");
        on.release(a.handle);
        assert_eq!(a.import.end(0), Ok(8));
        let b = on.admit("P128").expect("eight are free");
        on.release_after(b, &mut lane, round);
        assert_eq!(lane.complete(Fence(round)), 8);
    }
    on.counts(8, 0, 0);
    on.audit(&[&lane]);
}

#[test]
fn c086_a_finished_load_is_processed_although_the_queue_head_is_blocked() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool);
    let a = on.import("P64", 0).expect("it fits");
    on.counts(0, 0, 4);
    assert_eq!(shortfall(on.admit("Q16")), 1);
    assert_eq!(on.done(&a).arrived, 64);
    on.release(a.handle);
    on.counts(0, 4, 0);
    on.admit("Q16").expect("four are available");
    on.counts(0, 3, 1);
    on.audit(&[]);
}
