//! One registry over one pool beside instances over several that are just as large: split ones, and ranks in lockstep of which the
//! smallest is as large. Every call gets the same answer from all of them, on every shard, block ids included.

use kvblock::{
    BlockId, BlockPool, Blocks, Contents, CopyTicket, Cost, Detached, DetachedInstance, Event,
    Export, Fence, Handle, Holder, Import, Incoming, Instance, InstanceExport, InstanceIncoming,
    InstanceResizeError, InstanceStep, Lane, Lease, Leases, Namespace, Owner, PoolConfig, Proof,
    Rank, ResizeError, Sequences, SequencesConfig, SequencesReport, ShardId, Step, Terms,
};

use crate::words::{Aim, Request, Who, index, page, text};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) blocks: usize,
    pub(crate) spare: usize,
    pub(crate) block_size: usize,
    pub(crate) digests: bool,
    pub(crate) slots: usize,
    pub(crate) watermark: usize,
    /// Shards of the split instance.
    pub(crate) shards: u32,
    /// References that leases may hold.
    pub(crate) leases: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Store,
    Export(u8),
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Check(Request),
    Admit(Request),
    Step(Vec<(Who, usize)>),
    Append(Who, usize),
    CheckAppend(Who, usize),
    Ensure(Who, Aim),
    Tokens(Who, Aim, u8),
    Computed(Who, Aim),
    Copied(u8),
    Truncate(Who, Aim, Option<u8>),
    Fork(Who, u8),
    Release(Who, bool, Option<u8>),
    Adopt(Who, Option<u8>),
    Detach(Who),
    Attach,
    DropDetached,
    Complete(u8),
    Pin(Who, u8, u8),
    Tick(u8),
    Export(Who, u8, u8, bool),
    Abort(u8),
    Finish(u8),
    Import(Request, Source, Aim, usize),
    Answer(u8, usize, u8, u8, bool),
    EndWriter(u8, usize),
    Loading(Who),
    Commit(Who),
    Invalidate(u8),
    Renew(Who),
    Victims(Vec<Who>, usize),
    Grow(usize),
    Shrink(usize),
    /// A rank that has a surplus gets so many blocks more.
    Surplus(usize),
    Evict(usize),
    Take(usize),
    GiveBack(u8),
}

const REGISTRIES: usize = 2;

struct One<'p> {
    pool: &'p BlockPool,
    registries: Vec<Sequences>,
    lane: Lane,
    leases: Leases,
    step: Step,
    tickets: Vec<(CopyTicket, usize)>,
    pins: Vec<Lease>,
    exports: Vec<Export>,
    imports: Vec<Import>,
    detached: Vec<Detached>,
    taken: Vec<Blocks<'p>>,
    events: Vec<Event>,
}

struct Many<'p> {
    pools: &'p [BlockPool],
    instances: Vec<Instance>,
    lanes: Vec<Lane>,
    leases: Vec<Leases>,
    step: InstanceStep,
    /// A list for each shard, as the other side's.
    tickets: Vec<Vec<CopyTicket>>,
    pins: Vec<Vec<Lease>>,
    exports: Vec<InstanceExport>,
    imports: Vec<Vec<Import>>,
    detached: Vec<DetachedInstance>,
    taken: Vec<Vec<Blocks<'p>>>,
    events: Vec<Vec<Event>>,
}

pub(crate) struct Scene<'p> {
    setup: Setup,
    space: Namespace,
    one: One<'p>,
    many: Vec<Many<'p>>,
    living: Vec<(Handle, usize)>,
    handles: Vec<(Handle, usize)>,
}

/// Runs the calls, each on the registry beside it. Panics where an answer differs. Returns how often something was refused.
pub(crate) fn run(setup: &Setup, calls: &[(u8, Call)]) {
    let config = |shard: u32| {
        PoolConfig::new(setup.blocks, setup.block_size)
            .max_blocks(setup.blocks + setup.spare)
            .proof(if setup.digests {
                Proof::Digest
            } else {
                Proof::Tokens
            })
            .events(1 << 12)
            .shard(ShardId::new(shard))
    };
    let pool = |shard| BlockPool::new(&config(shard)).expect("a sound configuration");
    let sequences = SequencesConfig::new(setup.slots).watermark(setup.watermark);
    let one_pool = pool(0);
    let split_pools: Vec<_> = (0..setup.shards).map(pool).collect();
    let ranks = [(0, 0), (5, 3), (9, 1)].map(|(shard, surplus)| {
        let blocks = setup.blocks + surplus;
        // The last one has room for more.
        let spare = if shard == 9 { 100 } else { setup.spare };
        Rank::new(ShardId::new(shard), blocks).max_blocks(blocks + spare)
    });
    let registry = |pool: &BlockPool| Sequences::new(pool.clone(), &sequences).expect("sound");
    let split = Instance::split(split_pools.iter().map(registry).collect()).expect("alike");
    let lockstep = Instance::lockstep(&ranks, &config(3), &sequences).expect("sound ranks");
    let lockstep_pools = [lockstep.shards()[0].pool().clone()];
    let many = |instance: Instance, pools| Many {
        pools,
        lanes: instance.lanes().expect("memory"),
        leases: instance.leases(setup.leases).expect("memory"),
        step: InstanceStep::new(),
        tickets: vec![Vec::new(); instance.shards().len()],
        events: vec![Vec::new(); instance.shards().len()],
        instances: vec![instance.another(&sequences).expect("sound"), instance],
        pins: Vec::new(),
        exports: Vec::new(),
        imports: Vec::new(),
        detached: Vec::new(),
        taken: Vec::new(),
    };
    let mut scene = Scene {
        setup: *setup,
        space: Namespace::new(),
        one: One {
            pool: &one_pool,
            registries: (0..REGISTRIES).map(|_| registry(&one_pool)).collect(),
            lane: one_pool.lane(),
            leases: Leases::new(&one_pool, setup.leases).expect("memory"),
            step: Step::new(),
            tickets: Vec::new(),
            pins: Vec::new(),
            exports: Vec::new(),
            imports: Vec::new(),
            detached: Vec::new(),
            taken: Vec::new(),
            events: Vec::new(),
        },
        many: vec![many(split, &split_pools), many(lockstep, &lockstep_pools)],
        living: Vec::new(),
        handles: Vec::new(),
    };
    for (on, call) in calls {
        scene.run(usize::from(*on) % REGISTRIES, call);
        scene.check();
    }
    scene.finish();
}

impl Scene<'_> {
    fn who(&self, on: usize, who: Who) -> Option<Handle> {
        match who {
            Who::Living(which) => {
                let mine: Vec<_> = self.living.iter().filter(|it| it.1 == on).collect();
                index(mine.len(), which).map(|at| mine[at].0)
            }
            Who::Any(which) => index(self.handles.len(), which).map(|at| self.handles[at].0),
        }
    }

    fn positions(&self, on: usize, handle: Handle) -> usize {
        let state = self.one.registries[on].state(handle);
        state.map_or(0, |it| it.positions)
    }

    fn met(&mut self, on: usize, handle: Handle) {
        self.living.push((handle, on));
        self.handles.push((handle, on));
    }

    fn forget_gone(&mut self) {
        let one = &self.one;
        (self.living).retain(|&(handle, on)| one.registries[on].state(handle).is_ok());
    }

    /// Makes the call on all sides; the answers must be equal.
    fn each<T: PartialEq + core::fmt::Debug>(
        &mut self,
        one: impl FnOnce(&mut One<'_>) -> T,
        mut many: impl FnMut(&mut Many<'_>) -> T,
    ) -> T {
        let expected = one(&mut self.one);
        for it in &mut self.many {
            assert_eq!(many(it), expected, "of {} shards", it.pools.len());
        }
        expected
    }

    fn run(&mut self, on: usize, call: &Call) {
        match *call {
            Call::Check(ref request) => self.check_request(on, request),
            Call::Admit(ref request) => self.admit(on, request),
            Call::Step(ref batch) => {
                let named = batch
                    .iter()
                    .filter_map(|&(who, n)| Some((self.who(on, who)?, n)));
                let batch: Vec<_> = named.collect();
                self.each(
                    |it| it.registries[on].step(&batch, &mut it.step),
                    |it| it.instances[on].step(&batch, &mut it.step),
                );
                self.stepped(on);
            }
            Call::Append(who, n) => {
                let Some(a) = self.who(on, who) else { return };
                self.each(
                    |it| it.registries[on].append(a, n, &mut it.step),
                    |it| it.instances[on].append(a, n, &mut it.step),
                )
                .ok();
                self.stepped(on);
            }
            Call::CheckAppend(who, n) => {
                let Some(a) = self.who(on, who) else { return };
                self.each(
                    |it| it.registries[on].check_append(a, n),
                    |it| it.instances[on].check_append(a, n),
                )
                .ok();
            }
            Call::Ensure(who, aim) => {
                let Some(a) = self.who(on, who) else { return };
                let to = aim.of(self.positions(on, a));
                self.each(
                    |it| it.registries[on].ensure(a, to, &mut it.step),
                    |it| it.instances[on].ensure(a, to, &mut it.step),
                )
                .ok();
                self.stepped(on);
            }
            Call::Renew(who) => {
                let Some(a) = self.who(on, who) else { return };
                self.each(
                    |it| it.registries[on].renew(a, &mut it.step),
                    |it| it.instances[on].renew(a, &mut it.step),
                )
                .ok();
                self.stepped(on);
            }
            Call::Tokens(who, n, symbol) => self.tokens(on, who, n, symbol),
            Call::Computed(who, aim) => {
                let Some(a) = self.who(on, who) else { return };
                let n = aim.of(self.positions(on, a));
                self.each(
                    |it| it.registries[on].computed(a, n),
                    |it| it.instances[on].computed(a, n),
                )
                .ok();
            }
            Call::Copied(which) => self.copied(which),
            Call::Truncate(who, aim, fence) => self.truncate(on, who, aim, fence),
            Call::Fork(who, children) => self.fork(on, who, usize::from(children)),
            Call::Release(who, preempt, fence) => self.release(on, who, preempt, fence),
            Call::Adopt(who, fence) => self.adopt(on, who, fence),
            Call::Detach(who) => self.detach(on, who),
            Call::Attach => self.attach(on),
            Call::DropDetached => {
                if !self.one.detached.is_empty() {
                    self.each(
                        |it| drop(it.detached.remove(0)),
                        |it| drop(it.detached.remove(0)),
                    );
                }
            }
            Call::Complete(fence) => {
                let fence = Fence(fence.into());
                let given_back = self.one.lane.complete(fence);
                for lane in self.many.iter_mut().flat_map(|it| &mut it.lanes) {
                    assert_eq!(lane.complete(fence), given_back);
                }
            }
            Call::Tick(now) => {
                let ended = self.one.leases.tick(now.into());
                for leases in self.many.iter_mut().flat_map(|it| &mut it.leases) {
                    assert_eq!(leases.tick(now.into()), ended);
                }
            }
            Call::Pin(who, owner, until) => self.pin(on, who, owner, until),
            Call::Export(who, owner, until, moves) => self.export(on, who, owner, until, moves),
            Call::Abort(which) => {
                let Some(at) = index(self.one.exports.len(), which) else {
                    return;
                };
                self.each(|it| it.exports[at].abort(), |it| it.exports[at].abort())
                    .ok();
            }
            Call::Finish(which) => {
                let Some(at) = index(self.one.exports.len(), which) else {
                    return;
                };
                self.each(|it| it.exports[at].finish(), |it| it.exports[at].finish())
                    .ok();
            }
            Call::Import(ref request, from, positions, writers) => {
                self.import(on, request, from, positions, writers);
            }
            Call::Answer(which, writer, from, to, written) => {
                let Some(at) = index(self.one.imports.len(), which) else {
                    return;
                };
                let blocks = self.one.imports[at].ids().len() + 1;
                let (from, to) = (usize::from(from) % blocks, usize::from(to) % (blocks + 1));
                let answer = |it: &Import| match written {
                    true => it.arrived(writer, from..to),
                    false => it.failed(writer, from..to),
                };
                let expected = answer(&self.one.imports[at]);
                for import in self.many.iter().flat_map(|it| &it.imports[at]) {
                    assert_eq!(answer(import), expected);
                }
            }
            Call::EndWriter(which, writer) => {
                let Some(at) = index(self.one.imports.len(), which) else {
                    return;
                };
                let expected = self.one.imports[at].end(writer);
                for import in self.many.iter().flat_map(|it| &it.imports[at]) {
                    assert_eq!(import.end(writer), expected);
                }
            }
            Call::Loading(who) => {
                let Some(a) = self.who(on, who) else { return };
                let expected = self.one.registries[on].loading(a);
                for it in &mut self.many {
                    let shards = it.pools.len();
                    let expected = expected.map(|mut of_one| {
                        of_one.left *= shards;
                        of_one
                    });
                    assert_eq!(it.instances[on].loading(a), expected);
                }
            }
            Call::Commit(who) => self.commit(on, who),
            Call::Invalidate(id) => self.invalidate(on, id),
            Call::Victims(ref order, need) => self.victims(on, order, need),
            Call::Grow(n) => {
                let expected = self.one.pool.grow(n).map(drop);
                self.resized(expected, |it| it.instances[on].grow(n));
            }
            Call::Shrink(n) => {
                let mut worker = self.one.pool.worker().expect("memory");
                let expected = self.one.pool.shrink(&mut worker, n).map(drop);
                self.resized(expected, |it| it.instances[on].shrink(n));
            }
            Call::Surplus(n) => {
                let lockstep = &mut self.many[1].instances[on];
                let rank = lockstep.rank(2).expect("three ranks");
                let to = (rank.blocks + n).min(rank.max_blocks);
                assert_eq!(lockstep.resize_rank(2, to), Ok(()), "nobody needs less");
                assert_eq!(lockstep.rank(2).map(|it| it.blocks), Some(to));
            }
            Call::Evict(n) => {
                let evict = |pool: &BlockPool| {
                    pool.evict(&mut pool.worker().expect("memory"), n)
                        .expect("its own")
                };
                let expected = evict(self.one.pool);
                for pool in self.many.iter().flat_map(|it| it.pools) {
                    assert_eq!(evict(pool), expected);
                }
            }
            Call::Take(n) => self.take(n),
            Call::GiveBack(which) => {
                let Some(at) = index(self.one.taken.len(), which) else {
                    return;
                };
                self.each(
                    |it| drop(it.taken.remove(at)),
                    |it| drop(it.taken.remove(at)),
                );
            }
        }
        self.forget_gone();
    }

    fn check_request(&mut self, on: usize, request: &Request) {
        let tokens = text(request, self.setup.block_size);
        let asked = request.asked(&self.space, &tokens);
        let expected = self.one.registries[on].check(&asked);
        for it in &self.many {
            let got = it.instances[on].check(&asked);
            match (got, expected) {
                (Ok(costs), Ok(cost)) => {
                    assert_eq!(costs.shards(), vec![cost; it.pools.len()]);
                    assert_eq!(costs.charge(), cost.charge());
                    let hit = |it: &Cost| it.hit_held + it.hit_idle;
                    assert_eq!(costs.hit(), hit(&cost) * self.setup.block_size);
                }
                (got, expected) => assert_eq!(got.err(), expected.err(), "check"),
            }
        }
    }

    fn admit(&mut self, on: usize, request: &Request) {
        let tokens = text(request, self.setup.block_size);
        let space = self.space.clone();
        let asked = request.asked(&space, &tokens);
        let admitted = self.each(
            |it| it.registries[on].admit(&asked),
            |it| it.instances[on].admit(&asked),
        );
        if let Ok(admitted) = admitted {
            self.met(on, admitted.handle);
        }
    }

    /// What a step says is the same on every shard, but for the tickets' names.
    fn stepped(&mut self, on: usize) {
        let copies = |step: &Step| -> Vec<_> {
            let copies = step.copies().iter();
            copies.map(|it| (it.src, it.dst, it.positions)).collect()
        };
        let one = &self.one.step;
        for it in &mut self.many {
            assert_eq!(it.step.shards().len(), it.pools.len());
            assert_eq!(it.step.failures(), one.failures(), "failures of a step");
            for (step, tickets) in it.step.shards().iter().zip(&mut it.tickets) {
                assert_eq!(step.slots(), one.slots(), "slots");
                assert_eq!(step.fresh(), one.fresh(), "fresh blocks");
                assert_eq!(step.changes(), one.changes(), "changes of tables");
                assert_eq!(copies(step), copies(one), "copies");
                tickets.extend(step.copies());
            }
        }
        (self.one.tickets).extend(one.copies().iter().map(|&it| (it, on)));
    }

    fn tokens(&mut self, on: usize, who: Who, n: Aim, symbol: u8) {
        let Some(a) = self.who(on, who) else { return };
        let state = self.one.registries[on].state(a);
        let (known, positions) = state.map_or((0, 0), |it| (it.known, it.positions));
        let n = n.of(positions - known).min(40);
        let tokens: Vec<u32> = (known..known + n)
            .map(|at| page(symbol, self.setup.block_size)[at % self.setup.block_size])
            .collect();
        self.each(
            |it| it.registries[on].tokens(a, known, &Contents::new(&tokens)),
            |it| it.instances[on].tokens(a, known, &Contents::new(&tokens)),
        )
        .ok();
    }

    fn copied(&mut self, which: u8) {
        let Some(at) = index(self.one.tickets.len(), which) else {
            return;
        };
        let (ticket, on) = self.one.tickets[at];
        let expected = self.one.registries[on].copied(ticket);
        for it in &mut self.many {
            for shard in 0..it.pools.len() {
                let ticket = it.tickets[shard][at];
                assert_eq!(it.instances[on].copied(shard, ticket), expected);
            }
        }
    }

    fn truncate(&mut self, on: usize, who: Who, aim: Aim, fence: Option<u8>) {
        let Some(a) = self.who(on, who) else { return };
        let to = aim.of(self.positions(on, a));
        if let Some(fence) = fence.map(|it| Fence(it.into())) {
            self.each(
                |it| it.registries[on].truncate_after(a, to, &mut it.lane, fence),
                |it| it.instances[on].truncate_after(a, to, &mut it.lanes, fence),
            )
            .ok();
        } else {
            self.each(
                |it| it.registries[on].truncate(a, to),
                |it| it.instances[on].truncate(a, to),
            )
            .ok();
        }
    }

    fn fork(&mut self, on: usize, who: Who, children: usize) {
        let Some(a) = self.who(on, who) else { return };
        let (forked, handles) = self.each(
            |it| {
                let mut handles = vec![Handle::NONE; children];
                (it.registries[on].fork(a, &mut handles), handles)
            },
            |it| {
                let mut handles = vec![Handle::NONE; children];
                (it.instances[on].fork(a, &mut handles), handles)
            },
        );
        if forked.is_ok() {
            handles.into_iter().for_each(|it| self.met(on, it));
        }
    }

    fn release(&mut self, on: usize, who: Who, preempt: bool, fence: Option<u8>) {
        let Some(a) = self.who(on, who) else { return };
        match (fence.map(|it| Fence(it.into())), preempt) {
            (None, false) => {
                self.each(
                    |it| it.registries[on].release(a),
                    |it| it.instances[on].release(a),
                )
                .ok();
            }
            (None, true) => {
                self.each(
                    |it| it.registries[on].preempt(a),
                    |it| it.instances[on].preempt(a),
                )
                .ok();
            }
            (Some(fence), false) => {
                self.each(
                    |it| it.registries[on].release_after(a, &mut it.lane, fence),
                    |it| it.instances[on].release_after(a, &mut it.lanes, fence),
                )
                .ok();
            }
            (Some(fence), true) => {
                self.each(
                    |it| it.registries[on].preempt_after(a, &mut it.lane, fence),
                    |it| it.instances[on].preempt_after(a, &mut it.lanes, fence),
                )
                .ok();
            }
        }
    }

    fn adopt(&mut self, on: usize, who: Who, fence: Option<u8>) {
        let Some(a) = self.who(on, who) else { return };
        if let Some(fence) = fence.map(|it| Fence(it.into())) {
            let lane = &mut self.one.lane;
            let expected = self.one.registries[on].adopt_duplicates_after(a, lane, fence);
            for it in &mut self.many {
                let got = it.instances[on].adopt_duplicates_after(a, &mut it.lanes, fence);
                assert_eq!(got, expected.map(|n| n * it.pools.len()));
            }
        } else {
            let expected = self.one.registries[on].adopt_duplicates(a);
            for it in &mut self.many {
                let got = it.instances[on].adopt_duplicates(a);
                assert_eq!(got, expected.map(|n| n * it.pools.len()));
            }
        }
    }

    fn detach(&mut self, on: usize, who: Who) {
        let Some(a) = self.who(on, who) else { return };
        self.each(
            |it| {
                it.registries[on]
                    .detach(a)
                    .map(|part| it.detached.push(part))
            },
            |it| {
                it.instances[on]
                    .detach(a)
                    .map(|part| it.detached.push(part))
            },
        )
        .ok();
    }

    fn attach(&mut self, on: usize) {
        if self.one.detached.is_empty() {
            return;
        }
        let attached = self.each(
            |it| {
                let part = it.detached.remove(0);
                it.registries[on].attach(part).map_err(|back| {
                    it.detached.push(back.value);
                    back.error
                })
            },
            |it| {
                let part = it.detached.remove(0);
                it.instances[on].attach(part).map_err(|back| {
                    it.detached.push(back.value);
                    back.error
                })
            },
        );
        if let Ok(handle) = attached {
            self.met(on, handle);
        }
    }

    fn pin(&mut self, on: usize, who: Who, owner: u8, until: u8) {
        let Some(a) = self.who(on, who) else { return };
        let (owner, until) = (Owner::new(owner.into()), until.into());
        let ids = self.each(
            |it| {
                let lease = it.registries[on].pin(a, &mut it.leases, owner, until);
                lease.map(|lease| {
                    let ids = lease.ids().to_vec();
                    it.pins.push(lease);
                    ids
                })
            },
            |it| {
                let leases = it.instances[on].pin(a, &mut it.leases, owner, until);
                leases.map(|leases| {
                    let ids = leases[0].ids().to_vec();
                    assert!(leases.iter().all(|it| it.ids() == ids));
                    it.pins.push(leases);
                    ids
                })
            },
        );
        ids.ok();
    }

    fn export(&mut self, on: usize, who: Who, owner: u8, until: u8, moves: bool) {
        let Some(a) = self.who(on, who) else { return };
        let (owner, until) = (Owner::new(owner.into()), until.into());
        let terms = if moves {
            Terms::moving(owner, until)
        } else {
            Terms::copy(owner, until)
        };
        let space = self.space.clone();
        let offered = self.each(
            |it| {
                let export = it.registries[on].export(a, &space, &mut it.leases, &terms);
                export.map(|export| it.exports.push(export))
            },
            |it| {
                let export = it.instances[on].export(a, &space, &mut it.leases, &terms);
                export.map(|export| it.exports.push(export))
            },
        );
        offered.ok();
    }

    fn import(
        &mut self,
        on: usize,
        request: &Request,
        from: Source,
        positions: Aim,
        writers: usize,
    ) {
        let tokens = text(request, self.setup.block_size);
        let space = self.space.clone();
        let asked = request.asked(&space, &tokens);
        let positions = positions.of(tokens.len());
        let source = match from {
            Source::Export(which) => index(self.one.exports.len(), which),
            Source::Store => None,
        };
        let imported = self.each(
            |it| {
                let incoming = match source {
                    Some(at) => Incoming::from_export(&it.exports[at], writers),
                    None => Incoming::new(positions, writers),
                };
                it.registries[on].import(&asked, &incoming).map(|imported| {
                    it.imports.push(imported.import.clone());
                    let ids = imported.import.ids().to_vec();
                    (imported.handle, imported.hit, imported.fresh, ids)
                })
            },
            |it| {
                let incoming = match source {
                    Some(at) => InstanceIncoming::from_export(&it.exports[at], writers),
                    None => InstanceIncoming::new(positions, writers),
                };
                it.instances[on].import(&asked, &incoming).map(|imported| {
                    let ids = imported.imports[0].ids().to_vec();
                    assert!(imported.imports.iter().all(|it| it.ids() == ids));
                    it.imports.push(imported.imports);
                    (imported.handle, imported.hit, imported.fresh, ids)
                })
            },
        );
        if let Ok((handle, ..)) = imported {
            self.met(on, handle);
        }
    }

    fn commit(&mut self, on: usize, who: Who) {
        let Some(a) = self.who(on, who) else { return };
        let expected = self.one.registries[on].commit(a);
        for it in &mut self.many {
            let shards = it.pools.len();
            let expected = expected.map_err(|error| match error {
                kvblock::CommitError::NotArrived(mut missing) => {
                    missing.left *= shards;
                    missing.into()
                }
                other => other,
            });
            assert_eq!(it.instances[on].commit(a), expected);
        }
    }

    fn invalidate(&mut self, on: usize, id: u8) {
        let most = u32::try_from(self.one.pool.max_blocks()).expect("few");
        let block = BlockId::new(u32::from(id) % (most + 1));
        let mut affected = Vec::new();
        let expected = self.one.registries[on].invalidate(block, &mut affected);
        for it in &mut self.many {
            let mut others = vec![Handle::NONE];
            // On one shard; on the others what is cached has to go too, to stay alike.
            let shards = it.pools.len();
            for shard in (0..shards).rev() {
                let got = it.instances[on].invalidate(shard, block, &mut others);
                assert_eq!(got, expected);
                if shard + 1 == shards {
                    assert_eq!(others, affected, "sequences with a bad block");
                }
            }
        }
    }

    fn victims(&mut self, on: usize, order: &[Who], need: usize) {
        let order: Vec<_> = order.iter().filter_map(|&who| self.who(on, who)).collect();
        let mut victims = Vec::new();
        let expected = self.one.registries[on].select_victims(&order, need, &mut victims);
        let chosen: Vec<_> = victims.iter().map(|it| it.handle).collect();
        for it in &self.many {
            let mut got = Vec::new();
            let needs = vec![need; it.pools.len()];
            let enough = it.instances[on].select_victims(&order, &needs, &mut got);
            assert_eq!(enough, expected.map(|freed| freed >= need));
            assert_eq!(got, chosen, "victims");
        }
    }

    fn resized(
        &mut self,
        expected: Result<(), ResizeError>,
        mut resize: impl FnMut(&mut Many<'_>) -> Result<(), InstanceResizeError>,
    ) {
        let shard = ShardId::new(0);
        let expected = expected.map_err(|error| InstanceResizeError::Shard { shard, error });
        for it in &mut self.many {
            assert_eq!(resize(it), expected, "resize of {} shards", it.pools.len());
        }
    }

    fn take(&mut self, n: usize) {
        fn take(pool: &BlockPool, n: usize) -> Blocks<'_> {
            let mut worker = pool.worker().expect("memory");
            let mut promise = pool.reserve(n).expect("it was checked");
            promise.take(&mut worker, n).expect("a promise is kept")
        }
        if self.one.pool.check(n).is_err() {
            return;
        }
        let taken = take(self.one.pool, n);
        for it in &mut self.many {
            let of_all: Vec<_> = it.pools.iter().map(|pool| take(pool, n)).collect();
            assert!(of_all.iter().all(|it| it.ids() == taken.ids()));
            it.taken.push(of_all);
        }
        self.one.taken.push(taken);
    }

    // ---- comparison

    fn check(&mut self) {
        let one = &mut self.one;
        let mut reader = one.pool.events().expect("events are on");
        let mut events = Vec::new();
        assert_eq!(reader.read(&mut events), 0, "no event is missed");
        one.events = events;
        let one = &self.one;
        for it in &mut self.many {
            for (on, instance) in it.instances.iter().enumerate() {
                let registry = &one.registries[on];
                let expected = registry.report();
                for (shard, of_shard) in instance.shards().iter().enumerate() {
                    same_report(shard, of_shard.report(), expected);
                    assert_eq!(
                        of_shard.handles().collect::<Vec<_>>(),
                        registry.handles().collect::<Vec<_>>()
                    );
                    for label in 0..3 {
                        assert_eq!(
                            instance.labelled(label).collect::<Vec<_>>(),
                            registry.labelled(label).collect::<Vec<_>>()
                        );
                    }
                    for handle in registry.handles() {
                        assert_eq!(of_shard.state(handle), registry.state(handle));
                        assert_eq!(of_shard.table(handle), registry.table(handle));
                        assert_eq!(of_shard.dirty(handle), registry.dirty(handle));
                        assert_eq!(instance.state(handle), registry.state(handle));
                    }
                }
            }
            for lane in &it.lanes {
                assert_eq!(
                    (lane.len(), lane.completed()),
                    (one.lane.len(), one.lane.completed())
                );
            }
            for leases in &it.leases {
                assert_eq!(leases.report(), one.leases.report());
            }
            for (exports, export) in it.exports.iter().zip(&one.exports) {
                assert_eq!(exports.phase(), export.phase());
                assert_eq!(exports.positions(), export.positions());
                for of_shard in exports.shards() {
                    assert_eq!(
                        (of_shard.phase(), of_shard.ids()),
                        (export.phase(), export.ids())
                    );
                    assert_eq!(of_shard.lease().is_live(), export.lease().is_live());
                }
            }
            for (at, pool) in it.pools.iter().enumerate() {
                let mut events = Vec::new();
                let mut reader = pool.events().expect("events are on");
                assert_eq!(reader.read(&mut events), 0, "no event is missed");
                assert_eq!(events, one.events, "events of shard {at}");
                it.events[at] = events;
            }
            for (on, instance) in it.instances.iter().enumerate() {
                let mut others: Vec<&dyn Holder> = Vec::new();
                let beside = it.instances.iter().enumerate().filter(|(at, _)| *at != on);
                for (_, other) in beside {
                    others.extend(other.shards().iter().map(|it| it as &dyn Holder));
                }
                others.extend(it.lanes.iter().map(|it| it as &dyn Holder));
                others.extend(it.leases.iter().map(|it| it as &dyn Holder));
                for parts in &it.detached {
                    others.extend(parts.shards().iter().map(|it| it as &dyn Holder));
                }
                for blocks in &it.taken {
                    others.extend(blocks.iter().map(|it| it as &dyn Holder));
                }
                assert_eq!(instance.audit(&others), Ok(()), "audit");
            }
        }
    }

    /// All end, one registry with its sequences; nothing is left anywhere.
    fn finish(mut self) {
        let tickets: Vec<_> = (0..self.one.tickets.len()).collect();
        for at in tickets {
            let _ = self.one.registries[self.one.tickets[at].1].copied(self.one.tickets[at].0);
            for it in &mut self.many {
                for shard in 0..it.pools.len() {
                    let _ =
                        it.instances[self.one.tickets[at].1].copied(shard, it.tickets[shard][at]);
                }
            }
        }
        self.check();
        for import in self.many.iter().flat_map(|it| it.imports.iter().flatten()) {
            for writer in 0..import.writers() {
                let _ = import.end(writer);
            }
        }
        for it in self.many {
            let Many {
                pools,
                mut instances,
                mut lanes,
                leases,
                detached,
                taken,
                pins,
                ..
            } = it;
            let closing = instances.pop().expect("two registries");
            assert!(closing.close_after(&mut lanes, Fence(u64::MAX)).is_ok());
            drop((
                instances, leases, detached, taken, pins, it.exports, it.imports,
            ));
            for (pool, mut lane) in pools.iter().zip(lanes) {
                lane.complete(Fence(u64::MAX));
                let report = pool.report();
                assert_eq!(
                    (report.held, report.quarantined, report.reserved),
                    (0, 0, 0)
                );
                assert_eq!(report.free + report.idle, report.capacity);
                assert_eq!(pool.audit(&[]), Ok(()));
            }
        }
    }
}

/// Refusals are counted on the shard that refuses, the first of equal ones.
fn same_report(shard: usize, mut got: SequencesReport, expected: SequencesReport) {
    got.pool.shard = expected.pool.shard;
    if shard > 0 {
        let pool = &mut got.pool;
        assert_eq!(
            (
                pool.refused_never,
                pool.refused_shortfall,
                got.refused_appends
            ),
            (0, 0, 0)
        );
        pool.refused_never = expected.pool.refused_never;
        pool.refused_shortfall = expected.pool.refused_shortfall;
        got.refused_appends = expected.refused_appends;
    }
    assert_eq!(got, expected, "report of shard {shard}");
}
