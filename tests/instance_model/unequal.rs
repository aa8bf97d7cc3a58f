//! Two instances over pools of unequal size, beside a plain model of each shard. Single shards are pressed from outside: blocks are taken,
//! promised, evicted or lost there, and a registry of its own fills its cache.
//!
//! The model of a call over several shards: it is made on the model of each; if any refuses all of them go back to before it, and the refusal
//! is counted on the shard that gave it. A hit is as long as on the shard that has the least.

use std::collections::BTreeMap;

use kvblock::{
    AppendError, BlockId, BlockPool, Blocks, Contents, CopyTicket, DetachedInstance, EndAfterError,
    Fence, Handle, Holder, Instance, InstanceStep, InvalidateError, Lane, Namespace, PoolConfig,
    Proof, Refused, Reservation, Sequences, SequencesConfig, ShardId, Stale, TruncateAfterError,
    VictimsError, Worker,
};

use crate::faults::{
    admit_fault, append_fault, branch_fault, computed_fault, detach_fault, refusal, tokens_fault,
    truncate_fault,
};
use crate::figures::same_registry;
use crate::lanes::Waiting;
use crate::ops::numbers;
use crate::reference::{Hand, Model, Question, Text};
use crate::registry::{self, Asking, Fault, Grown, Name, Registry, Sequence, TicketName};
use crate::words::{Aim, Request, Who, index, page, text};

#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Blocks and watermark of each shard.
    pub(crate) shards: Vec<(usize, usize)>,
    pub(crate) block_size: usize,
    pub(crate) digests: bool,
    pub(crate) slots: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Check(Request),
    Admit(Request),
    Step(Vec<(Who, usize)>),
    Append(Who, usize),
    CheckAppend(Who, usize),
    Ensure(Who, Aim),
    Renew(Who),
    Tokens(Who, Aim, u8),
    Computed(Who, Aim),
    Copied(u8),
    Truncate(Who, Aim, Option<u8>),
    Fork(Who, u8),
    Release(Who, bool, Option<u8>),
    Adopt(Who),
    Detach(Who),
    Attach,
    DropDetached,
    Victims(Vec<Who>, Vec<usize>),
    /// Of a shard: an entry of somebody's table there, or any block.
    Invalidate(u8, Who, u8),
    Complete(u8, u8),
    Reserve(u8, usize),
    Unreserve(u8),
    Take(u8, usize),
    GiveBack(u8),
    Evict(u8, usize),
    Clear(u8),
    /// A registry of this shard alone computes a text, and goes away or stays.
    Alone(u8, Request, bool),
    AloneEnds(u8),
}

/// Instances over the pools; the registry of a shard alone comes after them.
const INSTANCES: usize = 2;
const ALONE: usize = INSTANCES;

/// The twin of a shard.
#[derive(Clone)]
struct Shard {
    pool: Model,
    registries: Vec<Registry>,
    lane: Waiting,
    hand: Hand,
}

/// Which of several refusals is given.
#[derive(Clone, Copy)]
enum Stages {
    /// What can never be had on any shard comes before what can't now.
    NeverFirst,
    /// That of the first shard.
    InOrder,
}

struct Scene<'p> {
    setup: Setup,
    space: Namespace,
    pools: &'p [BlockPool],
    instances: Vec<Instance>,
    alone: Vec<Sequences>,
    workers: Vec<Worker>,
    lanes: Vec<Lane>,
    model: Vec<Shard>,
    /// Of each instance in the order of admission, with the name on each shard.
    living: Vec<Vec<(Handle, Vec<Name>)>>,
    /// Of each shard's own registry.
    alone_living: Vec<Vec<(Handle, Name)>>,
    handles: Vec<Handle>,
    tickets: Vec<(CopyTicket, usize, usize, TicketName)>,
    detached: Vec<(DetachedInstance, Vec<Sequence>)>,
    promises: Vec<(Reservation<'p>, usize, usize)>,
    taken: Vec<(Blocks<'p>, usize, Vec<u32>)>,
    step: InstanceStep,
    tally: Tally,
}

/// How often something was met.
pub(crate) type Tally = BTreeMap<&'static str, usize>;

/// Runs the calls, each on the instance beside it. Panics where instance and model differ.
pub(crate) fn run(setup: &Setup, calls: &[(u8, Call)]) -> Tally {
    let pools: Vec<BlockPool> = (0..)
        .zip(&setup.shards)
        .map(|(shard, &(blocks, _))| {
            let config = PoolConfig::new(blocks, setup.block_size)
                .proof(if setup.digests {
                    Proof::Digest
                } else {
                    Proof::Tokens
                })
                .shard(ShardId::new(shard));
            BlockPool::new(&config).expect("a sound configuration")
        })
        .collect();
    let plain = SequencesConfig::new(setup.slots);
    let watched = |at: usize| plain.clone().watermark(setup.shards[at].1);
    let registries = pools.iter().enumerate();
    let registries = registries.map(|(at, pool)| Sequences::new(pool.clone(), &watched(at)));
    let first = Instance::split(registries.collect::<Result<Vec<_>, _>>().expect("sound"));
    let first = first.expect("alike");
    let second = first.another(&plain).expect("sound");
    let alone = pools
        .iter()
        .map(|pool| Sequences::new(pool.clone(), &plain));
    let shard = |&(blocks, watermark): &(usize, usize)| {
        let registry = |first: Name, watermark| {
            let digests = setup.digests;
            Registry::new(
                first << 32,
                setup.block_size,
                setup.slots,
                watermark,
                digests,
                false,
            )
        };
        Shard {
            pool: Model::new(blocks, blocks, setup.block_size),
            registries: vec![registry(1, watermark), registry(2, 0), registry(3, 0)],
            lane: Waiting::default(),
            hand: Hand::new(blocks),
        }
    };
    let mut scene = Scene {
        setup: setup.clone(),
        space: Namespace::new(),
        pools: &pools,
        lanes: first.lanes().expect("memory"),
        instances: vec![first, second],
        alone: alone.collect::<Result<Vec<_>, _>>().expect("sound"),
        workers: pools
            .iter()
            .map(|pool| pool.worker().expect("memory"))
            .collect(),
        model: setup.shards.iter().map(shard).collect(),
        living: vec![Vec::new(); INSTANCES],
        alone_living: vec![Vec::new(); pools.len()],
        handles: Vec::new(),
        tickets: Vec::new(),
        detached: Vec::new(),
        promises: Vec::new(),
        taken: Vec::new(),
        step: InstanceStep::new(),
        tally: Tally::new(),
    };
    for (on, call) in calls {
        scene.run(usize::from(*on) % INSTANCES, call);
        scene.check();
    }
    scene.finish()
}

/// The shard that a refusal names, and what it says; of other errors, only that.
fn named(error: Refused) -> (Option<usize>, Fault) {
    let shard = match error {
        Refused::NeverFits { shard, .. } | Refused::Shortfall { shard, .. } => shard.get(),
        other => panic!("{other:?}"),
    };
    (usize::try_from(shard).ok(), refusal(error))
}

fn append_named(error: AppendError) -> (Option<usize>, Fault) {
    match error {
        AppendError::Refused(error) => named(error),
        other => (None, append_fault(other)),
    }
}

/// As the model tells it.
fn told((at, fault): (usize, Fault)) -> (Option<usize>, Fault) {
    (matches!(fault, Fault::Refused(_)).then_some(at), fault)
}

impl<'p> Scene<'p> {
    fn saw(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    fn shards(&self) -> usize {
        self.pools.len()
    }

    fn shard(&self, which: u8) -> usize {
        usize::from(which) % self.shards()
    }

    /// The handle that a call names, and its names on the shards if this instance has it.
    fn who(&self, on: usize, who: Who) -> Option<(Handle, Vec<Name>)> {
        let living = &self.living[on];
        match who {
            Who::Living(which) => index(living.len(), which).map(|at| living[at].clone()),
            Who::Any(which) => index(self.handles.len(), which).map(|at| {
                let handle = self.handles[at];
                let known = living.iter().find(|it| it.0 == handle);
                let nobody = || (handle, vec![Name::MAX; self.shards()]);
                known.cloned().unwrap_or_else(nobody)
            }),
        }
    }

    fn positions(&self, on: usize, names: &[Name]) -> usize {
        self.model[0].registries[on].positions(names[0])
    }

    fn met(&mut self, on: usize, handle: Handle, names: Vec<Name>) {
        self.living[on].push((handle, names));
        self.handles.push(handle);
    }

    fn parted(&mut self, on: usize, handle: Handle) {
        self.living[on].retain(|it| it.0 != handle);
    }

    /// The call on each shard's model, or on none: then the refusing shard and what it says.
    fn all<T>(
        &mut self,
        stages: Stages,
        mut call: impl FnMut(usize, &mut Shard) -> Result<T, Fault>,
    ) -> Result<Vec<T>, (usize, Fault)> {
        let before = self.model.clone();
        let shards = self.model.iter_mut().enumerate();
        let answers: Vec<_> = shards.map(|(at, shard)| call(at, shard)).collect();
        if answers.iter().all(Result::is_ok) {
            return Ok(answers.into_iter().map(|it| it.expect("it is")).collect());
        }
        self.model = before;
        let faults = answers.iter().enumerate();
        let faults: Vec<_> = faults
            .filter_map(|(at, it)| it.as_ref().err().map(|&fault| (at, fault)))
            .collect();
        let later = |it: &&(usize, Fault)| {
            matches!(
                it.1,
                Fault::Refused(crate::reference::Refusal::Shortfall { .. })
            )
        };
        let never = |it: &&(usize, Fault)| {
            matches!(
                it.1,
                Fault::Refused(crate::reference::Refusal::Never { .. })
            )
        };
        let first = match stages {
            Stages::NeverFirst => {
                let never = faults.iter().find(never);
                never.or_else(|| faults.iter().find(|it| !later(it)))
            }
            Stages::InOrder => None,
        };
        let &(at, fault) = first.unwrap_or(&faults[0]);
        let several = faults.len() > 1;
        let passed_over = faults[0].0 < at;
        if let Fault::Refused(refusal) = fault {
            self.model[at].pool.count_refusal(refusal);
            self.saw(match at {
                _ if passed_over => "never on a later shard, not now on an earlier one",
                0 if several => "refused by several shards",
                0 => "refused by the first shard only",
                _ => "refused by a later shard",
            });
        }
        Err((at, fault))
    }

    fn run(&mut self, on: usize, call: &Call) {
        match *call {
            Call::Check(ref request) => self.ask(on, request, false),
            Call::Admit(ref request) => self.ask(on, request, true),
            Call::Step(ref batch) => self.step(on, batch),
            Call::Append(who, n) => self.append(on, who, n),
            Call::CheckAppend(who, n) => self.check_append(on, who, n),
            Call::Ensure(who, aim) => self.ensure(on, who, aim),
            Call::Renew(who) => self.renew(on, who),
            Call::Tokens(who, n, symbol) => self.tokens(on, who, n, symbol),
            Call::Computed(who, aim) => self.computed(on, who, aim),
            Call::Copied(which) => self.copied(which),
            Call::Truncate(who, aim, fence) => self.truncate(on, who, aim, fence),
            Call::Fork(who, children) => self.fork(on, who, usize::from(children)),
            Call::Release(who, preempt, fence) => self.release(on, who, preempt, fence),
            Call::Adopt(who) => self.adopt(on, who),
            Call::Detach(who) => self.detach(on, who),
            Call::Attach => self.attach(on),
            Call::DropDetached => self.drop_detached(),
            Call::Victims(ref order, ref needs) => self.victims(on, order, needs),
            Call::Invalidate(shard, who, entry) => self.invalidate(on, shard, who, entry),
            Call::Complete(shard, fence) => {
                let at = self.shard(shard);
                let got = self.lanes[at].complete(Fence(fence.into()));
                let Shard { pool, lane, .. } = &mut self.model[at];
                assert_eq!(got, lane.complete(pool, fence.into()), "complete");
            }
            Call::Reserve(shard, n) => self.reserve(shard, n),
            Call::Unreserve(which) => {
                if let Some(at) = index(self.promises.len(), which) {
                    let (promise, shard, n) = self.promises.remove(at);
                    drop(promise);
                    self.model[shard].pool.give_back(n);
                }
            }
            Call::Take(shard, n) => self.take(shard, n),
            Call::GiveBack(which) => {
                if let Some(at) = index(self.taken.len(), which) {
                    let (blocks, shard, ids) = self.taken.remove(at);
                    drop(blocks);
                    self.model[shard].pool.release_blocks(&ids);
                }
            }
            Call::Evict(shard, n) => {
                let at = self.shard(shard);
                let Shard { pool, hand, .. } = &mut self.model[at];
                let got = self.pools[at].evict(&mut self.workers[at], n);
                assert_eq!(got, Ok(pool.evict(hand, n)), "evict");
            }
            Call::Clear(shard) => {
                let at = self.shard(shard);
                let got = self.pools[at].clear(&mut self.workers[at], None);
                assert_eq!(got, Ok(self.model[at].pool.clear(None)), "clear");
            }
            Call::Alone(shard, ref request, stays) => self.alone(shard, request, stays),
            Call::AloneEnds(shard) => {
                let at = self.shard(shard);
                if !self.alone_living[at].is_empty() {
                    let (handle, name) = self.alone_living[at].remove(0);
                    assert_eq!(self.alone[at].release(handle), Ok(()));
                    let Shard {
                        pool, registries, ..
                    } = &mut self.model[at];
                    registries[ALONE]
                        .release(pool, name, false, None, None)
                        .expect("it lives");
                }
            }
        }
    }

    // ---- admission

    fn ask(&mut self, on: usize, request: &Request, admits: bool) {
        let tokens = text(request, self.setup.block_size);
        let space = self.space.clone();
        let real = request.asked(&space, &tokens);
        let mut asking = asking(request, &tokens);
        let found = self.model.iter().map(|shard| {
            let seen = shard.pool.probe(&asking.question);
            seen.expect("no slices but the tokens").positions
        });
        let shortest = found.min().expect("there are shards");
        assert_eq!(
            self.instances[on].probe(&real.prompt),
            Ok(shortest),
            "probe"
        );
        asking.question.limit = shortest / self.setup.block_size;
        let longest = self.model.iter().map(|shard| {
            let whole = Question {
                limit: usize::MAX,
                ..asking.question
            };
            shard.pool.probe(&whole).map_or(0, |it| it.positions)
        });
        let cut = longest.max() > Some(shortest);

        let check = |shard: &Shard| shard.registries[on].check(&shard.pool, &asking);
        let before = self.model.clone();
        let expected = self.all(Stages::NeverFirst, |_, shard| check(shard));
        self.model = before;
        let got = self.instances[on].check(&real);
        match (got, expected) {
            (Ok(costs), Ok(expected)) => {
                assert_eq!(costs.hit(), shortest, "hit");
                let charges = expected
                    .iter()
                    .map(|it| it.hit_idle + it.fresh + it.promised);
                assert_eq!(Some(costs.charge()), charges.max(), "charge");
                let got = costs.shards().iter().map(|cost| registry::Cost {
                    blocks: cost.blocks,
                    hit_held: cost.hit_held,
                    hit_idle: cost.hit_idle,
                    fresh: cost.fresh,
                    promised: cost.promised,
                });
                assert_eq!(got.collect::<Vec<_>>(), expected, "check");
            }
            (Err(got), Err(expected)) => {
                assert_eq!(admit_named(got), told(expected), "check");
            }
            (got, expected) => panic!("check: {got:?}, expected {expected:?}"),
        }
        if !admits {
            return;
        }
        let expected = self.all(Stages::NeverFirst, |_, shard| {
            shard.registries[on].admit(&mut shard.pool, &asking)
        });
        match (self.instances[on].admit(&real), expected) {
            (Ok(admitted), Ok(expected)) => {
                for &(_, hit, fresh) in &expected {
                    assert_eq!((admitted.hit, admitted.fresh), (hit, fresh), "admit");
                }
                let names = expected.into_iter().map(|it| it.0).collect();
                self.met(on, admitted.handle, names);
                self.saw(match (shortest > 0, cut) {
                    (true, true) => "a hit as long as the shortest",
                    (true, false) => "a hit on all shards",
                    (false, true) => "no hit, as one shard has none",
                    (false, false) => "no hit",
                });
            }
            (Err(got), Err(expected)) => {
                assert_eq!(admit_named(got), told(expected), "admit");
                self.saw(refused_or("admission refused", expected.1));
            }
            (got, expected) => panic!("admit: {got:?}, expected {expected:?}"),
        }
    }

    // ---- growth

    /// The model's answer for one sequence; a refusal is one of an append.
    fn grown(
        &mut self,
        on: usize,
        call: impl Fn(&mut Registry, &mut Model, usize) -> Result<Grown, Fault>,
    ) -> Result<Vec<Grown>, (usize, Fault)> {
        let expected = self.all(Stages::NeverFirst, |at, shard| {
            call(&mut shard.registries[on], &mut shard.pool, at)
        });
        if let Err((at, Fault::Refused(_))) = expected {
            self.model[at].registries[on].refused_appends += 1;
        }
        expected
    }

    /// What a step says of each shard, for sequences of a batch that got what they asked for.
    fn stepped(&mut self, on: usize, grown: &[(usize, Vec<Grown>)]) {
        for (at, step) in self.step.shards().iter().enumerate() {
            let of_shard = || grown.iter().map(|(index, it)| (*index, &it[at]));
            let slots: Vec<_> = of_shard().flat_map(|it| it.1.slots.clone()).collect();
            assert_eq!(step.slots(), slots, "slots on shard {at}");
            let fresh: Vec<_> = of_shard().flat_map(|it| it.1.fresh.clone()).collect();
            assert_eq!(numbers(step.fresh()), fresh, "fresh blocks on shard {at}");
            let changes = of_shard().flat_map(|(index, it)| {
                let of_one = it.changes.iter();
                of_one.map(move |&(entry, block)| (index, entry, block))
            });
            let got = step.changes().iter();
            let got = got.map(|it| (it.index, it.entry, it.block.get()));
            assert_eq!(
                got.collect::<Vec<_>>(),
                changes.collect::<Vec<_>>(),
                "changes on shard {at}"
            );
            let copies: Vec<_> = of_shard().flat_map(|it| it.1.copies.clone()).collect();
            let expected = copies.iter().map(|it| (it.1.src, it.1.dst, it.1.positions));
            let got = step.copies().iter();
            let got = got.map(|it| (it.src.get(), it.dst.get(), it.positions));
            assert_eq!(
                got.collect::<Vec<_>>(),
                expected.collect::<Vec<_>>(),
                "copies on shard {at}"
            );
            let tickets = step.copies().iter().zip(copies);
            self.tickets
                .extend(tickets.map(|(&ticket, (name, _))| (ticket, on, at, name)));
        }
    }

    fn step(&mut self, on: usize, batch: &[(Who, usize)]) {
        let batch = batch.iter();
        let batch: Vec<_> = batch
            .filter_map(|&(who, n)| self.who(on, who).map(|(handle, names)| (handle, names, n)))
            .collect();
        let calls: Vec<_> = batch.iter().map(|it| (it.0, it.2)).collect();
        self.instances[on].step(&calls, &mut self.step);
        let (mut grown, mut failures) = (Vec::new(), Vec::new());
        for (index, (_, names, n)) in batch.iter().enumerate() {
            match self.grown(on, |it, pool, at| it.append(pool, names[at], *n)) {
                Ok(of_shards) => grown.push((index, of_shards)),
                Err(expected) => failures.push((index, told(expected))),
            }
        }
        let got = self.step.failures().iter();
        let got: Vec<_> = got.map(|it| (it.index, append_named(it.error))).collect();
        assert_eq!(got, failures, "failures of a step");
        self.stepped(on, &grown);
        self.saw_grown(&grown);
        if !failures.is_empty() && !grown.is_empty() {
            self.saw("failure of some in a step");
        }
    }

    fn saw_grown(&mut self, grown: &[(usize, Vec<Grown>)]) {
        for (_, of_shards) in grown {
            let unlike =
                |of: fn(&Grown) -> usize| of_shards.iter().any(|it| of(it) != of(&of_shards[0]));
            if unlike(|it| it.copies.len()) {
                self.saw("a copy on some shards only");
            } else if !of_shards[0].copies.is_empty() {
                self.saw("a copy on all shards");
            }
            if unlike(|it| it.changes.len()) {
                self.saw("tables changed unlike");
            }
        }
    }

    fn appended(
        &mut self,
        on: usize,
        got: Result<(), AppendError>,
        expected: Result<Vec<Grown>, (usize, Fault)>,
    ) {
        match (got, expected) {
            (Ok(()), Ok(grown)) => {
                let grown = [(0, grown)];
                self.stepped(on, &grown);
                self.saw_grown(&grown);
            }
            (Err(got), Err(expected)) => {
                assert_eq!(append_named(got), told(expected), "append");
                self.stepped(on, &[]);
                self.saw(refused_or("growth refused", expected.1));
            }
            (got, expected) => panic!("append: {got:?}, expected {expected:?}"),
        }
    }

    fn append(&mut self, on: usize, who: Who, n: usize) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let expected = self.grown(on, |it, pool, at| it.append(pool, names[at], n));
        let got = self.instances[on].append(handle, n, &mut self.step);
        self.appended(on, got, expected);
    }

    fn ensure(&mut self, on: usize, who: Who, aim: Aim) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let to = aim.of(self.positions(on, &names));
        let expected = self.grown(on, |it, pool, at| it.ensure(pool, names[at], to));
        let got = self.instances[on].ensure(handle, to, &mut self.step);
        self.appended(on, got, expected);
    }

    fn renew(&mut self, on: usize, who: Who) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let expected = self.grown(on, |it, pool, at| it.renew(pool, names[at]));
        let renewed = expected
            .as_ref()
            .is_ok_and(|of_shards| of_shards.iter().any(|it| !it.fresh.is_empty()));
        let refused = matches!(expected, Err((_, Fault::Refused(_))));
        let got = self.instances[on].renew(handle, &mut self.step);
        self.appended(on, got, expected);
        if renewed || refused {
            self.saw(if renewed {
                "renewed"
            } else {
                "renewal refused"
            });
        }
    }

    fn check_append(&mut self, on: usize, who: Who, n: usize) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let before = self.model.clone();
        let expected = self.all(Stages::NeverFirst, |at, shard| {
            shard.registries[on].check_append(&shard.pool, names[at], n)
        });
        self.model = before;
        let got = self.instances[on].check_append(handle, n);
        let expected = expected.map(|it| it.into_iter().max().expect("there are shards"));
        assert_eq!(
            got.map_err(append_named),
            expected.map_err(told),
            "check_append"
        );
    }

    // ---- what is known and computed

    fn tokens(&mut self, on: usize, who: Who, n: Aim, symbol: u8) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let size = self.setup.block_size;
        let state = self.model[0].registries[on].state(names[0]);
        let (known, positions) = state.map_or((0, 0), |it| (it.known, it.positions));
        let n = n.of(positions - known).min(40);
        let page = page(symbol, size);
        let tokens: Vec<u32> = (known..known + n).map(|at| page[at % size]).collect();
        let told = Text {
            tokens: &tokens,
            extra: &[],
            keys: 0,
        };
        let expected = self.all(Stages::InOrder, |at, shard| {
            shard.registries[on].tokens(&mut shard.pool, names[at], known, &told, None)
        });
        let got = self.instances[on].tokens(handle, known, &Contents::new(&tokens));
        let expected = expected.map(drop).map_err(|it| it.1);
        assert_eq!(got.map_err(tokens_fault), expected, "tokens");
    }

    fn computed(&mut self, on: usize, who: Who, aim: Aim) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let n = aim.of(self.positions(on, &names));
        let expected = self.all(Stages::InOrder, |at, shard| {
            shard.registries[on].computed(&mut shard.pool, names[at], n, None)
        });
        let got = self.instances[on]
            .computed(handle, n)
            .map_err(computed_fault);
        assert_eq!(got, expected.map(drop).map_err(|it| it.1), "computed({n})");
    }

    fn copied(&mut self, which: u8) {
        let Some(at) = index(self.tickets.len(), which) else {
            return;
        };
        let (ticket, on, shard, name) = self.tickets[at];
        // To the wrong shard first.
        let wrong = (shard + 1) % self.shards();
        assert_eq!(
            self.instances[on].copied(wrong, ticket),
            Err(Stale),
            "another shard's ticket"
        );
        let got = self.instances[on].copied(shard, ticket);
        let Shard {
            pool, registries, ..
        } = &mut self.model[shard];
        let expected = registries[on].copied(pool, name, None);
        assert_eq!(got.map_err(|Stale| Fault::Stale), expected, "copied");
    }

    /// What one shard does not know any more, no other does.
    fn know_alike(&mut self, on: usize, names: &[Name]) {
        let size = self.setup.block_size;
        let sequences = || self.model.iter().zip(names);
        let known = sequences().filter_map(|(it, name)| it.registries[on].state(*name).ok());
        let known: Vec<_> = known.map(|it| it.known).collect();
        let least = known.iter().copied().min().unwrap_or(0);
        if known.iter().any(|&it| it > least) {
            self.saw("tokens forgotten for another shard's sake");
        }
        for (shard, &name) in self.model.iter_mut().zip(names) {
            if let Ok(sequence) = shard.registries[on].get_mut(name) {
                sequence.tokens.truncate(least);
                sequence.extra.truncate(least / size);
            }
        }
    }

    fn truncate(&mut self, on: usize, who: Who, aim: Aim, fence: Option<u8>) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let to = aim.of(self.positions(on, &names));
        let fence = fence.map(u64::from);
        let expected = self.all(Stages::NeverFirst, |at, shard| {
            let Shard {
                pool,
                registries,
                lane,
                ..
            } = shard;
            let lane = fence.map(|fence| Ok((lane, fence)));
            registries[on].truncate(pool, names[at], to, lane)
        });
        let instance = &mut self.instances[on];
        let got = match fence {
            None => instance.truncate(handle, to),
            Some(fence) => {
                let done = instance.truncate_after(handle, to, &mut self.lanes, Fence(fence));
                done.map_err(|error| match error {
                    TruncateAfterError::Truncate(error) => error,
                    other => panic!("{other:?}"),
                })
            }
        };
        let got = got.map_err(|error| match error {
            kvblock::TruncateError::Refused(error) => named(error),
            other => (None, truncate_fault(other)),
        });
        assert_eq!(got, expected.map(drop).map_err(told), "truncate({to})");
        match got {
            Ok(()) => self.know_alike(on, &names),
            Err((_, fault)) => self.saw(refused_or("truncation refused", fault)),
        }
    }

    // ---- branches, duplicates, the end

    fn fork(&mut self, on: usize, who: Who, children: usize) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let mut handles = vec![Handle::NONE; children];
        let expected = self.all(Stages::InOrder, |at, shard| {
            shard.registries[on].fork(&mut shard.pool, names[at], children)
        });
        match (self.instances[on].fork(handle, &mut handles), expected) {
            (Ok(()), Ok(names)) => {
                for (child, &handle) in handles.iter().enumerate() {
                    let names = names.iter().map(|of_shard| of_shard[child]).collect();
                    self.met(on, handle, names);
                    self.saw("forked");
                }
            }
            (Err(got), Err(expected)) => {
                let got = match got {
                    kvblock::BranchError::Refused(error) => named(error),
                    other => (None, branch_fault(other)),
                };
                assert_eq!(got, told(expected), "fork");
                self.saw(refused_or("fork refused", expected.1));
                assert_eq!(handles, vec![Handle::NONE; children]);
            }
            (got, expected) => panic!("fork: {got:?}, expected {expected:?}"),
        }
    }

    fn release(&mut self, on: usize, who: Who, preempt: bool, fence: Option<u8>) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let fence = fence.map(u64::from);
        let expected = self.all(Stages::InOrder, |at, shard| {
            let Shard {
                pool,
                registries,
                lane,
                ..
            } = shard;
            let lane = fence.map(|fence| (lane, fence));
            registries[on].release(pool, names[at], preempt, lane, None)
        });
        let instance = &mut self.instances[on];
        let got = match (preempt, fence.map(Fence)) {
            (false, None) => instance.release(handle),
            (true, None) => instance.preempt(handle),
            (_, Some(fence)) => {
                let done = if preempt {
                    instance.preempt_after(handle, &mut self.lanes, fence)
                } else {
                    instance.release_after(handle, &mut self.lanes, fence)
                };
                done.map_err(|error| match error {
                    EndAfterError::Stale(Stale) => Stale,
                    other => panic!("{other:?}"),
                })
            }
        };
        let got = got.map_err(|Stale| Fault::Stale);
        assert_eq!(got, expected.map(drop).map_err(|it| it.1), "release");
        if got.is_ok() {
            self.parted(on, handle);
        }
    }

    fn adopt(&mut self, on: usize, who: Who) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let expected = self.all(Stages::InOrder, |at, shard| {
            shard.registries[on].adopt(&mut shard.pool, names[at])
        });
        let got = self.instances[on].adopt_duplicates(handle);
        let expected = expected.map(|it| it.iter().sum()).map_err(|it| it.1);
        assert_eq!(
            got.map_err(|Stale| Fault::Stale),
            expected,
            "adopt_duplicates"
        );
        if got.is_ok_and(|adopted| adopted > 0) {
            self.saw("duplicates adopted");
        }
    }

    fn detach(&mut self, on: usize, who: Who) {
        let Some((handle, names)) = self.who(on, who) else {
            return;
        };
        let expected = self.all(Stages::InOrder, |at, shard| {
            shard.registries[on].detach(names[at])
        });
        match (self.instances[on].detach(handle), expected) {
            (Ok(real), Ok(model)) => {
                self.detached.push((real, model));
                self.parted(on, handle);
            }
            (Err(got), Err(expected)) => assert_eq!(detach_fault(got), expected.1, "detach"),
            (got, expected) => panic!("detach: {got:?}, expected {:?}", expected.map(drop)),
        }
    }

    fn attach(&mut self, on: usize) {
        if self.detached.is_empty() {
            return;
        }
        let (real, parts) = self.detached.remove(0);
        let expected = self.all(Stages::InOrder, |at, shard| {
            let attached = shard.registries[on].attach(parts[at].clone());
            attached.map_err(|(fault, _)| fault)
        });
        match (self.instances[on].attach(real), expected) {
            (Ok(handle), Ok(names)) => {
                self.met(on, handle, names);
                self.saw("attached");
            }
            (Err(back), Err((_, Fault::TooManySequences { .. }))) => {
                self.detached.push((back.value, parts));
            }
            (got, expected) => panic!(
                "attach: {:?}, expected {expected:?}",
                got.map_err(|it| it.error)
            ),
        }
    }

    fn drop_detached(&mut self) {
        if self.detached.is_empty() {
            return;
        }
        let (real, parts) = self.detached.remove(0);
        drop(real);
        for (part, shard) in parts.into_iter().zip(&mut self.model) {
            part.give_back(&mut shard.pool);
        }
    }

    fn victims(&mut self, on: usize, order: &[Who], needs: &[usize]) {
        let order: Vec<_> = order.iter().filter_map(|&who| self.who(on, who)).collect();
        let handles: Vec<_> = order.iter().map(|it| it.0).collect();
        let expected = self.all(Stages::InOrder, |at, shard| {
            let names: Vec<_> = order.iter().map(|it| it.1[at]).collect();
            let need = needs.get(at).copied().unwrap_or(0);
            let (victims, freed) = shard.registries[on].victims(&shard.pool, &names, need)?;
            let chosen = |name: &Name| victims.iter().any(|it| it.0 == *name);
            let chosen = names.iter().map(chosen).collect::<Vec<bool>>();
            Ok((chosen, freed >= need))
        });
        let mut victims = vec![Handle::NONE];
        let got = self.instances[on].select_victims(&handles, needs, &mut victims);
        match (got, expected) {
            (Ok(enough), Ok(expected)) => {
                let chosen = (0..handles.len()).filter(|&at| expected.iter().any(|it| it.0[at]));
                let mut chosen: Vec<_> = chosen.map(|at| handles[at]).collect();
                let mut seen = Vec::new();
                chosen.retain(|it| !seen.contains(it) && (seen.push(*it), true).1);
                assert_eq!(victims, chosen, "victims");
                assert_eq!(enough, expected.iter().all(|it| it.1), "enough");
                if !victims.is_empty() {
                    self.saw(if enough {
                        "victims enough"
                    } else {
                        "victims too few"
                    });
                }
            }
            (Err(VictimsError::Stale(_)), Err((_, Fault::Stale))) => assert_eq!(victims, []),
            (got, expected) => panic!("victims: {got:?}, expected {expected:?}"),
        }
    }

    // ---- bad content

    fn invalidate(&mut self, on: usize, shard: u8, who: Who, entry: u8) {
        let at = self.shard(shard);
        let Some((_, names)) = self.who(on, who) else {
            return;
        };
        let table = self.model[at].registries[on].table(names[at]);
        let table = table.map(<[u32]>::to_vec).unwrap_or_default();
        let any = u32::from(entry) % (u32::try_from(self.setup.shards[at].0).expect("few") + 1);
        let id = index(table.len(), entry).map_or(any, |entry| table[entry]);

        let size = self.setup.block_size;
        let mut order = self.living[on].clone();
        order.sort_by_key(|(handle, _)| handle.slot());
        let (own, others) = {
            let (before, rest) = self.model.split_at_mut(at);
            let (own, after) = rest.split_first_mut().expect("it is one of them");
            (
                own,
                before
                    .iter_mut()
                    .enumerate()
                    .chain(after.iter_mut().enumerate().map(|(n, it)| (at + 1 + n, it))),
            )
        };
        let bad = own.registries[on].copies_of(id);
        let entries: Vec<_> = order
            .iter()
            .map(|it| {
                own.registries[on]
                    .get(it.1[at])
                    .expect("it lives")
                    .first_entry_of(&bad)
            })
            .collect();
        let of_shard: Vec<_> = order.iter().map(|it| it.1[at]).collect();
        let expected = own.registries[on].invalidate(&mut own.pool, id, &of_shard);
        if let Ok(affected) = &expected {
            for (other, shard) in others {
                for (it, entry) in order.iter().zip(&entries) {
                    if affected.contains(&it.1[at]) {
                        let Shard {
                            pool, registries, ..
                        } = &mut *shard;
                        let sequence = registries[on].get_mut(it.1[other]).expect("it lives");
                        let entry = entry.expect("it has the block");
                        sequence.roll_back(pool, entry, size, self.setup.digests);
                    }
                }
            }
        }
        let mut got = vec![Handle::NONE];
        let answer = self.instances[on].invalidate(at, BlockId::new(id), &mut got);
        match (answer, expected) {
            (Ok(()), Ok(affected)) => {
                let expected = order.iter().filter(|it| affected.contains(&it.1[at]));
                let expected: Vec<_> = expected.cloned().collect();
                let handles: Vec<_> = expected.iter().map(|it| it.0).collect();
                assert_eq!(got, handles, "sequences with a bad block");
                for (_, names) in expected {
                    self.know_alike(on, &names);
                    self.saw("a sequence went back");
                }
            }
            (Err(InvalidateError::OutOfRange { block, capacity }), Err(expected)) => {
                let block = block.get();
                assert_eq!(Fault::OutOfRange { block, capacity }, expected);
            }
            (got, expected) => panic!("invalidate({id}): {got:?}, expected {expected:?}"),
        }
    }

    // ---- from outside

    fn reserve(&mut self, shard: u8, n: usize) {
        let at = self.shard(shard);
        let got = self.pools[at].reserve(n);
        match (got, self.model[at].pool.reserve(0, n)) {
            (Ok(promise), Ok(n)) => self.promises.push((promise, at, n)),
            (Err(got), Err(expected)) => assert_eq!(refusal(got), Fault::Refused(expected)),
            (got, expected) => panic!("reserve({n}): {got:?}, expected {expected:?}"),
        }
    }

    fn take(&mut self, shard: u8, n: usize) {
        let at = self.shard(shard);
        if self.pools[at].check(n).is_err() {
            return;
        }
        let Shard { pool, hand, .. } = &mut self.model[at];
        let mut promise = self.pools[at].reserve(n).expect("it was checked");
        let blocks = promise
            .take(&mut self.workers[at], n)
            .expect("a promise is kept");
        let mut left = pool.reserve(0, n).expect("it was checked");
        let expected = pool.take(hand, &mut left, n).expect("it was reserved");
        assert_eq!(numbers(blocks.ids()), expected, "take({n}) on shard {at}");
        self.taken.push((blocks, at, expected));
    }

    fn alone(&mut self, shard: u8, request: &Request, stays: bool) {
        let at = self.shard(shard);
        let tokens = text(request, self.setup.block_size);
        let space = self.space.clone();
        let Shard {
            pool, registries, ..
        } = &mut self.model[at];
        let (model, real) = (&mut registries[ALONE], &mut self.alone[at]);
        let expected = model.admit(pool, &asking(request, &tokens));
        let got = real.admit(&request.asked(&space, &tokens));
        match (got, expected) {
            (Ok(admitted), Ok((name, hit, _))) => {
                assert_eq!(admitted.hit, hit, "a hit alone");
                assert_eq!(real.computed(admitted.handle, tokens.len()), Ok(()));
                model
                    .computed(pool, name, tokens.len(), None)
                    .expect("it has them");
                if stays {
                    self.alone_living[at].push((admitted.handle, name));
                } else {
                    assert_eq!(real.release(admitted.handle), Ok(()));
                    model
                        .release(pool, name, false, None, None)
                        .expect("it lives");
                }
            }
            (Err(got), Err(expected)) => assert_eq!(admit_fault(got), expected, "admit alone"),
            (got, expected) => panic!("admit alone: {got:?}, expected {expected:?}"),
        }
    }

    // ---- comparison

    fn check(&mut self) {
        let unlike = |on: usize, names: &[Name], of: fn(registry::State) -> usize| {
            let of_shard = |(shard, &name): (&Shard, &Name)| {
                of(shard.registries[on].state(name).expect("it lives"))
            };
            let mut all = self.model.iter().zip(names).map(of_shard);
            let first = all.next();
            all.any(|it| Some(it) != first)
        };
        let all = self.living.iter().enumerate();
        let all: Vec<_> = all
            .flat_map(|(on, of)| of.iter().map(move |it| (on, &it.1)))
            .collect();
        let published = all
            .iter()
            .any(|(on, names)| unlike(*on, names, |it| it.published));
        let promised = all
            .iter()
            .any(|(on, names)| unlike(*on, names, |it| it.promised));
        if published {
            self.saw("published unlike");
        }
        if promised {
            self.saw("promised unlike");
        }
        let mut holders: Vec<&dyn Holder> = Vec::new();
        holders.extend(self.alone.iter().map(|it| it as &dyn Holder));
        holders.extend(self.lanes.iter().map(|it| it as &dyn Holder));
        for (parts, _) in &self.detached {
            holders.extend(parts.shards().iter().map(|it| it as &dyn Holder));
        }
        holders.extend(self.promises.iter().map(|it| &it.0 as &dyn Holder));
        holders.extend(self.taken.iter().map(|it| &it.0 as &dyn Holder));
        for (on, instance) in self.instances.iter().enumerate() {
            let mut others = holders.clone();
            for (other, beside) in self.instances.iter().enumerate() {
                if other != on {
                    others.extend(beside.shards().iter().map(|it| it as &dyn Holder));
                }
            }
            assert_eq!(instance.audit(&others), Ok(()), "audit of instance {on}");
            for (at, shard) in self.model.iter().enumerate() {
                let living = self.living[on].iter();
                let living: Vec<_> = living.map(|it| (it.0, it.1[at])).collect();
                let real = &instance.shards()[at];
                same_registry(real, &shard.registries[on], &living, &shard.pool);
            }
        }
        for (at, shard) in self.model.iter().enumerate() {
            shard.pool.check();
            let living = &self.alone_living[at];
            same_registry(
                &self.alone[at],
                &shard.registries[ALONE],
                living,
                &shard.pool,
            );
            let (real, twin) = (&self.lanes[at], &shard.lane);
            assert_eq!(
                (real.len(), real.completed()),
                (twin.len(), twin.completed.map(Fence))
            );
        }
    }

    /// All end; nothing is left anywhere.
    fn finish(mut self) -> Tally {
        for on in 0..INSTANCES {
            while self.living[on].len() > 1 {
                self.release(on, Who::Living(0), false, None);
            }
        }
        self.check();
        drop((
            self.instances,
            self.alone,
            self.detached,
            self.promises,
            self.taken,
            self.lanes,
        ));
        for pool in self.pools {
            let report = pool.report();
            assert_eq!(
                (report.held, report.quarantined, report.reserved),
                (0, 0, 0)
            );
            assert_eq!(report.free + report.idle, report.capacity);
            assert_eq!(pool.audit(&[]), Ok(()));
        }
        self.tally
    }
}

/// What was met, if it was a refusal.
const fn refused_or(refused: &'static str, fault: Fault) -> &'static str {
    match fault {
        Fault::Refused(_) => refused,
        Fault::Stale => "a call for nobody",
        _ => "another error",
    }
}

fn admit_named(error: kvblock::AdmitError) -> (Option<usize>, Fault) {
    match error {
        kvblock::AdmitError::Refused(error) => named(error),
        other => (None, admit_fault(other)),
    }
}

/// What is asked of a model.
fn asking<'a>(request: &Request, tokens: &'a [u32]) -> Asking<'a> {
    Asking {
        question: Question {
            name: 0,
            tokens,
            extra: &[],
            keys: 0,
            full_hit: request.full_hit,
            limit: usize::MAX,
        },
        growth: match request.growth {
            kvblock::Growth::Cap(positions) => registry::Growth::Cap(positions),
            kvblock::Growth::Ahead(blocks) => registry::Growth::Ahead(blocks),
            kvblock::Growth::OnDemand => registry::Growth::OnDemand,
        },
        conservative: request.conservative,
        insert: request.insert,
        returning: request.returning,
        label: request.label.into(),
    }
}
