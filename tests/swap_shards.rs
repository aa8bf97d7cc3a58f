//! Sequences of an instance with two unequal shards go to a host tier with two others and come back, while each shard's copy passes when it
//! likes, some of it fails, content of one shard turns out bad, and tiers shrink and grow. After every call both tiers are audited and all
//! shards say the same of each sequence; what was finished has all that was computed of it, and in the end everything is given back.
//!
//! A failure says which seed it was; `KVB_SEED` runs that one alone.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

use kvblock::{
    Admit, AppendError, BlockPool, CommitError, Contents, Fence, Growth, Handle, Holder, Instance,
    InstanceStep, InstanceSwap, Leases, Namespace, Owner, PoolConfig, Prompt, Sequences,
    SequencesConfig, SequencesReport, ShardId, SwapError, SwapFinishError,
};

#[path = "swap_model/chance.rs"]
#[allow(dead_code, reason = "the model compares contents")]
mod chance;

use chance::Random;

const SIZE: usize = 4;
const SHARDS: usize = 2;
const SEEDS: u64 = 400;
const CALLS: usize = 400;

struct Tier {
    instance: Instance,
    leases: Vec<Leases>,
}

impl Tier {
    fn new(first: u32, blocks: [usize; SHARDS]) -> Self {
        let shards = blocks.into_iter().zip(first..).map(|(blocks, shard)| {
            let config = PoolConfig::new(blocks, SIZE).shard(ShardId::new(shard));
            let pool = BlockPool::new(&config).unwrap();
            Sequences::new(pool, &SequencesConfig::new(5)).unwrap()
        });
        let instance = Instance::split(shards.collect()).unwrap();
        Self {
            leases: instance.leases(1000).unwrap(),
            instance,
        }
    }

    fn audit(&self) {
        let others: Vec<_> = self.leases.iter().map(|it| it as &dyn Holder).collect();
        self.instance.audit(&others).unwrap();
    }

    /// What its registries say, but for refusals.
    fn reports(&self) -> Vec<SequencesReport> {
        let shards = self.instance.shards().iter().map(|it| {
            let mut report = it.report();
            report.pool.refused_never = 0;
            report.pool.refused_shortfall = 0;
            report
        });
        shards.collect()
    }

    /// Tokens that were not told yet, or have to be told again.
    fn tell(&mut self, known: &Known) {
        let told = self.instance.state(known.handle).unwrap().known;
        let rest = Contents::new(&known.tokens[told..]);
        self.instance.tokens(known.handle, told, &rest).unwrap();
    }
}

struct Known {
    tier: usize,
    handle: Handle,
    tokens: Vec<u32>,
}

struct Moving {
    swap: InstanceSwap,
    arrives: Known,
    /// Computed where it came from when the swap began.
    computed: usize,
    aborted: bool,
}

struct World {
    random: Random,
    tiers: [Tier; 2],
    known: Vec<Known>,
    moving: Vec<Moving>,
    /// Swaps finished, not finished as something failed, and begun in vain.
    saw: [u64; 3],
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut blocks = || [0; SHARDS].map(|_| 6 + random.below(9));
        let tiers = [Tier::new(0, blocks()), Tier::new(8, blocks())];
        Self {
            random,
            tiers,
            known: Vec::new(),
            moving: Vec::new(),
            saw: [0; 3],
        }
    }

    fn pick(&mut self, len: usize) -> Option<usize> {
        (len > 0).then(|| self.random.below(len))
    }

    fn call(&mut self) {
        match self.random.below(18) {
            0..=2 => self.admit(),
            3..=4 => self.compute(),
            5 => self.append(),
            6 => self.release(),
            7..=9 => self.begin(),
            10..=11 => self.launch(),
            12..=13 => self.complete(),
            14..=15 => self.finish(),
            16 => self.end_early(),
            _ => self.upset(),
        }
    }

    fn admit(&mut self) {
        let (length, text) = (1 + self.random.below(20), self.random.token(3));
        let tokens: Vec<_> = (text << 16..).take(length).collect();
        let growth = match self.random.below(3) {
            0 => Growth::Cap(self.random.below(9)),
            1 => Growth::Ahead(self.random.below(3)),
            _ => Growth::OnDemand,
        };
        let space = Namespace::new();
        let request = Admit::new(Prompt::new(&space, &tokens), growth);
        if let Ok(admitted) = self.tiers[0].instance.admit(&request) {
            self.known.push(Known {
                tier: 0,
                handle: admitted.handle,
                tokens,
            });
        }
    }

    fn compute(&mut self) {
        let Some(at) = self.pick(self.known.len()) else {
            return;
        };
        let known = &self.known[at];
        let instance = &mut self.tiers[known.tier].instance;
        let state = instance.state(known.handle).unwrap();
        let n = self.random.below(state.positions - state.computed + 1);
        // Refused while it is on its way.
        let _ = instance.computed(known.handle, state.computed + n);
    }

    fn append(&mut self) {
        let Some(at) = self.pick(self.known.len()) else {
            return;
        };
        let n = 1 + self.random.below(4);
        let tokens: Vec<_> = (0..n).map(|_| self.random.token(2)).collect();
        let (known, mut step) = (&mut self.known[at], InstanceStep::new());
        let tier = &mut self.tiers[known.tier];
        if tier.instance.append(known.handle, n, &mut step).is_ok() {
            known.tokens.extend(tokens);
            for (shard, step) in step.shards().iter().enumerate() {
                for &ticket in step.copies() {
                    tier.instance.copied(shard, ticket).unwrap();
                }
            }
            tier.tell(known);
        }
    }

    fn release(&mut self) {
        if let Some(at) = self.pick(self.known.len()) {
            let known = self.known.swap_remove(at);
            let instance = &mut self.tiers[known.tier].instance;
            instance.release(known.handle).unwrap();
        }
    }

    fn begin(&mut self) {
        let Some(at) = self.pick(self.known.len()) else {
            return;
        };
        let (from, source) = (self.known[at].tier, self.known[at].handle);
        let (space, tokens) = (Namespace::new(), self.known[at].tokens.clone());
        let growth = match from {
            0 => Growth::OnDemand,
            _ => Growth::Cap(self.random.below(6)),
        };
        let request = Admit::new(Prompt::new(&space, &tokens), growth);
        let owner = Owner::new(self.random.next() % 3);
        let before = self.tiers.each_ref().map(Tier::reports);
        let (here, there) = ends(&mut self.tiers, from);
        let to = &mut there.instance;
        let begun = here
            .instance
            .swap_to(source, to, &request, &mut here.leases, owner);
        match begun {
            Ok(swap) => self.moving.push(Moving {
                arrives: Known {
                    tier: 1 - from,
                    handle: swap.handle(),
                    tokens,
                },
                swap,
                computed: here.instance.state(source).unwrap().computed,
                aborted: false,
            }),
            Err(error) => {
                assert!(!matches!(error, SwapError::OtherTokens { .. }));
                let now = self.tiers.each_ref().map(Tier::reports);
                assert_eq!(now, before, "{error:?} changes nothing");
                self.saw[2] += 1;
            }
        }
    }

    fn launch(&mut self) {
        if let Some(at) = self.pick(self.moving.len()) {
            let (shard, moving) = (self.random.below(SHARDS), &mut self.moving[at]);
            let launched = moving.swap.copying(shard, Fence(1));
            assert_eq!(launched.is_err(), moving.aborted);
        }
    }

    fn complete(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        let (shard, fails) = (self.random.below(SHARDS), self.random.below(8) == 0);
        let swap = &mut self.moving[at].swap;
        let blocks = swap.pairs(shard).len();
        if fails && blocks > 0 {
            // Some other mover has a block of it, and did not bring it.
            let at = self.random.below(blocks);
            let import = swap.imports().nth(shard).unwrap();
            let _ = import.failed(0, at..at + 1);
        }
        if swap.complete(shard, Fence(1)) && self.moving[at].aborted {
            self.moving.swap_remove(at);
        }
    }

    fn finish(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        let moving = &mut self.moving[at];
        if moving.aborted {
            return;
        }
        let (from, to) = ends(&mut self.tiers, 1 - moving.arrives.tier);
        match moving.swap.finish(&mut from.instance, &mut to.instance) {
            Ok(handle) => {
                let done = self.moving.swap_remove(at);
                let state = to.instance.state(handle).unwrap();
                assert!(state.computed >= done.computed);
                assert_eq!(state.positions, done.arrives.tokens.len());
                assert!(from.instance.state(done.swap.source()).is_err());
                self.known.retain(|it| it.handle != done.swap.source());
                self.known.push(done.arrives);
                self.saw[0] += 1;
            }
            Err(SwapFinishError::NotCopied(_)) => {}
            Err(SwapFinishError::Commit(CommitError::Aborted(_) | CommitError::NotArrived(_))) => {
                self.saw[1] += 1
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    /// It is called off, or forgotten.
    fn end_early(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        if self.moving[at].aborted {
            return;
        }
        let to = &mut self.tiers[self.moving[at].arrives.tier].instance;
        if self.random.below(3) > 0 {
            self.moving[at].swap.abort(to).unwrap();
            self.moving[at].aborted = true;
            return;
        }
        let moving = self.moving.swap_remove(at);
        let imports: Vec<_> = moving.swap.imports().cloned().collect();
        drop(moving.swap);
        to.release(moving.arrives.handle).unwrap();
        for import in imports {
            import.end(0).unwrap();
        }
    }

    fn upset(&mut self) {
        let (tier, shard) = (self.random.below(2), self.random.below(SHARDS));
        let Tier { instance, .. } = &mut self.tiers[tier];
        match self.random.below(4) {
            0 => drop(instance.shrink(1)),
            1 => drop(instance.grow(1)),
            2 => {
                let pool = instance.shards()[shard].pool();
                let mut worker = pool.worker().unwrap();
                pool.evict(&mut worker, 2).unwrap();
            }
            _ => self.spoil(tier, shard),
        }
    }

    /// A block of one shard turns out bad: all shards go back to before it, in blocks of their own.
    fn spoil(&mut self, tier: usize, shard: usize) {
        let mut here = self.known.iter().filter(|it| it.tier == tier);
        let (Some(known), Tier { instance, .. }) = (here.next(), &mut self.tiers[tier]) else {
            return;
        };
        let table = instance.shards()[shard].table(known.handle).unwrap();
        let Some(&bad) = table.last() else {
            return;
        };
        instance.invalidate(shard, bad, &mut Vec::new()).unwrap();
        for known in self.known.iter().filter(|it| it.tier == tier) {
            self.tiers[tier].tell(known);
            // Refused while it is on its way, or there is no memory.
            let instance = &mut self.tiers[tier].instance;
            let _ = instance.renew(known.handle, &mut InstanceStep::new());
        }
    }

    fn check(&self) {
        self.tiers.iter().for_each(Tier::audit);
        for known in &self.known {
            let shards = self.tiers[known.tier].instance.shards().iter();
            let states = shards.map(|it| it.state(known.handle).unwrap());
            let computed: Vec<_> = states.map(|it| (it.positions, it.computed)).collect();
            assert_eq!(computed[0], computed[1]);
            assert_eq!(computed[0].0, known.tokens.len());
        }
    }

    fn end(mut self) -> [u64; 3] {
        for moving in &mut self.moving {
            let to = &mut self.tiers[moving.arrives.tier].instance;
            if !moving.aborted {
                moving.swap.abort(to).unwrap();
            }
            let last = (0..SHARDS).map(|shard| moving.swap.complete(shard, Fence(1)));
            assert_eq!(last.last(), Some(true));
        }
        for known in std::mem::take(&mut self.known) {
            let instance = &mut self.tiers[known.tier].instance;
            let grown = instance.append(known.handle, 1, &mut InstanceStep::new());
            let waits = matches!(grown, Err(AppendError::InTransit(_)));
            assert!(!waits, "nothing keeps it from growing: {grown:?}");
            instance.release(known.handle).unwrap();
        }
        for Tier { instance, leases } in &self.tiers {
            for (it, leases) in instance.shards().iter().zip(leases) {
                let (report, copies) = (it.pool().report(), it.report().pending_copies);
                // What the last appends copy is not made.
                assert!(report.held == 0 || copies > 0, "{report:?}");
                assert_eq!((report.reserved, leases.used(), it.len()), (0, 0, 0));
            }
        }
        self.saw
    }
}

/// The tier with this number, and the other one.
fn ends(tiers: &mut [Tier; 2], from: usize) -> (&mut Tier, &mut Tier) {
    let [device, host] = tiers;
    match from {
        0 => (device, host),
        _ => (host, device),
    }
}

/// Says which seed it was, if the test fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("KVB_SEED={}", self.0);
        }
    }
}

fn run(seed: u64) -> [u64; 3] {
    let _seed = Seed(seed);
    let mut world = World::new(seed);
    for _ in 0..CALLS {
        world.call();
        world.check();
    }
    world.end()
}

#[test]
fn shards_swap_together_or_not_at_all() {
    if let Ok(seed) = std::env::var("KVB_SEED") {
        run(seed.parse().expect("a number"));
        return;
    }
    let all = (0..SEEDS).map(run);
    let saw = all.fold([0; 3], |sum, it| [0, 1, 2].map(|at| sum[at] + it[at]));
    assert!(saw.iter().all(|&it| it > SEEDS / 4), "{saw:?}");
}
