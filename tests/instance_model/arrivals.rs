//! A sequence goes from one instance to another, and its parts come to the shards at different times, or fail, or lose their source. What
//! counts has come to all shards; one side at most goes on with the sequence; and in the end nothing is left on any shard.

use kvblock::{
    Admit, Answer, BlockPool, CommitError, Export, Growth, Handle, Holder, Import, Instance,
    InstanceExport, InstanceIncoming, InstanceStep, Leases, Namespace, Owner, Phase, PoolConfig,
    Prompt, Sequences, SequencesConfig, ShardId, Terms,
};

const BLOCK: usize = 4;
const DEADLINE: u64 = 50;

#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Blocks beyond what the sequence needs, of each shard here and there.
    pub(crate) spare: Vec<usize>,
    /// Blocks of the content that each shard there has already.
    pub(crate) cached: Vec<usize>,
    pub(crate) positions: usize,
    pub(crate) moves: bool,
    pub(crate) growth: Growth,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    /// A shard's next blocks have come, or one of them will not.
    Arrive(u8, u8),
    Fail(u8, u8),
    /// A shard's writer touches nothing more.
    End(u8),
    Loading,
    Commit,
    ComputeRest,
    Renew,
    Abort,
    AbortOne(u8),
    Finish,
    /// The time of one shard's leases.
    Tick(u8, u64),
    AppendHere,
    AppendThere,
    ReleaseHere,
    ReleaseThere,
}

struct Scene<'p> {
    setup: Setup,
    pools_there: &'p [BlockPool],
    here: Instance,
    there: Instance,
    alone: Vec<Sequences>,
    leases: Vec<Leases>,
    a: Handle,
    b: Handle,
    export: InstanceExport,
    imports: Vec<Import>,
    /// Of each shard's blocks: whether they have come.
    answers: Vec<Vec<Option<bool>>>,
    hit: usize,
    /// The load counts still.
    loads: bool,
}

fn pools(setup: &Setup, first: u32) -> Vec<BlockPool> {
    let blocks = 2 * (setup.positions + 8).div_ceil(BLOCK);
    let pool = |(shard, spare): (u32, &usize)| {
        let config = PoolConfig::new(blocks + spare, BLOCK).shard(ShardId::new(shard));
        BlockPool::new(&config).expect("a sound configuration")
    };
    (first..).zip(&setup.spare).map(pool).collect()
}

fn instance(pools: &[BlockPool]) -> Instance {
    let registry = |pool: &BlockPool| Sequences::new(pool.clone(), &SequencesConfig::new(3));
    let registries = pools.iter().map(registry).collect::<Result<Vec<_>, _>>();
    Instance::split(registries.expect("sound")).expect("alike")
}

/// Runs the calls; panics where an answer is not what has come. Returns whether the sequence was taken over there.
pub(crate) fn run(setup: &Setup, calls: &[Call]) -> bool {
    let (pools_here, pools_there) = (pools(setup, 0), pools(setup, 10));
    let (mut here, mut there) = (instance(&pools_here), instance(&pools_there));
    let space = Namespace::new();
    let tokens: Vec<u32> = (0..).take(setup.positions).collect();
    let asked = Admit::new(Prompt::new(&space, &tokens), setup.growth);
    let mut alone = Vec::new();
    for (pool, cached) in pools_there.iter().zip(&setup.cached) {
        let mut it = Sequences::new(pool.clone(), &SequencesConfig::new(1)).expect("sound");
        let tokens = &tokens[..(cached * BLOCK).min(setup.positions)];
        let request = Admit::new(Prompt::new(&space, tokens), Growth::OnDemand);
        let handle = it.admit(&request).expect("room").handle;
        it.computed(handle, tokens.len()).expect("it has them");
        it.release(handle).expect("it lives");
        alone.push(it);
    }
    let a = here.admit(&asked).expect("room").handle;
    here.computed(a, setup.positions).expect("it has them");
    let mut leases = here.leases(100).expect("memory");
    let owner = Owner::new(1);
    let terms = if setup.moves {
        Terms::moving(owner, DEADLINE)
    } else {
        Terms::copy(owner, DEADLINE)
    };
    let export = here.export(a, &space, &mut leases, &terms).expect("room");
    let incoming = InstanceIncoming::from_export(&export, 1);
    let imported = there.import(&asked, &incoming).expect("room");
    let shortest = setup.cached.iter().min().expect("shards") * BLOCK;
    let most = (setup.positions - 1) / BLOCK * BLOCK;
    assert_eq!(
        imported.hit,
        shortest.min(most),
        "a hit as long as the shortest"
    );
    let blocks = imported.imports.iter().map(|it| vec![None; it.ids().len()]);
    let mut scene = Scene {
        setup: setup.clone(),
        pools_there: &pools_there,
        answers: blocks.collect(),
        here,
        there,
        alone,
        leases,
        a,
        b: imported.handle,
        hit: imported.hit,
        export,
        imports: imported.imports,
        loads: true,
    };
    let mut taken_over = false;
    for &call in calls {
        taken_over |= scene.run(call);
        scene.check();
    }
    scene.finish();
    for pool in pools_here.iter().chain(&pools_there) {
        let report = pool.report();
        assert_eq!(
            (report.held, report.quarantined, report.reserved),
            (0, 0, 0)
        );
        assert_eq!(report.free + report.idle, report.capacity);
        assert_eq!(pool.audit(&[]), Ok(()));
    }
    taken_over
}

impl Scene<'_> {
    fn shard(&self, which: u8) -> usize {
        usize::from(which) % self.imports.len()
    }

    /// Positions that have come to a shard without a gap.
    fn come_to(&self, at: usize) -> usize {
        let blocks = self.answers[at].iter().take_while(|it| **it == Some(true));
        (self.hit + blocks.count() * BLOCK).min(self.setup.positions)
    }

    fn left(&self) -> usize {
        self.answers
            .iter()
            .flatten()
            .filter(|it| it.is_none())
            .count()
    }

    fn computed_there(&self) -> Option<usize> {
        self.there.state(self.b).ok().map(|it| it.computed)
    }

    /// Returns whether the sequence was taken over.
    fn run(&mut self, call: Call) -> bool {
        match call {
            Call::Arrive(shard, n) => {
                let at = self.shard(shard);
                let next = self.answers[at].iter().position(Option::is_none);
                for block in next
                    .into_iter()
                    .flat_map(|next| next..next + usize::from(n))
                {
                    if self.answers[at].get(block) == Some(&None) {
                        let answer = self.imports[at].arrived(0, block..block + 1);
                        let answer = answer.expect("it is expected");
                        self.answers[at][block] = Some(answer == Answer::Taken);
                    }
                }
            }
            Call::Fail(shard, block) => {
                let at = self.shard(shard);
                if let Some(answer @ None) = self.answers[at].get_mut(usize::from(block)) {
                    let block = usize::from(block);
                    self.imports[at]
                        .failed(0, block..block + 1)
                        .expect("it is expected");
                    *answer = Some(false);
                }
            }
            Call::End(shard) => {
                let at = self.shard(shard);
                // A second time is an error.
                let _ = self.imports[at].end(0);
                for answer in self.answers[at].iter_mut().filter(|it| it.is_none()) {
                    *answer = Some(false);
                }
            }
            Call::Loading => self.loading(),
            Call::Commit => return self.commit(),
            Call::ComputeRest => {
                if let Ok(state) = self.there.state(self.b) {
                    let computed = self.there.computed(self.b, state.positions);
                    assert_eq!(
                        computed.is_ok(),
                        self.left() == 0 || !self.loads || state.computed == state.positions
                    );
                }
            }
            Call::Renew => {
                if self.there.renew(self.b, &mut InstanceStep::new()).is_ok() {
                    self.loads = false;
                }
            }
            Call::Abort => drop(self.export.abort()),
            Call::AbortOne(shard) => {
                let _ = self.export.shards()[self.shard(shard)].abort();
            }
            Call::Finish => {
                // What an import reads is committed there.
                assert!(self.export.finish().is_err() || self.export.phase() == Phase::Committed);
            }
            Call::Tick(shard, now) => {
                let at = self.shard(shard);
                self.leases[at].tick(now);
            }
            Call::AppendHere => {
                let grown = self.here.append(self.a, 1, &mut InstanceStep::new());
                assert!(grown.is_err() || !self.goes_on_there());
            }
            Call::AppendThere => {
                let grown = self.there.append(self.b, 1, &mut InstanceStep::new());
                assert!(grown.is_err() || !self.goes_on_here());
            }
            Call::ReleaseHere => drop(self.here.release(self.a)),
            Call::ReleaseThere => {
                if self.there.release(self.b).is_ok() {
                    self.loads = false;
                }
            }
        }
        false
    }

    fn loading(&mut self) {
        let before = self.computed_there();
        let Ok(state) = self.there.loading(self.b) else {
            assert_eq!(before, None);
            return;
        };
        let now = self.computed_there();
        if !self.loads {
            assert_eq!((state.left, state.failed, now), (0, false, before));
            return;
        }
        let arrived = (0..self.imports.len())
            .map(|at| self.come_to(at))
            .min()
            .expect("shards");
        assert_eq!(
            now,
            before.max(Some(arrived)),
            "what has come to all is computed"
        );
        let all = now >= Some(self.setup.positions);
        if !self.setup.moves && self.left() == 0 && all {
            self.loads = false;
            assert_eq!(
                (Some(state.arrived), state.left, state.failed),
                (now, 0, false)
            );
            return;
        }
        let failed = self.answers.iter().flatten().any(|it| *it == Some(false));
        let called_off = self
            .export
            .shards()
            .iter()
            .any(|it| it.phase() == Phase::Aborted);
        assert_eq!(
            (state.arrived, state.left, state.failed),
            (arrived, self.left(), failed)
        );
        assert_eq!(state.aborted, self.setup.moves && called_off);
    }

    fn commit(&mut self) -> bool {
        let all_there = (0..self.imports.len()).all(|at| self.come_to(at) >= self.setup.positions);
        let phases: Vec<_> = self.export.shards().iter().map(Export::phase).collect();
        let called_off = phases.contains(&Phase::Aborted);
        match self.there.commit(self.b) {
            Ok(()) if self.loads => {
                // A copy may have been computed here where it did not come.
                let computed = self.computed_there() >= Some(self.setup.positions);
                assert!(
                    all_there || !self.setup.moves && computed,
                    "something is missing on a shard"
                );
                assert!(!self.setup.moves || !called_off, "it was called off");
                let phases: Vec<_> = self.export.shards().iter().map(Export::phase).collect();
                assert!(
                    !self.setup.moves || phases.iter().all(|it| *it == Phase::Committed),
                    "{phases:?}"
                );
                self.loads = false;
                self.setup.moves
            }
            Err(CommitError::NotArrived(_)) => {
                assert!(self.loads && !(all_there && self.left() == 0));
                false
            }
            Err(CommitError::Aborted(_)) => {
                assert!(self.loads && self.setup.moves && called_off);
                false
            }
            _ => false,
        }
    }

    /// Whether the sequence may get positions here, or there.
    fn goes_on_here(&self) -> bool {
        self.setup.moves && self.here.check_append(self.a, 1).is_ok()
    }

    fn goes_on_there(&self) -> bool {
        // What was given up as a load is computed there anew, for another request maybe.
        self.setup.moves && self.there.check_append(self.b, 1).is_ok()
    }

    fn check(&self) {
        assert!(
            !(self.goes_on_here() && self.goes_on_there()),
            "both sides go on with it"
        );
        let mut others: Vec<&dyn Holder> = Vec::new();
        others.extend(self.leases.iter().map(|it| it as &dyn Holder));
        others.extend(self.alone.iter().map(|it| it as &dyn Holder));
        assert_eq!(self.here.audit(&others), Ok(()), "audit here");
        assert_eq!(self.there.audit(&others), Ok(()), "audit there");
        let positions = |pool: &BlockPool| {
            let space = Namespace::new();
            let tokens: Vec<u32> = (0..).take(self.setup.positions + 1).collect();
            pool.probe(&Prompt::new(&space, &tokens))
                .map(|it| it.positions)
        };
        for (at, pool) in self.pools_there.iter().enumerate() {
            // Nothing is found that has not come, was not cached, and was not computed.
            let cached = (self.setup.cached[at] * BLOCK).min(self.setup.positions);
            let most = self.computed_there().unwrap_or(usize::MAX).max(cached);
            assert!(
                positions(pool).is_ok_and(|it| it <= most),
                "shard {at} has too much"
            );
        }
    }

    fn finish(mut self) {
        for import in &self.imports {
            let _ = import.end(0);
        }
        let _ = self.there.release(self.b);
        let _ = self.here.release(self.a);
        let _ = self.export.abort();
        for table in &mut self.leases {
            table.tick(DEADLINE);
            assert!(table.is_empty());
        }
    }
}
