//! Two instances over the same two pools, each on a thread of its own: what one takes between the other's looks makes that undo what it
//! took on the first shard. In the end nothing is left, each refusal was counted once, on the shard that gave it, and no shard ever had a
//! sequence otherwise than the other one.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "support/shards.rs"]
mod shards;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kvblock::{
    Admit, AdmitError, AppendError, BlockPool, BranchError, Budget, Contents, Growth, Handle,
    Holder, Instance, InstanceStep, Namespace, PoolConfig, Prompt, Refused, Sequences,
    SequencesConfig, ShardId, TruncateError,
};

const BLOCK: usize = 2;
const SHARDS: usize = 2;

/// A small generator of numbers, so that a seed is all that a failure needs.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        usize::try_from(self.0 >> 33).expect("31 bits") % n
    }

    fn growth(&mut self) -> Growth {
        match self.below(3) {
            0 => Growth::Cap(self.below(6)),
            1 => Growth::Ahead(self.below(3)),
            _ => Growth::OnDemand,
        }
    }
}

/// What one thread was told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    admitted: u64,
    /// By shard: never, not now.
    refused: [(u64, u64); SHARDS],
    refused_appends: [u64; SHARDS],
    /// Refused although a look just before had said yes.
    after_a_yes: u64,
}

impl Told {
    fn note(&mut self, refused: Refused) -> usize {
        let (shard, never) = match refused {
            Refused::NeverFits { shard, .. } => (shard, true),
            Refused::Shortfall { shard, .. } => (shard, false),
            other => panic!("{other:?}"),
        };
        let at = usize::try_from(shard.get()).expect("few");
        let (for_ever, for_now) = &mut self.refused[at];
        *(if never { for_ever } else { for_now }) += 1;
        at
    }

    fn note_append(&mut self, error: AppendError) {
        match error {
            AppendError::Refused(refused) => {
                let at = self.note(refused);
                self.refused_appends[at] += 1;
            }
            AppendError::CapReached(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// One scheduler.
struct Server {
    it: Instance,
    space: Namespace,
    living: Vec<Handle>,
    step: InstanceStep,
    random: Random,
    told: Told,
}

impl Server {
    fn new(it: Instance, seed: u64) -> Self {
        Self {
            it,
            space: Namespace::new(),
            living: Vec::new(),
            step: InstanceStep::new(),
            random: Random(seed),
            told: Told::default(),
        }
    }

    fn one(&mut self) -> Option<Handle> {
        let n = self.living.len();
        (n > 0).then(|| self.living[self.random.below(n)])
    }

    fn round(&mut self) {
        match self.random.below(10) {
            0..=2 => self.admit(),
            3 | 4 => self.append(),
            5 => self.batch(),
            6 => self.truncate(),
            7 => self.fork(),
            _ => {
                if let Some(a) = self.one() {
                    self.living.retain(|&it| it != a);
                    assert_eq!(self.it.release(a), Ok(()));
                }
            }
        }
        for &a in &self.living {
            let states = self.it.shards().iter();
            let states: Vec<_> = states
                .map(|it| it.state(a).expect("it lives"))
                .map(|it| (it.positions, it.known, it.computed, it.blocks))
                .collect();
            assert_eq!(states, [states[0]; SHARDS], "a shard has it otherwise");
        }
    }

    fn admit(&mut self) {
        let (len, branch) = (1 + self.random.below(5 * BLOCK), self.random.below(3));
        let branch = u32::try_from(branch).expect("few");
        let tokens = (0..).take(len);
        let tokens: Vec<u32> = tokens
            .map(|i| if i < 5 { i } else { 100 * branch + i })
            .collect();
        let budget = [Budget::Physical, Budget::Conservative][self.random.below(2)];
        let growth = self.random.growth();
        let request = Admit::new(Prompt::new(&self.space, &tokens), growth).budget(budget);
        let looked = self.it.check(&request);
        match self.it.admit(&request) {
            Ok(admitted) => {
                self.told.admitted += 1;
                self.living.push(admitted.handle);
                self.computed(admitted.handle);
            }
            Err(AdmitError::Refused(refused)) => {
                self.told.note(refused);
                self.told.after_a_yes += u64::from(looked.is_ok());
            }
            Err(AdmitError::TooManySequences(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    /// All that is appended is known and computed.
    fn computed(&mut self, a: Handle) {
        let state = self.it.state(a).expect("it lives");
        let more: Vec<u32> = (state.known..state.positions).map(|_| 7).collect();
        let told = self.it.tokens(a, state.known, &Contents::new(&more));
        assert_eq!(told, Ok(()));
        assert_eq!(self.it.computed(a, state.positions), Ok(()));
    }

    fn copied(&mut self) {
        for at in 0..self.step.shards().len() {
            for &ticket in self.step.shards()[at].copies() {
                assert_eq!(self.it.copied(at, ticket), Ok(()));
            }
        }
    }

    fn append(&mut self) {
        let Some(a) = self.one() else { return };
        let n = self.random.below(2 * BLOCK);
        let looked = self.it.check_append(a, n);
        match self.it.append(a, n, &mut self.step) {
            Ok(()) => {
                self.copied();
                self.computed(a);
            }
            Err(error) => {
                assert!(self.step.shards().iter().all(|it| it.slots().is_empty()));
                self.told.note_append(error);
                self.told.after_a_yes += u64::from(looked.is_ok());
            }
        }
    }

    fn batch(&mut self) {
        let batch: Vec<_> = self.living.iter().map(|&it| (it, 1)).collect();
        self.it.step(&batch, &mut self.step);
        let failures: Vec<_> = self.step.failures().iter().map(|it| it.error).collect();
        failures
            .into_iter()
            .for_each(|it| self.told.note_append(it));
        self.copied();
        for (a, _) in batch {
            self.computed(a);
        }
    }

    fn truncate(&mut self) {
        let Some(a) = self.one() else { return };
        let positions = self.it.state(a).expect("it lives").positions;
        let to = self.random.below(positions + 1);
        match self.it.truncate(a, to) {
            Ok(()) => self.computed(a),
            Err(TruncateError::Refused(refused)) => drop(self.told.note(refused)),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn fork(&mut self) {
        let Some(a) = self.one() else { return };
        let mut children = [Handle::NONE; 2];
        match self.it.fork(a, &mut children) {
            Ok(()) => self.living.extend(children),
            Err(BranchError::Refused(refused)) => drop(self.told.note(refused)),
            Err(BranchError::TooManySequences(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Everything ends; what it was told, and the instance.
    fn end(mut self) -> (Instance, Told) {
        for a in self.living {
            assert_eq!(self.it.release(a), Ok(()));
        }
        (self.it, self.told)
    }
}

/// Takes, promises and evicts blocks of one pool until the others are done. Returns how often it was refused.
fn press(pool: &BlockPool, done: &AtomicBool) -> u64 {
    let (mut worker, mut random) = (pool.worker().expect("memory"), Random(99));
    let mut refused = 0;
    while !done.load(Ordering::Relaxed) {
        match pool.reserve(1 + random.below(3)) {
            Ok(mut promise) => {
                let n = random.below(promise.len() + 1);
                drop(promise.take(&mut worker, n).expect("a promise is kept"));
            }
            Err(_) => refused += 1,
        }
        if random.below(4) == 0 {
            pool.evict(&mut worker, 1).expect("its own");
        }
        thread::yield_now();
    }
    refused
}

fn run(blocks: [usize; SHARDS], rounds: usize, pressed: bool, resized: bool) {
    let pool = |(shard, blocks): (u32, usize)| {
        let config = PoolConfig::new(blocks, BLOCK).shard(ShardId::new(shard));
        BlockPool::new(&config).expect("a sound configuration")
    };
    let pools: Vec<BlockPool> = (0..).zip(blocks).map(pool).collect();
    let config = SequencesConfig::new(6);
    let first = shards::split(&pools, &config);
    let second = first.another(&config).expect("another registry");
    let (done, start) = (AtomicBool::new(false), Barrier::new(2));
    let (servers, by_pressure) = thread::scope(|scope| {
        let pressing = pressed.then(|| scope.spawn(|| press(&pools[1], &done)));
        let start = &start;
        let serving = (1..).zip([first, second]).map(|(seed, it)| {
            scope.spawn(move || {
                let mut server = Server::new(it, seed);
                start.wait();
                for round in 0..rounds {
                    server.round();
                    if resized && round % 7 == 0 {
                        // Others may be doing that, or hold too much.
                        let _ = match server.random.below(2) {
                            0 => server.it.shrink(1),
                            _ => server.it.grow(1),
                        };
                    }
                }
                server.end()
            })
        });
        let serving: Vec<_> = serving.collect();
        let ended = serving.into_iter().map(|it| it.join().expect("no panic"));
        let ended: Vec<_> = ended.collect();
        done.store(true, Ordering::Relaxed);
        let by_pressure = pressing.map_or(0, |it| it.join().expect("no panic"));
        (ended, by_pressure)
    });
    let [(mut first, one), (second, two)] = servers.try_into().expect("two of them");
    assert!(one.admitted > 0 && two.admitted > 0);
    println!(
        "refused after a yes: {} and {}",
        one.after_a_yes, two.after_a_yes
    );
    for (at, pool) in pools.iter().enumerate() {
        let report = pool.report();
        let (a, b) = (one.refused[at], two.refused[at]);
        let pressure = if at == 1 { by_pressure } else { 0 };
        let counted = (report.refused_never, report.refused_shortfall);
        assert_eq!(
            counted.0 + counted.1,
            a.0 + a.1 + b.0 + b.1 + pressure,
            "refusals of {at}"
        );
        for (it, told) in [(&first, &one), (&second, &two)] {
            let report = it.shards()[at].report();
            assert_eq!(report.refused_appends, told.refused_appends[at]);
            assert_eq!(report.first.requests, told.admitted);
        }
    }
    let beside: Vec<&dyn Holder> = second
        .shards()
        .iter()
        .map(|it: &Sequences| it as _)
        .collect();
    assert_eq!(first.audit(&beside), Ok(()));
    if resized {
        for (at, &blocks) in blocks.iter().enumerate() {
            assert_eq!(first.resize_rank(at, blocks), Ok(()));
        }
    }
    for it in [&first, &second] {
        assert!(it.is_empty());
        shards::at_rest(it);
    }
    for (pool, blocks) in pools.iter().zip(blocks) {
        assert_eq!(pool.report().free + pool.report().idle, blocks);
    }
}

#[test]
fn two_schedulers_serve_from_the_same_shards() {
    run([200, 160], 100_000, false, false);
}

#[test]
fn two_schedulers_serve_from_shards_that_are_nearly_full() {
    run([14, 12], 300_000, false, false);
    run([12, 14], 300_000, false, false);
}

#[test]
fn they_do_while_somebody_presses_the_second_shard() {
    run([30, 14], 200_000, true, false);
}

#[test]
fn they_do_while_the_shards_grow_and_shrink() {
    run([24, 20], 150_000, false, true);
}
