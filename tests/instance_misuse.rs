//! Wrong calls to an instance of several shards: each is a typed error with the numbers of what was wrong, and leaves every shard as it was.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "support/shards.rs"]
mod shards;
mod support;

use kvblock::{
    Admit, AdmitError, AppendError, AttachError, Beyond, BlockId, BlockPool, BranchError,
    CommitError, ComputedError, Contents, CopyTicket, CreateError, DetachError, ElementType,
    EndAfterError, ExportError, Fence, Growth, Handle, Holder, ImportError, Incompatible, Instance,
    InstanceError, InstanceIncoming, InstanceResizeError, InstanceStep, InvalidateError, KvFormat,
    Lane, Lease, LeaseError, Leases, MAX_SHARDS, Namespace, NotNext, NotOpen, Owner, Phase,
    PinError, PoolConfig, Prompt, Rank, Refused, ReleaseAfterError, ResizeError, Returned,
    Sequences, SequencesConfig, ShardId, Stale, Terms, TokensError, TooManyReferences,
    TruncateAfterError, TruncateError, VictimsError,
};

use shards::{at_rest, pools, refused_by, split};
use support::{never_fits, says, shortfall, text};

const NEVER: u64 = Lease::NO_DEADLINE;
/// What every shard of most tests here has at least.
const SIZES: [usize; 3] = [12, 8, 10];

fn admit(it: &mut Instance, tokens: &str, growth: Growth) -> Result<Handle, AdmitError> {
    let (space, tokens) = (Namespace::new(), text(tokens));
    let admitted = it.admit(&Admit::new(Prompt::new(&space, &tokens), growth));
    admitted.map(|it| it.handle)
}

fn config() -> SequencesConfig {
    SequencesConfig::new(4)
}

/// Three shards with a sequence of eight computed positions in two blocks, and one more that is not full.
fn serving(pools: &[BlockPool]) -> (Instance, Handle) {
    let mut it = split(pools, &config());
    let a = admit(&mut it, "P10", Growth::OnDemand).expect("room");
    it.computed(a, 10).expect("it has them");
    (it, a)
}

/// The same with a branch, and a copy of the shared end under way on each shard.
fn copying(pools: &[BlockPool]) -> (Instance, Handle, Handle, Vec<CopyTicket>) {
    let (mut it, a) = serving(pools);
    let mut b = [Handle::NONE];
    it.fork(a, &mut b).expect("room");
    let mut step = InstanceStep::new();
    it.append(a, 1, &mut step).expect("room");
    let tickets = step.shards().iter().map(|it| it.copies()[0]).collect();
    (it, a, b[0], tickets)
}

fn holders<'h>(list: impl IntoIterator<Item = &'h (impl Holder + 'h)>) -> Vec<&'h dyn Holder> {
    list.into_iter().map(|it| it as &dyn Holder).collect()
}

// ---- making an instance

#[test]
fn shards_that_do_not_fit_together_are_no_instance() {
    let pool = |shard: u32, block_size: usize| {
        let config = PoolConfig::new(8, block_size).shard(ShardId::new(shard));
        BlockPool::new(&config).expect("a sound configuration")
    };
    let registry = |pool: &BlockPool, slots: usize| {
        Sequences::new(pool.clone(), &SequencesConfig::new(slots)).expect("a registry")
    };
    let refused = |shards: Vec<Sequences>| Instance::split(shards).map(drop).expect_err("unlike");
    let (x, y) = (pool(3, 4), pool(9, 4));
    let shard = ShardId::new(9);

    assert_eq!(refused(vec![]), InstanceError::NoShards);
    let many = |n| (0..n).map(|shard| registry(&pool(shard, 4), 2)).collect();
    let asked = MAX_SHARDS + 1;
    let error = refused(many(17));
    assert_eq!(error, InstanceError::TooManyShards { asked });
    says(&error, &[17, 16]);
    assert!(Instance::split(many(16)).is_ok());
    let error = refused(vec![registry(&x, 2), registry(&y, 2), registry(&y, 2)]);
    assert_eq!(error, InstanceError::SameShard { shard });
    says(&error, &[9]);
    // Another pool of the same name: a refusal would not say which.
    let error = refused(vec![registry(&y, 2), registry(&pool(9, 4), 2)]);
    assert_eq!(error, InstanceError::SameShard { shard });
    let error = refused(vec![registry(&x, 2), registry(&pool(9, 8), 2)]);
    let (got, expected) = (8, 4);
    assert_eq!(
        error,
        InstanceError::BlockSize {
            shard,
            got,
            expected
        }
    );
    says(&error, &[9, 8, 4]);
    let error = refused(vec![registry(&x, 2), registry(&y, 3)]);
    let (got, expected) = (3, 2);
    assert_eq!(
        error,
        InstanceError::Slots {
            shard,
            got,
            expected
        }
    );
    says(&error, &[9, 3, 2]);
    for pool in [&x, &y] {
        assert_eq!(pool.audit(&[]), Ok(()));
    }
}

#[test]
fn registries_in_use_are_no_shards() {
    let pools = pools(&[8, 8], 4);
    let registry = |at: usize| Sequences::new(pools[at].clone(), &config()).expect("a registry");
    let (space, tokens) = (Namespace::new(), text("P6"));
    let asked = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let refused = |second| {
        let error = Instance::split(vec![registry(0), second]).map(drop);
        let error = error.expect_err("it is in use");
        let shard = ShardId::new(1);
        assert_eq!(error, InstanceError::InUse { shard });
        says(&error, &[1]);
    };

    let mut living = registry(1);
    living.admit(&asked).expect("room");
    refused(living);

    let mut copying = registry(1);
    let a = copying.admit(&asked).expect("room").handle;
    let mut b = [Handle::NONE];
    copying.fork(a, &mut b).expect("room");
    let mut step = kvblock::Step::new();
    copying.append(a, 1, &mut step).expect("room");
    copying.release(a).expect("it lives");
    copying.release(b[0]).expect("it lives");
    refused(copying);

    let mut loading = registry(1);
    let imported = loading.import(&asked, &kvblock::Incoming::new(6, 1));
    let imported = imported.expect("room");
    loading.release(imported.handle).expect("it lives");
    refused(loading);
    imported.import.end(0).expect("once");

    // One that had sequences serves, and its slots are used as those of the others.
    let mut used = registry(1);
    let handles = [0; 3].map(|_| used.admit(&asked).expect("room").handle);
    for handle in handles {
        used.release(handle).expect("it lives");
    }
    let mut instance = Instance::split(vec![registry(0), used]).expect("both are vacant");
    let slots = [0; 4].map(|_| {
        let handle = admit(&mut instance, "P6", Growth::OnDemand).expect("room");
        assert!(instance.shards().iter().all(|it| it.state(handle).is_ok()));
        handle.slot()
    });
    assert_eq!(slots, [0, 1, 2, 3]);
    assert_eq!(instance.audit(&[]), Ok(()));
}

#[test]
fn ranks_that_are_none_are_no_instance() {
    let lockstep = |ranks: &[Rank], sequences: &SequencesConfig| {
        let made = Instance::lockstep(ranks, &PoolConfig::new(8, 4), sequences);
        made.map(drop).expect_err("no instance")
    };
    let rank = |shard: u32, blocks: usize| Rank::new(ShardId::new(shard), blocks);
    assert_eq!(lockstep(&[], &config()), InstanceError::NoShards);
    let shard = ShardId::new(7);
    assert_eq!(
        lockstep(&[rank(7, 8), rank(1, 8), rank(7, 9)], &config()),
        InstanceError::SameShard { shard }
    );
    assert_eq!(
        lockstep(&[rank(0, 8), rank(1, 0)], &config()),
        InstanceError::Create(CreateError::NoBlocks)
    );
    assert!(matches!(
        lockstep(&[rank(0, usize::MAX), rank(1, usize::MAX)], &config()),
        InstanceError::Create(CreateError::TooManyBlocks {
            asked: usize::MAX,
            ..
        })
    ));
    // Each rank's own numbers have to agree, not only those of the smallest.
    let error = lockstep(&[rank(0, 9).max_blocks(5), rank(1, 4)], &config());
    let (blocks, max_blocks) = (9, 5);
    assert_eq!(
        error,
        InstanceError::Create(CreateError::MaxBelowBlocks { blocks, max_blocks })
    );
    assert_eq!(
        lockstep(&[rank(0, 8)], &SequencesConfig::new(0)),
        InstanceError::Create(CreateError::NoSequences)
    );
    let (asked, blocks) = (8, 8);
    assert_eq!(
        lockstep(&[rank(0, 9), rank(1, 8)], &config().watermark(8)),
        InstanceError::Create(CreateError::Watermark { asked, blocks })
    );
}

// ---- names

/// Every call that names a sequence.
fn all_are_stale(it: &mut Instance, nobody: Handle) {
    let mut step = InstanceStep::new();
    let mut lanes = it.lanes().expect("memory");
    let mut leases = it.leases(100).expect("memory");
    let (space, token) = (Namespace::new(), [1]);
    let mut list = vec![nobody];
    macro_rules! stale {
        ($error:ty, $call:expr) => {
            let answer = refused_by(it, None, $call);
            let error: $error = answer.map(drop).expect_err("it names nobody");
            assert_eq!(error, <$error>::from(Stale));
        };
    }
    stale!(AppendError, |it| it.append(nobody, 1, &mut step));
    stale!(AppendError, |it| it.append(nobody, 0, &mut step));
    stale!(AppendError, |it| it.ensure(nobody, 1, &mut step));
    stale!(AppendError, |it| it.renew(nobody, &mut step));
    stale!(AppendError, |it| it.check_append(nobody, usize::MAX));
    stale!(TokensError, |it| it.tokens(
        nobody,
        0,
        &Contents::new(&token)
    ));
    stale!(ComputedError, |it| it.computed(nobody, 0));
    stale!(TruncateError, |it| it.truncate(nobody, 0));
    stale!(BranchError, |it| it.fork(nobody, &mut list));
    stale!(BranchError, |it| it.fork(nobody, &mut []));
    stale!(Stale, |it| it.release(nobody));
    stale!(Stale, |it| it.preempt(nobody));
    stale!(Stale, |it| it.adopt_duplicates(nobody));
    stale!(Stale, |it| it.loading(nobody));
    stale!(Stale, |it| it.state(nobody));
    stale!(CommitError, |it| it.commit(nobody));
    stale!(DetachError, |it| it.detach(nobody));
    stale!(EndAfterError, |it| it.release_after(
        nobody,
        &mut lanes,
        Fence(1)
    ));
    stale!(EndAfterError, |it| it.preempt_after(
        nobody,
        &mut lanes,
        Fence(1)
    ));
    stale!(EndAfterError, |it| it.adopt_duplicates_after(
        nobody,
        &mut lanes,
        Fence(1)
    ));
    let answer = refused_by(it, None, |it| {
        it.truncate_after(nobody, 0, &mut lanes, Fence(1))
    });
    assert_eq!(answer, Err(TruncateError::from(Stale).into()));
    // Who it is comes before what it is to be done with.
    stale!(EndAfterError, |it| it.release_after(
        nobody,
        &mut [],
        Fence(1)
    ));
    stale!(EndAfterError, |it| it.adopt_duplicates_after(
        nobody,
        &mut [],
        Fence(1)
    ));
    stale!(PinError, |it| it.pin(nobody, &mut [], Owner::new(1), NEVER));
    stale!(PinError, |it| it.pin(
        nobody,
        &mut leases,
        Owner::new(1),
        NEVER
    ));
    let terms = Terms::copy(Owner::new(1), NEVER);
    stale!(ExportError, |it| it.export(
        nobody,
        &space,
        &mut leases,
        &terms
    ));
    let mut victims = vec![nobody];
    let living: Vec<Handle> = it.handles().collect();
    let order: Vec<Handle> = living.into_iter().chain([nobody]).collect();
    stale!(VictimsError, |it| it.select_victims(
        &order,
        &[1; 3],
        &mut victims
    ));
    assert_eq!((victims, list), (vec![], vec![nobody]));
    let answer = refused_by(it, None, |it| {
        it.step(&[(nobody, 1), (nobody, 0)], &mut step);
        let failed = step.failures().iter().map(|it| (it.index, it.error));
        failed.collect::<Vec<_>>()
    });
    assert_eq!(answer, [0, 1].map(|index| (index, Stale.into())));
    assert!(leases.iter().all(Leases::is_empty) && lanes.iter().all(Lane::is_empty));
}

#[test]
fn a_stale_handle_is_told_by_every_call() {
    let pools = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools);
    let gone = admit(&mut it, "Q6", Growth::Cap(6)).expect("room");
    it.release(gone).expect("it lives");
    for nobody in [
        gone,
        Handle::NONE,
        Handle::from_bits(0),
        Handle::from_bits(7 << 30),
    ] {
        all_are_stale(&mut it, nobody);
    }
    // Its slot has another one now.
    let next = admit(&mut it, "R6", Growth::Cap(6)).expect("room");
    assert_eq!(next.slot(), gone.slot());
    all_are_stale(&mut it, gone);
    it.release(next).expect("it lives");
    it.release(a).expect("it lives");
    at_rest(&it);
}

#[test]
fn a_handle_of_another_instance_names_nobody() {
    let pools_here = pools(&SIZES, 4);
    let (mut here, a) = serving(&pools_here);
    // Over the same pools, and over others.
    let mut beside = here.another(&config()).expect("another registry");
    let b = admit(&mut beside, "Q6", Growth::OnDemand).expect("room");
    assert_eq!(a.slot(), b.slot());
    all_are_stale(&mut here, b);
    all_are_stale(&mut beside, a);
    let named = |shard: u32, blocks: usize| {
        let config = PoolConfig::new(blocks, 4).shard(ShardId::new(shard));
        BlockPool::new(&config).expect("a sound configuration")
    };
    let pools_there = [named(10, 9), named(11, 9)];
    let mut there = split(&pools_there, &config());
    let c = admit(&mut there, "P10", Growth::OnDemand).expect("room");
    all_are_stale(&mut here, c);
    all_are_stale(&mut there, a);
    let others = holders(beside.shards());
    assert_eq!(here.audit(&others), Ok(()));
    here.release(a).expect("it lives");
    beside.release(b).expect("it lives");
    at_rest(&here);
}

#[test]
fn a_ticket_counts_on_its_own_shard_once() {
    let pools = pools(&SIZES, 4);
    let (mut it, _, _, tickets) = copying(&pools);
    let mut beside = it.another(&config()).expect("another registry");
    for (at, &ticket) in tickets.iter().enumerate() {
        for wrong in (0..3).filter(|&wrong| wrong != at).chain([3, usize::MAX]) {
            let answer = refused_by(&mut it, None, |it| it.copied(wrong, ticket));
            assert_eq!(answer, Err(Stale));
        }
        assert_eq!(beside.copied(at, ticket), Err(Stale));
    }
    for (at, &ticket) in tickets.iter().enumerate() {
        assert_eq!(it.copied(at, ticket), Ok(()));
        let answer = refused_by(&mut it, None, |it| it.copied(at, ticket));
        assert_eq!(answer, Err(Stale));
    }
    assert_eq!(it.audit(&[]), Ok(()));
}

// ---- lanes and leases

/// Lists that are not one for each shard in their order: none, too few, too many, in another order, another instance's.
fn wrong_lists<T>(mine: impl Fn() -> Vec<T>, theirs: impl Fn() -> Vec<T>) -> Vec<Vec<T>> {
    let mut few = mine();
    few.pop();
    let mut many = mine();
    many.extend(mine().pop());
    let mut turned = mine();
    turned.rotate_left(1);
    let mut mixed = mine();
    mixed.pop();
    mixed.extend(theirs().pop());
    vec![Vec::new(), few, many, turned, theirs(), mixed]
}

#[test]
fn lanes_that_are_not_one_a_shard_are_refused() {
    let pools_here = pools(&SIZES, 4);
    let pools_there = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools_here);
    let there = split(&pools_there, &config());
    let lanes = |it: &Instance| it.lanes().expect("memory");
    for mut wrong in wrong_lists(
        || pools_here.iter().map(BlockPool::lane).collect(),
        || lanes(&there),
    ) {
        let fence = Fence(1);
        let error = ReleaseAfterError::WrongPool;
        let answer = refused_by(&mut it, None, |it| it.release_after(a, &mut wrong, fence));
        assert_eq!(answer, Err(error.into()));
        let answer = refused_by(&mut it, None, |it| it.preempt_after(a, &mut wrong, fence));
        assert_eq!(answer, Err(error.into()));
        for to in [0, 5, 10] {
            let answer = refused_by(&mut it, None, |it| {
                it.truncate_after(a, to, &mut wrong, fence)
            });
            assert_eq!(answer, Err(TruncateAfterError::Lane(error)));
        }
        let answer = refused_by(&mut it, None, |it| {
            it.adopt_duplicates_after(a, &mut wrong, fence)
        });
        assert_eq!(answer, Err(error.into()));
        let before = shards::seen(&it);
        let Returned { error: got, value } =
            it.close_after(&mut wrong, fence).expect_err("wrong lanes");
        assert_eq!(got, error);
        it = value;
        assert_eq!(shards::seen(&it), before);
        assert!(wrong.iter().all(Lane::is_empty));
    }
    assert_eq!(it.audit(&[]), Ok(()));
    let mut right = lanes(&it);
    assert_eq!(it.release_after(a, &mut right, Fence(1)), Ok(()));
    drop(right);
    at_rest(&it);
    at_rest(&there);
}

#[test]
fn tables_of_leases_that_are_not_one_a_shard_are_refused() {
    let pools_here = pools(&SIZES, 4);
    let pools_there = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools_here);
    let there = split(&pools_there, &config());
    let (space, owner) = (Namespace::new(), Owner::new(1));
    let leases = |it: &Instance| it.leases(100).expect("memory");
    let mine = || {
        let tables = pools_here.iter().map(|pool| Leases::new(pool, 100));
        tables.collect::<Result<Vec<_>, _>>().expect("memory")
    };
    for mut wrong in wrong_lists(mine, || leases(&there)) {
        let answer = refused_by(&mut it, None, |it| it.pin(a, &mut wrong, owner, NEVER));
        assert_eq!(answer.map(drop), Err(LeaseError::WrongPool.into()));
        for terms in [Terms::copy(owner, NEVER), Terms::moving(owner, NEVER)] {
            let answer = refused_by(&mut it, None, |it| it.export(a, &space, &mut wrong, &terms));
            assert_eq!(answer.map(drop), Err(LeaseError::WrongPool.into()));
        }
        assert!(wrong.iter().all(Leases::is_empty));
    }
    it.append(a, 1, &mut InstanceStep::new()).expect("it stays");
    assert_eq!(it.audit(&[]), Ok(()));
}

/// What one table refuses is on none.
#[test]
fn a_lease_that_one_shard_has_no_room_for_is_on_none() {
    let pools = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools);
    let space = Namespace::new();
    let owner = Owner::new(1);
    let of = |budgets: [usize; 3]| {
        let tables = pools.iter().zip(budgets);
        let tables = tables.map(|(pool, budget)| Leases::new(pool, budget));
        tables.collect::<Result<Vec<_>, _>>().expect("memory")
    };
    let refused = |it: &mut Instance, leases: &mut [Leases], until: u64, error: LeaseError| {
        let before: Vec<_> = leases.iter().map(Leases::report).collect();
        let answer = refused_by(it, None, |it| it.pin(a, leases, owner, until));
        assert_eq!(answer.map(drop), Err(error.into()));
        for terms in [Terms::copy(owner, until), Terms::moving(owner, until)] {
            let answer = refused_by(it, None, |it| it.export(a, &space, leases, &terms));
            assert_eq!(answer.map(drop), Err(error.into()));
        }
        let after: Vec<_> = leases.iter().map(Leases::report).collect();
        assert_eq!(before, after);
    };

    // A pin holds the two published blocks, an export all three.
    let (needed, left) = (2, 1);
    let mut small = of([9, 9, 1]);
    let answer = refused_by(&mut it, None, |it| it.pin(a, &mut small, owner, NEVER));
    let over = LeaseError::OverBudget { needed, left };
    assert_eq!(answer.map(drop), Err(over.into()));
    let (needed, left) = (3, 2);
    let mut small = of([9, 2, 9]);
    let terms = Terms::moving(owner, NEVER);
    let answer = refused_by(&mut it, None, |it| it.export(a, &space, &mut small, &terms));
    let over = LeaseError::OverBudget { needed, left };
    assert_eq!(answer.map(drop), Err(over.into()));
    assert!(small.iter().all(Leases::is_empty));

    // Somebody has a lease on the third shard's table only, under that name.
    let mut taken = of([9; 3]);
    let mut worker = pools[2].worker().expect("a worker");
    let mut chain = pools[2].chain(&space);
    let mut promise = pools[2].reserve(1).expect("it is free");
    chain
        .take(&mut worker, &mut promise, 1)
        .expect("a promise is kept");
    let kept = taken[2].keep(owner, NEVER, chain).expect("room");
    refused(&mut it, &mut taken, NEVER, LeaseError::OwnerTaken { owner });
    kept.end().expect("it lives");

    // The third shard's clock is ahead.
    let mut late = of([9; 3]);
    late[2].tick(5);
    let (deadline, now) = (5, 5);
    refused(
        &mut it,
        &mut late,
        5,
        LeaseError::AlreadyOver { deadline, now },
    );

    drop(promise);
    it.release(a).expect("it lives");
    at_rest(&it);
}

/// With a promise the copy behind a shared end is paid at the export: on all shards or on none.
#[test]
fn an_export_whose_copy_one_shard_can_not_pay_is_on_none() {
    let pools = pools(&[5, 3, 4], 4);
    let mut it = split(&pools, &config());
    let a = admit(&mut it, "P6", Growth::Ahead(1)).expect("it fits exactly");
    it.computed(a, 6).expect("it has them");
    let mut leases = it.leases(9).expect("memory");
    let (space, terms) = (Namespace::new(), Terms::copy(Owner::new(1), NEVER));
    let answer = refused_by(&mut it, Some(1), |it| {
        it.export(a, &space, &mut leases, &terms)
    });
    let Err(ExportError::Refused(refused)) = answer.map(drop) else {
        panic!("no credit is left")
    };
    assert_eq!(shortfall::<()>(Err(refused)), 1);
    assert!(leases.iter().all(Leases::is_empty));
    it.release(a).expect("it lives");
    at_rest(&it);
}

// ---- transfers

#[test]
fn an_export_of_another_width_or_format_is_not_read() {
    let pools_2 = pools(&[12, 12], 4);
    let pools_3 = pools(&SIZES, 4);
    let (mut source, a) = serving(&pools_3);
    let mut it = split(&pools_2, &config());
    let mut leases = source.leases(9).expect("memory");
    let (space, tokens) = (Namespace::new(), text("P10"));
    let terms = Terms::moving(Owner::new(1), NEVER);
    let export = source.export(a, &space, &mut leases, &terms).expect("room");
    let asked = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let from = InstanceIncoming::from_export(&export, 1);
    let answer = refused_by(&mut it, None, |it| it.import(&asked, &from));
    let (ours, theirs) = (2, 3);
    let error = Incompatible::Shards { ours, theirs };
    assert_eq!(answer.map(drop), Err(error.into()));
    says(&error, &[2, 3]);
    assert_eq!(export.phase(), Phase::Offered);

    let format = |bytes: u64| KvFormat::new(4, ElementType::new(1), [bytes]).expect("a plane");
    let [one, other] = [format(8), format(9)];
    let formats = vec![one.clone(); 3];
    let stored = InstanceIncoming::new(8, 1).formats(&formats);
    let answer = refused_by(&mut it, None, |it| it.import(&asked, &stored));
    assert_eq!(answer.map(drop), Err(error.into()));

    // Only the second shard's layout differs.
    let registry = |pool: &BlockPool| Sequences::new(pool.clone(), &config().format(one.clone()));
    let registries = pools_2.iter().map(registry).collect::<Result<Vec<_>, _>>();
    let mut it = Instance::split(registries.expect("a registry")).expect("alike");
    let formats = [one.clone(), other];
    let stored = InstanceIncoming::new(8, 1).formats(&formats);
    let answer = refused_by(&mut it, None, |it| it.import(&asked, &stored));
    let (plane, ours, theirs) = (0, 8, 9);
    let error = Incompatible::PlaneBytes {
        plane,
        ours,
        theirs,
    };
    assert_eq!(answer.map(drop), Err(error.into()));
    at_rest(&it);
    source.release(a).expect("it lives");
    at_rest(&source);
}

#[test]
fn imports_of_nothing_sensible_are_refused() {
    let pools = pools(&SIZES, 4);
    let (mut it, _) = serving(&pools);
    let (space, tokens) = (Namespace::new(), text("Q6"));
    let asked = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    for (positions, writers) in [(7, 1), (usize::MAX, 1), (6, 0), (6, 64), (6, usize::MAX)] {
        let incoming = InstanceIncoming::new(positions, writers);
        let answer = refused_by(&mut it, None, |it| it.import(&asked, &incoming));
        match answer.map(drop).expect_err("nothing sensible") {
            ImportError::Beyond(Beyond {
                asked,
                positions: 6,
                ..
            }) => assert_eq!(asked, positions),
            ImportError::TooManyWriters(error) => assert_eq!(error.asked, writers),
            other => panic!("{other:?}"),
        }
    }
    let flights = kvblock::Flights::new(1000).expect("memory");
    let incoming = InstanceIncoming::new(6, 1).flights(&flights);
    let answer = refused_by(&mut it, None, |it| it.import(&asked, &incoming));
    assert_eq!(
        answer.map(drop),
        Err(ImportError::UnknownFormat(kvblock::UnknownFormat))
    );
    assert_eq!(flights.in_flight(), 0);
}

/// A refusal on a later shard gives back what earlier ones had of the source and of the bytes under way.
#[test]
fn an_import_that_one_shard_refuses_leaves_source_and_flights_as_they_were() {
    let pools_here = pools(&SIZES, 4);
    let pools_there = pools(&[9, 3, 9], 4);
    let format = KvFormat::new(4, ElementType::new(1), [10]).expect("a plane");
    let registry =
        |pool: &BlockPool| Sequences::new(pool.clone(), &config().format(format.clone()));
    let there = pools_there
        .iter()
        .map(registry)
        .collect::<Result<Vec<_>, _>>();
    let mut there = Instance::split(there.expect("a registry")).expect("alike");
    let (mut source, a) = serving(&pools_here);
    let mut leases = source.leases(9).expect("memory");
    let (space, tokens) = (Namespace::new(), text("P10"));
    let terms = Terms::moving(Owner::new(1), NEVER);
    let export = source.export(a, &space, &mut leases, &terms).expect("room");
    let asked = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);

    let taken = pools_there[1].reserve(1).expect("it is free");
    let flights = kvblock::Flights::new(1000).expect("memory");
    let from = InstanceIncoming::from_export(&export, 1).flights(&flights);
    let answer = refused_by(&mut there, Some(1), |it| it.import(&asked, &from));
    let Err(ImportError::Admit(error)) = answer.map(drop) else {
        panic!("a block is missing")
    };
    assert_eq!(shortfall::<()>(Err(error)), 1);
    drop(taken);
    // 30 bytes a shard are to come; the third one's are too many.
    let flights = kvblock::Flights::new(89).expect("memory");
    let from = InstanceIncoming::from_export(&export, 1).flights(&flights);
    let answer = refused_by(&mut there, None, |it| it.import(&asked, &from));
    let Err(ImportError::TooManyBytes(error)) = answer.map(drop) else {
        panic!("a byte too many")
    };
    assert_eq!((error.asked, error.in_flight, error.max), (30, 60, 89));
    assert_eq!(flights.in_flight(), 0);
    // The third shard's part is read by somebody else.
    let mut alone = Sequences::new(pools_there[2].clone(), &config()).expect("a registry");
    let part = kvblock::Incoming::from_export(&export.shards()[2], 1);
    let reading = alone.import(&asked, &part).expect("room");
    let from = InstanceIncoming::from_export(&export, 1).flights(&flights);
    let flights = kvblock::Flights::new(1000).expect("memory");
    let from = from.flights(&flights);
    let answer = refused_by(&mut there, None, |it| it.import(&asked, &from));
    assert_eq!(
        answer.map(drop),
        Err(ImportError::SourceTaken(kvblock::SourceTaken))
    );
    assert_eq!(flights.in_flight(), 0);
    let phases: Vec<_> = export.shards().iter().map(kvblock::Export::phase).collect();
    assert_eq!(phases, [Phase::Offered, Phase::Offered, Phase::Linked]);
    // It is called off on all of them.
    assert_eq!(export.abort(), Ok(()));
    reading.import.end(0).expect("once");
    alone.release(reading.handle).expect("it lives");
    assert!(leases.iter().all(Leases::is_empty));
    source
        .append(a, 1, &mut InstanceStep::new())
        .expect("it stays here");
    source.release(a).expect("it lives");
    at_rest(&source);
    at_rest(&there);
}

/// What was called off on the first shard by itself is called off on the others when somebody says so, or says that it was read.
#[test]
fn an_export_that_is_over_on_one_shard_ends_on_all() {
    for (bad_shard, finishes) in [(0, false), (0, true), (1, false), (1, true)] {
        let pools = pools(&SIZES, 4);
        let (mut it, a) = serving(&pools);
        let mut leases = it.leases(9).expect("memory");
        let (space, terms) = (Namespace::new(), Terms::copy(Owner::new(1), NEVER));
        let export = it.export(a, &space, &mut leases, &terms).expect("room");
        let bad = it.shards()[bad_shard].table(a).expect("it lives")[1];
        let mut affected = Vec::new();
        it.invalidate(bad_shard, bad, &mut affected)
            .expect("it exists");
        assert_eq!(affected, [a]);
        assert_eq!(export.shards()[bad_shard].phase(), Phase::Aborted);
        if finishes {
            let error = if bad_shard == 0 {
                NotOpen::Aborted
            } else {
                NotOpen::LeaseOver
            };
            assert_eq!(export.finish(), Err(error));
        } else {
            let expected = if bad_shard == 0 {
                Err(NotOpen::Aborted)
            } else {
                Ok(())
            };
            assert_eq!(export.abort(), expected);
        }
        let phases: Vec<_> = export.shards().iter().map(kvblock::Export::phase).collect();
        assert_eq!(phases, [Phase::Aborted; 3]);
        assert!(
            leases.iter().all(Leases::is_empty),
            "nothing is held for it"
        );
        it.release(a).expect("it lives");
        at_rest(&it);
    }
}

/// There is nothing to be taken over of a sequence that is offered elsewhere: it stays offered, on every shard.
#[test]
fn a_commit_of_a_sequence_that_is_leaving_does_not_call_it_back() {
    let pools = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools);
    let mut leases = it.leases(9).expect("memory");
    let (space, terms) = (Namespace::new(), Terms::moving(Owner::new(1), NEVER));
    let export = it.export(a, &space, &mut leases, &terms).expect("room");
    assert_eq!(refused_by(&mut it, None, |it| it.commit(a)), Ok(()));
    for (of_shard, table) in export.shards().iter().zip(&leases) {
        assert_eq!((of_shard.phase(), table.used()), (Phase::Offered, 3));
    }
    let mut step = InstanceStep::new();
    let answer = refused_by(&mut it, None, |it| it.append(a, 1, &mut step));
    assert_eq!(answer, Err(kvblock::InTransit::Leaving.into()));
    it.release(a).expect("it lives");
    assert_eq!(export.phase(), Phase::Aborted);
    assert!(
        leases.iter().all(Leases::is_empty),
        "all shards' are called off"
    );
    at_rest(&it);
}

// ---- taking along

#[test]
fn a_detached_sequence_goes_to_its_own_shards_in_their_order() {
    let pools_here = pools(&SIZES, 4);
    let pools_there = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools_here);
    let mut detached = it.detach(a).expect("nothing is under way");
    let turned: Vec<_> = [1, 2, 0]
        .iter()
        .map(|&at: &usize| pools_here[at].clone())
        .collect();
    let mut fewer = split(&pools_here[..2], &config());
    for other in [
        &mut split(&pools_there, &config()),
        &mut split(&turned, &config()),
        &mut fewer,
    ] {
        let before = shards::seen(other);
        let back = other.attach(detached).expect_err("other shards");
        assert_eq!(back.error, AttachError::WrongPool(kvblock::WrongPool));
        assert_eq!(shards::seen(other), before);
        detached = back.value;
    }
    let mut full = it.another(&SequencesConfig::new(1)).expect("a registry");
    let b = admit(&mut full, "Q4", Growth::OnDemand).expect("room");
    let back = full.attach(detached).expect_err("no slot");
    assert!(matches!(back.error, AttachError::TooManySequences(error) if error.max == 1));
    let parts = back.value;
    let mut others = holders(parts.shards());
    others.extend(holders(full.shards()));
    assert_eq!(it.audit(&others), Ok(()));
    full.release(b).expect("it lives");
    let c = full.attach(parts).expect("a slot");
    assert_eq!(
        full.state(c).map(|it| (it.positions, it.computed)),
        Ok((10, 10))
    );
    all_are_stale(&mut full, a);
    full.release(c).expect("it lives");
    at_rest(&it);
}

#[test]
fn a_detached_sequence_is_ended_after_a_fence_on_all_of_its_shards() {
    let pools = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools);
    let mut lanes = it.lanes().expect("memory");
    let mut detached = it.detach(a).expect("nothing is under way");
    lanes.swap(0, 1);
    for lanes in [&mut lanes[..], &mut []] {
        let back = detached
            .release_after(lanes, Fence(1))
            .expect_err("not its lanes");
        assert_eq!(back.error, ReleaseAfterError::WrongPool);
        detached = back.value;
    }
    assert!(lanes.iter().all(Lane::is_empty));
    lanes.swap(0, 1);
    assert!(detached.release_after(&mut lanes, Fence(1)).is_ok());
    assert!(pools.iter().all(|pool| pool.quarantined() == 3));
    for lane in &mut lanes {
        assert_eq!(lane.complete(Fence(1)), 3);
    }
    at_rest(&it);
}

#[test]
fn a_sequence_with_a_copy_under_way_on_one_shard_is_not_detached() {
    let pools = pools(&SIZES, 4);
    let (mut it, a, b, tickets) = copying(&pools);
    it.copied(0, tickets[0]).expect("pending");
    it.copied(2, tickets[2]).expect("pending");
    let answer = refused_by(&mut it, None, |it| it.detach(a));
    let pending = DetachError::CopyPending(kvblock::CopyPending);
    assert_eq!(answer.map(drop), Err(pending));
    let mut leases = it.leases(9).expect("memory");
    let (space, terms) = (Namespace::new(), Terms::copy(Owner::new(1), NEVER));
    let answer = refused_by(&mut it, None, |it| {
        it.export(a, &space, &mut leases, &terms)
    });
    let pending = ExportError::CopyPending(kvblock::CopyPending);
    assert_eq!(answer.map(drop), Err(pending));
    it.copied(1, tickets[1]).expect("pending");
    drop(it.detach(a).expect("all copies are made"));
    it.release(b).expect("it lives");
    at_rest(&it);
}

// ---- numbers

#[test]
fn the_largest_numbers_are_refused_or_change_nothing() {
    const MOST: usize = usize::MAX;
    let pools = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools);
    let mut step = InstanceStep::new();
    // The first shard that can never have it is named.
    for growth in [Growth::Cap(MOST), Growth::Ahead(MOST)] {
        let refused = refused_by(&mut it, Some(0), |it| admit(it, "Q6", growth));
        let error = refused.expect_err("more than there are numbers for");
        assert!(never_fits::<()>(Err(error)).0 > 1 << 60, "{error}");
        assert!(matches!(
            error,
            AdmitError::Refused(Refused::NeverFits { shard, .. }) if shard == ShardId::new(0)
        ));
    }
    let refused = refused_by(&mut it, Some(0), |it| it.append(a, MOST, &mut step));
    assert_eq!(never_fits(refused).1, 12);
    let refused = refused_by(&mut it, Some(0), |it| it.ensure(a, MOST, &mut step));
    assert_eq!(never_fits(refused).1, 12);
    let refused = refused_by(&mut it, None, |it| it.check_append(a, MOST));
    assert_eq!(never_fits(refused).1, 12);
    let refused = refused_by(&mut it, Some(0), |it| {
        it.step(&[(a, MOST)], &mut step);
        Err::<(), _>(step.failures()[0].error)
    });
    assert_eq!(never_fits(refused).1, 12);
    assert!(
        step.shards()
            .iter()
            .all(|it| it.slots().is_empty() && it.fresh().is_empty())
    );
    let beyond = |answer: Beyond| assert_eq!((answer.asked, answer.positions), (MOST, 10));
    match refused_by(&mut it, None, |it| it.truncate(a, MOST)) {
        Err(TruncateError::Beyond(error)) => beyond(error),
        other => panic!("{other:?}"),
    }
    match refused_by(&mut it, None, |it| it.computed(a, MOST)) {
        Err(ComputedError::Beyond(error)) => beyond(error),
        other => panic!("{other:?}"),
    }
    match refused_by(&mut it, None, |it| it.tokens(a, MOST, &Contents::new(&[1]))) {
        Err(TokensError::NotNext(NotNext { at, known, .. })) => assert_eq!((at, known), (MOST, 10)),
        other => panic!("{other:?}"),
    }
    let mut lanes = it.lanes().expect("memory");
    match refused_by(&mut it, None, |it| {
        it.truncate_after(a, MOST, &mut lanes, Fence(u64::MAX))
    }) {
        Err(TruncateAfterError::Truncate(TruncateError::Beyond(error))) => beyond(error),
        other => panic!("{other:?}"),
    }
    let mut many = vec![a; 5];
    match refused_by(&mut it, None, |it| it.fork(a, &mut many)) {
        Err(BranchError::TooManySequences(error)) => assert_eq!(error.max, 4),
        other => panic!("{other:?}"),
    }
    assert_eq!(many, [a; 5]);
    let mut victims = Vec::new();
    let all = it.select_victims(&[a, a], &[MOST; 9], &mut victims);
    assert_eq!((all, &victims[..]), (Ok(false), &[a][..]));
    assert_eq!(it.select_victims(&[a], &[], &mut victims), Ok(true));
    assert_eq!(victims, []);
    it.release(a).expect("it lives");
    at_rest(&it);
}

#[test]
fn blocks_and_shards_that_do_not_exist_have_no_content() {
    let pools = pools(&SIZES, 4);
    let (mut it, a) = serving(&pools);
    let mut affected = vec![a];
    for (shard, id, capacity) in [
        (0, 12, 12),
        (1, 8, 8),
        (2, u32::MAX, 10),
        (3, 0, 0),
        (usize::MAX, 0, 0),
    ] {
        let block = BlockId::new(id);
        let answer = refused_by(&mut it, None, |it| {
            it.invalidate(shard, block, &mut affected)
        });
        let error = answer.expect_err("it does not exist");
        assert_eq!(error, InvalidateError::OutOfRange { block, capacity });
        assert_eq!(affected, []);
    }
    // One that nobody has and nobody can find is none.
    let free = BlockId::new(7);
    let answer = refused_by(&mut it, None, |it| it.invalidate(1, free, &mut affected));
    assert_eq!((answer, &affected[..]), (Ok(()), &[][..]));
}

// ---- more blocks, or fewer

#[test]
fn all_shards_have_more_blocks_or_none() {
    let made = |shard: u32, blocks: usize, max: usize| {
        let config = PoolConfig::new(blocks, 4).max_blocks(max);
        BlockPool::new(&config.shard(ShardId::new(shard))).expect("a sound configuration")
    };
    let pools = [made(0, 6, 12), made(1, 4, 6), made(2, 5, 12)];
    let mut it = split(&pools, &config());
    let (first, second) = (ShardId::new(0), ShardId::new(1));
    let refused = |shard, error| Err(InstanceResizeError::Shard { shard, error });
    let (asked, max) = (7, 6);
    let answer = refused_by(&mut it, None, |it| it.grow(3));
    assert_eq!(
        answer,
        refused(second, ResizeError::BeyondMax { asked, max })
    );
    let (asked, max) = (usize::MAX, 12);
    let answer = refused_by(&mut it, None, |it| it.grow(usize::MAX));
    assert_eq!(
        answer,
        refused(first, ResizeError::BeyondMax { asked, max })
    );
    let answer = refused_by(&mut it, None, |it| it.resize_rank(0, usize::MAX));
    assert_eq!(
        answer,
        refused(first, ResizeError::BeyondMax { asked, max })
    );
    let (asked, online) = (4, 4);
    let answer = refused_by(&mut it, None, |it| it.shrink(4));
    assert_eq!(
        answer,
        refused(second, ResizeError::NothingLeft { asked, online })
    );
    let (asked, online) = (usize::MAX, 6);
    let answer = refused_by(&mut it, None, |it| it.shrink(usize::MAX));
    assert_eq!(
        answer,
        refused(first, ResizeError::NothingLeft { asked, online })
    );
    let (asked, online) = (4, 4);
    let answer = refused_by(&mut it, None, |it| it.resize_rank(1, 0));
    assert_eq!(
        answer,
        refused(second, ResizeError::NothingLeft { asked, online })
    );
    for at in [3, usize::MAX] {
        let answer = refused_by(&mut it, None, |it| it.resize_rank(at, 1));
        assert_eq!(
            answer,
            Err(InstanceResizeError::NoSuchRank { at, ranks: 3 })
        );
        assert_eq!(
            (it.capacity(at), it.stranded(at), it.rank(at)),
            (0, 0, None)
        );
    }

    // The second shard's are promised.
    let promise = pools[1].reserve(3).expect("they are free");
    let answer = refused_by(&mut it, None, |it| it.shrink(2));
    let Err(InstanceResizeError::Shard {
        shard,
        error: ResizeError::Refused(error),
    }) = answer
    else {
        panic!("{answer:?}")
    };
    // The shard is named once.
    let told = answer.map_err(|error| error.to_string());
    assert_eq!(told, Err(error.to_string()));
    assert_eq!((shard, shortfall::<()>(Err(error))), (second, 1));
    drop(promise);
    assert_eq!(it.shrink(2), Ok(()));
    assert_eq!([0, 1, 2].map(|at| it.capacity(at)), [4, 2, 3]);
    assert_eq!(it.grow(4), Ok(()));
    assert_eq!([0, 1, 2].map(|at| it.capacity(at)), [8, 6, 7]);
    at_rest(&it);
}

#[test]
fn shards_that_drain_are_resized_and_taken_back() {
    let pools = pools(&[6, 5], 4);
    let mut it = split(&pools, &config());
    let a = admit(&mut it, "P12", Growth::OnDemand).expect("room");
    let b = admit(&mut it, "Q8", Growth::OnDemand).expect("room");
    it.release(a).expect("it lives");
    // B has blocks 3 and 4 on both.
    assert_eq!(it.shrink(2), Ok(()));
    assert_eq!((it.draining(), it.capacity(0), it.capacity(1)), (3, 4, 3));
    assert_eq!(it.shrink(0), Ok(()));
    assert_eq!(it.draining(), 3);
    let (asked, online) = (3, 3);
    let answer = refused_by(&mut it, None, |it| it.shrink(3));
    let (shard, error) = (ShardId::new(1), ResizeError::NothingLeft { asked, online });
    assert_eq!(answer, Err(InstanceResizeError::Shard { shard, error }));
    let answer = refused_by(&mut it, None, |it| it.grow(3));
    let (shard, asked, max) = (ShardId::new(0), 7, 6);
    let error = ResizeError::BeyondMax { asked, max };
    assert_eq!(answer, Err(InstanceResizeError::Shard { shard, error }));
    // More than is online can never be had, though it is in service.
    let refused = refused_by(&mut it, Some(1), |it| admit(it, "R16", Growth::OnDemand));
    assert_eq!(never_fits(refused), (4, 3));
    assert_eq!(it.audit(&[]), Ok(()));
    assert_eq!(it.grow(1), Ok(()));
    assert_eq!((it.draining(), it.capacity(0), it.capacity(1)), (1, 5, 4));
    it.release(b).expect("it lives");
    assert_eq!(
        (it.draining(), pools[0].available(), pools[1].available()),
        (0, 5, 4)
    );
    assert_eq!(it.grow(1), Ok(()));
    at_rest(&it);
}

#[test]
fn ranks_in_lockstep_are_resized_together_or_not_at_all() {
    let ranks = [
        Rank::new(ShardId::new(4), 6).max_blocks(9),
        Rank::new(ShardId::new(5), 5).max_blocks(7),
    ];
    let mut it =
        Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &config()).expect("sound ranks");
    let refused = |shard: u32, error| {
        let shard = ShardId::new(shard);
        Err(InstanceResizeError::Shard { shard, error })
    };
    let now = |it: &Instance| [0, 1].map(|at| (it.rank(at).expect("two").blocks, it.stranded(at)));
    assert_eq!(now(&it), [(6, 1), (5, 0)]);
    let (asked, max) = (8, 7);
    assert_eq!(
        it.grow(3),
        refused(5, ResizeError::BeyondMax { asked, max })
    );
    let (asked, max) = (usize::MAX, 9);
    assert_eq!(
        it.grow(usize::MAX),
        refused(4, ResizeError::BeyondMax { asked, max })
    );
    let (asked, online) = (5, 5);
    assert_eq!(
        it.shrink(5),
        refused(5, ResizeError::NothingLeft { asked, online })
    );
    let (asked, online) = (usize::MAX, 6);
    assert_eq!(
        it.shrink(usize::MAX),
        refused(4, ResizeError::NothingLeft { asked, online })
    );
    let (asked, online) = (5, 5);
    assert_eq!(
        it.resize_rank(1, 0),
        refused(5, ResizeError::NothingLeft { asked, online })
    );
    let (asked, max) = (10, 9);
    assert_eq!(
        it.resize_rank(0, 10),
        refused(4, ResizeError::BeyondMax { asked, max })
    );
    assert_eq!(
        it.resize_rank(2, 1),
        Err(InstanceResizeError::NoSuchRank { at: 2, ranks: 2 })
    );
    assert_eq!(now(&it), [(6, 1), (5, 0)]);

    // A promise of all that there is: the smaller rank can't shrink, the larger one by its surplus only.
    let a = admit(&mut it, "P0", Growth::Cap(20)).expect("it fits exactly");
    for (at, blocks, binding) in [(1, 4, 5), (0, 4, 4)] {
        let answer = it.resize_rank(at, blocks);
        let Err(InstanceResizeError::Shard {
            shard,
            error: ResizeError::Refused(error),
        }) = answer
        else {
            panic!("{answer:?}")
        };
        // Both name the rank that would be the smallest, whoever is it now.
        assert!(matches!(error, Refused::Shortfall { shard: named, .. } if named == shard));
        assert_eq!(
            (shard, shortfall::<()>(Err(error))),
            (ShardId::new(binding), 1)
        );
        assert_eq!(now(&it), [(6, 1), (5, 0)]);
    }
    assert_eq!(it.resize_rank(0, 5), Ok(()));
    assert_eq!(now(&it), [(5, 0), (5, 0)]);
    it.release(a).expect("it lives");
    assert_eq!(it.resize_rank(0, 3), Ok(()));
    assert_eq!((now(&it), it.capacity(1)), ([(3, 0), (5, 2)], 3));
    let refused = admit(&mut it, "P16", Growth::OnDemand).expect_err("four blocks");
    assert!(matches!(
        refused,
        AdmitError::Refused(Refused::NeverFits { shard, needed: 4, capacity: 3, .. }) if shard == ShardId::new(4)
    ));
    // What others have of the same ranks follows.
    let beside = it.another(&config()).expect("another registry");
    assert_eq!(it.resize_rank(0, 9), Ok(()));
    assert_eq!((now(&beside), beside.capacity(0)), ([(9, 4), (5, 0)], 5));
    assert_eq!(it.grow(0), Ok(()));
    at_rest(&it);
}

#[test]
fn ranks_of_any_size_are_counted() {
    let rank = |shard, blocks| Rank::new(ShardId::new(shard), blocks).max_blocks(usize::MAX);
    let ranks = [
        rank(1, usize::MAX - 1),
        rank(2, usize::MAX),
        rank(3, 4).max_blocks(8),
    ];
    let mut it = Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &config()).expect("ranks");
    assert_eq!(
        (it.stranded(0), it.stranded(1)),
        (usize::MAX - 5, usize::MAX - 4)
    );
    // More than can be counted.
    assert_eq!(it.report().stranded, usize::MAX);
    assert!(
        it.report()
            .to_string()
            .contains(&(usize::MAX - 5).to_string())
    );
    let error = ResizeError::BeyondMax {
        asked: usize::MAX,
        max: usize::MAX,
    };
    let shard = ShardId::new(2);
    assert_eq!(it.grow(1), Err(InstanceResizeError::Shard { shard, error }));
    assert_eq!(it.rank(0).map(|it| it.blocks), Some(usize::MAX - 1));
    assert_eq!((it.resize_rank(1, 9), it.grow(1)), (Ok(()), Ok(())));
    assert_eq!(it.rank(0).map(|it| it.blocks), Some(usize::MAX));
    assert_eq!(it.capacity(0), 5);
    at_rest(&it);
}

// ---- references

#[test]
fn a_block_with_too_many_owners_on_one_shard_gets_no_branch_on_any() {
    // As many owners as a block can have but one, on the second shard only.
    const MOST: usize = (1 << 20) - 1;
    let pools = pools(&[9, 9], 4);
    let mut it = split(&pools, &config());
    let a = admit(&mut it, "P5", Growth::Ahead(1)).expect("room");
    it.computed(a, 4).expect("it has them");
    let mut worker = pools[1].worker().expect("a worker");
    let (space, tokens) = (Namespace::new(), text("P5"));
    let mut chains = Vec::with_capacity(MOST);
    for _ in 0..MOST - 1 {
        let mut promise = pools[1].reserve(0).expect("nothing always fits");
        let prompt = Prompt::new(&space, &tokens);
        chains.push(
            pools[1]
                .find(&mut worker, &prompt, &mut promise)
                .expect("of one pool"),
        );
    }
    let mut child = [a];
    let answer = refused_by(&mut it, None, |it| it.fork(a, &mut child));
    assert!(
        matches!(
            answer,
            Err(BranchError::TooManyReferences(TooManyReferences { .. }))
        ),
        "{answer:?}"
    );
    assert_eq!(child, [a]);
    let mut leases = it.leases(9).expect("memory");
    let answer = refused_by(&mut it, None, |it| {
        it.pin(a, &mut leases, Owner::new(1), NEVER)
    });
    assert!(
        matches!(
            answer,
            Err(PinError::Lease(LeaseError::TooManyReferences { .. }))
        ),
        "{answer:?}"
    );
    for terms in [
        Terms::copy(Owner::new(2), NEVER),
        Terms::moving(Owner::new(2), NEVER),
    ] {
        let answer = refused_by(&mut it, None, |it| {
            it.export(a, &space, &mut leases, &terms)
        });
        assert!(
            matches!(
                answer,
                Err(ExportError::Lease(LeaseError::TooManyReferences { .. }))
            ),
            "{answer:?}"
        );
    }
    assert!(leases.iter().all(Leases::is_empty));
    it.append(a, 1, &mut InstanceStep::new())
        .expect("it goes on");
    chains.clear();
    it.fork(a, &mut child).expect("few owners are left");
    assert_eq!(it.audit(&[]), Ok(()));
    it.release(a).expect("it lives");
    it.release(child[0]).expect("it lives");
    at_rest(&it);
}
