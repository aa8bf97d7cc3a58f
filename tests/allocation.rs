//! Where memory is asked for, and where it never is.
//!
//! This binary has an allocator of its own. For the thread that arms it, it counts every request, keeps the sum of live
//! bytes, and can refuse the n-th request or every large one. So these tests show that
//! * creating a pool and a worker either succeeds or gives [`CreateError::OutOfMemory`], whichever request is refused, and
//!   leaves nothing behind;
//! * the other calls that may run out of memory (`clear`, `invalidate`, `shrink`) say so and change nothing;
//! * leases are granted or not, and the chain that was to become one comes back;
//! * the calls of a registry of sequences that may run out of memory say so and change nothing;
//! * so do those that make layouts, routes, plans and fence tables; a step's copies need none;
//! * in steady state (a full pool that reclaims on every request) no call asks for memory at all.
#![cfg(not(loom))]

#[path = "allocation/any_order.rs"]
mod any_order;
#[path = "allocation/copies.rs"]
mod copies;
#[path = "allocation/lists.rs"]
mod lists;
#[path = "allocation/looks.rs"]
mod looks;
#[path = "support/properties.rs"]
mod properties;
#[path = "allocation/room.rs"]
mod room;
#[path = "allocation/shards.rs"]
mod shards;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;
use std::alloc::System;

use kvblock::{
    Admit, AdmitError, AppendError, BlockId, BlockPool, BranchError, ClearError, Contents,
    CreateError, Event, EventReader, ExtraKey, Fence, Growth, Handle, Holder, InvalidateError,
    LeaseError, Leases, Namespace, Owner, PoolConfig, Prompt, Proof, ResizeError, Sequences,
    SequencesConfig, Step, Stopped, TokensError, Worker,
};

/// The system's allocator with a ledger for each thread.
struct Ledger;

#[global_allocator]
static LEDGER: Ledger = Ledger;

/// What the ledger refuses while it is armed.
#[derive(Clone, Copy)]
enum Refuse {
    Nothing,
    /// The request with this number, the first being 1, and none after it.
    Nth(u64),
    /// Every request of more bytes than this.
    Above(usize),
}

thread_local! {
    static ARMED: Cell<Option<Refuse>> = const { Cell::new(None) };
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that this thread has obtained less those it gave back, armed or not.
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

impl Ledger {
    /// Counts a request; `false` if it must be refused.
    fn admit(layout: Layout) -> bool {
        let Some(refuse) = ARMED.get() else {
            return true;
        };
        let number = REQUESTS.get() + 1;
        REQUESTS.set(number);
        match refuse {
            Refuse::Nothing => true,
            Refuse::Nth(n) => number != n,
            Refuse::Above(bytes) => layout.size() <= bytes,
        }
    }

    fn enter(pointer: *mut u8, layout: Layout) -> *mut u8 {
        if !pointer.is_null() {
            LIVE.set(LIVE.get() + size(layout));
        }
        pointer
    }
}

fn size(layout: Layout) -> isize {
    isize::try_from(layout.size()).expect("no layout is larger than isize::MAX")
}

// SAFETY: every request goes to the system's allocator unchanged or is refused by null, which the trait allows; the cells
// are thread locals without destructor and with constant start values, so that touching them neither allocates nor fails.
// `realloc` is the trait's own: an `alloc`, a copy and a `dealloc`, each entered here.
unsafe impl GlobalAlloc for Ledger {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::admit(layout) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise (a layout of non-zero size) is passed on as it came.
        Self::enter(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Self::admit(layout) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise (a layout of non-zero size) is passed on as it came.
        Self::enter(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - size(layout));
        // SAFETY: all memory that leaves this allocator came from the system's with the layout that the caller repeats.
        unsafe { System.dealloc(pointer, layout) };
    }
}

/// Disarms on the way out, so that a failing assertion finds memory for its message.
struct Armed;

impl Drop for Armed {
    fn drop(&mut self) {
        ARMED.set(None);
    }
}

/// Runs `work` with the ledger armed; gives its result and the number of requests that it made.
fn armed<R>(refuse: Refuse, work: impl FnOnce() -> R) -> (R, u64) {
    REQUESTS.set(0);
    ARMED.set(Some(refuse));
    let disarm = Armed;
    let result = work();
    drop(disarm);
    (result, REQUESTS.get())
}

const SECRET: [u8; 16] = [7; 16];

fn config(blocks: usize, block_size: usize) -> PoolConfig {
    PoolConfig::new(blocks, block_size).secret(SECRET)
}

fn create(config: &PoolConfig) -> Result<(BlockPool, Worker), CreateError> {
    let pool = BlockPool::new(config)?;
    let worker = pool.worker()?;
    Ok((pool, worker))
}

#[test]
fn the_ledger_counts_each_request_and_refuses_the_one_it_is_told_to() {
    let before = LIVE.get();
    let (list, requests) = armed(Refuse::Nothing, || {
        let mut list: Vec<u64> = Vec::with_capacity(4);
        list.reserve_exact(100);
        list
    });
    assert_eq!(requests, 2, "one request, one growth");
    assert_eq!(LIVE.get() - before, 800, "the grown list is what lives");
    drop(list);
    assert_eq!(LIVE.get(), before);

    let (results, _) = armed(Refuse::Nth(2), || {
        [(); 3].map(|()| Vec::<u8>::new().try_reserve_exact(10).is_ok())
    });
    assert_eq!(results, [true, false, true]);
    let (results, _) = armed(Refuse::Above(64), || {
        [64, 65].map(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
    });
    assert_eq!(results, [true, false]);
    assert_eq!(LIVE.get(), before);
}

#[test]
fn creation_fails_cleanly_at_every_allocation() {
    let configs = [
        ("one block", config(1, 1)),
        ("more than a word of blocks", config(65, 16)),
        ("many blocks", config(5_000, 16)),
        ("room to grow", config(100, 16).max_blocks(1_000)),
        ("digests", config(300, 16).proof(Proof::Digest)),
        ("events", config(300, 16).events(64)),
        (
            "digests and events",
            config(300, 16).proof(Proof::Digest).events(64),
        ),
    ];
    for (name, config) in configs {
        let before = LIVE.get();
        let mut refused = 0;
        for n in 1.. {
            let (result, requests) = armed(Refuse::Nth(n), || create(&config));
            match result {
                Err(CreateError::OutOfMemory { bytes }) => {
                    assert!(
                        requests >= n,
                        "{name}: an error, but request {n} was never made"
                    );
                    assert!(bytes > 0, "{name}: request {n} was of no bytes");
                    assert_eq!(
                        LIVE.get(),
                        before,
                        "{name}: bytes left behind by the failure at request {n}"
                    );
                    refused += 1;
                }
                Err(other) => panic!("{name}: request {n} refused, answered by {other:?}"),
                Ok(created) => {
                    assert!(
                        requests < n,
                        "{name}: request {n} was refused and nobody said so"
                    );
                    drop(created);
                    assert_eq!(LIVE.get(), before, "{name}: bytes left behind by the drop");
                    break;
                }
            }
        }
        assert!(
            refused >= 3,
            "{name}: only {refused} requests: is this test looking at the right thing?"
        );
    }
}

#[test]
fn memory_that_cannot_be_had_is_an_error_that_names_its_size() {
    const LIMIT: usize = 1 << 20;
    let before = LIVE.get();
    let (result, _) = armed(Refuse::Above(LIMIT), || create(&config(1 << 16, 16)));
    match result {
        Err(CreateError::OutOfMemory { bytes }) => {
            assert!(bytes > LIMIT, "{bytes} bytes could have been had")
        }
        other => panic!("expected OutOfMemory, got {other:?}"),
    }
    assert_eq!(LIVE.get(), before, "bytes left behind");
}

/// Publishes `tokens` as one chain of `pool` and lets it go idle.
fn cache(pool: &BlockPool, worker: &mut Worker, namespace: &Namespace, tokens: &[u32]) {
    let blocks = tokens.len() / pool.block_size();
    let mut reservation = pool.reserve(blocks).expect("there is room");
    let mut chain = pool.chain(namespace);
    let taken = reservation.take(worker, blocks).expect("it is reserved");
    chain.push(taken).expect("same pool");
    let published = chain
        .publish(worker, &Contents::new(tokens), None)
        .expect("whole blocks");
    assert_eq!(published.stopped, None);
    chain.release(worker).expect("same pool");
}

/// Runs `call` with the n-th request refused, for n = 1, 2, ... until it needs no more, each time on a pool of its own with 64
/// idle blocks. `out_of_memory` says whether the result is that error.
fn fails_cleanly<R: core::fmt::Debug>(
    call: impl Fn(&BlockPool, &mut Worker) -> R,
    out_of_memory: impl Fn(&R) -> bool,
    succeeded: impl Fn(&R) -> bool,
) {
    let namespace = Namespace::default();
    let mut refused = 0;
    for n in 1.. {
        let (pool, mut worker) = create(&config(64, 4)).expect("memory");
        for start in [0, 1_000] {
            let tokens: Vec<u32> = (start..start + 32 * 4).collect();
            cache(&pool, &mut worker, &namespace, &tokens);
        }
        let report = pool.report();
        let findable = pool.snapshot().copies;
        let live = LIVE.get();
        let (result, requests) = armed(Refuse::Nth(n), || call(&pool, &mut worker));
        pool.audit(&[]).expect("consistent whatever was refused");
        if out_of_memory(&result) {
            assert!(requests >= n, "an error, but request {n} was never made");
            assert_eq!(
                LIVE.get(),
                live,
                "bytes left behind by the failure at request {n}"
            );
            let now = pool.report();
            assert_eq!(
                (now.free, now.idle, now.held),
                (report.free, report.idle, report.held),
                "a refusal changes nothing"
            );
            assert_eq!(
                pool.snapshot().copies,
                findable,
                "a refusal leaves all findable"
            );
            refused += 1;
        } else {
            assert!(
                succeeded(&result),
                "request {n} refused, answered by {result:?}"
            );
            assert!(requests < n, "request {n} was refused and nobody said so");
            break;
        }
    }
    assert!(refused > 0, "nothing was ever refused");
}

#[test]
fn clear_out_of_memory_changes_nothing() {
    fails_cleanly(
        |pool, worker| pool.clear(worker, None),
        |result| *result == Err(ClearError::OutOfMemory),
        |result| *result == Ok(64),
    );
}

#[test]
fn invalidate_out_of_memory_changes_nothing() {
    // The root of the first of the two chains: it was taken first.
    let root = BlockId::new(0);
    fails_cleanly(
        |pool, worker| pool.invalidate(worker, root),
        |result| *result == Err(InvalidateError::OutOfMemory),
        |result| *result == Ok(32),
    );
}

#[test]
fn shrink_out_of_memory_changes_nothing() {
    fails_cleanly(
        |pool, worker| pool.shrink(worker, 32),
        |result| *result == Err(ResizeError::OutOfMemory),
        |result| result.is_ok_and(|shrunk| (shrunk.offline, shrunk.draining) == (32, 0)),
    );
}

const BLOCK_SIZE: usize = 16;
const BLOCKS: usize = 256;
/// Each conversation is a shared opening of two blocks and then its own: together more than twice what the pool holds.
const CONVERSATIONS: usize = 48;
const OPENING: usize = 2;
const LONGEST: usize = 14;

/// The tokens of each conversation, made before anything is counted.
fn conversations() -> Vec<Vec<u32>> {
    (0..CONVERSATIONS)
        .map(|conversation| {
            let blocks = 6 + conversation % (LONGEST - 5);
            (0..blocks * BLOCK_SIZE)
                .map(|position| {
                    let owner = if position < OPENING * BLOCK_SIZE {
                        0
                    } else {
                        conversation + 1
                    };
                    u32::try_from(owner * 10_000 + position).expect("small")
                })
                .collect()
        })
        .collect()
}

/// One request as an engine serves it, by every call that belongs to it.
fn serve(
    pool: &BlockPool,
    worker: &mut Worker,
    namespace: &Namespace,
    tokens: &[u32],
    round: usize,
) {
    let whole = tokens.len() / BLOCK_SIZE;
    let prompt = Prompt::new(namespace, tokens).full_hit(round % 2 == 0);
    pool.probe(&prompt).expect("no lists given");
    pool.check(whole + 3)
        .expect("nothing is held between rounds");

    let mut reservation = pool.reserve(whole).expect("nothing is held between rounds");
    reservation.grow(3).expect("nothing is held between rounds");
    reservation.shrink(1).expect("three more than needed");
    let mut pair = reservation.split(2).expect("two more than needed");
    let mut chain = pool
        .find(worker, &prompt, &mut reservation)
        .expect("same pool");

    // The rest of the prompt, in two steps, as chunked prefill takes it.
    let hits = chain.len();
    let first = (whole - hits).div_ceil(2);
    for (from, to) in [(hits, hits + first), (hits + first, whole)] {
        let blocks = reservation.take(worker, to - from).expect("it is reserved");
        chain.push(blocks).expect("same pool");
        let contents = Contents::new(&tokens[from * BLOCK_SIZE..to * BLOCK_SIZE]);
        let published = chain
            .publish(worker, &contents, Some(&mut reservation))
            .expect("whole blocks");
        assert!(published.stopped.is_none());
    }

    // Private blocks, and a branch that shares everything up to them.
    let mut private = pair.take(worker, 2).expect("they are reserved");
    let second = private.split_off(1).expect("two of them");
    private.append(second).expect("same pool");
    chain.push(private).expect("same pool");
    let branch = chain.fork(worker).expect("few references");
    chain.release(worker).expect("same pool");

    // Somebody computed the opening a second time: duplicates, adopted.
    let mut twice = pool.reserve(OPENING).expect("there is room");
    let mut again = pool.chain(namespace);
    again
        .push(twice.take(worker, OPENING).expect("it is reserved"))
        .expect("same pool");
    let contents = Contents::new(&tokens[..OPENING * BLOCK_SIZE]);
    let published = again
        .publish(worker, &contents, None)
        .expect("whole blocks");
    assert_eq!(published.duplicates, OPENING);
    let twin = again.fork(worker).expect("few references");
    twin.release(worker).expect("same pool");
    assert_eq!(again.adopt_duplicates(worker).expect("same pool"), OPENING);
    again.release(worker).expect("same pool");
    branch.release(worker).expect("same pool");

    if round % 8 == 0 {
        pool.evict(worker, 3).expect("same pool");
        pool.maintain(worker, 4).expect("same pool");
    }
}

/// Takes every block of the pool at once and gives them back: the whole pool changes hands.
fn sweep(pool: &BlockPool, worker: &mut Worker) {
    let mut all = pool
        .reserve(BLOCKS)
        .expect("nothing is held between rounds");
    let blocks = all.take(worker, BLOCKS).expect("it is reserved");
    blocks.release(worker).expect("same pool");
}

fn drain(events: &mut Option<EventReader<'_>>, into: &mut Vec<Event>) {
    if let Some(events) = events {
        into.clear();
        events.read(into);
    }
}

fn steady_state_allocates_nothing(config: &PoolConfig) {
    const ROUNDS: usize = 4_000;
    let before = LIVE.get();
    {
        let (pool, mut worker) = create(config).expect("memory");
        let namespace = Namespace::new().adapter("summarise", 3).salt("tenant 17");
        let conversations = conversations();
        let mut events = pool.events();
        let mut read = Vec::with_capacity(4_096);
        let mut run = |rounds: core::ops::Range<usize>| {
            for round in rounds {
                let tokens = &conversations[round * 7 % CONVERSATIONS];
                serve(&pool, &mut worker, &namespace, tokens, round);
                if round % 500 == 499 {
                    sweep(&pool, &mut worker);
                }
                drain(&mut events, &mut read);
            }
        };
        run(0..1_000);

        let warm = pool.report();
        let ((), requests) = armed(Refuse::Nothing, || run(1_000..1_000 + ROUNDS));
        let report = pool.report();

        assert_eq!(requests, 0, "requests for memory in {ROUNDS} rounds");
        // The rounds were what they claim to be.
        let at_least = u64::try_from(ROUNDS).expect("small");
        assert!(
            report.reclaims - warm.reclaims >= at_least,
            "too few reclaims: {report:?}"
        );
        assert!(
            report.hits - warm.hits >= at_least,
            "too few hits: {report:?}"
        );
        assert!(
            report.stored - warm.stored >= at_least,
            "too few blocks stored: {report:?}"
        );
        assert!(
            report.duplicates - warm.duplicates >= at_least,
            "too few duplicates: {report:?}"
        );
        assert_eq!(
            (report.held, report.reserved),
            (0, 0),
            "something is still held"
        );
        pool.audit(&[]).expect("consistent");
    }
    assert_eq!(LIVE.get(), before, "bytes left behind by the drop");
}

/// What waits for fences goes round too: the lists that a lane gets come back to the worker and to the slots.
#[test]
fn fenced_releases_allocate_nothing_in_steady_state() {
    let (pool, mut worker) = create(&config(BLOCKS, BLOCK_SIZE)).expect("memory");
    let mut sequences = Sequences::new(pool.clone(), &SequencesConfig::new(4)).expect("memory");
    let mut lane = pool.lane();
    let space = Namespace::new();
    let tokens: Vec<u32> = (0..20 * 4).collect();
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let mut fence = 0;
    let mut run = |rounds: usize| {
        for _ in 0..rounds {
            fence += 1;
            let mut promise = pool.reserve(20).expect("room");
            let blocks = promise.take(&mut worker, 20).expect("reserved");
            let released = blocks.release_after(&mut worker, &mut lane, Fence(fence));
            assert!(released.is_ok());
            let mut promise = pool.reserve(20).expect("room");
            let prompt = Prompt::new(&space, &[]);
            let mut chain = pool
                .find(&mut worker, &prompt, &mut promise)
                .expect("its own");
            chain.take(&mut worker, &mut promise, 20).expect("reserved");
            let released = chain.release_after(&mut worker, &mut lane, Fence(fence));
            assert!(released.is_ok());
            let handle = sequences.admit(&request).expect("room").handle;
            sequences
                .release_after(handle, &mut lane, Fence(fence))
                .expect("it lives");
            lane.complete(Fence(fence - 1));
        }
    };
    run(20);
    let ((), requests) = armed(Refuse::Nothing, || run(200));
    assert_eq!(requests, 0, "requests for memory in 200 rounds");
}

#[test]
fn steady_state_allocates_nothing_with_tokens_stored() {
    steady_state_allocates_nothing(&config(BLOCKS, BLOCK_SIZE));
}

#[test]
fn steady_state_allocates_nothing_with_digests_stored() {
    steady_state_allocates_nothing(&config(BLOCKS, BLOCK_SIZE).proof(Proof::Digest));
}

#[test]
fn steady_state_allocates_nothing_with_events_on() {
    steady_state_allocates_nothing(&config(BLOCKS, BLOCK_SIZE).events(1_024));
}

// ---- the registry of sequences

/// Leases a chain of 20 blocks, some with a duplicate, with the n-th request refused, for n = 1, 2, ... until it needs no more.
fn lease_fails_cleanly(kept: bool) {
    let mut refused = 0;
    for n in 1.. {
        let (pool, mut worker) = create(&config(64, 4)).expect("memory");
        let namespace = Namespace::default();
        let tokens: Vec<u32> = (0..20 * 4).collect();
        cache(&pool, &mut worker, &namespace, &tokens[..12 * 4]);
        let mut chain = pool.chain(&namespace);
        let mut promise = pool.reserve(20).expect("there is room");
        chain
            .take(&mut worker, &mut promise, 20)
            .expect("it is promised");
        let published = chain
            .publish(&mut worker, &Contents::new(&tokens), None)
            .expect("whole blocks");
        assert_eq!((published.stored, published.duplicates), (8, 12));
        let mut leases = Leases::new(&pool, 64).expect("memory");
        let (before, live) = (pool.report(), LIVE.get());
        let (result, requests) = armed(Refuse::Nth(n), || {
            if kept {
                match leases.keep(Owner::new(1), 9, chain) {
                    Ok(lease) => (Ok(lease), None),
                    Err(returned) => (Err(returned.error), Some(returned.value)),
                }
            } else {
                (leases.grant(Owner::new(1), 9, &chain), Some(chain))
            }
        });
        let holders = |chain: &Option<_>| {
            let mut holders: Vec<&dyn Holder> = vec![&leases];
            if let Some(chain) = chain {
                holders.push(chain);
            }
            pool.audit(&holders)
        };
        match result {
            (Err(LeaseError::OutOfMemory), chain) => {
                assert!(requests >= n, "an error, but request {n} was never made");
                assert_eq!(holders(&chain), Ok(()));
                assert_eq!((leases.len(), leases.used()), (0, 0));
                assert_eq!(pool.report(), before, "a refusal changes nothing");
                let chain = chain.expect("it comes back");
                assert_eq!((chain.len(), chain.published()), (20, 20));
                // With memory it succeeds.
                let lease = leases.grant(Owner::new(1), 9, &chain).expect("memory");
                drop((leases, lease, chain));
                assert!(LIVE.get() <= live, "bytes left behind");
                refused += 1;
            }
            (Ok(lease), chain) => {
                assert!(requests < n, "request {n} was refused and nobody said so");
                assert_eq!(lease.references(), 32);
                assert_eq!(holders(&chain), Ok(()));
                break;
            }
            (Err(other), _) => panic!("{other:?}"),
        }
    }
    assert!(refused >= 3, "only {refused} requests");
}

#[test]
fn a_lease_out_of_memory_changes_nothing() {
    lease_fails_cleanly(false);
}

#[test]
fn a_chain_that_cannot_be_kept_comes_back() {
    lease_fails_cleanly(true);
}

#[test]
fn ended_leases_make_room_for_others() {
    let (pool, mut worker) = create(&config(8, 4)).expect("memory");
    let namespace = Namespace::default();
    let mut chain = pool.chain(&namespace);
    let mut promise = pool.reserve(1).expect("there is room");
    chain
        .take(&mut worker, &mut promise, 1)
        .expect("it is promised");
    let mut leases = Leases::new(&pool, 64).expect("memory");
    let mut churn = |rounds: core::ops::Range<u64>| {
        for round in rounds {
            for owner in 0..16 {
                let owner = Owner::new(16 * round + owner);
                leases.grant(owner, u64::MAX, &chain).expect("memory");
            }
            for owner in 0..16 {
                let owner = Owner::new(16 * round + owner);
                let lease = leases.get(owner).expect("it lives");
                lease.end().expect("it lives");
            }
        }
    };
    churn(0..4);
    let ((), requests) = armed(Refuse::Nothing, || churn(4..100));
    assert_eq!(requests, 96 * 16, "one a lease, and none for the table");
}

#[test]
fn creation_of_a_registry_fails_cleanly_at_every_allocation() {
    let (pool, _worker) = create(&config(300, 16)).expect("memory");
    for slots in [1, 64, 5_000] {
        let before = LIVE.get();
        let mut refused = 0;
        for n in 1.. {
            let (result, requests) = armed(Refuse::Nth(n), || {
                Sequences::new(pool.clone(), &SequencesConfig::new(slots))
            });
            match result {
                Err(CreateError::OutOfMemory { bytes }) => {
                    assert!(requests >= n, "request {n} was never made");
                    assert!(bytes > 0, "request {n} was of no bytes");
                    assert_eq!(
                        LIVE.get(),
                        before,
                        "{slots} slots: bytes left behind by the failure at request {n}"
                    );
                    refused += 1;
                }
                Err(other) => panic!("request {n} refused, answered by {other:?}"),
                Ok(created) => {
                    assert!(requests < n, "request {n} was refused and nobody said so");
                    drop(created);
                    assert_eq!(LIVE.get(), before, "bytes left behind by the drop");
                    break;
                }
            }
        }
        assert!(refused >= 5, "{slots} slots: only {refused} requests");
    }
}

/// A registry in use: three sequences, a branch, and a pending copy.
struct InUse {
    seqs: Sequences,
    step: Step,
    a: Handle,
    namespace: Namespace,
}

impl InUse {
    fn new() -> Self {
        let (pool, _) = create(&config(512, 4)).expect("memory");
        let config = SequencesConfig::new(8);
        let mut seqs = Sequences::new(pool, &config).expect("memory");
        let namespace = Namespace::new().salt("tenant 17");
        let tokens: Vec<u32> = (0..102).collect();
        let mut admit = |n: usize, growth| {
            let prompt = Prompt::new(&namespace, &tokens[..n]);
            seqs.admit(&Admit::new(prompt, growth).label(7))
                .expect("it fits")
                .handle
        };
        let a = admit(102, Growth::Cap(60));
        let b = admit(30, Growth::OnDemand);
        admit(20, Growth::Ahead(2));
        let mut child = [Handle::NONE];
        let mut step = Step::new();
        seqs.fork(b, &mut child).expect("it fits");
        seqs.append(b, 1, &mut step).expect("it fits");
        assert_eq!(step.copies().len(), 1);
        Self {
            seqs,
            // Its lists have no room.
            step: Step::new(),
            a,
            namespace,
        }
    }

    fn sight(&self) -> String {
        let tables: Vec<_> = self
            .seqs
            .handles()
            .map(|handle| {
                let state = self.seqs.state(handle).expect("it lives");
                (handle, state, self.seqs.table(handle).expect("it lives"))
            })
            .collect();
        format!("{:?} {tables:?}", self.seqs.report())
    }
}

/// Runs `call` with the n-th request refused, for n = 1, 2, ... until it needs no more, each time on a registry of its own. `run`
/// says whether it succeeded, or ran out of memory.
fn registry_fails_cleanly(call: impl Fn(&mut InUse) -> bool) {
    let mut refused = 0;
    for n in 1.. {
        let mut used = InUse::new();
        let before = used.sight();
        let (done, requests) = armed(Refuse::Nth(n), || call(&mut used));
        assert_eq!(used.seqs.audit(&[]), Ok(()), "whatever was refused");
        if done {
            assert!(requests < n, "request {n} was refused and nobody said so");
            break;
        }
        assert!(requests >= n, "an error, but request {n} was never made");
        assert_eq!(used.sight(), before, "a refusal changes nothing");
        // It goes on as if nothing had been.
        assert!(call(&mut used), "with memory it succeeds");
        assert_eq!(used.seqs.audit(&[]), Ok(()));
        refused += 1;
    }
    assert!(refused > 0, "nothing was ever refused");
}

#[test]
fn admission_out_of_memory_changes_nothing() {
    let tokens: Vec<u32> = (5_000..5_203).collect();
    let extra = [ExtraKey::new(7); 50];
    let keys: Vec<u64> = (0..50).collect();
    registry_fails_cleanly(|used| {
        let prompt = Prompt::new(&used.namespace, &tokens)
            .extra(&extra)
            .keys(&keys);
        match used.seqs.admit(&Admit::new(prompt, Growth::Ahead(2))) {
            Ok(admitted) => {
                assert_eq!((admitted.hit, admitted.fresh), (0, 51));
                true
            }
            Err(AdmitError::OutOfMemory(_)) => false,
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn append_out_of_memory_changes_nothing() {
    registry_fails_cleanly(|used| match used.seqs.append(used.a, 60, &mut used.step) {
        Ok(()) => {
            assert_eq!((used.step.slots().len(), used.step.fresh().len()), (60, 15));
            true
        }
        Err(AppendError::OutOfMemory(_)) => {
            assert!(used.step.slots().is_empty() && used.step.fresh().is_empty());
            false
        }
        Err(other) => panic!("{other:?}"),
    });
}

#[test]
fn an_append_that_is_refused_asks_for_no_memory() {
    let mut used = InUse::new();
    // The second one is promised nothing.
    let b = used.seqs.handles().nth(1).expect("it lives");
    let state = used.seqs.state(b).expect("it lives");
    let pool = used.seqs.pool();
    // As many as the pool could have, were it empty.
    let n = (pool.capacity() - state.blocks) * pool.block_size();
    let before = used.seqs.pool().available();
    let (result, requests) = armed(Refuse::Nth(1), || used.seqs.append(b, n, &mut used.step));
    assert!(matches!(result, Err(AppendError::Refused(_))), "{result:?}");
    assert_eq!(requests, 0);
    assert_eq!(used.seqs.pool().available(), before);
    assert_eq!(used.seqs.audit(&[]), Ok(()));
}

#[test]
fn a_copy_out_of_memory_changes_nothing() {
    registry_fails_cleanly(|used| {
        // The tail is shared, and more tickets are pending than there were ever.
        if used.seqs.len() < 5 {
            let armed = ARMED.take();
            let mut child = [Handle::NONE];
            used.seqs.fork(used.a, &mut child).expect("memory");
            ARMED.set(armed);
        }
        match used.seqs.append(used.a, 1, &mut used.step) {
            Ok(()) => {
                assert_eq!(used.step.copies().len(), 1);
                true
            }
            Err(AppendError::OutOfMemory(_)) => {
                assert!(used.step.copies().is_empty());
                // As it was, but for the branch.
                let last = used.seqs.handles().last().expect("a branch");
                used.seqs.release(last).expect("it lives");
                let _ = used.seqs.truncate(used.a, 102);
                false
            }
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn telling_tokens_out_of_memory_changes_nothing() {
    let tokens: Vec<u32> = (7_000..7_060).collect();
    let extra = [ExtraKey::new(7); 15];
    registry_fails_cleanly(|used| {
        let armed = ARMED.take();
        if used.seqs.state(used.a).expect("it lives").positions == 102 {
            used.seqs
                .append(used.a, 60, &mut used.step)
                .expect("it is promised");
        }
        ARMED.set(armed);
        let contents = Contents::new(&tokens).extra(&extra);
        match used.seqs.tokens(used.a, 102, &contents) {
            Ok(()) => true,
            Err(TokensError::OutOfMemory(_)) => {
                used.seqs.truncate(used.a, 102).expect("it is longer");
                false
            }
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_duplicate_out_of_memory_waits_for_the_next_time() {
    let (pool, mut worker) = create(&config(64, 4)).expect("memory");
    let namespace = Namespace::default();
    let tokens: Vec<u32> = (0..20 * 4).collect();
    let mut promise = pool.reserve(20).expect("room");
    let mut chain = pool.chain(&namespace);
    chain.take(&mut worker, &mut promise, 20).expect("promised");
    cache(&pool, &mut worker, &namespace, &tokens);
    // Whatever the worker has to spare is in use.
    let spare: Vec<_> = (0..64)
        .map(|_| {
            let mut nothing = pool.reserve(0).expect("nothing always fits");
            let prompt = Prompt::new(&namespace, &[]);
            pool.find(&mut worker, &prompt, &mut nothing)
                .expect("it is empty")
        })
        .collect();
    let before = pool.report();
    let mut publish = || {
        let mut pay = pool.reserve(20).expect("room");
        let contents = Contents::new(&tokens);
        let published = chain.publish(&mut worker, &contents, Some(&mut pay));
        (published.expect("whole blocks"), pay.len())
    };
    let ((published, left), _) = armed(Refuse::Nth(1), &mut publish);
    assert_eq!(published.stopped, Some(Stopped::OutOfMemory));
    assert_eq!((published.stored, published.duplicates, left), (0, 0, 20));
    let now = pool.report();
    assert_eq!(
        (now.free, now.idle, now.held),
        (before.free, before.idle, before.held)
    );
    let (published, left) = publish();
    assert_eq!((published.stored, published.duplicates, left), (0, 20, 0));
    assert_eq!(published.stopped, None);
    assert_eq!(pool.audit(&[&chain, &promise]), Ok(()));
    drop(spare);
}

#[test]
fn fork_out_of_memory_changes_nothing() {
    registry_fails_cleanly(|used| {
        let mut children = [Handle::NONE; 3];
        match used.seqs.fork(used.a, &mut children) {
            Ok(()) => true,
            Err(BranchError::OutOfMemory(_)) => {
                assert_eq!(children, [Handle::NONE; 3]);
                false
            }
            Err(other) => panic!("{other:?}"),
        }
    });
}

/// One request as a scheduler serves it, by every call that belongs to it.
struct Scheduler<'a> {
    seqs: Sequences,
    step: Step,
    batch: Vec<(Handle, usize)>,
    row: Vec<i32>,
    slots: Vec<i64>,
    namespace: &'a Namespace,
    conversations: &'a [Vec<u32>],
}

impl Scheduler<'_> {
    /// Appends `n` positions to each of a batch, answers its copies, tells tokens and progress.
    fn go_on(&mut self, n: usize, token: u32) {
        self.batch.iter_mut().for_each(|entry| entry.1 = n);
        self.seqs.step(&self.batch, &mut self.step);
        assert!(self.step.failures().is_empty());
        for &ticket in self.step.copies() {
            self.seqs.copied(ticket).expect("it is pending");
        }
        let tokens = [token; BLOCK_SIZE + 8];
        for &(handle, _) in &self.batch {
            let state = self.seqs.state(handle).expect("it lives");
            let missing = state.positions - state.known;
            self.seqs
                .tokens(handle, state.known, &Contents::new(&tokens[..missing]))
                .expect("the next ones");
            self.seqs
                .computed(handle, state.positions)
                .expect("it has them");
        }
    }

    fn serve(&mut self, round: usize) {
        let growth = [Growth::Cap(60), Growth::Ahead(2), Growth::OnDemand][round % 3];
        let prompt = &self.conversations[round * 7 % CONVERSATIONS];
        // Not at a block border.
        let prompt = &prompt[..prompt.len() - 5];
        let request = Prompt::new(self.namespace, prompt).full_hit(round % 2 == 0);
        let request = Admit::new(request, growth)
            .label(u64::try_from(round).expect("small"))
            .returning(round % 5 == 0);
        self.seqs.check(&request).expect("little else is held");
        let parent = self.seqs.admit(&request).expect("little else is held");
        let parent = parent.handle;
        let positions = self.seqs.state(parent).expect("it lives").positions;
        self.seqs.computed(parent, positions / 2).expect("a chunk");
        self.seqs.computed(parent, positions).expect("the rest");
        self.batch.push((parent, 0));
        let token = 1_000_000 + u32::try_from(round % 100).expect("small");
        self.go_on(1, token);
        self.go_on(4, token);

        // Branches, of which one is given up.
        let mut children = [Handle::NONE; 2];
        self.seqs
            .fork(parent, &mut children)
            .expect("there is room");
        self.batch.extend(children.map(|child| (child, 0)));
        self.go_on(1, token + 200);
        self.seqs.release(children[0]).expect("it lives");
        self.batch.retain(|&(handle, _)| handle != children[0]);
        // Drafts: lookahead, some rejected, some of a published block.
        for step in 0..12 {
            for at in 0..self.batch.len() {
                let handle = self.batch[at].0;
                let now = self.seqs.state(handle).expect("it lives").positions;
                self.seqs
                    .ensure(handle, now + 4, &mut self.step)
                    .expect("there is room");
            }
            self.go_on(4, token);
            for at in 0..self.batch.len() {
                let handle = self.batch[at].0;
                let now = self.seqs.state(handle).expect("it lives").positions;
                let back = if step == 7 { 20 } else { 2 };
                self.seqs
                    .truncate(handle, now - back)
                    .expect("there is room");
                self.seqs
                    .copy_table(handle, &mut self.row)
                    .expect("the row is long");
                self.seqs
                    .slots(handle, 0..now - back, &mut self.slots)
                    .expect("the row is long");
                self.seqs.check_append(handle, 1).expect("there is room");
            }
        }
        self.seqs.release(children[1]).expect("it lives");
        self.seqs.preempt(parent).expect("it lives");
        self.batch.clear();
    }
}

fn scheduling_allocates_nothing_in_steady_state(config: &PoolConfig) {
    const ROUNDS: usize = 1_500;
    let before = LIVE.get();
    {
        let (pool, _) = create(config).expect("memory");
        let namespace = Namespace::new().adapter("summarise", 3).salt("tenant 17");
        let conversations = conversations();
        let mut scheduler = Scheduler {
            seqs: Sequences::new(pool.clone(), &SequencesConfig::new(8)).expect("memory"),
            step: Step::new(),
            batch: Vec::with_capacity(8),
            row: vec![0; 64],
            slots: vec![0; 1_024],
            namespace: &namespace,
            conversations: &conversations,
        };
        (0..500).for_each(|round| scheduler.serve(round));
        let (warm, warm_pool) = (scheduler.seqs.report(), pool.report());
        let ((), requests) = armed(Refuse::Nothing, || {
            (500..500 + ROUNDS).for_each(|round| scheduler.serve(round));
        });
        assert_eq!(requests, 0, "requests for memory in {ROUNDS} rounds");
        // The rounds were what they claim to be.
        let (report, at_least) = (
            scheduler.seqs.report(),
            u64::try_from(ROUNDS).expect("small"),
        );
        assert!(report.copies - warm.copies >= 2 * at_least, "{report}");
        assert!(report.first.hit - warm.first.hit >= at_least, "{report}");
        assert!(
            report.pool.reclaims - warm_pool.reclaims >= at_least,
            "{report}"
        );
        assert!(
            report.pool.stored - warm_pool.stored >= at_least,
            "{report}"
        );
        assert_eq!((report.sequences, report.promised), (0, 0), "{report}");
        assert_eq!(scheduler.seqs.audit(&[]), Ok(()));
    }
    assert_eq!(LIVE.get(), before, "bytes left behind by the drop");
}

#[test]
fn scheduling_allocates_nothing_in_steady_state_with_tokens_stored() {
    scheduling_allocates_nothing_in_steady_state(&config(BLOCKS, BLOCK_SIZE));
}

#[test]
fn scheduling_allocates_nothing_in_steady_state_with_digests_stored_and_events() {
    let config = config(BLOCKS, BLOCK_SIZE).proof(Proof::Digest).events(64);
    scheduling_allocates_nothing_in_steady_state(&config);
}

/// Labels come and go in a full registry: their map makes no room for those that are gone.
#[test]
fn labels_of_a_full_registry_come_and_go_without_a_request() {
    for slots in [3, 28, 448, 449] {
        let (pool, _) = create(&config(slots, 4)).expect("memory");
        let mut seqs = Sequences::new(pool, &SequencesConfig::new(slots)).expect("memory");
        let namespace = Namespace::new();
        let mut label = 0;
        let mut admit = |seqs: &mut Sequences| {
            label += 1;
            let request = Admit::new(Prompt::new(&namespace, &[]), Growth::OnDemand).label(label);
            seqs.admit(&request).expect("a slot is vacant").handle
        };
        let mut living: Vec<_> = (0..slots).map(|_| admit(&mut seqs)).collect();
        let ((), requests) = armed(Refuse::Nothing, || {
            for round in 0..20_000 {
                let place = &mut living[round * 7 % slots];
                seqs.release(*place).expect("it lives");
                *place = admit(&mut seqs);
            }
        });
        assert_eq!(requests, 0, "{slots} slots");
    }
}
