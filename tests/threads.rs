//! Several threads at once, with totals that must match when they are done: nothing is lost, nothing is given twice, events say
//! exactly what is findable, and whatever looks findable can be reached.

extern crate alloc;

use alloc::collections::BTreeSet;
use core::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use kvblock::{BlockPool, Contents, Event, EventKind, Namespace, PoolConfig, Prompt, Worker};

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
    assert_eq!(pool.audit(&[]), Ok(()), "{at}");
    let report = pool.report();
    assert_eq!(
        (report.held, report.reserved, report.available),
        (0, 0, blocks),
        "{at}"
    );
    assert_eq!(report.stored, stored.into_inner(), "{at}");

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
