//! Several schedulers, each on a thread, over one device pool and one host pool: they swap their sequences out and in, and find in either
//! tier what the others published while copies are under way. What is found and what comes back is compared position by position; in the
//! end both pools are exact, and empty.
//!
//! `KVB_SEED` runs one seed alone. As threads take turns as they like it may have to run often.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use kvblock::{
    Admit, BlockId, BlockPool, Fence, Growth, Handle, Leases, Namespace, Owner, PoolConfig, Prompt,
    Sequences, SequencesConfig, ShardId, Swap, SwapError, Worker,
};

#[path = "swap_model/chance.rs"]
#[allow(dead_code, reason = "the model counts what it has seen")]
mod chance;

use chance::{Random, contents};

const SIZE: usize = 4;
const SEEDS: u64 = 100;
const THREADS: u64 = 3;
const CALLS: usize = 2000;

/// What each position of a tier's blocks holds. Blocks have one writer; who else reads is told by the pool.
struct Memory(Vec<AtomicU64>);

impl Memory {
    fn new(blocks: usize) -> Self {
        Self((0..blocks * SIZE).map(|_| AtomicU64::new(0)).collect())
    }
    fn position(&self, table: &[BlockId], at: usize) -> &AtomicU64 {
        let block = usize::try_from(table[at / SIZE].get()).unwrap();
        &self.0[block * SIZE + at % SIZE]
    }
    #[track_caller]
    fn check(&self, table: &[BlockId], tokens: &[u32], computed: usize) {
        for (at, content) in contents(0, &tokens[..computed]).enumerate() {
            let there = self.position(table, at).load(Ordering::Relaxed);
            assert_eq!(there, content, "position {at}");
        }
    }
}

/// A tier as one scheduler has it.
struct Tier<'m> {
    sequences: Sequences,
    leases: Leases,
    worker: Worker,
    memory: &'m Memory,
}

/// A sequence, in one tier or arriving there.
struct Known {
    tier: usize,
    handle: Handle,
    tokens: Vec<u32>,
    computed: usize,
}

struct Moving {
    swap: Swap,
    arrives: Known,
    copied: bool,
}

struct Scheduler<'m> {
    random: Random,
    tiers: [Tier<'m>; 2],
    known: Vec<Known>,
    moving: Vec<Moving>,
    fence: u64,
    /// Swaps that were finished, and those that found something.
    swapped: [u64; 2],
}

impl<'m> Scheduler<'m> {
    fn new(seed: u64, pools: &[BlockPool; 2], memories: &'m [Memory; 2]) -> Self {
        let tier = |at: usize| Tier {
            sequences: Sequences::new(pools[at].clone(), &SequencesConfig::new(6)).unwrap(),
            leases: Leases::new(&pools[at], 1000).unwrap(),
            worker: pools[at].worker().unwrap(),
            memory: &memories[at],
        };
        Self {
            random: Random(seed),
            tiers: [tier(0), tier(1)],
            known: Vec::new(),
            moving: Vec::new(),
            fence: 0,
            swapped: [0; 2],
        }
    }

    fn call(&mut self) {
        match self.random.below(14) {
            0..=2 => self.admit(),
            3..=5 => self.compute(),
            6 => self.release(),
            7..=9 => self.begin(),
            10 => self.copy(),
            11 => self.finish(),
            12 => self.abort(),
            _ => self.evict_and_adopt(),
        }
    }

    fn pick(&mut self, len: usize) -> Option<usize> {
        (len > 0).then(|| self.random.below(len))
    }

    fn check(&self, known: &Known, computed: usize) {
        let Tier {
            sequences, memory, ..
        } = &self.tiers[known.tier];
        let table = sequences.table(known.handle).unwrap();
        memory.check(table, &known.tokens, computed);
    }

    fn admit(&mut self) {
        // Few texts, so that the schedulers find what others have.
        let (length, text) = (1 + self.random.below(24), self.random.token(2));
        let mut tokens: Vec<_> = (text << 16..).take(length).collect();
        if self.random.below(4) == 0 {
            tokens[length - 1] = self.random.token(u32::MAX);
        }
        let growth = match self.random.below(2) {
            0 => Growth::Cap(self.random.below(9)),
            _ => Growth::OnDemand,
        };
        let space = Namespace::new();
        let request = Admit::new(Prompt::new(&space, &tokens), growth);
        if let Ok(admitted) = self.tiers[0].sequences.admit(&request) {
            let known = Known {
                tier: 0,
                handle: admitted.handle,
                tokens,
                computed: admitted.hit,
            };
            self.check(&known, admitted.hit);
            self.known.push(known);
        }
    }

    fn compute(&mut self) {
        let moving = |it: &Known| self.moving.iter().any(|m| m.swap.source() == it.handle);
        let stays = |&at: &usize| self.known[at].tier == 0 && !moving(&self.known[at]);
        let running: Vec<_> = (0..self.known.len()).filter(stays).collect();
        let Some(at) = self.pick(running.len()) else {
            return;
        };
        let known = &mut self.known[running[at]];
        let Tier {
            sequences, memory, ..
        } = &mut self.tiers[0];
        let left = known.tokens.len() - known.computed;
        let end = known.computed + self.random.below(left + 1);
        let table = sequences.table(known.handle).unwrap();
        let all = contents(0, &known.tokens[..end]).enumerate();
        for (at, content) in all.skip(known.computed) {
            let position = memory.position(table, at);
            position.store(content, Ordering::Relaxed);
        }
        sequences.computed(known.handle, end).unwrap();
        known.computed = end;
    }

    fn release(&mut self) {
        if let Some(at) = self.pick(self.known.len()) {
            let known = self.known.swap_remove(at);
            self.check(&known, known.computed);
            let sequences = &mut self.tiers[known.tier].sequences;
            sequences.release(known.handle).unwrap();
        }
    }

    fn begin(&mut self) {
        let Some(at) = self.pick(self.known.len()) else {
            return;
        };
        let known = &self.known[at];
        let (space, tokens) = (Namespace::new(), known.tokens.clone());
        let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
        let owner = Owner::new(self.random.next() % 4);
        let (from, to) = ends(&mut self.tiers, known.tier);
        let there = &mut to.sequences;
        let begun = from
            .sequences
            .swap_to(known.handle, there, &request, &mut from.leases, owner);
        let swap = match begun {
            Ok(swap) => swap,
            Err(error @ SwapError::OtherTokens { .. }) => panic!("{error:?}"),
            Err(_) => return,
        };
        let arrives = Known {
            tier: 1 - known.tier,
            handle: swap.handle(),
            tokens,
            computed: known.computed.max(swap.hit()),
        };
        self.check(&arrives, swap.hit());
        self.swapped[1] += u64::from(swap.hit() > 0);
        self.moving.push(Moving {
            swap,
            arrives,
            copied: false,
        });
    }

    fn copy(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        let Moving {
            swap,
            arrives,
            copied,
        } = &mut self.moving[at];
        if core::mem::replace(copied, true) {
            return;
        }
        let (to, from) = (arrives.tier, 1 - arrives.tier);
        let (from, to) = (self.tiers[from].memory, self.tiers[to].memory);
        for &(source, destination) in swap.pairs() {
            for at in 0..SIZE {
                let read = from.position(&[source], at).load(Ordering::Relaxed);
                let written = to.position(&[destination], at);
                written.store(read, Ordering::Relaxed);
            }
        }
        self.fence += 1;
        swap.copying(Fence(self.fence)).unwrap();
        assert!(swap.complete(Fence(self.fence)));
    }

    fn finish(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        let moving = &mut self.moving[at];
        let (from, to) = ends(&mut self.tiers, 1 - moving.arrives.tier);
        let finished = moving.swap.finish(&mut from.sequences, &mut to.sequences);
        if finished.is_ok() {
            let done = self.moving.swap_remove(at);
            self.known.retain(|it| it.handle != done.swap.source());
            self.check(&done.arrives, done.arrives.computed);
            self.known.push(done.arrives);
            self.swapped[0] += 1;
        }
    }

    fn abort(&mut self) {
        if let Some(at) = self.pick(self.moving.len()) {
            let mut moving = self.moving.swap_remove(at);
            let to = &mut self.tiers[moving.arrives.tier].sequences;
            moving.swap.abort(to).unwrap();
            assert!(moving.swap.complete(Fence(self.fence)));
        }
    }

    fn evict_and_adopt(&mut self) {
        let tier = &mut self.tiers[self.random.below(2)];
        let (pool, n) = (tier.sequences.pool(), self.random.below(3));
        pool.evict(&mut tier.worker, n).unwrap();
        for known in &self.known {
            let sequences = &mut self.tiers[known.tier].sequences;
            sequences.adopt_duplicates(known.handle).unwrap();
        }
        for known in &self.known {
            self.check(known, known.computed);
        }
    }

    fn run(mut self) -> [u64; 2] {
        for _ in 0..CALLS {
            self.call();
        }
        while !self.moving.is_empty() {
            self.abort();
        }
        while !self.known.is_empty() {
            self.release();
        }
        self.swapped
    }
}

/// The tier with this number, and the other one.
fn ends<'t, 'm>(tiers: &'t mut [Tier<'m>; 2], from: usize) -> (&'t mut Tier<'m>, &'t mut Tier<'m>) {
    let [device, host] = tiers;
    match from {
        0 => (device, host),
        _ => (host, device),
    }
}

fn run(seed: u64) -> [u64; 2] {
    let mut random = Random(seed);
    let blocks = [0; 2].map(|_| 14 + random.below(12));
    let pool = |at: usize| {
        let shard = ShardId::new(u32::try_from(at).unwrap());
        BlockPool::new(&PoolConfig::new(blocks[at], SIZE).shard(shard)).unwrap()
    };
    let (pools, memories) = ([pool(0), pool(1)], blocks.map(Memory::new));
    let swapped = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let scheduler = Scheduler::new(seed * THREADS + thread, &pools, &memories);
                scope.spawn(move || scheduler.run())
            })
            .collect();
        let ended = threads.into_iter().map(|it| it.join());
        ended
            .map(|it| it.unwrap_or_else(|_| panic!("KVB_SEED={seed}")))
            .fold([0; 2], |sum, it| [sum[0] + it[0], sum[1] + it[1]])
    });
    for pool in &pools {
        pool.audit(&[]).unwrap();
        let report = pool.report();
        assert_eq!((report.held, report.reserved), (0, 0), "KVB_SEED={seed}");
    }
    swapped
}

#[test]
fn schedulers_that_share_both_tiers_find_what_is_there_and_nothing_else() {
    if let Ok(seed) = std::env::var("KVB_SEED") {
        run(seed.parse().expect("a number"));
        return;
    }
    let all = (0..SEEDS).map(run);
    let [finished, found] = all.fold([0; 2], |sum, it| [sum[0] + it[0], sum[1] + it[1]]);
    assert!(finished > SEEDS && found > SEEDS, "{finished}, {found}");
}
