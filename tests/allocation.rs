//! Where memory is asked for, and where it never is.
//!
//! This binary has an allocator of its own. For the thread that arms it, it counts every request, keeps the sum of live
//! bytes, and can refuse the n-th request or every large one. So these tests show that
//! * creating a pool and a worker either succeeds or gives [`CreateError::OutOfMemory`], whichever request is refused, and
//!   leaves nothing behind;
//! * the other calls that may run out of memory (`clear`, `invalidate`) say so and change nothing;
//! * in steady state (a full pool that reclaims on every request) no call asks for memory at all.
#![cfg(not(loom))]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;
use std::alloc::System;

use kvblock::{
    BlockId, BlockPool, ClearError, Contents, CreateError, Event, EventReader, InvalidateError,
    Namespace, PoolConfig, Prompt, Proof, Worker,
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
