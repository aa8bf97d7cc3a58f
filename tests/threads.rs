//! Several threads at once, with totals that must match when they are done: nothing is lost, nothing is given twice, events say
//! exactly what is findable, and whatever looks findable can be reached.

extern crate alloc;

use alloc::collections::BTreeSet;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread;

use kvblock::{
    Admit, BlockPool, Budget, Contents, CopyTicket, Detached, Event, EventKind, Growth, Handle,
    Holder, Namespace, PoolConfig, Prompt, Sequences, SequencesConfig, Step, Worker,
};

const BLOCK: usize = 2;

/// A small generator of numbers, so that a seed is all that a failure needs.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// One request: some prefix is found, the rest is taken, published, and now and then forked and split.
fn serve(
    pool: &BlockPool,
    worker: &mut Worker,
    spaces: &[Namespace],
    random: &mut Random,
    stored: &AtomicU64,
) {
    let space = &spaces[random.below(spaces.len())];
    let whole = 1 + random.below(4);
    let branch = u32::try_from(random.below(3)).unwrap();
    let tokens: Vec<u32> = (0..u32::try_from(whole * BLOCK).unwrap())
        .map(|i| if i < 3 { i } else { 100 * branch + i })
        .collect();
    let Ok(mut promise) = pool.reserve(whole) else {
        return;
    };
    let prompt = Prompt::new(space, &tokens).full_hit(true);
    let mut chain = pool.find(worker, &prompt, &mut promise).unwrap();
    let hit = chain.len();
    chain.take(worker, &mut promise, whole - hit).unwrap();
    let published = chain
        .publish(
            worker,
            &Contents::new(&tokens[hit * BLOCK..]),
            Some(&mut promise),
        )
        .unwrap();
    stored.fetch_add(u64::try_from(published.stored).unwrap(), Ordering::Relaxed);
    match random.below(4) {
        0 => {
            let twin = chain.fork(worker).unwrap();
            chain.release(worker).unwrap();
            twin.release(worker).unwrap();
        }
        1 => {
            let tail = chain.split_off(random.below(whole + 1)).unwrap();
            chain.release(worker).unwrap();
            drop(tail);
        }
        2 => {
            chain.adopt_duplicates(worker).unwrap();
            chain.release(worker).unwrap();
        }
        _ => chain.release(worker).unwrap(),
    }
}

/// Calls that take content back.
fn disturb(pool: &BlockPool, worker: &mut Worker, spaces: &[Namespace], random: &mut Random) {
    match random.below(5) {
        0 => drop(pool.evict(worker, random.below(4)).unwrap()),
        1 => drop(pool.clear(worker, Some(&spaces[0])).unwrap()),
        2 => drop(pool.clear(worker, None).unwrap()),
        3 => drop(pool.maintain(worker, 4).unwrap()),
        _ => {
            let block =
                kvblock::BlockId::new(u32::try_from(random.below(pool.capacity())).unwrap());
            // Most blocks are not published at that moment.
            let _ = pool.invalidate(worker, block);
        }
    }
}

/// What is findable according to the events, which must alternate.
fn replay(events: &[Event]) -> BTreeSet<(u32, u64)> {
    let mut findable = BTreeSet::new();
    for event in events {
        let copy = (event.copy.block.get(), event.copy.generation);
        if event.kind == EventKind::Stored {
            assert!(findable.insert(copy), "{event:?} was stored already");
        } else {
            assert!(findable.remove(&copy), "{event:?} was not stored");
        }
    }
    findable
}

fn run(threads: u64, blocks: usize, rounds: usize, disturbing: bool, seed: u64) {
    let pool = BlockPool::new(&PoolConfig::new(blocks, BLOCK).events(1 << 20)).unwrap();
    let spaces = [Namespace::new(), Namespace::new().salt("other")];
    let stored = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..threads {
            let (pool, spaces, stored) = (&pool, &spaces, &stored);
            scope.spawn(move || {
                let mut worker = pool.worker().unwrap();
                let mut random = Random(seed * 1000 + number);
                for _ in 0..rounds {
                    if disturbing && random.below(16) == 0 {
                        disturb(pool, &mut worker, spaces, &mut random);
                    } else {
                        serve(pool, &mut worker, spaces, &mut random, stored);
                    }
                }
            });
        }
    });

    let at = format!("{threads} threads, {blocks} blocks, seed {seed}");
    assert_eq!(pool.report().stored, stored.into_inner(), "{at}");

    is_at_rest(&pool, &at);
}

/// Nothing is held, the events say what is findable, and every block can be had.
fn is_at_rest(pool: &BlockPool, at: &str) {
    let blocks = pool.capacity();
    assert_eq!(pool.audit(&[]), Ok(()), "{at}");
    let report = pool.report();
    assert_eq!(
        (report.held, report.reserved, report.available),
        (0, 0, blocks),
        "{at}"
    );
    let mut events = Vec::new();
    assert_eq!(
        pool.events().unwrap().read(&mut events),
        0,
        "{at}: the ring is large enough"
    );
    let copies = pool.snapshot().copies;
    let findable: BTreeSet<(u32, u64)> = copies
        .iter()
        .map(|copy| (copy.block.get(), copy.generation))
        .collect();
    assert_eq!(replay(&events), findable, "{at}");
    let keys: BTreeSet<(u32, u64)> = copies.iter().map(|copy| (copy.depth, copy.key)).collect();
    for copy in copies.iter().filter(|copy| copy.depth > 0) {
        let parent = (copy.depth - 1, copy.parent_key.unwrap());
        assert!(keys.contains(&parent), "{at}: {copy:?} hangs below nothing");
    }

    let mut worker = pool.worker().unwrap();
    let mut all = pool.reserve(blocks).unwrap();
    let taken = all.take(&mut worker, blocks).unwrap();
    let distinct: BTreeSet<_> = taken.ids().iter().collect();
    assert_eq!(distinct.len(), blocks, "{at}");
}

#[test]
fn requests_of_several_threads_leave_nothing_behind() {
    for seed in 0..10 {
        for threads in [2, 3, 4] {
            run(threads, 6, 2_000, false, seed);
            run(threads, 40, 2_000, false, seed);
        }
    }
}

#[test]
fn so_do_evictions_clears_and_invalidations_among_them() {
    for seed in 0..10 {
        for threads in [2, 3] {
            run(threads, 6, 1_000, true, seed);
            run(threads, 40, 1_000, true, seed);
        }
    }
}

/// One thread moves the limit while others serve. In the end all that drains can be collected, and the pool is whole again.
#[test]
fn a_pool_that_grows_and_shrinks_loses_nothing() {
    for seed in 0..10 {
        for (threads, max) in [(1, 12), (2, 12), (2, 150), (3, 70)] {
            resized(threads, max, 2_000, seed);
        }
    }
}

fn resized(threads: u64, max: usize, rounds: usize, seed: u64) {
    let least = 6;
    let config = PoolConfig::new(least, BLOCK)
        .max_blocks(max)
        .events(1 << 20);
    let pool = BlockPool::new(&config).unwrap();
    let spaces = [Namespace::new(), Namespace::new().salt("other")];
    let stored = AtomicU64::new(0);
    let serving = AtomicU64::new(threads);
    thread::scope(|scope| {
        for number in 0..threads {
            let (pool, spaces, stored, serving) = (&pool, &spaces, &stored, &serving);
            scope.spawn(move || {
                let mut worker = pool.worker().unwrap();
                let mut random = Random(seed * 1000 + number);
                for _ in 0..rounds {
                    if random.below(32) == 0 {
                        disturb(pool, &mut worker, spaces, &mut random);
                    } else {
                        serve(pool, &mut worker, spaces, &mut random, stored);
                    }
                }
                serving.fetch_sub(1, Ordering::AcqRel);
            });
        }
        let mut worker = pool.worker().unwrap();
        let mut random = Random(seed);
        while serving.load(Ordering::Acquire) > 0 {
            let online = pool.capacity();
            match random.below(3) {
                0 => drop(pool.grow(random.below(max - online + 1)).unwrap()),
                1 => drop(pool.shrink(&mut worker, random.below(online - least + 1))),
                _ => drop(pool.shrink(&mut worker, 0)),
            }
        }
    });

    let at = format!("{threads} threads, up to {max} blocks, seed {seed}");
    let mut worker = pool.worker().unwrap();
    assert_eq!(pool.audit(&[]), Ok(()), "{at}");
    assert_eq!(pool.report().stored, stored.into_inner(), "{at}");
    assert_eq!(pool.shrink(&mut worker, 0).unwrap().draining, 0, "{at}");
    let report = pool.report();
    assert_eq!(report.online + report.offline, max, "{at}");
    is_at_rest(&pool, &at);
    pool.shrink(&mut worker, pool.capacity() - 1).unwrap();
    is_at_rest(&pool, &at);
    pool.grow(max - 1).unwrap();
    is_at_rest(&pool, &at);
}

/// Clearing one namespace takes nothing of another, though its blocks change hands while it is being looked for.
#[test]
fn a_clear_takes_only_its_own_namespace() {
    const OTHER: u64 = 1 << 63;
    const BLOCKS: usize = 16_384;
    let pool = BlockPool::new(&PoolConfig::new(BLOCKS, 1).events(1 << 22)).unwrap();
    let spaces = [Namespace::new(), Namespace::new().salt("other")];
    let publishing = AtomicU64::new(2);
    thread::scope(|scope| {
        for (space, tag) in spaces.iter().zip([0, OTHER]) {
            let (pool, publishing) = (&pool, &publishing);
            scope.spawn(move || {
                let mut worker = pool.worker().unwrap();
                for round in 0..40_000_u64 {
                    let length = 1 + usize::try_from(round % 20).unwrap();
                    let Ok(mut promise) = pool.reserve(length) else {
                        continue;
                    };
                    let first = u32::try_from(round * 32).unwrap();
                    let tokens: Vec<u32> = (first..).take(length).collect();
                    let keys: Vec<u64> = tokens.iter().map(|&t| tag | u64::from(t)).collect();
                    let mut chain = pool.chain(space);
                    chain.take(&mut worker, &mut promise, length).unwrap();
                    let contents = Contents::new(&tokens).keys(&keys);
                    let _ = chain.publish(&mut worker, &contents, None).unwrap();
                    chain.release(&mut worker).unwrap();
                }
                publishing.fetch_sub(1, Ordering::AcqRel);
            });
        }
        let mut worker = pool.worker().unwrap();
        while publishing.load(Ordering::Acquire) > 0 {
            pool.clear(&mut worker, Some(&spaces[0])).unwrap();
        }
    });
    let mut events = Vec::new();
    assert_eq!(pool.events().unwrap().read(&mut events), 0);
    let wrong = (events.iter())
        .filter(|event| event.kind == EventKind::Cleared && event.copy.key & OTHER != 0)
        .count();
    assert_eq!(wrong, 0, "blocks of the other namespace were cleared");
    assert_eq!(pool.audit(&[]), Ok(()));
}

// ---- registries of sequences, one on each thread

/// A scheduler whose every call is drawn from a seed.
struct Scheduler {
    seqs: Sequences,
    step: Step,
    random: Random,
    living: Vec<Handle>,
    tickets: Vec<CopyTicket>,
    spaces: [Namespace; 2],
}

impl Scheduler {
    fn new(pool: &BlockPool, seed: u64) -> Self {
        let config = SequencesConfig::new(12).watermark(1);
        Self {
            seqs: Sequences::new(pool.clone(), &config).unwrap(),
            step: Step::new(),
            random: Random(seed),
            living: Vec::new(),
            tickets: Vec::new(),
            spaces: [Namespace::new(), Namespace::new().salt("other")],
        }
    }

    fn any(&mut self) -> Option<Handle> {
        let n = self.living.len();
        (n > 0).then(|| self.living[self.random.below(n)])
    }

    fn admit(&mut self) {
        let length = 1 + self.random.below(4 * BLOCK);
        let branch = u32::try_from(self.random.below(3)).unwrap();
        let tokens: Vec<u32> = (0..u32::try_from(length).unwrap())
            .map(|i| if i < 3 { i } else { 100 * branch + i })
            .collect();
        let growth = match self.random.below(3) {
            0 => Growth::Cap(self.random.below(6)),
            1 => Growth::Ahead(self.random.below(3)),
            _ => Growth::OnDemand,
        };
        let budget = [Budget::Physical, Budget::Conservative][self.random.below(2)];
        let space = &self.spaces[self.random.below(2)];
        let prompt = Prompt::new(space, &tokens).full_hit(self.random.below(2) == 0);
        let request = Admit::new(prompt, growth).budget(budget);
        if let Ok(admitted) = self.seqs.admit(&request) {
            self.living.push(admitted.handle);
        }
    }

    /// Appends, and tells what that was.
    fn append(&mut self, handle: Handle) {
        let before = self.seqs.state(handle).unwrap();
        let n = 1 + self.random.below(3);
        let appended = self.seqs.append(handle, n, &mut self.step);
        self.tickets.extend_from_slice(self.step.copies());
        let within = match before.growth {
            Growth::Cap(_) => self.seqs.check_append(handle, 1).is_ok(),
            _ => false,
        };
        let state = self.seqs.state(handle).unwrap();
        match appended {
            Ok(()) => assert_eq!(state.positions, before.positions + n),
            Err(error) => {
                assert_eq!(state, before);
                // Within its cap an append does not fail, whatever the other threads do.
                let refused = matches!(error, kvblock::AppendError::Refused(_));
                assert!(!(refused && within), "{error:?} within a cap");
                assert!(
                    !(refused && matches!(before.growth, Growth::Cap(_))),
                    "{error:?}"
                );
            }
        }
        if self.random.below(4) > 0 {
            let first = u32::try_from(state.known).unwrap();
            let tokens: Vec<u32> = (first..u32::try_from(state.positions).unwrap()).collect();
            self.seqs
                .tokens(handle, state.known, &Contents::new(&tokens))
                .unwrap();
        }
        if self.random.below(4) > 0 {
            self.seqs.computed(handle, state.positions).unwrap();
        }
    }

    fn call(&mut self, between: &Mutex<Vec<Detached>>) {
        let choice = self.random.below(20);
        if choice < 6 {
            return self.admit();
        }
        if choice == 6 && !self.tickets.is_empty() {
            let at = self.random.below(self.tickets.len());
            return self.seqs.copied(self.tickets.swap_remove(at)).unwrap();
        }
        if choice == 7 {
            // Sequences go from one scheduler to the other.
            let detached = between.lock().unwrap().pop();
            let Some(detached) = detached else { return };
            match self.seqs.attach(detached) {
                Ok(handle) => self.living.push(handle),
                Err(back) => between.lock().unwrap().push(back.value),
            }
            return;
        }
        let Some(handle) = self.any() else { return };
        let positions = self.seqs.state(handle).unwrap().positions;
        match choice {
            8..12 => self.append(handle),
            12 => self.seqs.computed(handle, positions).unwrap(),
            13 => {
                let to = self.random.below(positions + 1);
                let _ = self.seqs.truncate(handle, to);
            }
            14 => {
                let mut children = [Handle::NONE; 2];
                let n = 1 + self.random.below(2);
                if self.seqs.fork(handle, &mut children[..n]).is_ok() {
                    self.living.extend(&children[..n]);
                }
            }
            15 => {
                let adopted = self.seqs.adopt_duplicates(handle).unwrap();
                assert!(adopted <= self.seqs.state(handle).unwrap().published);
            }
            16 => {
                let _ = self.seqs.ensure(handle, positions + 3, &mut self.step);
            }
            17 => {
                let mut victims = Vec::new();
                let free = self.seqs.select_victims(&self.living, 3, &mut victims);
                let sum: usize = victims.iter().map(|victim| victim.blocks).sum();
                assert_eq!(free, Ok(sum));
                for victim in victims {
                    self.seqs.preempt(victim.handle).unwrap();
                    self.living.retain(|&handle| handle != victim.handle);
                }
            }
            18 => {
                // Unless a copy into it is under way.
                if let Ok(detached) = self.seqs.detach(handle) {
                    self.living.retain(|&other| other != handle);
                    between.lock().unwrap().push(detached);
                }
            }
            _ => {
                self.living.retain(|&other| other != handle);
                self.seqs.release(handle).unwrap();
                assert!(self.seqs.release(handle).is_err());
            }
        }
    }
}

/// Several schedulers over one pool, and if asked for one more thread that takes content back.
fn schedule(threads: u64, blocks: usize, calls: usize, disturbing: bool, seed: u64) {
    let pool = BlockPool::new(&PoolConfig::new(blocks, BLOCK).events(1 << 20)).unwrap();
    let between = Mutex::new(Vec::new());
    let at = format!("{threads} schedulers, {blocks} blocks, seed {seed}");
    let mut schedulers: Vec<_> = thread::scope(|scope| {
        let (pool, between) = (&pool, &between);
        if disturbing {
            scope.spawn(move || {
                let mut worker = pool.worker().unwrap();
                let mut random = Random(seed);
                let spaces = [Namespace::new(), Namespace::new().salt("other")];
                for _ in 0..calls / 8 {
                    disturb(pool, &mut worker, &spaces, &mut random);
                    thread::yield_now();
                }
            });
        }
        let threads: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn(move || {
                    let mut scheduler = Scheduler::new(pool, seed * 1000 + number);
                    (0..calls).for_each(|_| scheduler.call(between));
                    scheduler
                })
            })
            .collect();
        let done = threads.into_iter().map(|thread| thread.join().unwrap());
        done.collect()
    });
    let between = between.into_inner().unwrap();

    // At rest everything adds up, with everything still held.
    let holders: Vec<&dyn Holder> = (schedulers.iter().map(|s| &s.seqs as &dyn Holder))
        .chain(between.iter().map(|detached| detached as &dyn Holder))
        .collect();
    for (number, scheduler) in schedulers.iter().enumerate() {
        let mut others = holders.clone();
        others.remove(number);
        assert_eq!(scheduler.seqs.audit(&others), Ok(()), "{at}");
    }
    let report = pool.report();
    assert_eq!(report.free + report.idle + report.held, blocks, "{at}");
    assert_eq!(
        report.available + report.reserved,
        report.free + report.idle,
        "{at}"
    );
    // They did what they claim to do.
    let copies: u64 = (schedulers.iter())
        .map(|scheduler| scheduler.seqs.report().copies)
        .sum();
    assert!(
        copies > 0 && report.hits > 10 && report.stored > 10,
        "{at}: {copies} copies, {report}"
    );
    let mut handles: Vec<_> = schedulers.iter().flat_map(|s| s.living.clone()).collect();
    let living = handles.len();
    handles.sort_by_key(|handle| handle.to_bits());
    handles.dedup();
    assert_eq!(handles.len(), living, "{at}: two sequences have one name");

    drop(between);
    for scheduler in &mut schedulers {
        for handle in core::mem::take(&mut scheduler.living) {
            scheduler.seqs.release(handle).unwrap();
        }
        assert_eq!(scheduler.seqs.report().promised, 0, "{at}");
        for ticket in core::mem::take(&mut scheduler.tickets) {
            scheduler.seqs.copied(ticket).unwrap();
        }
    }
    is_at_rest(&pool, &at);
}

#[test]
fn schedulers_on_several_threads_leave_nothing_behind() {
    for seed in 0..5 {
        for threads in [2, 3] {
            schedule(threads, 10, 2_000, false, seed);
            schedule(threads, 40, 2_000, false, seed);
        }
    }
}

#[test]
fn so_they_do_while_content_is_taken_back() {
    for seed in 0..5 {
        schedule(2, 10, 1_500, true, seed);
        schedule(2, 40, 1_500, true, seed);
    }
}
