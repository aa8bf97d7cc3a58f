//! Every error of a registry's calls, provoked: exact fields, a message that names the numbers, and nothing changed but the counts of
//! refusals.
//!
//! Not here: `OutOfMemory` needs an allocator that fails (`allocation.rs`).
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use kvblock::{
    Admit, AdmitError, AppendError, AttachError, Beyond, BlockId, BlockPool, BranchError, Budget,
    ComputedError, Contents, CopyTicket, CreateError, Event, ExtraKey, Field, Growth, Handle,
    Holder, Namespace, PoolConfig, Prompt, ReadError, Refused, SequenceState, Sequences,
    SequencesConfig, SequencesInconsistency, ShardId, Stale, Step, TokensError, TruncateError,
    VictimsError,
};

use support::{is_length, says};

const SIZE: usize = 4;
const SHARD: ShardId = ShardId::new(3);
/// The most references that a block can count.
const MOST_REFERENCES: usize = (1 << 20) - 1;

fn pool() -> BlockPool {
    BlockPool::new(&PoolConfig::new(20, SIZE).shard(SHARD).events(64))
        .expect("a sound configuration")
}

/// Tokens of a list of its own.
fn text(list: u32, n: usize) -> Vec<u32> {
    (list * 1000..).take(n).collect()
}

/// A pool of 20 blocks in use by a registry of six slots with a watermark of 2, and by another registry:
/// * `capped`: 6 positions, 4 computed, a cap of 13; 2 blocks, 2 promised, and the credit for its copy, as `branch` shares all;
/// * `branch`: the same by a fork; it has appended a position since, and its copy is pending: 2 blocks (1 shared), 2 promised;
/// * `free`: 8 positions computed and published, on demand; 2 blocks;
/// * `others`: 5 positions of the other registry; 2 blocks.
///
/// 13 blocks are free, 5 promised, so 8 available.
struct Scene {
    pool: BlockPool,
    seqs: Sequences,
    other: Sequences,
    step: Step,
    namespace: Namespace,
    capped: Handle,
    branch: Handle,
    free: Handle,
    others: Handle,
    /// Was released.
    gone: Handle,
    pending: CopyTicket,
    done: CopyTicket,
}

/// All that a caller can see of a pool and its registries, refusals aside.
#[derive(Debug, PartialEq)]
struct Sight {
    reports: Vec<String>,
    findable: String,
    events: Vec<Event>,
    sequences: Vec<(Handle, SequenceState, Vec<BlockId>, core::ops::Range<usize>)>,
}

impl Scene {
    fn new() -> Self {
        let pool = pool();
        let config = SequencesConfig::new(6).watermark(2);
        let mut seqs = Sequences::new(pool.clone(), &config).expect("a registry");
        let mut other = Sequences::new(pool.clone(), &SequencesConfig::new(6)).expect("a registry");
        let mut step = Step::new();
        let namespace = Namespace::new();
        let admit = |seqs: &mut Sequences, list, n, growth| {
            let tokens = text(list, n);
            let prompt = Prompt::new(&namespace, &tokens);
            let admit = Admit::new(prompt, growth).label(u64::from(list));
            seqs.admit(&admit).expect("it fits").handle
        };
        let gone = admit(&mut seqs, 9, 6, Growth::OnDemand);
        let done = {
            let mut twin = [Handle::NONE];
            seqs.fork(gone, &mut twin).expect("it fits");
            seqs.append(gone, 1, &mut step).expect("it fits");
            seqs.release(twin[0]).expect("it lives");
            step.copies()[0]
        };
        seqs.copied(done).expect("it is pending");
        seqs.release(gone).expect("it lives");
        let capped = admit(&mut seqs, 1, 6, Growth::Cap(7));
        seqs.computed(capped, 4).expect("it has six");
        let mut branch = [Handle::NONE];
        seqs.fork(capped, &mut branch).expect("it fits");
        seqs.append(branch[0], 1, &mut step)
            .expect("it is promised");
        let pending = step.copies()[0];
        let free = admit(&mut seqs, 2, 8, Growth::OnDemand);
        seqs.computed(free, 8).expect("it has eight");
        let others = admit(&mut other, 3, 5, Growth::OnDemand);
        let scene = Self {
            pool,
            seqs,
            other,
            step,
            namespace,
            capped,
            branch: branch[0],
            free,
            others,
            gone,
            pending,
            done,
        };
        let report = scene.pool.report();
        assert_eq!(
            (report.free, report.held, report.reserved, report.available),
            (13, 7, 5, 8)
        );
        scene
    }

    fn sight(&self) -> Sight {
        let mut events = Vec::new();
        self.pool.events().expect("events are on").read(&mut events);
        let registries = [&self.seqs, &self.other];
        let reports = registries.map(|seqs| {
            let mut report = seqs.report();
            report.refused_appends = 0;
            report.pool.refused_never = 0;
            report.pool.refused_shortfall = 0;
            format!("{report:?}")
        });
        let sequences = registries.iter().flat_map(|seqs| {
            let all = seqs.handles();
            all.map(|handle| {
                (
                    handle,
                    seqs.state(handle).expect("it lives"),
                    seqs.table(handle).expect("it lives").to_vec(),
                    seqs.dirty(handle).expect("it lives"),
                )
            })
        });
        Sight {
            reports: reports.to_vec(),
            findable: format!("{:?}", self.pool.snapshot()),
            events,
            sequences: sequences.collect(),
        }
    }

    /// Runs a call that must be refused and must change nothing.
    #[track_caller]
    fn refused<E>(&mut self, call: impl FnOnce(&mut Self) -> E) -> E {
        let before = self.sight();
        let error = call(self);
        assert_eq!(self.sight(), before, "a refused call changed something");
        assert_eq!(self.seqs.audit(&[&self.other]), Ok(()), "audit");
        error
    }

    fn check_and_admit(&mut self, admit: &Admit<'_>) -> AdmitError {
        let predicted = self.seqs.check(admit).map(|_| ()).expect_err("refused");
        let refused = self.seqs.admit(admit).map(|_| ()).expect_err("refused");
        assert_eq!(predicted, refused, "the predictor says what the call says");
        refused
    }

    /// Counts of refusals: of the pool, of appends.
    fn refusals(&self) -> (u64, u64, u64) {
        let report = self.seqs.report();
        (
            report.pool.refused_never,
            report.pool.refused_shortfall,
            report.refused_appends,
        )
    }

    /// Handles that name nothing in the registry.
    fn nobody(&mut self) -> [Handle; 5] {
        [
            Handle::NONE,
            Handle::from_bits(u64::MAX),
            self.gone,
            self.others,
            Handle::from_bits(self.capped.to_bits() ^ (1 << 60)),
        ]
    }
}

#[track_caller]
fn is_never(error: Refused, needed: usize, capacity: usize) {
    let expected = Refused::NeverFits {
        shard: SHARD,
        needed,
        capacity,
    };
    assert_eq!(error, expected);
    says(&error, &[3, needed, capacity]);
}

#[track_caller]
fn is_shortfall(error: Refused, needed: usize, available: usize) {
    let expected = Refused::Shortfall {
        shard: SHARD,
        needed,
        available,
        quarantined: 0,
    };
    assert_eq!(error, expected);
    says(&error, &[3, needed, available]);
}

#[track_caller]
fn is_beyond(error: Beyond, asked: usize, positions: usize) {
    assert_eq!((error.asked, error.positions), (asked, positions));
    says(&error, &[asked, positions]);
}

// ---- creation

#[test]
fn a_registry_of_no_or_of_absurdly_many_slots_is_not_created() {
    let create = |slots| {
        Sequences::new(pool(), &SequencesConfig::new(slots))
            .map(|_| ())
            .expect_err("the configuration is unsound")
    };
    let error = create(0);
    assert_eq!(error, CreateError::NoSequences);
    says(&error, &[]);
    match create(usize::MAX) {
        error @ CreateError::TooManySequences {
            asked: usize::MAX,
            max,
        } => {
            says(&error, &[usize::MAX, max]);
            assert_eq!(
                create(max + 1),
                CreateError::TooManySequences {
                    asked: max + 1,
                    max
                }
            );
        }
        error => panic!("{error:?}"),
    }
}

#[test]
fn a_watermark_that_leaves_nothing_is_refused() {
    for watermark in [20, 21, usize::MAX] {
        let config = SequencesConfig::new(4).watermark(watermark);
        let error = Sequences::new(pool(), &config).map(|_| ());
        let error = error.expect_err("twenty blocks");
        let expected = CreateError::Watermark {
            asked: watermark,
            blocks: 20,
        };
        assert_eq!(error, expected);
        says(&error, &[watermark, 20]);
    }
    let config = SequencesConfig::new(4).watermark(19);
    assert_eq!(
        Sequences::new(pool(), &config).map(|seqs| seqs.report().watermark),
        Ok(19)
    );
}

// ---- handles

#[test]
fn a_handle_that_names_nothing_is_stale_in_every_call() {
    let mut scene = Scene::new();
    for handle in scene.nobody() {
        scene.refused(|scene| {
            let Scene { seqs, step, .. } = scene;
            assert_eq!(
                seqs.append(handle, 1, step),
                Err(AppendError::Stale(Stale)),
                "{handle:?}"
            );
            assert_eq!(seqs.append(handle, 0, step), Err(AppendError::Stale(Stale)));
            assert_eq!(
                seqs.append(handle, usize::MAX, step),
                Err(AppendError::Stale(Stale))
            );
            assert_eq!(seqs.ensure(handle, 1, step), Err(AppendError::Stale(Stale)));
            assert!(step.slots().is_empty() && step.fresh().is_empty());
            assert_eq!(seqs.check_append(handle, 1), Err(AppendError::Stale(Stale)));
            let contents = Contents::new(&[1]);
            assert_eq!(
                seqs.tokens(handle, 6, &contents),
                Err(TokensError::Stale(Stale))
            );
            assert_eq!(seqs.computed(handle, 0), Err(ComputedError::Stale(Stale)));
            assert_eq!(seqs.truncate(handle, 0), Err(TruncateError::Stale(Stale)));
            assert_eq!(seqs.fork(handle, &mut []), Err(BranchError::Stale(Stale)));
            let mut children = [Handle::NONE; 9];
            assert_eq!(
                seqs.fork(handle, &mut children),
                Err(BranchError::Stale(Stale))
            );
            assert_eq!(seqs.release(handle), Err(Stale));
            assert_eq!(seqs.preempt(handle), Err(Stale));
            assert_eq!(seqs.adopt_duplicates(handle), Err(Stale));
            assert_eq!(seqs.detach(handle).map(|_| ()), Err(Stale.into()));
            assert_eq!(seqs.state(handle), Err(Stale));
            assert_eq!(seqs.table(handle), Err(Stale));
            assert_eq!(seqs.dirty(handle), Err(Stale));
            let mut row = [7; 8];
            assert_eq!(
                seqs.copy_table(handle, &mut row),
                Err(ReadError::Stale(Stale))
            );
            assert_eq!(row, [7; 8]);
            assert_eq!(
                seqs.slots(handle, 0..0, &mut []),
                Err(ReadError::Stale(Stale))
            );
        });
    }
    says(&Stale, &[]);
    says(&AppendError::Stale(Stale), &[]);
}

#[test]
fn no_sequence_is_found_where_there_is_none() {
    let pool = pool();
    let mut seqs = Sequences::new(pool.clone(), &SequencesConfig::new(2)).expect("a registry");
    let mut step = Step::new();
    for handle in [0, 1, 2, u64::MAX].map(Handle::from_bits) {
        assert_eq!(seqs.release(handle), Err(Stale), "{handle:?}");
        assert_eq!(seqs.state(handle), Err(Stale), "{handle:?}");
        assert_eq!(
            seqs.append(handle, 0, &mut step),
            Err(AppendError::Stale(Stale))
        );
        assert_eq!(
            seqs.append(handle, 1, &mut step),
            Err(AppendError::Stale(Stale))
        );
        assert_eq!(seqs.computed(handle, 0), Err(ComputedError::Stale(Stale)));
        assert_eq!(
            seqs.detach(handle).map(|_| ()),
            Err(Stale.into()),
            "{handle:?}"
        );
        assert_eq!(seqs.fork(handle, &mut []), Err(BranchError::Stale(Stale)));
    }
    assert_eq!((seqs.len(), seqs.handles().next()), (0, None));
    // Memory that was never written names nobody either.
    let first = BlockPool::new(&PoolConfig::new(4, SIZE)).expect("a sound configuration");
    let mut zeroth = Sequences::new(first, &SequencesConfig::new(1)).expect("a registry");
    let namespace = Namespace::new();
    let empty = Admit::new(Prompt::new(&namespace, &[]), Growth::OnDemand);
    zeroth.admit(&empty).expect("one slot");
    assert_eq!(zeroth.state(Handle::from_bits(0)), Err(Stale));
    assert_eq!(zeroth.state(Handle::default()), Err(Stale));
    let mut slots: Vec<_> = (0..2)
        .map(|_| seqs.admit(&empty).expect("two slots").handle.slot())
        .collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1]);
    assert!(matches!(
        seqs.admit(&empty),
        Err(AdmitError::TooManySequences(_))
    ));
}

#[test]
fn an_ended_sequence_is_stale_though_its_slot_is_used_again() {
    let mut scene = Scene::new();
    let slot = scene.free.slot();
    assert_eq!(scene.seqs.preempt(scene.free), Ok(()));
    scene.refused(|scene| assert_eq!(scene.seqs.release(scene.free), Err(Stale)));
    let tokens = text(4, 4);
    let prompt = Prompt::new(&scene.namespace, &tokens);
    let next = scene.seqs.admit(&Admit::new(prompt, Growth::OnDemand));
    assert_eq!(next.expect("it fits").handle.slot(), slot);
    scene.refused(|scene| {
        assert_eq!(scene.seqs.release(scene.free), Err(Stale));
        assert_eq!(
            scene.seqs.computed(scene.free, 4),
            Err(ComputedError::Stale(Stale))
        );
    });
}

#[test]
fn a_detached_sequence_is_stale_where_it_was() {
    let mut scene = Scene::new();
    let detached = scene.seqs.detach(scene.free).expect("it lives");
    assert_eq!(scene.seqs.release(scene.free), Err(Stale));
    assert_eq!(scene.seqs.audit(&[&scene.other, &detached]), Ok(()));
    let again = scene.other.attach(detached).expect("of this pool");
    assert_ne!(again, scene.free);
    scene.refused(|scene| {
        assert_eq!(scene.seqs.release(scene.free), Err(Stale));
        assert_eq!(scene.seqs.release(again), Err(Stale));
        assert_eq!(scene.other.release(scene.free), Err(Stale));
    });
    assert_eq!(scene.other.release(again), Ok(()));
}

#[test]
fn a_step_serves_the_others_and_names_who_failed() {
    let mut scene = Scene::new();
    let batch = [
        (scene.gone, 1),
        (scene.capped, 1),
        (scene.others, 3),
        (scene.capped, 7),
        (scene.free, 1),
        (scene.free, 1000),
    ];
    scene.seqs.step(&batch, &mut scene.step);
    let failures: Vec<_> = scene
        .step
        .failures()
        .iter()
        .map(|failure| (failure.index, failure.error))
        .collect();
    let [stale, foreign, capped, never] = failures[..] else {
        panic!("{failures:?}")
    };
    assert_eq!(stale, (0, AppendError::Stale(Stale)));
    assert_eq!(foreign, (2, AppendError::Stale(Stale)));
    match capped {
        (3, AppendError::CapReached(error)) => {
            assert_eq!((error.cap, error.asked), (13, 14));
            says(&error, &[13, 14]);
        }
        other => panic!("{other:?}"),
    }
    match never {
        (5, AppendError::Refused(error)) => is_never(error, 253, 20),
        other => panic!("{other:?}"),
    }
    // The copy of the capped one's end (its other owner's copy is pending), a block for the free one.
    let (own, new) = (
        scene.seqs.table(scene.capped).expect("it lives")[1],
        scene.seqs.table(scene.free).expect("it lives")[2],
    );
    assert_eq!(scene.step.fresh(), [own, new]);
    let slots = [(own, 2), (new, 0)].map(|(block, offset)| i64::from(block.get()) * 4 + offset);
    assert_eq!(scene.step.slots(), slots);
    let changes: Vec<_> = scene
        .step
        .changes()
        .iter()
        .map(|change| (change.index, change.entry, change.block))
        .collect();
    assert_eq!(changes, [(1, 1, own), (4, 2, new)]);
    assert_eq!(scene.seqs.audit(&[&scene.other]), Ok(()));
}

// ---- admission

#[test]
fn what_exceeds_the_capacity_above_the_watermark_is_never_admitted() {
    let mut scene = Scene::new();
    let namespace = Namespace::new();
    let before = scene.refusals();
    let tokens = text(5, 73);
    for (n, growth, needed) in [
        (73, Growth::OnDemand, 19),
        (72, Growth::Cap(1), 19),
        (72, Growth::Ahead(1), 19),
        (0, Growth::Ahead(19), 19),
        (4, Growth::Ahead(usize::MAX), usize::MAX),
        (4, Growth::Cap(usize::MAX), usize::MAX.div_ceil(4)),
    ] {
        for budget in [Budget::Physical, Budget::Conservative] {
            let admit = Admit::new(Prompt::new(&namespace, &tokens[..n]), growth).budget(budget);
            match scene.refused(|scene| scene.check_and_admit(&admit)) {
                AdmitError::Refused(error) => is_never(error, needed, 18),
                error => panic!("{error:?}"),
            }
        }
    }
    let (never, short, appends) = scene.refusals();
    assert_eq!(
        (never - before.0, short - before.1, appends - before.2),
        (12, 0, 0),
        "counted once each, and not by the predictor"
    );
}

#[test]
fn an_admission_leaves_the_watermark() {
    let mut scene = Scene::new();
    let namespace = Namespace::new();
    let tokens = text(5, 28);
    let before = scene.refusals();
    for (n, growth) in [
        (25, Growth::OnDemand),
        (24, Growth::Cap(1)),
        (0, Growth::Ahead(7)),
    ] {
        let admit = Admit::new(Prompt::new(&namespace, &tokens[..n]), growth);
        match scene.refused(|scene| scene.check_and_admit(&admit)) {
            AdmitError::Refused(error) => is_shortfall(error, 7, 6),
            error => panic!("{error:?}"),
        }
    }
    assert_eq!(scene.refusals().1 - before.1, 3);
    let admit = Admit::new(Prompt::new(&namespace, &tokens[..24]), Growth::OnDemand);
    let last = scene.seqs.admit(&admit).expect("six are above the mark");
    // Its growth may use what is below it.
    let Scene { seqs, step, .. } = &mut scene;
    assert_eq!(seqs.append(last.handle, 8, step), Ok(()));
    assert_eq!(scene.pool.available(), 0);
    // Nothing is left: not even what is free of charge is refused then.
    let admit = Admit::new(Prompt::new(&namespace, &[]), Growth::OnDemand);
    assert!(scene.seqs.admit(&admit).is_ok());
}

/// 2 + 2 + 1, 2 + 2, 2: as if nothing were shared, 11 of the 18 blocks above the watermark are committed.
#[test]
fn a_conservative_admission_counts_shared_blocks_once_for_each_sequence() {
    let mut scene = Scene::new();
    assert_eq!(scene.seqs.report().conservative, 11);
    let namespace = Namespace::new();
    let tokens = text(2, 9);
    // Of its three blocks two are shared with `free`: one new one, and promises that make eight.
    let admit = Admit::new(Prompt::new(&namespace, &tokens), Growth::Ahead(5));
    assert_eq!(
        scene.seqs.check(&admit).map(|cost| cost.charge()),
        Ok(6),
        "physically there is room"
    );
    let admit = admit.budget(Budget::Conservative);
    match scene.refused(|scene| scene.check_and_admit(&admit)) {
        AdmitError::Refused(error) => is_shortfall(error, 8, 7),
        error => panic!("{error:?}"),
    }
    let admit = Admit::new(admit.prompt, Growth::Ahead(4)).budget(Budget::Conservative);
    let admitted = scene.seqs.admit(&admit).expect("seven are left");
    assert_eq!((admitted.hit, admitted.fresh), (8, 1));
    assert_eq!(scene.seqs.report().conservative, 18);
    // Its branch would be three more, though it would take no block.
    let error = scene.refused(|scene| {
        let mut child = [Handle::NONE];
        let error = scene.seqs.fork(admitted.handle, &mut child);
        assert_eq!(child, [Handle::NONE]);
        error
    });
    match error {
        // Three entries, four promised, a copy for each of two.
        Err(BranchError::Refused(error)) => is_shortfall(error, 9, 0),
        error => panic!("{error:?}"),
    }
}

#[test]
fn a_prompt_whose_slices_do_not_fit_its_blocks_is_not_admitted() {
    let mut scene = Scene::new();
    let namespace = Namespace::new();
    let (tokens, extra, keys) = (text(5, 11), [ExtraKey::NONE; 3], [0_u64; 3]);
    let sound = Prompt::new(&namespace, &tokens);
    for got in [1, 3] {
        for (what, prompt) in [
            (Field::Extra, sound.extra(&extra[..got])),
            (Field::Keys, sound.keys(&keys[..got])),
            (Field::Extra, sound.extra(&extra[..got]).keys(&keys[..got])),
        ] {
            // Nor is it asked whether it would fit.
            let admit = Admit::new(prompt, Growth::Ahead(1000));
            match scene.refused(|scene| scene.check_and_admit(&admit)) {
                AdmitError::LengthMismatch(error) => is_length(error, what, 2, got),
                error => panic!("{error:?}"),
            }
        }
    }
    assert_eq!(scene.refusals(), (0, 0, 0));
}

#[test]
fn a_full_registry_admits_branches_and_attaches_nobody() {
    let mut scene = Scene::new();
    let namespace = Namespace::new();
    let prompt = Prompt::new(&namespace, &[]);
    let empty = Admit::new(prompt, Growth::OnDemand);
    for _ in 0..2 {
        scene.seqs.admit(&empty).expect("two slots are left");
    }
    let mut children = [Handle::NONE; 3];
    let error = scene.refused(|scene| scene.seqs.fork(scene.free, &mut children));
    match error {
        Ok(()) => panic!("one slot for three"),
        Err(BranchError::TooManySequences(error)) => {
            assert_eq!(error.max, 6);
            says(&error, &[6]);
        }
        Err(error) => panic!("{error:?}"),
    }
    assert_eq!(children, [Handle::NONE; 3]);
    scene.seqs.admit(&empty).expect("one slot is left");
    match scene.refused(|scene| scene.check_and_admit(&empty)) {
        AdmitError::TooManySequences(error) => assert_eq!(error.max, 6),
        error => panic!("{error:?}"),
    }
    let foreign = scene.other.detach(scene.others).expect("it lives");
    let back = scene.seqs.attach(foreign).expect_err("no slot is left");
    match back.error {
        AttachError::TooManySequences(error) => assert_eq!(error.max, 6),
        error => panic!("{error:?}"),
    }
    says(&back, &[6]);
    assert_eq!(scene.seqs.audit(&[&scene.other, &back.value]), Ok(()));
    let again = scene.other.attach(back.value).expect("its slot is vacant");
    let state = scene.other.state(again).expect("it lives");
    assert_eq!((state.positions, state.blocks), (5, 2));
    assert_eq!(scene.seqs.audit(&[&scene.other]), Ok(()));
}

#[test]
fn a_sequence_of_another_pool_is_not_attached() {
    let mut scene = Scene::new();
    let foreign = pool();
    let mut theirs = Sequences::new(foreign.clone(), &SequencesConfig::new(2)).expect("a registry");
    let detached = scene.seqs.detach(scene.capped).expect("it lives");
    let back = theirs.attach(detached).expect_err("of another pool");
    assert_eq!(back.error, AttachError::WrongPool(kvblock::WrongPool));
    assert_eq!(format!("{back:?}").matches("WrongPool").count(), 2);
    assert_eq!(theirs.audit(&[]), Ok(()));
    assert_eq!(foreign.report().held, 0);
    assert_eq!(scene.seqs.audit(&[&scene.other, &back.value]), Ok(()));
    let again = scene.other.attach(back.value).expect("of this pool");
    assert_eq!(scene.other.append(again, 1, &mut scene.step), Ok(()));
    assert_eq!(scene.seqs.audit(&[&scene.other]), Ok(()));
}

// ---- growth

#[test]
fn an_append_for_which_there_is_no_block_changes_nothing() {
    let mut scene = Scene::new();
    let before = scene.refusals();
    let error = scene.refused(|scene| {
        let Scene {
            seqs, step, free, ..
        } = scene;
        let predicted = seqs.check_append(*free, 33).expect_err("nine blocks");
        let error = seqs.append(*free, 33, step).expect_err("nine blocks");
        assert_eq!(predicted, error);
        assert_eq!(seqs.ensure(*free, 41, step), Err(error));
        assert!(step.slots().is_empty() && step.fresh().is_empty());
        error
    });
    match error {
        AppendError::Refused(error) => is_shortfall(error, 9, 8),
        error => panic!("{error:?}"),
    }
    let (never, short, appends) = scene.refusals();
    assert_eq!(
        (never - before.0, short - before.1, appends - before.2),
        (0, 2, 2),
        "counted, but not by the predictor"
    );
    let error = scene.refused(|scene| {
        let Scene {
            seqs, step, free, ..
        } = scene;
        let predicted = seqs.check_append(*free, 73).expect_err("too long");
        assert_eq!(seqs.append(*free, 73, step), Err(predicted));
        assert_eq!(seqs.ensure(*free, 81, step), Err(predicted));
        predicted
    });
    match error {
        AppendError::Refused(error) => is_never(error, 21, 20),
        error => panic!("{error:?}"),
    }
}

#[test]
fn an_append_so_long_that_its_end_has_no_number_never_fits() {
    for block_size in [1, 2, 3, 4] {
        let pool = BlockPool::new(&PoolConfig::new(4, block_size).shard(SHARD));
        let pool = pool.expect("a sound configuration");
        let mut seqs = Sequences::new(pool, &SequencesConfig::new(1)).expect("a registry");
        let namespace = Namespace::new();
        let request = Admit::new(Prompt::new(&namespace, &[1, 2, 3]), Growth::OnDemand);
        let handle = seqs.admit(&request).expect("it fits").handle;
        let mut step = Step::new();
        for n in [usize::MAX, usize::MAX - 3, usize::MAX / 2] {
            for error in [
                seqs.check_append(handle, n).map(|_| ()),
                seqs.append(handle, n, &mut step),
            ] {
                match error {
                    Err(AppendError::Refused(Refused::NeverFits {
                        needed, capacity, ..
                    })) => assert!(needed >= n.div_ceil(block_size) && capacity == 4),
                    other => panic!("{other:?}"),
                }
            }
            let error = seqs.ensure(handle, n, &mut step);
            match error {
                Err(AppendError::Refused(error)) => is_never(error, n.div_ceil(block_size), 4),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seqs.state(handle).map(|state| state.positions), Ok(3));
        assert_eq!(seqs.audit(&[]), Ok(()));
    }
}

#[test]
fn nothing_is_appended_beyond_a_cap() {
    let mut scene = Scene::new();
    for (n, asked) in [(8, 14), (usize::MAX, usize::MAX)] {
        let error = scene.refused(|scene| {
            let Scene {
                seqs, step, capped, ..
            } = scene;
            let predicted = seqs.check_append(*capped, n).expect_err("over its cap");
            assert_eq!(seqs.append(*capped, n, step), Err(predicted));
            assert_eq!(seqs.ensure(*capped, asked, step), Err(predicted));
            predicted
        });
        match error {
            AppendError::CapReached(error) => {
                assert_eq!((error.cap, error.asked), (13, asked));
                says(&error, &[13, asked]);
            }
            error => panic!("{error:?}"),
        }
    }
    // A branch has its parent's cap, and one position more.
    match scene.seqs.check_append(scene.branch, 7) {
        Err(AppendError::CapReached(error)) => assert_eq!((error.cap, error.asked), (13, 14)),
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.seqs.append(scene.branch, 6, &mut scene.step), Ok(()));
}

// ---- what is known and computed

#[test]
fn tokens_are_taken_in_order_and_for_positions_that_there_are() {
    let mut scene = Scene::new();
    // 7 positions, 6 known.
    let branch = scene.branch;
    for at in [0, 5, 7, usize::MAX] {
        let error = scene.refused(|scene| scene.seqs.tokens(branch, at, &Contents::new(&[1])));
        match error {
            Err(TokensError::NotNext(error)) => {
                assert_eq!((error.at, error.known), (at, 6));
                says(&error, &[at, 6]);
            }
            other => panic!("{other:?}"),
        }
    }
    match scene.refused(|scene| scene.seqs.tokens(branch, 6, &Contents::new(&[1, 2]))) {
        Err(TokensError::Beyond(error)) => is_beyond(error, 8, 7),
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.seqs.tokens(branch, 6, &Contents::new(&[])), Ok(()));
    assert_eq!(scene.seqs.tokens(branch, 6, &Contents::new(&[1])), Ok(()));
    match scene.refused(|scene| scene.seqs.tokens(branch, 6, &Contents::new(&[1]))) {
        Err(TokensError::NotNext(error)) => assert_eq!((error.at, error.known), (6, 7)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn extra_keys_and_chain_keys_come_with_the_tokens_that_fill_a_block() {
    let mut scene = Scene::new();
    let (capped, extra, keys) = (scene.capped, [ExtraKey::new(1); 3], [5_u64; 3]);
    scene
        .seqs
        .append(capped, 7, &mut scene.step)
        .expect("it is promised");
    let tokens = text(1, 13);
    // From position 6 on: one token fills nothing, two fill a block, six fill two.
    for (n, filled) in [(1, 0), (2, 1), (6, 2)] {
        let sound = Contents::new(&tokens[6..6 + n]);
        for got in (1..4).filter(|&got| got != filled) {
            match scene.refused(|scene| scene.seqs.tokens(capped, 6, &sound.extra(&extra[..got]))) {
                Err(TokensError::LengthMismatch(error)) => {
                    is_length(error, Field::Extra, filled, got);
                }
                other => panic!("{other:?}"),
            }
        }
        // Its prompt came without chain keys, so there are none to come.
        for got in 1..4 {
            match scene.refused(|scene| scene.seqs.tokens(capped, 6, &sound.keys(&keys[..got]))) {
                Err(TokensError::LengthMismatch(error)) => is_length(error, Field::Keys, 0, got),
                other => panic!("{other:?}"),
            }
        }
    }
    let all = Contents::new(&tokens[6..]).extra(&extra[..2]);
    assert_eq!(scene.seqs.tokens(capped, 6, &all), Ok(()));

    // The prompt of this one came with them, so they go on.
    let prompt = Prompt::new(&scene.namespace, &tokens[..4]).keys(&keys[..1]);
    let keyed = scene.seqs.admit(&Admit::new(prompt, Growth::OnDemand));
    let keyed = keyed.expect("it fits").handle;
    scene
        .seqs
        .append(keyed, 4, &mut scene.step)
        .expect("it fits");
    let sound = Contents::new(&tokens[4..8]);
    for got in [0, 2, 3] {
        match scene.refused(|scene| scene.seqs.tokens(keyed, 4, &sound.keys(&keys[..got]))) {
            Err(TokensError::LengthMismatch(error)) => is_length(error, Field::Keys, 1, got),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(scene.seqs.tokens(keyed, 4, &sound.keys(&keys[..1])), Ok(()));
}

#[test]
fn no_more_is_computed_than_there_is() {
    let mut scene = Scene::new();
    for asked in [7, usize::MAX] {
        match scene.refused(|scene| scene.seqs.computed(scene.capped, asked)) {
            Err(ComputedError::Beyond(error)) => is_beyond(error, asked, 6),
            other => panic!("{other:?}"),
        }
    }
    // Less than before is an answer that comes late, and changes nothing.
    scene.refused(|scene| assert_eq!(scene.seqs.computed(scene.capped, 1), Ok(())));
}

// ---- shortening

#[test]
fn nothing_is_shortened_to_more_than_there_is() {
    let mut scene = Scene::new();
    for asked in [7, usize::MAX] {
        match scene.refused(|scene| scene.seqs.truncate(scene.capped, asked)) {
            Err(TruncateError::Beyond(error)) => is_beyond(error, asked, 6),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn shortening_into_a_published_block_without_a_credit_for_its_copy_is_refused() {
    let mut scene = Scene::new();
    let pool = scene.pool.clone();
    let all = pool.reserve(8).expect("they are available");
    let others: [&dyn Holder; 1] = [&all];
    for to in [1, 5, 7] {
        let before = scene.sight();
        match scene.seqs.truncate(scene.free, to) {
            Err(TruncateError::Refused(error)) => is_shortfall(error, 1, 0),
            other => panic!("{other:?}"),
        }
        assert_eq!(scene.sight(), before, "a refused call changed something");
        assert_eq!(
            scene.seqs.audit(&[&scene.other, others[0]]),
            Ok(()),
            "audit"
        );
    }
    // At a block border there is nothing to be copied.
    assert_eq!(scene.seqs.truncate(scene.free, 4), Ok(()));
    assert_eq!(scene.seqs.truncate(scene.free, 0), Ok(()));
}

#[test]
fn shortening_that_gives_shared_blocks_back_needs_credits_for_the_promise_in_their_place() {
    let mut scene = Scene::new();
    let pool = scene.pool.clone();
    let mut child = [Handle::NONE];
    // A cap of 13 positions, 9 of them appended, all shared with a branch.
    scene
        .seqs
        .append(scene.capped, 3, &mut scene.step)
        .expect("it is promised");
    scene.seqs.fork(scene.capped, &mut child).expect("it fits");
    let rest = pool.reserve(pool.available()).expect("all of it");
    let before = scene.sight();
    match scene.seqs.truncate(scene.capped, 4) {
        Err(TruncateError::Refused(error)) => is_shortfall(error, 2, 0),
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.sight(), before, "a refused call changed something");
    drop(rest);
    assert_eq!(scene.seqs.truncate(scene.capped, 4), Ok(()));
    let state = scene.seqs.state(scene.capped).expect("it lives");
    assert_eq!((state.blocks, state.promised), (1, 3));
    assert_eq!(scene.seqs.audit(&[&scene.other]), Ok(()));
}

// ---- branches and copies

#[test]
fn branches_whose_promises_have_no_room_are_not_made() {
    let mut scene = Scene::new();
    // Two promised each and a copy: `capped` has its own credit already.
    let mut children = [Handle::NONE; 3];
    let before = scene.refusals();
    let error = scene.refused(|scene| {
        let error = scene.seqs.fork(scene.capped, &mut children);
        assert_eq!(children, [Handle::NONE; 3]);
        error
    });
    match error {
        Err(BranchError::Refused(error)) => is_shortfall(error, 9, 8),
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.refusals().1 - before.1, 1);
    assert_eq!(scene.seqs.fork(scene.capped, &mut children[..2]), Ok(()));
    assert_eq!(scene.pool.available(), 2);
}

#[test]
fn a_block_with_the_most_references_is_not_shared_once_more() {
    let mut scene = Scene::new();
    let pool = scene.pool.clone();
    let mut worker = pool.worker().expect("a worker");
    let tokens = text(2, 8);
    let mut pay = pool.reserve(1).expect("it fits");
    let prompt = Prompt::new(&scene.namespace, &tokens).full_hit(true);
    let hit = pool.find(&mut worker, &prompt, &mut pay).expect("one pool");
    assert_eq!(hit.len(), 2);
    // What is forgotten is never given back.
    for _ in 2..MOST_REFERENCES {
        core::mem::forget(hit.fork(&mut worker).expect("there is room"));
    }
    let before = scene.sight();
    let mut child = [Handle::NONE; 2];
    let first = scene.seqs.table(scene.free).expect("it lives")[0];
    for n in [1, 2] {
        match scene.seqs.fork(scene.free, &mut child[..n]) {
            Err(error @ BranchError::TooManyReferences(inner)) => {
                let last = scene.seqs.table(scene.free).expect("it lives")[1];
                assert!([first, last].contains(&inner.block));
                says(
                    &error,
                    &[usize::try_from(inner.block.get()).expect("an id")],
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((child, scene.sight()), ([Handle::NONE; 2], before));
    // A copy's path cannot be held either.
    scene
        .seqs
        .truncate(scene.free, 5)
        .expect("there is a credit");
    let before = scene.sight();
    match scene.seqs.append(scene.free, 1, &mut scene.step) {
        Err(AppendError::TooManyReferences(inner)) => assert_eq!(inner.block, first),
        other => panic!("{other:?}"),
    }
    assert!(scene.step.copies().is_empty() && scene.step.fresh().is_empty());
    assert_eq!(scene.sight(), before);
    // With one owner less it can.
    hit.release(&mut worker).expect("one pool");
    assert_eq!(scene.seqs.append(scene.free, 1, &mut scene.step), Ok(()));
    assert_eq!(scene.step.copies().len(), 1);
}

#[test]
fn a_copy_is_done_once_and_where_it_was_asked_for() {
    let mut scene = Scene::new();
    scene.refused(|scene| {
        assert_eq!(scene.seqs.copied(scene.done), Err(Stale));
        assert_eq!(scene.other.copied(scene.pending), Err(Stale));
        assert_eq!(scene.other.copied(scene.done), Err(Stale));
    });
    assert_eq!(scene.seqs.copied(scene.pending), Ok(()));
    scene.refused(|scene| {
        assert_eq!(scene.seqs.copied(scene.pending), Err(Stale));
        assert_eq!(scene.seqs.copied(scene.pending), Err(Stale));
    });
}

/// The next ticket has the place of the first, and another name.
#[test]
fn an_old_ticket_does_not_end_a_later_copy() {
    let mut scene = Scene::new();
    assert_eq!(scene.seqs.copied(scene.pending), Ok(()));
    let mut child = [Handle::NONE];
    scene.seqs.fork(scene.branch, &mut child).expect("it fits");
    scene
        .seqs
        .append(child[0], 1, &mut scene.step)
        .expect("it is promised");
    assert_eq!(scene.step.copies().len(), 1);
    scene.refused(|scene| {
        assert_eq!(scene.seqs.copied(scene.pending), Err(Stale));
        assert_eq!(scene.seqs.copied(scene.done), Err(Stale));
    });
    let later = scene.step.copies()[0];
    // One that was changed is not the one that was given.
    let (mut source, mut place, mut length) = (later, later, later);
    source.src = later.dst;
    place.dst = later.src;
    length.positions += 1;
    scene.refused(|scene| {
        for forged in [source, place, length] {
            assert_eq!(scene.seqs.copied(forged), Err(Stale));
        }
    });
    assert_eq!(scene.seqs.copied(later), Ok(()));
}

// ---- reading

#[test]
fn a_table_or_slots_are_not_written_in_part() {
    let mut scene = Scene::new();
    for got in [0, 1] {
        let mut row = vec![7; got];
        match scene.refused(|scene| scene.seqs.copy_table(scene.free, &mut row)) {
            Err(ReadError::TooShort(error)) => {
                assert_eq!((error.needed, error.got), (2, got));
                says(&error, &[2, got]);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(row, vec![7; got]);
    }
    let mut out = [7; 3];
    match scene.refused(|scene| scene.seqs.slots(scene.free, 2..6, &mut out)) {
        Err(ReadError::TooShort(error)) => assert_eq!((error.needed, error.got), (4, 3)),
        other => panic!("{other:?}"),
    }
    for (from, to) in [
        (2, 9),
        (8, 9),
        (9, 9),
        (0, usize::MAX),
        (usize::MAX, usize::MAX),
    ] {
        match scene.refused(|scene| scene.seqs.slots(scene.free, from..to, &mut out)) {
            Err(ReadError::Beyond(error)) => is_beyond(error, to, 8),
            other => panic!("{from}..{to}: {other:?}"),
        }
    }
    assert_eq!(out, [7; 3]);
    #[expect(clippy::reversed_empty_ranges, reason = "it asks for nothing")]
    scene.refused(|scene| assert_eq!(scene.seqs.slots(scene.free, 6..2, &mut out), Ok(())));
    assert_eq!(out, [7; 3]);
}

#[test]
fn victims_are_not_chosen_among_handles_that_name_nothing() {
    let mut scene = Scene::new();
    for nobody in scene.nobody() {
        let mut victims = Vec::new();
        let order = [scene.capped, scene.free, nobody];
        scene.refused(|scene| {
            let chosen = scene.seqs.select_victims(&order, 1, &mut victims);
            assert_eq!(chosen, Err(VictimsError::Stale(Stale)));
            assert!(victims.is_empty());
        });
    }
}

#[test]
fn an_audit_without_all_holders_names_what_disagrees() {
    let scene = Scene::new();
    let error = scene
        .seqs
        .audit(&[])
        .expect_err("without the other registry");
    assert!(
        matches!(error, SequencesInconsistency::Pool(_)),
        "{error:?}"
    );
    let first = scene.other.table(scene.others).expect("it lives")[0];
    says(&error, &[usize::try_from(first.get()).expect("an id")]);
    let foreign = Sequences::new(pool(), &SequencesConfig::new(2)).expect("a registry");
    let error = scene
        .seqs
        .audit(&[&scene.other, &foreign])
        .expect_err("another pool's");
    assert_eq!(
        error,
        SequencesInconsistency::Pool(kvblock::Inconsistency::ForeignHolder)
    );
    assert!(
        scene.seqs.audit(&[&scene.other, &scene.other]).is_err(),
        "one holder was listed twice"
    );
}

/// What is dropped is given back, promises and pending copies too.
#[test]
fn a_registry_that_is_dropped_gives_everything_back() {
    let scene = Scene::new();
    let Scene {
        pool, seqs, other, ..
    } = scene;
    drop(seqs);
    let report = pool.report();
    assert_eq!(
        (report.free, report.idle, report.held, report.reserved),
        (15, 3, 2, 0)
    );
    assert_eq!(other.audit(&[]), Ok(()));
    drop(other);
    assert_eq!(pool.report().free, 17);
    assert_eq!(pool.audit(&[]), Ok(()));
}
