//! Known failures of other allocators (`CASES.md`) over several shards. C061 to C064 are as written. The others are cases of one pool
//! over three split ones, of which the second is the case's own and has the fewest blocks: its numbers are the case's, and what it
//! refuses leaves no trace on any of them.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "support/shards.rs"]
mod shards;
mod support;

use kvblock::{
    Admit, AdmitError, Admitted, Answer, AnswerError, AppendError, BlockId, BlockPool, Blocks,
    ComputedError, Contents, CopyTicket, Costs, Fence, Growth, Handle, Holder, ImportError,
    InTransit, Instance, InstanceImported, InstanceIncoming, InstanceStep, Lane, MAX_SHARDS,
    Namespace, PoolConfig, Prompt, Proof, Rank, Refused, Sequences, SequencesConfig, ShardId,
    Stale, TruncateError,
};

use shards::{pools, refused_by, split};
use support::{MayBeRefused, distinct, never_fits, shortfall, text};

/// The shard that a case is about.
const BINDING: usize = 1;

/// That one's size, among others that have more.
fn beside(binding: usize) -> [usize; 3] {
    [3 * binding, binding, 2 * binding]
}

struct On<'p> {
    pools: &'p [BlockPool],
    it: Instance,
    step: InstanceStep,
}

impl<'p> On<'p> {
    fn new(pools: &'p [BlockPool]) -> Self {
        Self {
            pools,
            it: split(pools, &SequencesConfig::new(64)),
            step: InstanceStep::new(),
        }
    }

    fn query(&self, tokens: &str, growth: usize) -> Result<Costs, AdmitError> {
        let (space, tokens) = (Namespace::new(), text(tokens));
        self.it
            .check(&Admit::new(Prompt::new(&space, &tokens), promise(growth)))
    }

    fn admitted(&mut self, tokens: &str, growth: usize) -> Result<Admitted, AdmitError> {
        let (space, tokens) = (Namespace::new(), text(tokens));
        self.it
            .admit(&Admit::new(Prompt::new(&space, &tokens), promise(growth)))
    }

    fn admit(&mut self, tokens: &str) -> Result<Handle, AdmitError> {
        Ok(self.admitted(tokens, 0)?.handle)
    }

    fn admit_with_growth(&mut self, tokens: &str, growth: usize) -> Result<Handle, AdmitError> {
        Ok(self.admitted(tokens, growth)?.handle)
    }

    /// The sequence goes on with these tokens: the copies that this asks for, by shard.
    fn append(&mut self, a: Handle, tokens: &str) -> Result<Vec<Vec<CopyTicket>>, AppendError> {
        let tokens = text(tokens);
        self.it.append(a, tokens.len(), &mut self.step)?;
        let known = self.it.state(a).expect("it lives").known;
        let told = self.it.tokens(a, known, &Contents::new(&tokens));
        told.expect("they are the next ones");
        let copies = self.step.shards().iter().map(|it| it.copies().to_vec());
        Ok(copies.collect())
    }

    #[track_caller]
    fn copied(&mut self, copies: Vec<Vec<CopyTicket>>) {
        for (at, tickets) in copies.into_iter().enumerate() {
            for ticket in tickets {
                assert_eq!(self.it.copied(at, ticket), Ok(()));
            }
        }
    }

    #[track_caller]
    fn computed(&mut self, a: Handle, n: usize) {
        assert_eq!(self.it.computed(a, n), Ok(()));
    }

    #[track_caller]
    fn release(&mut self, a: Handle) {
        assert_eq!(self.it.release(a), Ok(()));
    }

    /// `P48 idle`: admitted, computed, released, on every shard.
    fn idle(&mut self, tokens: &str) {
        let a = self.admit(tokens).expect("it fits");
        self.computed(a, text(tokens).len());
        self.release(a);
    }

    fn fork(&mut self, a: Handle) -> Handle {
        let mut child = [a];
        self.it.fork(a, &mut child).expect("there is room");
        child[0]
    }

    fn import(&mut self, tokens: &str, pending: usize) -> Result<InstanceImported, Refused> {
        let (space, tokens) = (Namespace::new(), text(tokens));
        let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
        let stored = tokens.len() - pending;
        let imported = self.it.import(&request, &InstanceIncoming::new(stored, 1));
        imported.map_err(|error| match error {
            ImportError::Admit(AdmitError::Refused(refused)) => refused,
            other => panic!("{other:?}"),
        })
    }

    /// Blocks of the case's own shard that somebody else has.
    fn take(&self, n: usize) -> Result<Blocks<'p>, Refused> {
        let pool = &self.pools[BINDING];
        let mut worker = pool.worker().expect("a worker");
        let mut promise = pool.reserve(n)?;
        Ok(promise.take(&mut worker, n).expect("a promise is kept"))
    }

    /// The second shard refuses, and nothing has changed anywhere. The blocks that are missing.
    #[track_caller]
    fn short<T, E: MayBeRefused>(
        &mut self,
        call: impl FnOnce(&mut Instance, &mut InstanceStep) -> Result<T, E>,
    ) -> usize {
        shortfall(self.refused(call))
    }

    /// The second shard refuses for ever: the blocks needed, and its capacity.
    #[track_caller]
    fn never<T, E: MayBeRefused>(
        &mut self,
        call: impl FnOnce(&mut Instance, &mut InstanceStep) -> Result<T, E>,
    ) -> (usize, usize) {
        never_fits(self.refused(call))
    }

    #[track_caller]
    fn refused<T, E: MayBeRefused>(
        &mut self,
        call: impl FnOnce(&mut Instance, &mut InstanceStep) -> Result<T, E>,
    ) -> Result<(), E> {
        let step = &mut self.step;
        let answer = refused_by(&mut self.it, Some(BINDING), |it| call(it, step));
        let error = answer.map(|_| ()).expect_err("too few blocks");
        let shard = match error.refused().expect("a refusal") {
            Refused::NeverFits { shard, .. } | Refused::Shortfall { shard, .. } => shard,
            other => panic!("{other:?}"),
        };
        assert_eq!(shard, ShardId::new(1));
        Err(error)
    }

    /// The table on a shard.
    fn ids(&self, at: usize, a: Handle) -> Vec<BlockId> {
        self.it.shards()[at].table(a).expect("it lives").to_vec()
    }

    #[track_caller]
    fn blocks(&self, a: Handle) -> usize {
        let blocks: Vec<_> = (0..3).map(|at| self.ids(at, a).len()).collect();
        assert_eq!(blocks, [blocks[0]; 3], "tables of one length");
        blocks[0]
    }

    /// What all shards have of a prompt.
    fn probe(&self, tokens: &str) -> usize {
        let (space, tokens) = (Namespace::new(), text(tokens));
        let probed = self.it.probe(&Prompt::new(&space, &tokens));
        probed.expect("no slices but the tokens")
    }

    /// What each has of it.
    fn probes(&self, tokens: &str) -> [usize; 3] {
        [0, 1, 2].map(|at| support::probe(&self.pools[at], &Namespace::new(), tokens))
    }

    /// Free, idle, held of the case's own shard.
    #[track_caller]
    fn counts(&self, free: usize, idle: usize, held: usize) {
        support::counts(&self.pools[BINDING], free, idle, held);
    }

    /// Idle and held of both other ones.
    #[track_caller]
    fn others(&self, idle: usize, held: usize) {
        for at in [0, 2] {
            let free = self.pools[at].capacity() - idle - held;
            support::counts(&self.pools[at], free, idle, held);
        }
    }

    /// Set aside, on every shard.
    #[track_caller]
    fn reserved(&self, n: usize) {
        for pool in self.pools {
            assert_eq!(pool.reserved(), n, "reserved");
        }
    }

    fn lanes(&self) -> Vec<Lane> {
        self.it.lanes().expect("memory")
    }

    #[track_caller]
    fn audit(&self, others: &[&dyn Holder]) {
        assert_eq!(self.it.audit(others), Ok(()), "audit");
    }
}

const fn promise(growth: usize) -> Growth {
    if growth == 0 {
        Growth::OnDemand
    } else {
        Growth::Cap(growth)
    }
}

fn request<'a>(space: &'a Namespace, tokens: &'a [u32], growth: usize) -> Admit<'a> {
    Admit::new(Prompt::new(space, tokens), promise(growth))
}

/// A request with these words is made.
fn ask(
    tokens: &str,
    growth: usize,
) -> impl FnOnce(&mut Instance, &mut InstanceStep) -> Result<Admitted, AdmitError> {
    let (space, tokens) = (Namespace::new(), text(tokens));
    move |it, _| it.admit(&request(&space, &tokens, growth))
}

// ---- 12. several shards or ranks

#[test]
fn c061_ranks_of_unequal_size() {
    let lockstep = |ranks: &[usize]| {
        let named = (0..).zip(ranks);
        let ranks: Vec<_> = named
            .map(|(shard, &blocks)| Rank::new(ShardId::new(shard), blocks))
            .collect();
        Instance::lockstep(&ranks, &PoolConfig::new(1, 16), &SequencesConfig::new(8))
            .expect("sound ranks")
    };
    let instance = lockstep(&[512, 510]);
    let pool = instance.shards()[0].pool();
    let refused = pool.reserve(511).expect_err("more than the smaller has");
    let second = ShardId::new(1);
    assert_eq!(
        refused,
        pool.check(511).expect_err("more than the smaller has")
    );
    assert!(matches!(
        refused,
        Refused::NeverFits { shard, needed: 511, capacity: 510, .. } if shard == second
    ));
    let mut worker = pool.worker().expect("a worker");
    let mut promise = pool.reserve(510).expect("it fits exactly");
    let all = promise.take(&mut worker, 510).expect("a promise is kept");
    distinct(all.ids(), 510);
    assert!(all.ids().iter().all(|id| id.get() < 510));
    let refused = pool.reserve(1).expect_err("nothing is left");
    assert!(matches!(refused, Refused::Shortfall { shard, .. } if shard == second));
    assert_eq!(shortfall(pool.reserve(1)), 1);
    drop((promise, all));

    let mut instance = lockstep(&[512, 510]);
    let (space, tokens) = (Namespace::new(), text("P8160"));
    let admitted = instance.admit(&request(&space, &tokens, 0));
    let handle = admitted.expect("it fits exactly").handle;
    let table = instance.shards()[0].table(handle).expect("it lives");
    assert!(table.len() == 510 && table.iter().all(|id| id.get() < 510));
    let more = text("Q1");
    assert_eq!(shortfall(instance.admit(&request(&space, &more, 0))), 1);
    let more = text("Q8161");
    assert_eq!(
        never_fits(instance.admit(&request(&space, &more, 0))),
        (511, 510)
    );
    assert_eq!((instance.stranded(0), instance.stranded(1)), (2, 0));

    let instance = lockstep(&[35341, 34435, 36561]);
    let pool = instance.shards()[0].pool();
    assert_eq!((pool.capacity(), pool.shard()), (34435, second));
    let mut worker = pool.worker().expect("a worker");
    let mut promise = pool.reserve(34435).expect("it fits exactly");
    let all = promise.take(&mut worker, 34435).expect("a promise is kept");
    assert!(all.ids().iter().all(|id| id.get() < 34435));
    let stranded = [0, 1, 2].map(|at| instance.stranded(at));
    assert_eq!(stranded, [906, 0, 2126]);
    drop(promise);
    assert_eq!(instance.audit(&[&all]), Ok(()));
}

#[test]
fn c062_one_shard_short_nothing_taken_on_the_other() {
    let pools = pools(&[8, 4], 16);
    let mut instance = split(&pools, &SequencesConfig::new(8));
    let mut worker = pools[1].worker().expect("a worker");
    let mut promise = pools[1].reserve(2).expect("they are free");
    let taken = promise.take(&mut worker, 2).expect("a promise is kept");
    let (space, y) = (Namespace::new(), ShardId::new(1));
    let mut admit = |tokens: &str| {
        let tokens = text(tokens);
        let call = |it: &mut Instance| it.admit(&request(&space, &tokens, 0));
        refused_by(&mut instance, Some(1), call).expect_err("too few on Y")
    };
    let refused = admit("P48");
    assert_eq!(shortfall::<()>(Err(refused)), 1);
    assert!(matches!(refused, AdmitError::Refused(Refused::Shortfall { shard, .. }) if shard == y));
    support::counts(&pools[0], 8, 0, 0);
    support::counts(&pools[1], 2, 0, 2);
    let refused = admit("P80");
    assert_eq!(never_fits::<()>(Err(refused)), (5, 4));
    assert!(matches!(refused, AdmitError::Refused(Refused::NeverFits { shard, .. }) if shard == y));
    support::counts(&pools[0], 8, 0, 0);
    support::counts(&pools[1], 2, 0, 2);
    assert_eq!(instance.audit(&[&taken]), Ok(()));
}

#[test]
fn c063_presence_is_per_shard() {
    let pools = pools(&[4, 4], 16);
    let mut instance = split(&pools, &SequencesConfig::new(8));
    let mut alone = Sequences::new(pools[0].clone(), &SequencesConfig::new(1)).expect("a registry");
    let (space, tokens) = (Namespace::new(), text("P16"));
    let a = alone.admit(&request(&space, &tokens, 0)).expect("it fits");
    alone.computed(a.handle, 16).expect("it has them");
    alone.release(a.handle).expect("it lives");
    let probes = || [0, 1].map(|at| support::probe(&pools[at], &space, "P17"));
    assert_eq!(probes(), [16, 0]);
    // A hit is one on all shards; who is admitted brings the other one's part.
    let prompt = text("P17");
    assert_eq!(instance.probe(&Prompt::new(&space, &prompt)), Ok(0));
    let costs = instance.check(&request(&space, &prompt, 0));
    assert_eq!(costs.map(|it| (it.hit(), it.charge())), Ok((0, 2)));
    let a = instance.admit(&request(&space, &prompt, 0)).expect("room");
    assert_eq!((a.hit, a.fresh), (0, 2));
    instance.computed(a.handle, 17).expect("it has them");
    assert_eq!(probes(), [16, 16]);
    assert_eq!(
        [0, 1].map(|at| {
            let report = pools[at].report();
            (report.stored, report.duplicates)
        }),
        [(1, 1), (1, 0)]
    );
    assert_eq!(instance.adopt_duplicates(a.handle), Ok(1));
    assert_eq!(instance.audit(&[&alone]), Ok(()));
    instance.release(a.handle).expect("it lives");
    assert_eq!(instance.probe(&Prompt::new(&space, &prompt)), Ok(16));
    shards::at_rest(&instance);
}

#[test]
fn c064_a_group_hit_is_as_long_as_its_shortest_shard_one_event_per_logical_block() {
    let ranks = [0, 1].map(|shard| Rank::new(ShardId::new(shard), 8));
    let config = PoolConfig::new(8, 16).events(64);
    let mut instance =
        Instance::lockstep(&ranks, &config, &SequencesConfig::new(8)).expect("sound ranks");
    let (space, tokens, longer) = (Namespace::new(), text("P64"), text("P65"));
    let a = instance.admit(&request(&space, &tokens, 0)).expect("room");
    instance.computed(a.handle, 64).expect("it has them");
    let fourth = instance.shards()[0].table(a.handle).expect("it lives")[3];
    instance.release(a.handle).expect("it lives");
    let mut affected = Vec::new();
    assert_eq!(instance.invalidate(1, fourth, &mut affected), Ok(()));
    assert_eq!(affected, []);
    assert_eq!(instance.probe(&Prompt::new(&space, &longer)), Ok(48));
    let pool = instance.shards()[0].pool();
    let mut events = pool.events().expect("events are on");
    let (stored, removed) = support::news(&mut events);
    assert_eq!((stored.len(), removed), (4, vec![fourth]));
    shards::at_rest(&instance);
}

/// The same where each shard has a pool: the block is gone on the one, and of no use on the other.
#[test]
fn c064_a_block_lost_on_one_split_shard_limits_the_hit_on_both() {
    let pools = pools(&[8, 8], 16);
    let mut instance = split(&pools, &SequencesConfig::new(8));
    let (space, tokens, longer) = (Namespace::new(), text("P64"), text("P65"));
    let a = instance.admit(&request(&space, &tokens, 0)).expect("room");
    instance.computed(a.handle, 64).expect("it has them");
    let fourth = instance.shards()[1].table(a.handle).expect("it lives")[3];
    instance.release(a.handle).expect("it lives");
    let mut affected = Vec::new();
    assert_eq!(instance.invalidate(1, fourth, &mut affected), Ok(()));
    let news = |at: usize| {
        let mut events = pools[at].events().expect("events are on");
        let (stored, removed) = support::news(&mut events);
        (stored.len(), removed)
    };
    assert_eq!((news(0), news(1)), ((4, vec![]), (4, vec![fourth])));
    let prompt = Prompt::new(&space, &longer);
    assert_eq!(
        (
            instance.probe(&prompt),
            support::probe(&pools[0], &space, "P65")
        ),
        (Ok(48), 64)
    );
    let a = instance.admit(&request(&space, &longer, 0)).expect("room");
    assert_eq!((a.hit, a.fresh), (48, 2));
    support::counts(&pools[0], 2, 1, 5);
    support::counts(&pools[1], 3, 0, 5);
    instance.computed(a.handle, 64).expect("it has them");
    assert_eq!(instance.probe(&prompt), Ok(64));
    instance.release(a.handle).expect("it lives");
    shards::at_rest(&instance);
}

// ---- the cases of one pool: a refused call changes nothing

#[test]
fn c008_failed_admission_does_not_empty_the_cache() {
    let pools = pools(&beside(100), 1);
    let mut on = On::new(&pools);
    on.idle("P50");
    let x = on.take(40).expect("they are free");
    on.counts(10, 50, 40);
    let mut readers: Vec<_> = pools
        .iter()
        .map(|it| it.events().expect("events are on"))
        .collect();
    for reader in &mut readers {
        assert_eq!(support::news(reader).0.len(), 50);
    }
    assert_eq!(on.short(ask("Q100", 0)), 40);
    on.counts(10, 50, 40);
    on.others(50, 0);
    for reader in &mut readers {
        assert_eq!(support::news(reader), (vec![], vec![]));
    }
    assert_eq!(on.probes("P51"), [50; 3]);
    on.audit(&[&x]);
}

#[test]
fn c009_failed_admission_leaves_hit_blocks_unheld() {
    let pools = pools(&beside(10), 16);
    let mut on = On::new(&pools);
    let a = on.admit("P48").expect("it fits");
    on.computed(a, 48);
    let b = on.admit("P48+Q48").expect("it fits");
    on.computed(b, 96);
    on.release(b);
    on.admit("R32").expect("it fits");
    on.counts(2, 3, 5);
    assert_eq!(on.short(ask("P48+Q48+S48", 0)), 1);
    on.counts(2, 3, 5);
    on.others(3, 5);
    on.reserved(0);
    on.release(a);
    on.counts(2, 6, 2);
    on.others(6, 2);
    on.audit(&[]);
}

#[test]
fn c010_short_append_takes_nothing() {
    let pools = pools(&beside(4), 16);
    let mut on = On::new(&pools);
    let x = on.take(1).expect("it is free");
    let a = on.admit("P16").expect("it fits");
    assert_eq!(on.short(|it, step| it.append(a, 48, step)), 1);
    let query = refused_by(&mut on.it, None, |it| it.check_append(a, 48));
    assert_eq!(shortfall(query), 1);
    assert_eq!(on.short(|it, step| it.ensure(a, 64, step)), 1);
    assert_eq!(on.blocks(a), 1);
    on.counts(2, 0, 2);
    on.append(a, "Q32").expect("two are free");
    on.counts(0, 0, 4);
    on.others(0, 3);
    on.audit(&[&x]);
}

#[test]
fn c012_larger_than_the_pool_is_a_final_answer() {
    let pools = pools(&beside(8), 16);
    let mut on = On::new(&pools);
    assert_eq!(on.never(ask("P129", 0)), (9, 8));
    let q = on
        .admit("Q64")
        .expect("nobody queues behind the impossible one");
    on.counts(4, 0, 4);
    on.release(q);
    let p = on.admit("P128").expect("it fits exactly");
    on.counts(0, 0, 8);
    on.release(p);
    let p = on.admit_with_growth("P112", 16).expect("it fits exactly");
    on.counts(1, 0, 7);
    on.reserved(1);
    on.release(p);
    assert_eq!(on.never(ask("P112", 17)), (9, 8));
    on.counts(8, 0, 0);
    on.others(0, 0);
    on.reserved(0);
    on.audit(&[]);
}

/// Never on a later shard is told before not now on an earlier one.
#[test]
fn c012_what_never_fits_on_one_shard_is_no_shortfall_of_another() {
    let pools = pools(&[9, 8], 16);
    let mut instance = split(&pools, &SequencesConfig::new(8));
    let (space, long) = (Namespace::new(), text("P144"));
    let promise = pools[0].reserve(1).expect("it is free");
    let asked = request(&space, &long, 0);
    let refused = refused_by(&mut instance, Some(1), |it| it.admit(&asked));
    let refused = refused.expect_err("nine blocks");
    assert_eq!(never_fits::<()>(Err(refused)), (9, 8));
    let predicted = instance.check(&asked).map(|it| it.charge());
    assert_eq!(predicted, Err(refused));
    drop(promise);
    shards::at_rest(&instance);
}

#[test]
fn c013_admission_looks_at_the_whole_need() {
    let pools = pools(&beside(10), 16);
    let mut on = On::new(&pools);
    let x = on.take(6).expect("they are free");
    assert_eq!(on.short(ask("P128", 0)), 4);
    assert_eq!(on.short(ask("P16", 112)), 4);
    on.counts(4, 0, 6);
    on.others(0, 0);
    on.reserved(0);
    on.audit(&[&x]);
}

#[test]
fn c014_predictor_and_allocator_count_the_same_blocks() {
    let pools_a = pools(&beside(6), 2);
    let mut on = On::new(&pools_a);
    let costs = on.query("P12", 0).expect("it fits exactly");
    assert_eq!((costs.hit(), costs.charge()), (0, 6));
    for cost in costs.shards() {
        assert_eq!((cost.blocks, cost.fresh), (6, 6));
    }
    let a = on.admit("P12").expect("the predictor said so");
    assert_eq!(on.blocks(a), 6);
    on.counts(0, 0, 6);
    on.audit(&[]);

    let pools_b = pools(&beside(6), 2);
    let mut on = On::new(&pools_b);
    let x = on.take(1).expect("it is free");
    let predicted = on.query("P12", 0).expect_err("one is missing");
    let refused = on.admit("P12").expect_err("one is missing");
    assert_eq!(predicted, refused);
    assert_eq!(shortfall::<()>(Err(refused)), 1);
    on.counts(5, 0, 1);
    on.audit(&[&x]);
}

#[test]
fn c015_swap_in_needs_room_for_the_pending_tokens_too() {
    let pools = pools(&beside(3), 4);
    let mut on = On::new(&pools);
    let x = on.take(1).expect("it is free");
    assert_eq!(shortfall(on.import("P9", 1)), 1);
    on.counts(2, 0, 1);
    on.others(0, 0);
    on.reserved(0);
    drop(x);
    let a = on.import("P9", 1).expect("it fits exactly");
    on.counts(0, 0, 3);
    on.others(0, 3);
    assert_eq!(a.imports.iter().map(|it| it.ids().len()).sum::<usize>(), 6);
    on.audit(&[]);
}

// ---- reservations

#[test]
fn c016_two_half_loaded_requests_do_not_both_hold_and_wait() {
    let pools = pools(&beside(10), 16);
    let mut on = On::new(&pools);
    let a = on.admit_with_growth("P80", 48).expect("it fits");
    on.counts(5, 0, 5);
    on.reserved(3);
    assert_eq!(on.short(ask("Q80", 48)), 6);
    on.counts(5, 0, 5);
    for _ in 0..48 {
        on.append(a, "A1").expect("it was promised");
    }
    on.counts(2, 0, 8);
    on.others(0, 8);
    on.reserved(0);
    let over = refused_by(&mut on.it, None, |it| it.append(a, 1, &mut on.step));
    assert!(
        matches!(over, Err(AppendError::CapReached(error)) if (error.cap, error.asked) == (128, 129))
    );
    on.audit(&[]);
}

#[test]
fn c017_ordinary_admission_cannot_eat_a_reservation() {
    let pools = pools(&beside(10), 16);
    let mut on = On::new(&pools);
    let r = on.admit_with_growth("R0", 96).expect("six are promised");
    assert_eq!(on.blocks(r), 0);
    on.reserved(6);
    assert_eq!(on.short(ask("P80", 0)), 1);
    on.admit("P64").expect("four are left");
    on.counts(6, 0, 4);
    on.reserved(6);
    on.append(r, "R96").expect("they were promised");
    on.counts(0, 0, 10);
    on.others(0, 10);
    on.reserved(0);
    on.audit(&[]);
}

#[test]
fn c019_a_hit_cannot_pull_idle_blocks_out_from_under_a_reservation() {
    let pools = pools(&beside(10), 16);
    let mut on = On::new(&pools);
    on.idle("P96");
    on.counts(4, 6, 0);
    let r = on.take(4).expect("they are free");
    let promise = pools[BINDING].reserve(6).expect("they are idle");
    assert_eq!(on.probes("P97"), [96; 3]);
    assert_eq!(on.short(ask("P49", 0)), 4);
    on.counts(0, 6, 4);
    on.others(6, 0);
    drop((promise, r));
    on.admit("P49").expect("it fits");
    on.counts(3, 3, 4);
    on.others(3, 4);
    on.audit(&[]);
}

// ---- publishing

#[test]
fn c032_same_prompt_twice_in_flight() {
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let pools = pools(&beside(10), 16);
        let mut on = On::new(&pools);
        let a = on.admit("P33").expect("it fits");
        let b = on.admitted("P33", 0).expect("it fits");
        assert_eq!(b.hit, 0);
        on.counts(4, 0, 6);
        on.computed(a, 33);
        let c = on.admitted("P33", 0).expect("it fits");
        assert_eq!(c.hit, 32);
        on.counts(3, 0, 7);
        on.computed(b.handle, 33);
        for which in order {
            assert_eq!(on.probes("P33"), [32; 3]);
            on.release([a, b.handle, c.handle][which]);
        }
        assert_eq!(on.probes("P33"), [32; 3]);
        on.counts(8, 2, 0);
        on.others(2, 0);
        for pool in &pools {
            assert_eq!(pool.report().stored, 2);
        }
        let all = on.take(10).expect("all are available");
        distinct(all.ids(), 10);
        assert_eq!(pools[BINDING].report().reclaims, 2);
        on.audit(&[&all]);
    }
}

// ---- fork and copy on write

#[test]
fn c044_the_source_of_a_pending_copy_stays_held() {
    let pools = pools(&beside(3), 4);
    let mut on = On::new(&pools);
    let a = on.admit("P6").expect("it fits");
    let b = on.fork(a);
    let copies = on.append(b, "Q1").expect("it fits");
    assert_eq!(copies.iter().map(Vec::len).collect::<Vec<_>>(), [1; 3]);
    on.counts(0, 0, 3);
    on.release(a);
    assert_eq!(shortfall(on.take(1)), 1);
    on.counts(0, 0, 3);
    // Each shard's copy is its own: what is done on the others says nothing of this one.
    let [first, second, third] = [0, 1, 2].map(|at| copies[at].clone());
    on.copied(vec![first, vec![], third]);
    assert_eq!(shortfall(on.take(1)), 1);
    on.others(0, 2);
    on.copied(vec![vec![], second]);
    on.counts(1, 0, 2);
    let x = on.take(1).expect("the copy is done");
    on.counts(0, 0, 3);
    on.audit(&[&x]);
}

#[test]
fn c045_cost_of_appending_to_a_shared_tail() {
    let pools = pools(&beside(2), 4);
    let mut on = On::new(&pools);
    let a = on.admit("P6").expect("it fits");
    let b = on.fork(a);
    for it in [b, a] {
        let query = refused_by(&mut on.it, None, |instance| instance.check_append(it, 1));
        assert_eq!(shortfall(query), 1);
    }
    assert_eq!(on.short(|it, step| it.append(b, 1, step)), 1);
    let batch = [(b, 1), (a, 1)];
    let mut failed = Vec::new();
    for one in batch {
        let refused = on.short(|it, step| {
            it.step(&[one], step);
            let [failure] = step.failures() else {
                panic!("one of one")
            };
            failed.push(failure.index);
            Err::<(), _>(failure.error)
        });
        assert_eq!(refused, 1);
    }
    assert_eq!(failed, [0, 0]);
    on.release(a);
    assert_eq!(on.it.check_append(b, 1), Ok(0));
    let copies = on.append(b, "Q1").expect("it is alone");
    assert_eq!(copies, [vec![], vec![], vec![]]);
    on.counts(0, 0, 2);
    on.others(0, 2);
    on.audit(&[]);
}

// ---- lookahead and rollback

#[test]
fn c047_growth_that_is_reverted_leaves_no_trace() {
    let pools = pools(&beside(8), 4);
    let mut on = On::new(&pools);
    let a = on.admit("P8").expect("it fits");
    let first = [0, 1, 2].map(|at| on.ids(at, a));
    for _ in 0..100 {
        on.append(a, "Q1").expect("it fits");
        assert_eq!(on.blocks(a), 3);
        on.it.truncate(a, 8).expect("a private block");
        assert_eq!(on.blocks(a), 2);
    }
    assert_eq!([0, 1, 2].map(|at| on.ids(at, a)), first);
    on.counts(6, 0, 2);
    on.others(0, 2);
    on.audit(&[]);
}

#[test]
fn c048_roll_back_below_a_published_block_then_write_other_tokens() {
    let pools = pools(&beside(8), 4);
    let mut on = On::new(&pools);
    let a = on.admit("P8").expect("it fits");
    on.computed(a, 8);
    let before = [0, 1, 2].map(|at| on.ids(at, a));
    on.it.truncate(a, 5).expect("one is free for the copy");
    assert_eq!([0, 1, 2].map(|at| on.ids(at, a)), before);
    on.reserved(1);
    let copies = on.append(a, "Q1").expect("its copy was paid");
    for at in [0, 1, 2] {
        let [copy] = copies[at][..] else {
            panic!("{copies:?}")
        };
        let (before, after) = (&before[at], on.ids(at, a));
        assert_eq!(
            (copy.src, copy.dst, copy.positions),
            (before[1], after[1], 1)
        );
        assert_eq!((before[0], before[1] == after[1]), (after[0], false));
    }
    on.copied(copies);
    on.computed(a, 6);
    on.counts(5, 1, 2);
    on.others(1, 2);
    assert_eq!(on.probes("P9"), [8; 3]);
    on.audit(&[]);
}

/// Beside the case: that copy's credit has to be there on every shard.
#[test]
fn c048_rolling_back_into_a_published_block_is_refused_where_no_copy_can_be_paid() {
    let pools = pools(&beside(2), 4);
    let mut on = On::new(&pools);
    let a = on.admit("P8").expect("it fits exactly");
    on.computed(a, 8);
    assert_eq!(on.short(|it, _| it.truncate(a, 5)), 1);
    on.reserved(0);
    on.it.truncate(a, 4).expect("at a border");
    on.counts(0, 1, 1);
    on.audit(&[]);
}

// ---- transfers and bad content

#[test]
fn c049_abort_during_a_load() {
    let pools = pools(&beside(8), 16);
    let mut on = On::new(&pools);
    let a = on.import("P48", 0).expect("it fits");
    on.counts(5, 0, 3);
    on.release(a.handle);
    on.counts(5, 0, 3);
    on.others(0, 3);
    on.audit(&[]);
    for at in [0, 2] {
        assert_eq!(a.imports[at].arrived(0, 0..3), Ok(Answer::Unwanted));
    }
    on.counts(5, 0, 3);
    on.others(0, 0);
    let late = &a.imports[BINDING];
    assert_eq!(late.arrived(0, 0..3), Ok(Answer::Unwanted));
    on.counts(8, 0, 0);
    assert_eq!(on.probes("P49"), [0; 3]);
    assert_eq!(
        late.arrived(0, 0..3),
        Err(AnswerError::Repeated { writer: 0, at: 0 })
    );
    assert_eq!(on.it.loading(a.handle), Err(Stale));
    on.counts(8, 0, 0);
    on.audit(&[]);
}

#[test]
fn c053_a_load_becomes_visible_when_it_is_done_everywhere() {
    let pools = pools(&beside(8), 16);
    let mut on = On::new(&pools);
    let a = on.import("P32", 0).expect("it fits");
    for (at, arrived) in [(0, 0), (2, 0), (1, 32)] {
        assert_eq!(on.probes("P33"), [0; 3]);
        on.counts(6, 0, 2);
        assert_eq!(a.imports[at].arrived(0, 0..2), Ok(Answer::Taken));
        let state = on.it.loading(a.handle).expect("it lives");
        assert_eq!((state.arrived, state.failed), (arrived, false));
    }
    assert_eq!(on.probes("P33"), [32; 3]);
    on.release(a.handle);
    on.counts(6, 2, 0);
    on.others(2, 0);
    on.audit(&[]);
}

#[test]
fn c053_a_load_that_failed_on_one_shard_never_becomes_visible_on_any() {
    let pools = pools(&beside(8), 16);
    let mut on = On::new(&pools);
    let a = on.import("P32", 0).expect("it fits");
    for at in [0, 2] {
        assert_eq!(a.imports[at].arrived(0, 0..2), Ok(Answer::Taken));
    }
    assert_eq!(a.imports[BINDING].failed(0, 0..2), Ok(Answer::Taken));
    let state = on.it.loading(a.handle).expect("it lives");
    assert_eq!((state.arrived, state.left, state.failed), (0, 0, true));
    assert_eq!(on.probes("P33"), [0; 3]);
    on.release(a.handle);
    on.counts(8, 0, 0);
    on.others(0, 0);
    assert_eq!(on.probes("P33"), [0; 3]);
    for pool in &pools {
        assert_eq!(pool.report().stored, 0);
    }
    on.audit(&[]);
}

#[test]
fn c054_one_bad_block_two_users() {
    let pools = pools(&beside(12), 16);
    let mut on = On::new(&pools);
    let a = on.admit("P64").expect("it fits");
    on.computed(a, 64);
    let b = on.admit("P64+Q16").expect("it fits");
    on.computed(b, 80);
    let before = [a, b].map(|it| [0, 1, 2].map(|at| on.ids(at, it)));
    let mut affected = Vec::new();
    let bad = on.ids(BINDING, a)[2];
    assert_eq!(on.it.invalidate(BINDING, bad, &mut affected), Ok(()));
    assert_eq!(affected, [a, b]);
    for (it, blocks) in [(a, 4), (b, 5)] {
        for shard in on.it.shards() {
            let state = shard.state(it).expect("it lives");
            assert_eq!((state.computed, state.blocks), (32, blocks));
        }
    }
    // The other shards have it still, for which nobody has a use.
    assert_eq!((on.probe("P65"), on.probes("P65")), (32, [64, 32, 64]));
    on.counts(7, 0, 5);
    on.others(0, 5);
    on.audit(&[]);

    // Each recomputes from token 32 on, in blocks of its own on every shard.
    for (it, before) in [a, b].into_iter().zip(&before) {
        on.it.renew(it, &mut on.step).expect("seven are free");
        for at in [0, 1, 2] {
            let (changes, table) = (on.step.shards()[at].changes(), on.ids(at, it));
            let entries: Vec<usize> = changes.iter().map(|it| it.entry).collect();
            assert_eq!(entries, (2..before[at].len()).collect::<Vec<_>>());
            assert_eq!(table[..2], before[at][..2]);
            assert!(table[2..].iter().all(|block| !before[at].contains(block)));
        }
        on.audit(&[]);
    }
    on.counts(5, 0, 7);
    on.others(3, 7);
    on.computed(a, 64);
    on.computed(b, 80);
    assert_eq!((on.probe("P65"), on.probe("P64+Q17")), (64, 80));
    on.release(a);
    on.release(b);
    on.counts(7, 5, 0);
    on.others(5, 0);
    distinct(on.take(12).expect("all are available").ids(), 12);
    on.audit(&[]);
}

/// Beside the case: no block for the renewal on one shard.
#[test]
fn c054_a_renewal_takes_blocks_on_all_shards_or_on_none() {
    let pools = pools(&beside(4), 16);
    let mut on = On::new(&pools);
    let a = on.admit("P48").expect("it fits");
    on.computed(a, 48);
    let mut affected = Vec::new();
    let bad = on.ids(0, a)[1];
    assert_eq!(on.it.invalidate(0, bad, &mut affected), Ok(()));
    assert_eq!(affected, [a]);
    assert_eq!(on.short(|it, step| it.renew(a, step)), 1);
    assert!(on.step.shards().iter().all(|it| it.fresh().is_empty()));
    on.counts(1, 0, 3);
    on.release(a);
    on.counts(1, 3, 0);
    on.audit(&[]);
}

// ---- fences and steps in flight

#[test]
fn c057_not_reusable_before_the_last_step_that_touches_it() {
    let pools = pools(&beside(4), 16);
    let mut on = On::new(&pools);
    let mut lanes = on.lanes();
    let a = on.admit("P48").expect("it fits");
    assert_eq!(on.it.release_after(a, &mut lanes, Fence(3)), Ok(()));
    assert!(pools.iter().all(|pool| pool.quarantined() == 3));
    on.counts(1, 0, 0);
    assert_eq!(on.short(ask("P32", 0)), 1);
    // The other stages are done with it; the second is not.
    for at in [0, 2] {
        assert_eq!(lanes[at].complete(Fence(3)), 3);
    }
    assert_eq!(lanes[BINDING].complete(Fence(2)), 0);
    assert_eq!(on.short(ask("P32", 0)), 1);
    on.others(0, 0);
    assert_eq!(lanes[BINDING].complete(Fence(3)), 3);
    on.counts(4, 0, 0);
    let b = on.admit("P48").expect("it fits");
    assert_eq!(on.it.release_after(b, &mut lanes, Fence(3)), Ok(()));
    assert!(lanes.iter().all(Lane::is_empty));
    on.counts(4, 0, 0);
    on.audit(&[]);
}

#[test]
fn c058_fenced_blocks_are_not_reclaimable_and_the_answer_says_so() {
    let pools = pools(&beside(8), 16);
    let mut on = On::new(&pools);
    let mut lanes = on.lanes();
    let a = on.admit("P64").expect("it fits");
    let b = on.admit("Q64").expect("it fits");
    assert_eq!(on.it.release_after(b, &mut lanes, Fence(5)), Ok(()));
    on.counts(0, 0, 4);
    let refused = on.refused(ask("R16", 0)).expect_err("none is free");
    assert!(matches!(
        refused,
        AdmitError::Refused(Refused::Shortfall {
            needed: 1,
            available: 0,
            quarantined: 4,
            ..
        })
    ));
    assert_eq!(on.blocks(a), 4);
    let holders: Vec<&dyn Holder> = lanes.iter().map(|it| it as &dyn Holder).collect();
    on.audit(&holders);
    assert_eq!(lanes[BINDING].complete(Fence(5)), 4);
    on.counts(4, 0, 4);
    on.admit("R16").expect("four are free");
    let holders: Vec<&dyn Holder> = lanes.iter().map(|it| it as &dyn Holder).collect();
    on.audit(&holders);
}

#[test]
fn c060_a_late_result_of_a_preempted_request_is_rejected() {
    let pools = pools(&beside(4), 16);
    let mut on = On::new(&pools);
    let a = on.admit("P33").expect("it fits");
    assert_eq!(on.it.preempt(a), Ok(()));
    let late = |on: &mut On<'_>| refused_by(&mut on.it, None, |it| it.computed(a, 33));
    assert_eq!(late(&mut on), Err(ComputedError::Stale(Stale)));
    on.counts(4, 0, 0);
    let a2 = on.admit("P33").expect("it fits");
    on.counts(1, 0, 3);
    assert_eq!(late(&mut on), Err(ComputedError::Stale(Stale)));
    assert_eq!(on.probes("P33"), [0; 3]);
    assert_eq!(on.blocks(a2), 3);
    let preemptions = on.it.shards().iter().map(|it| it.report().preemptions);
    assert_eq!(preemptions.collect::<Vec<_>>(), [1; 3]);
    on.audit(&[]);
}

// ---- statistics, progress

#[test]
fn c078_a_refused_admission_is_not_a_query() {
    let pools = pools(&beside(4), 16);
    let mut on = On::new(&pools);
    on.idle("P32");
    let first = |on: &On<'_>| [0, 1, 2].map(|at| on.it.shards()[at].report().first);
    let before = first(&on);
    let x = on.take(2).expect("two are free");
    for _ in 0..3 {
        assert_eq!(on.short(ask("P48+Q16", 0)), 2);
    }
    assert_eq!(first(&on), before);
    drop(x);
    let a = on.admitted("P48+Q16", 0).expect("it fits");
    assert_eq!(a.hit, 32);
    on.counts(0, 0, 4);
    on.others(0, 4);
    for (before, after) in before.iter().zip(first(&on)) {
        assert_eq!(
            (
                after.requests - before.requests,
                after.queried - before.queried,
                after.hit - before.hit
            ),
            (1, 64, 32)
        );
    }
    on.audit(&[]);
}

#[test]
fn c084_every_entry_point_may_evict() {
    let pools_1 = pools(&beside(8), 16);
    let mut on = On::new(&pools_1);
    on.idle("P128");
    on.counts(0, 8, 0);
    let r = on.admit_with_growth("R0", 16).expect("one is idle");
    let reclaims = |pools: &[BlockPool]| [0, 1, 2].map(|at| pools[at].report().reclaims);
    assert_eq!(reclaims(&pools_1), [0; 3], "a promise evicts nothing");
    on.append(r, "R1").expect("it was promised");
    assert_eq!(reclaims(&pools_1), [0, 1, 0], "the others have free ones");
    on.audit(&[]);

    let pools_2 = pools(&beside(8), 16);
    let mut on = On::new(&pools_2);
    on.idle("P128");
    on.import("Q16", 0).expect("one is idle");
    on.counts(0, 7, 1);
    assert_eq!(reclaims(&pools_2), [0, 1, 0]);
    on.audit(&[]);

    let pools_3 = pools(&beside(8), 16);
    let mut on = On::new(&pools_3);
    on.idle("P128");
    let a = on.admit("Q16").expect("one is idle");
    on.counts(0, 7, 1);
    on.append(a, "R1").expect("one is idle");
    on.counts(0, 6, 2);
    let b = on.fork(a);
    on.counts(0, 6, 2);
    on.append(b, "S1").expect("one is idle");
    on.counts(0, 5, 3);
    assert_eq!(reclaims(&pools_3), [0, 3, 0]);
    assert_eq!((on.probe("P129"), on.probes("P129")), (80, [128, 80, 128]));
    on.it.ensure(b, 33, &mut on.step).expect("one is idle");
    assert_eq!(reclaims(&pools_3), [0, 4, 0]);
    on.audit(&[]);
}

#[test]
fn c085_released_blocks_are_usable_at_once() {
    let pools = pools(&beside(8), 16);
    let mut on = On::new(&pools);
    for _ in 0..1000 {
        let x = on.admit("P128").expect("all are free");
        on.release(x);
    }
    on.counts(8, 0, 0);
    shards::at_rest(&on.it);
}

#[test]
fn c086_a_finished_load_is_processed_although_the_queue_head_is_blocked() {
    let pools = pools(&beside(4), 16);
    let mut on = On::new(&pools);
    let a = on.import("P64", 0).expect("it fits exactly");
    on.counts(0, 0, 4);
    assert_eq!(on.short(ask("Q16", 0)), 1);
    for import in &a.imports {
        assert_eq!(import.arrived(0, 0..4), Ok(Answer::Taken));
    }
    let state = on.it.loading(a.handle).expect("it lives");
    assert_eq!((state.arrived, state.left), (64, 0));
    on.release(a.handle);
    on.counts(0, 4, 0);
    on.admit("Q16").expect("four are idle");
    on.counts(0, 3, 1);
    on.others(4, 1);
    on.audit(&[]);
}

// ---- beside the cases

/// What has arrived is what has arrived everywhere, in a refusal too.
#[test]
fn a_refusal_during_a_load_tells_what_has_arrived_on_all_shards() {
    let pools = pools(&beside(8), 16);
    let mut on = On::new(&pools);
    let a = on.import("P48", 0).expect("it fits");
    for (at, arrived) in [(0, 3), (2, 2), (1, 1)] {
        a.imports[at]
            .arrived(0, 0..arrived)
            .expect("it is expected");
    }
    let arrived = on.it.loading(a.handle).map(|it| (it.arrived, it.left));
    assert_eq!(arrived, Ok((16, 3)));
    let expected = InTransit::Loading { arrived: 16 };
    let (mut child, mut lanes) = ([a.handle], on.lanes());
    let truncated = refused_by(&mut on.it, None, |it| it.truncate(a.handle, 32));
    assert_eq!(truncated, Err(expected.into()));
    let truncated = refused_by(&mut on.it, None, |it| {
        it.truncate_after(a.handle, 32, &mut lanes, Fence(1))
    });
    assert_eq!(truncated, Err(TruncateError::from(expected).into()));
    let forked = refused_by(&mut on.it, None, |it| it.fork(a.handle, &mut child));
    assert_eq!(forked, Err(expected.into()));
    let computed = refused_by(&mut on.it, None, |it| it.computed(a.handle, 48));
    assert_eq!(computed, Err(expected.into()));
    let detached = refused_by(&mut on.it, None, |it| it.detach(a.handle).map(drop));
    assert_eq!(detached, Err(expected.into()));
    for import in &a.imports {
        import.end(0).expect("once");
    }
    on.release(a.handle);
    on.counts(7, 1, 0);
    on.others(1, 0);
    on.audit(&[]);
}

/// Where blocks are compared by digests a truncation forgets the tokens of a published block. A shard that had not published it forgets them
/// too: they are told again to all.
#[test]
fn tokens_that_one_shard_forgets_are_told_again_to_all() {
    let pool = |shard: u32, blocks: usize| {
        let config = PoolConfig::new(blocks, 4).proof(Proof::Digest);
        BlockPool::new(&config.shard(ShardId::new(shard))).expect("a sound configuration")
    };
    for after_a_fence in [false, true] {
        let pools = [pool(0, 5), pool(1, 8)];
        let mut it = split(&pools, &SequencesConfig::new(4));
        let (space, tokens) = (Namespace::new(), text("P8"));
        let asked = request(&space, &tokens, 0);
        // The first shard knows the content, and has no credit to hold that copy: it publishes none.
        let mut alone =
            Sequences::new(pools[0].clone(), &SequencesConfig::new(1)).expect("a registry");
        let a = alone.admit(&asked).expect("room").handle;
        alone.computed(a, 8).expect("it has them");
        alone.release(a).expect("it lives");
        let a = it.admit(&asked).expect("room").handle;
        let promise = pools[0].reserve(3).expect("one free, two idle");
        it.computed(a, 8).expect("it has them");
        drop(promise);
        let published =
            |it: &Instance| [0, 1].map(|at| it.shards()[at].state(a).expect("it lives").published);
        assert_eq!(published(&it), [0, 2]);

        let mut lanes = it.lanes().expect("memory");
        if after_a_fence {
            it.append(a, 1, &mut InstanceStep::new()).expect("room");
            it.truncate_after(a, 6, &mut lanes, Fence(1))
                .expect("room for the copy");
        } else {
            it.truncate(a, 6).expect("room for the copy");
        }
        for shard in it.shards() {
            let state = shard.state(a).expect("it lives");
            assert_eq!((state.positions, state.known, state.computed), (6, 4, 6));
        }
        assert_eq!(it.tokens(a, 4, &Contents::new(&tokens[4..6])), Ok(()));
        let holders: Vec<&dyn Holder> = lanes.iter().map(|it| it as &dyn Holder).collect();
        assert_eq!(it.audit(&holders), Ok(()));
        it.release(a).expect("it lives");
        drop(lanes);
        shards::at_rest(&it);
    }
}

/// More shards than one word of anything has place for.
#[test]
fn sixteen_shards_serve_as_one() {
    let sizes: Vec<usize> = (0..MAX_SHARDS).map(|at| 6 + (at * 7) % 40).collect();
    let pools = pools(&sizes, 4);
    let mut it = split(&pools, &SequencesConfig::new(8));
    let (space, tokens) = (Namespace::new(), text("P10"));
    let a = it
        .admit(&request(&space, &tokens, 10))
        .expect("room")
        .handle;
    it.computed(a, 10).expect("it has them");
    let mut child = [a];
    let mut step = InstanceStep::new();
    // A copy and a promise more: the smallest, the first, has five and a sixth is missing.
    let refused = refused_by(&mut it, Some(0), |it| it.fork(a, &mut child));
    assert_eq!(shortfall(refused), 3);
    it.append(a, 10, &mut step).expect("it was promised");
    assert_eq!(step.shards().len(), 16);
    assert!(
        step.shards()
            .iter()
            .all(|it| it.fresh().len() == 2 && it.slots().len() == 10)
    );
    it.release(a).expect("it lives");
    shards::at_rest(&it);
}
