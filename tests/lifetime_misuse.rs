//! Every error of fences, leases, transfers and bad content, provoked: exact fields, a message that names the numbers, and nothing changed
//! but the counts of refusals. And what is dropped in any order, and what a promise is worth beside all of these.
//!
//! Not here: `OutOfMemory` needs an allocator that fails (`allocation.rs`); errors of leases on chains are in `leases.rs`.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use kvblock::{
    Admit, AdmitError, Answer, AnswerError, AppendError, BlockId, BlockPool, BranchError,
    CommitError, ComputedError, Contents, DetachError, ElementType, EndAfterError, Event, Export,
    ExportError, ExtraKey, Fence, Flights, Growth, Handle, Import, ImportError, Imported,
    InTransit, Incoming, Incompatible, InvalidateError, KvFormat, Lane, Lease, LeaseError, Leases,
    MAX_WRITERS, MoveAborted, Namespace, NotOpen, OtherNamespace, Owner, Phase, PinError,
    PoolConfig, Prompt, Proof, Refused, ReleaseAfterError, SequenceState, Sequences,
    SequencesConfig, ShardId, SourceTaken, Stale, Step, Terms, TokensError, TooManyBytes,
    TruncateAfterError, TruncateError, UnknownFormat,
};

use support::says;

const SIZE: usize = 4;
const NEVER: u64 = Lease::NO_DEADLINE;

/// Tokens of a list of its own.
fn text(list: u32, n: usize) -> Vec<u32> {
    (list * 1000..).take(n).collect()
}

fn format(size: usize, element: u32, planes: &[u64]) -> KvFormat {
    KvFormat::new(size, ElementType::new(element), planes.iter().copied()).expect("a sound format")
}

/// A pool with one scheduler, its leases and one stream.
struct End {
    pool: BlockPool,
    seqs: Sequences,
    leases: Leases,
    lane: Lane,
    step: Step,
    space: Namespace,
}

/// All that a caller can see of an end, refusals aside.
#[derive(Debug, PartialEq)]
struct Sight {
    reports: [String; 2],
    lane: (usize, Option<Fence>),
    findable: String,
    events: Vec<Event>,
    sequences: Vec<(Handle, SequenceState, Vec<BlockId>, core::ops::Range<usize>)>,
}

impl End {
    fn with(config: &PoolConfig, sequences: &SequencesConfig) -> Self {
        let pool = BlockPool::new(config).expect("a sound configuration");
        Self {
            seqs: Sequences::new(pool.clone(), sequences).expect("a registry"),
            leases: Leases::new(&pool, 1000).expect("memory"),
            lane: pool.lane(),
            step: Step::new(),
            space: Namespace::new(),
            pool,
        }
    }

    fn new(shard: u32, blocks: usize) -> Self {
        let pool = PoolConfig::new(blocks, SIZE)
            .shard(ShardId::new(shard))
            .events(256);
        Self::with(
            &pool,
            &SequencesConfig::new(8).format(format(SIZE, 1, &[60, 40])),
        )
    }

    fn admit(&mut self, list: u32, n: usize, growth: Growth) -> Handle {
        let tokens = text(list, n);
        let request = Admit::new(Prompt::new(&self.space, &tokens), growth);
        self.seqs.admit(&request).expect("it fits").handle
    }

    fn computed(&mut self, list: u32, n: usize, growth: Growth) -> Handle {
        let handle = self.admit(list, n, growth);
        self.seqs.computed(handle, n).expect("it has them");
        handle
    }

    fn import(
        &mut self,
        list: u32,
        n: usize,
        incoming: &Incoming<'_>,
    ) -> Result<Imported, ImportError> {
        let tokens = text(list, n);
        let prompt = Prompt::new(&self.space, &tokens);
        self.seqs
            .import(&Admit::new(prompt, Growth::Cap(8)), incoming)
    }

    fn export(&mut self, handle: Handle, terms: &Terms) -> Result<Export, ExportError> {
        self.seqs
            .export(handle, &self.space, &mut self.leases, terms)
    }

    fn offer(&mut self, handle: Handle) -> Export {
        let terms = Terms::moving(Owner::new(1), NEVER);
        self.export(handle, &terms).expect("it can be had")
    }

    fn probe(&self, list: u32, n: usize) -> usize {
        let tokens = text(list, n);
        let prompt = Prompt::new(&self.space, &tokens);
        self.pool
            .probe(&prompt)
            .expect("no slices but the tokens")
            .positions
    }

    /// (free, idle, held, quarantined, reserved)
    #[track_caller]
    fn figures(&self) -> (usize, usize, usize, usize, usize) {
        self.audit();
        let r = self.pool.report();
        assert_eq!(r.capacity, r.free + r.idle + r.held + r.quarantined);
        (r.free, r.idle, r.held, r.quarantined, r.reserved)
    }

    #[track_caller]
    fn audit(&self) {
        assert_eq!(
            self.seqs.audit(&[&self.leases, &self.lane]),
            Ok(()),
            "audit"
        );
    }

    /// Nobody holds anything.
    #[track_caller]
    fn is_at_rest(&self) {
        let (free, idle, ..) = self.figures();
        assert_eq!(self.figures(), (free, idle, 0, 0, 0));
        assert_eq!(free + idle, self.pool.capacity());
        assert_eq!((self.leases.used(), self.lane.len()), (0, 0));
    }

    fn sight(&self) -> Sight {
        let mut events = Vec::new();
        self.pool.events().expect("events are on").read(&mut events);
        let mut report = self.seqs.report();
        report.refused_appends = 0;
        report.pool.refused_never = 0;
        report.pool.refused_shortfall = 0;
        let sequences = self.seqs.handles().map(|handle| {
            (
                handle,
                self.seqs.state(handle).expect("it lives"),
                self.seqs.table(handle).expect("it lives").to_vec(),
                self.seqs.dirty(handle).expect("it lives"),
            )
        });
        Sight {
            reports: [
                format!("{report:?}"),
                format!("{:?} {:?}", self.leases.report(), self.leases),
            ],
            lane: (self.lane.len(), self.lane.completed()),
            findable: format!("{:?}", self.pool.snapshot()),
            events,
            sequences: sequences.collect(),
        }
    }

    /// Refusals of the pool, of appends.
    fn refusals(&self) -> (u64, u64, u64) {
        let report = self.seqs.report();
        (
            report.pool.refused_never,
            report.pool.refused_shortfall,
            report.refused_appends,
        )
    }

    /// Runs a call that must be refused and must change nothing.
    #[track_caller]
    fn refused<T>(&mut self, call: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.sight();
        let error = call(self);
        assert_eq!(self.sight(), before, "a refused call changed something");
        self.audit();
        error
    }
}

fn two() -> (End, End) {
    (End::new(0, 20), End::new(1, 20))
}

// ---- imports

#[test]
fn an_import_of_no_or_too_many_writers_is_refused() {
    let mut end = End::new(0, 20);
    for asked in [0, MAX_WRITERS + 1, usize::MAX] {
        let error = end.refused(|end| end.import(1, 9, &Incoming::new(9, asked)));
        match error.map(|_| ()) {
            Err(ImportError::TooManyWriters(it)) => {
                assert_eq!(it.asked, asked);
                says(&it, &[asked, 63]);
            }
            other => panic!("{other:?}"),
        }
    }
    let most = end
        .import(1, 9, &Incoming::new(9, MAX_WRITERS))
        .expect("63 are not too many");
    for writer in 0..MAX_WRITERS {
        assert_eq!(most.import.left(), 3);
        assert_eq!(most.import.arrived(writer, 0..3), Ok(Answer::Taken));
    }
    assert_eq!(end.seqs.loading(most.handle).expect("it lives").arrived, 9);
    assert_eq!(end.refusals(), (0, 0, 0));
    end.audit();
}

#[test]
fn an_import_of_more_positions_than_the_prompt_has_is_refused() {
    let mut end = End::new(0, 20);
    for asked in [10, usize::MAX] {
        let error = end.refused(|end| end.import(1, 9, &Incoming::new(asked, 1)));
        match error.map(|_| ()) {
            Err(ImportError::Beyond(it)) => {
                assert_eq!((it.asked, it.positions), (asked, 9));
                says(&it, &[asked, 9]);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_import_of_more_positions_than_the_export_offers_is_refused() {
    let (mut here, mut far) = two();
    let source = far.computed(1, 9, Growth::Cap(8));
    let export = far.offer(source);
    let mut incoming = Incoming::from_export(&export, 1);
    incoming.positions += 1;
    let error = here.refused(|end| end.import(1, 12, &incoming));
    match error.map(|_| ()) {
        Err(ImportError::Beyond(it)) => assert_eq!((it.asked, it.positions), (10, 9)),
        other => panic!("{other:?}"),
    }
    incoming.positions -= 1;
    assert!(here.import(1, 12, &incoming).is_ok());
}

#[test]
fn an_import_from_another_layout_is_refused() {
    let mut end = End::new(0, 20);
    let unlike = [
        (
            format(8, 1, &[60, 40]),
            Incompatible::BlockSize { ours: 4, theirs: 8 },
        ),
        (
            format(4, 2, &[60, 40]),
            Incompatible::Element {
                ours: ElementType::new(1),
                theirs: ElementType::new(2),
            },
        ),
        (
            format(4, 1, &[60]),
            Incompatible::Planes { ours: 2, theirs: 1 },
        ),
        (
            format(4, 1, &[60, 41]),
            Incompatible::PlaneBytes {
                plane: 1,
                ours: 40,
                theirs: 41,
            },
        ),
    ];
    for (theirs, expected) in unlike {
        let incoming = Incoming::new(9, 1).format(&theirs);
        let error = end.refused(|end| end.import(1, 9, &incoming));
        assert_eq!(
            error.map(|_| ()),
            Err(ImportError::Incompatible(expected)),
            "{theirs:?}"
        );
        says(&expected, &[]);
    }
    // A registry that does not know its own layout can only compare the block's size.
    let config = SequencesConfig::new(8);
    let mut blank = End::with(&PoolConfig::new(20, SIZE).events(8), &config);
    let theirs = format(8, 1, &[60]);
    let error = blank.refused(|end| end.import(1, 9, &Incoming::new(9, 1).format(&theirs)));
    let expected = Incompatible::BlockSize { ours: 4, theirs: 8 };
    assert_eq!(error.map(|_| ()), Err(ImportError::Incompatible(expected)));
    let theirs = format(4, 7, &[60]);
    let imported = blank.import(1, 9, &Incoming::new(9, 1).format(&theirs));
    assert!(imported.is_ok());
}

#[test]
fn an_export_of_another_namespace_is_not_imported() {
    let (mut here, mut far) = two();
    let source = far.computed(1, 9, Growth::Cap(8));
    let export = far.offer(source);
    here.space = Namespace::new().salt("other");
    let error = here.refused(|end| end.import(1, 9, &Incoming::from_export(&export, 1)));
    assert_eq!(
        error.map(|_| ()),
        Err(ImportError::OtherNamespace(OtherNamespace))
    );
    assert_eq!(export.phase(), Phase::Offered);
    assert!(export.lease().is_live());
    here.space = Namespace::new();
    let imported = here.import(1, 9, &Incoming::from_export(&export, 1));
    assert!(imported.is_ok());
}

#[test]
fn an_export_is_read_by_one_import_and_only_while_it_is_offered() {
    let (mut here, mut far) = two();
    let source = far.computed(1, 9, Growth::Cap(8));
    let taken = |end: &mut End, export: &Export, phase| {
        let flights = Flights::new(1000).expect("memory");
        let error = end
            .refused(|end| end.import(1, 9, &Incoming::from_export(export, 1).flights(&flights)));
        assert_eq!(
            error.map(|_| ()),
            Err(ImportError::SourceTaken(SourceTaken))
        );
        assert_eq!((export.phase(), flights.in_flight()), (phase, 0));
    };
    let export = far.offer(source);
    let first = here
        .import(1, 9, &Incoming::from_export(&export, 1))
        .expect("it is offered");
    taken(&mut here, &export, Phase::Linked);
    far.refused(|far| {
        assert_eq!(export.finish(), Err(NotOpen::Linked));
        assert_eq!(far.seqs.state(source).map(|it| it.positions), Ok(9));
    });
    here.seqs.release(first.handle).expect("it lives");
    assert_eq!(first.import.end(0), Ok(3));
    taken(&mut here, &export, Phase::Aborted);

    let export = far.offer(source);
    export.abort().expect("it is offered");
    taken(&mut here, &export, Phase::Aborted);
    assert_eq!(export.abort(), Err(NotOpen::Aborted));
    assert_eq!(export.finish(), Err(NotOpen::Aborted));

    let export = far.offer(source);
    export.finish().expect("it is offered");
    taken(&mut here, &export, Phase::Committed);
    assert_eq!(export.abort(), Err(NotOpen::Committed));
    assert_eq!(export.finish(), Err(NotOpen::Committed));
    says(&NotOpen::Committed, &[]);
    says(&NotOpen::Aborted, &[]);
    far.seqs.release(source).expect("it lives");
    far.is_at_rest();
    here.is_at_rest();
}

#[test]
fn a_cap_on_bytes_says_never_or_not_now() {
    let mut end = End::new(0, 20);
    let flights = Flights::new(200).expect("memory");
    let too_many = |end: &mut End, list, n, expected: (u64, u64, u64)| {
        let before = flights.in_flight();
        let error = end.refused(|end| end.import(list, n, &Incoming::new(n, 1).flights(&flights)));
        match error.map(|_| ()) {
            Err(ImportError::TooManyBytes(it @ TooManyBytes { .. })) => {
                assert_eq!((it.asked, it.in_flight, it.max), expected);
                let number = |n| usize::try_from(n).expect("small");
                says(
                    &it,
                    &[number(it.asked), number(it.in_flight), number(it.max)],
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(flights.in_flight(), before);
    };
    too_many(&mut end, 1, 9, (300, 0, 200));
    let first = end
        .import(1, 8, &Incoming::new(8, 1).flights(&flights))
        .expect("two blocks");
    too_many(&mut end, 2, 4, (100, 200, 200));
    // Refused for another reason, it has no bytes under way.
    let error = end.refused(|end| end.import(2, 90, &Incoming::new(4, 1).flights(&flights)));
    assert!(matches!(
        error,
        Err(ImportError::Admit(AdmitError::Refused(
            Refused::NeverFits { .. }
        )))
    ));
    assert_eq!(flights.in_flight(), 200);
    // They are under way until the last answer, whatever becomes of the sequence.
    end.seqs.release(first.handle).expect("it lives");
    first.import.arrived(0, 0..1).expect("it is expected");
    too_many(&mut end, 2, 4, (100, 200, 200));
    first.import.arrived(0, 1..2).expect("it is expected");
    assert_eq!(flights.in_flight(), 0);
    // What is found here does not come.
    let cached = end.computed(3, 8, Growth::OnDemand);
    let third = end
        .import(3, 14, &Incoming::new(14, 1).flights(&flights))
        .expect("two blocks come");
    assert_eq!((third.hit, flights.in_flight()), (8, 200));
    drop(third.import);
    end.seqs.release(cached).expect("it lives");
    end.audit();

    let config = SequencesConfig::new(8);
    let mut blank = End::with(&PoolConfig::new(20, SIZE).events(8), &config);
    let error = blank.refused(|end| end.import(1, 9, &Incoming::new(9, 1).flights(&flights)));
    assert_eq!(
        error.map(|_| ()),
        Err(ImportError::UnknownFormat(UnknownFormat))
    );
    says(&UnknownFormat, &[]);
}

#[test]
fn an_import_that_is_not_admitted_is_counted_once_and_leaves_the_source_as_it_was() {
    let (mut here, mut far) = (End::new(0, 6), End::new(1, 60));
    let source = far.computed(1, 40, Growth::OnDemand);
    let export = far.offer(source);
    let incoming = Incoming::from_export(&export, 1);
    let error = here.refused(|end| end.import(1, 40, &incoming));
    match error.map(|_| ()) {
        Err(ImportError::Admit(AdmitError::Refused(Refused::NeverFits {
            needed,
            capacity,
            ..
        }))) => assert_eq!((needed, capacity), (12, 6)),
        other => panic!("{other:?}"),
    }
    assert_eq!(here.refusals(), (1, 0, 0));
    let _other = here.admit(2, 9, Growth::OnDemand);
    let error = here.refused(|end| end.import(1, 9, &Incoming::new(9, 1)));
    match error.map(|_| ()) {
        Err(ImportError::Admit(AdmitError::Refused(Refused::Shortfall {
            needed,
            available,
            ..
        }))) => assert_eq!((needed, available), (5, 3)),
        other => panic!("{other:?}"),
    }
    assert_eq!(here.refusals(), (1, 1, 0));
    assert_eq!(export.phase(), Phase::Offered);
    assert!(export.lease().is_live());

    let one = SequencesConfig::new(1);
    let mut full = End::with(&PoolConfig::new(20, SIZE).events(8), &one);
    let _only = full.admit(1, 4, Growth::OnDemand);
    let error = full.refused(|end| end.import(2, 9, &Incoming::new(9, 1)));
    assert!(matches!(
        error,
        Err(ImportError::Admit(AdmitError::TooManySequences(it))) if it.max == 1
    ));
    let tokens = text(2, 9);
    let error = here.refused(|end| {
        let prompt = Prompt::new(&end.space, &tokens).keys(&[1]);
        let request = Admit::new(prompt, Growth::OnDemand);
        end.seqs.import(&request, &Incoming::new(9, 1))
    });
    assert!(matches!(
        error,
        Err(ImportError::Admit(AdmitError::LengthMismatch(_)))
    ));
}

#[test]
fn an_import_of_what_is_here_has_nothing_to_fill() {
    let mut end = End::new(0, 20);
    let cached = end.computed(1, 12, Growth::OnDemand);
    for stored in [0, 3, 8] {
        let imported = end
            .import(1, 13, &Incoming::new(stored, 1))
            .expect("it fits");
        assert_eq!((imported.hit, imported.import.ids().len()), (12, 0));
        assert!(imported.import.is_settled());
        assert_eq!(imported.import.end(0), Ok(0));
        let state = end.seqs.loading(imported.handle).expect("it lives");
        assert_eq!((state.arrived, state.left, state.failed), (12, 0, false));
        assert_eq!(end.seqs.commit(imported.handle), Ok(()));
        end.seqs.computed(imported.handle, 13).expect("it has them");
        end.seqs.release(imported.handle).expect("it lives");
    }
    end.seqs.release(cached).expect("it lives");
    end.is_at_rest();
}

// ---- answers

#[test]
fn an_unknown_or_repeated_answer_is_not_obeyed() {
    let mut end = End::new(0, 20);
    let imported = end.import(1, 14, &Incoming::new(12, 2)).expect("it fits");
    let import = &imported.import;
    let refused = |end: &mut End, answer: &dyn Fn() -> Result<(), AnswerError>| {
        let left = import.left();
        let error = end.refused(|_| answer()).expect_err("it is refused");
        assert_eq!(import.left(), left);
        error
    };
    for writer in [2, 63, 64, usize::MAX] {
        let expected = AnswerError::NoSuchWriter { writer, writers: 2 };
        let answers: [&dyn Fn() -> _; 3] = [
            &|| import.arrived(writer, 0..1).map(drop),
            &|| import.failed(writer, 0..1).map(drop),
            &|| import.end(writer).map(drop),
        ];
        for answer in answers {
            assert_eq!(refused(&mut end, answer), expected);
        }
        says(&expected, &[writer, 2]);
    }
    for range in [0..4, 3..4, 0..usize::MAX, usize::MAX..usize::MAX] {
        let expected = AnswerError::OutOfRange {
            end: range.end,
            blocks: 3,
        };
        for answer in [Import::arrived, Import::failed] {
            let answer = || answer(import, 0, range.clone()).map(drop);
            assert_eq!(refused(&mut end, &answer), expected);
        }
        says(&expected, &[range.end, 3]);
    }
    assert_eq!(import.arrived(0, 1..2), Ok(Answer::Taken));
    let expected = AnswerError::Repeated { writer: 0, at: 1 };
    for answer in [Import::arrived, Import::failed] {
        let answer = || answer(import, 0, 0..3).map(drop);
        assert_eq!(refused(&mut end, &answer), expected);
    }
    says(&expected, &[0, 1]);
    // None of the three was obeyed, so these are still expected.
    assert_eq!(import.arrived(1, 1..3), Ok(Answer::Taken));
    assert_eq!(import.arrived(0, 0..1), Ok(Answer::Taken));
    assert_eq!(import.end(0), Ok(1));
    let expected = AnswerError::Ended { writer: 0 };
    assert_eq!(refused(&mut end, &|| import.end(0).map(drop)), expected);
    says(&expected, &[0]);
    assert_eq!(
        refused(&mut end, &|| import.arrived(0, 2..3).map(drop)),
        AnswerError::Repeated { writer: 0, at: 2 }
    );
    for range in [2..2, core::ops::Range { start: 9, end: 1 }] {
        end.refused(|_| assert_eq!(import.arrived(0, range), Ok(Answer::Taken)));
    }
    assert_eq!(import.left(), 1);
    assert_eq!(import.arrived(1, 0..1), Ok(Answer::Taken));
    let state = end.seqs.loading(imported.handle).expect("it lives");
    assert_eq!((state.arrived, state.left, state.failed), (8, 0, true));
    end.audit();
}

/// How a sequence may end, or go on without its load, while writers are at work.
const WAYS: usize = 6;

fn go(end: &mut End, handle: Handle, way: usize) {
    let End {
        seqs, lane, step, ..
    } = end;
    match way {
        0 => seqs.release(handle).expect("it lives"),
        1 => seqs.preempt(handle).expect("it lives"),
        2 => seqs
            .release_after(handle, lane, Fence(1))
            .expect("it lives"),
        3 => seqs
            .preempt_after(handle, lane, Fence(1))
            .expect("it lives"),
        4 => seqs.renew(handle, step).expect("there is room"),
        _ => {
            // The registry goes, and another one comes.
            let config = SequencesConfig::new(8).format(format(SIZE, 1, &[60, 40]));
            *seqs = Sequences::new(end.pool.clone(), &config).expect("a registry");
        }
    }
}

#[test]
fn answers_after_the_end_are_taken_and_nothing_is_reused_before() {
    for way in 0..WAYS {
        let mut end = End::new(0, 20);
        let imported = end.import(1, 14, &Incoming::new(12, 2)).expect("it fits");
        let import = imported.import;
        assert_eq!(import.arrived(0, 0..1), Ok(Answer::Taken));
        assert_eq!(import.arrived(1, 0..2), Ok(Answer::Taken));
        assert!(import.is_wanted());
        let before = import.ids().to_vec();
        go(&mut end, imported.handle, way);
        assert!(!import.is_wanted());
        assert_eq!(import.ids(), before);
        let held = end.pool.report().held;
        let expected = match way {
            4 => 4 + 2,
            _ => 2,
        };
        assert_eq!((held, import.left()), (expected, 2), "way {way}");
        assert_eq!(
            import.arrived(0, 0..3),
            Err(AnswerError::Repeated { writer: 0, at: 0 })
        );
        assert_eq!(import.arrived(0, 1..2), Ok(Answer::Unwanted));
        assert_eq!(import.failed(0, 2..3), Ok(Answer::Unwanted));
        assert_eq!(import.left(), 1);
        assert_eq!(import.end(1), Ok(1));
        assert!(import.is_settled());
        end.lane.complete(Fence(1));
        match way {
            4 => {
                let loading = end.seqs.loading(imported.handle).expect("it lives");
                assert_eq!((loading.arrived, loading.left), (0, 0));
                end.seqs.computed(imported.handle, 14).expect("its own");
                assert_eq!(end.probe(1, 14), 12);
                end.seqs.release(imported.handle).expect("it lives");
            }
            _ => {
                assert_eq!(end.seqs.loading(imported.handle), Err(Stale));
                // The first block has arrived; the end of a sequence takes notice, that of its registry does not.
                assert_eq!(end.probe(1, 14), if way < 4 { 4 } else { 0 });
            }
        }
        end.is_at_rest();
    }
}

#[test]
fn a_fenced_release_of_a_load_waits_for_the_fence_and_for_the_writers() {
    for fence_first in [true, false] {
        let mut end = End::new(0, 20);
        let imported = end.import(1, 12, &Incoming::new(12, 1)).expect("it fits");
        go(&mut end, imported.handle, 2);
        // A writer is no fence: they are held.
        assert_eq!(end.figures(), (17, 0, 3, 0, 0));
        if fence_first {
            assert_eq!(end.lane.complete(Fence(1)), 0);
            assert_eq!(end.figures(), (17, 0, 3, 0, 0));
            assert_eq!(imported.import.end(0), Ok(3));
        } else {
            assert_eq!(imported.import.end(0), Ok(3));
            assert_eq!(end.figures(), (17, 0, 0, 3, 0));
            assert_eq!(end.lane.complete(Fence(1)), 3);
        }
        end.is_at_rest();
    }
}

// ---- commit

#[test]
fn a_move_is_committed_once_and_when_all_has_arrived() {
    let (mut here, mut far) = two();
    let source = far.computed(1, 9, Growth::Cap(8));
    let export = far.offer(source);
    let imported = here
        .import(1, 9, &Incoming::from_export(&export, 1))
        .expect("it fits");
    let (there, import) = (imported.handle, imported.import);
    let not_arrived = |here: &mut End, arrived, left| {
        let error = here.refused(|here| here.seqs.commit(there));
        match error {
            Err(CommitError::NotArrived(it)) => {
                assert_eq!((it.arrived, it.expected, it.left), (arrived, 9, left));
                says(&it, &[arrived, 9, left]);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(export.phase(), Phase::Linked);
    };
    not_arrived(&mut here, 0, 3);
    import.arrived(0, 1..3).expect("it is expected");
    not_arrived(&mut here, 0, 1);
    import.arrived(0, 0..1).expect("it is expected");
    assert_eq!(here.seqs.commit(there), Ok(()));
    assert_eq!(export.phase(), Phase::Committed);
    here.refused(|here| {
        assert_eq!(here.seqs.commit(there), Ok(()), "it says so again");
        assert_eq!(export.abort(), Err(NotOpen::Committed));
        assert_eq!(
            import.arrived(0, 0..1),
            Err(AnswerError::Repeated { writer: 0, at: 0 })
        );
        assert_eq!(import.end(0), Ok(0), "nothing was missing");
        assert_eq!(import.end(0), Err(AnswerError::Ended { writer: 0 }));
    });
    far.seqs.release(source).expect("it lives");
    here.seqs.release(there).expect("it lives");
    assert_eq!(
        here.seqs.commit(there),
        Err(CommitError::Stale(Stale)),
        "it names nothing now"
    );
    far.is_at_rest();
    here.is_at_rest();
}

#[test]
fn a_move_that_was_called_off_is_not_committed() {
    let (mut here, mut far) = two();
    let source = far.computed(1, 9, Growth::Cap(8));
    let export = far.offer(source);
    let imported = here
        .import(1, 9, &Incoming::from_export(&export, 1))
        .expect("it fits");
    export.abort().expect("it is linked");
    for arrived in [0, 9] {
        let error = here.refused(|here| here.seqs.commit(imported.handle));
        assert_eq!(error, Err(CommitError::Aborted(MoveAborted)));
        let state = here.seqs.loading(imported.handle).expect("it lives");
        assert_eq!((state.arrived, state.aborted), (arrived, true));
        let blocks = if arrived == 0 { 0..3 } else { 0..0 };
        imported.import.arrived(0, blocks).expect("it is expected");
        here.seqs.loading(imported.handle).expect("it lives");
    }
    says(&MoveAborted, &[]);
    here.seqs.release(imported.handle).expect("it lives");
    far.step = Step::new();
    far.seqs
        .append(source, 8, &mut far.step)
        .expect("the source keeps it");
    far.seqs.release(source).expect("it lives");
    far.is_at_rest();
    here.is_at_rest();
}

// ---- calls while a transfer is under way

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Loading,
    Uncommitted,
    Arrived,
    Leaving,
    Linked,
    Moved,
}

const STATES: [State; 6] = [
    State::Loading,
    State::Uncommitted,
    State::Arrived,
    State::Leaving,
    State::Linked,
    State::Moved,
];

/// A sequence of nine positions at `here` in such a state; the first block has arrived if it is being filled.
struct Scene {
    here: End,
    far: End,
    handle: Handle,
    /// The far end of a move.
    other: Option<Handle>,
    import: Option<Import>,
    export: Option<Export>,
}

impl Scene {
    fn new(state: State) -> Self {
        let (mut here, mut far) = two();
        let (handle, other, import, export) = match state {
            State::Loading => {
                let imported = here.import(1, 9, &Incoming::new(9, 1)).expect("it fits");
                (imported.handle, None, Some(imported.import), None)
            }
            State::Uncommitted | State::Arrived => {
                let source = far.computed(1, 9, Growth::Cap(8));
                let export = far.offer(source);
                let imported = here
                    .import(1, 9, &Incoming::from_export(&export, 1))
                    .expect("it fits");
                let import = imported.import;
                if state == State::Arrived {
                    import.arrived(0, 1..3).expect("it is expected");
                }
                (imported.handle, Some(source), Some(import), Some(export))
            }
            State::Leaving | State::Linked | State::Moved => {
                let handle = here.computed(1, 9, Growth::Cap(8));
                let export = here.offer(handle);
                let mut other = None;
                let mut import = None;
                if state != State::Leaving {
                    let imported = far
                        .import(1, 9, &Incoming::from_export(&export, 1))
                        .expect("it fits");
                    other = Some(imported.handle);
                    import = Some(imported.import);
                }
                if let (State::Moved, Some(other), Some(import)) = (state, other, &import) {
                    import.arrived(0, 0..3).expect("it is expected");
                    far.seqs.commit(other).expect("all is there");
                }
                (handle, other, import, Some(export))
            }
        };
        if let (State::Loading | State::Uncommitted | State::Arrived, Some(import)) =
            (state, &import)
        {
            import.arrived(0, 0..1).expect("it is expected");
            here.seqs.loading(handle).expect("it lives");
        }
        Self {
            here,
            far,
            handle,
            other,
            import,
            export,
        }
    }

    fn answer(&self) {
        if let Some(import) = &self.import {
            import.end(0).expect("once");
        }
    }
}

#[test]
fn a_sequence_in_transit_does_not_change_its_shape() {
    for state in STATES {
        let mut scene = Scene::new(state);
        let handle = scene.handle;
        let here = &mut scene.here;
        let growth = match state {
            State::Loading => None,
            State::Uncommitted | State::Arrived => Some(InTransit::Uncommitted),
            State::Leaving | State::Linked => Some(InTransit::Leaving),
            State::Moved => Some(InTransit::Moved),
        };
        let shape = growth.unwrap_or(InTransit::Loading { arrived: 4 });
        says(&shape, &[]);
        here.refused(|here| {
            let End {
                seqs,
                leases,
                lane,
                step,
                space,
                ..
            } = here;
            for positions in [9, 8, 4, 0] {
                assert_eq!(
                    seqs.truncate(handle, positions),
                    Err(TruncateError::InTransit(shape)),
                    "{state:?}"
                );
                assert_eq!(
                    seqs.truncate_after(handle, positions, lane, Fence(1)),
                    Err(TruncateAfterError::Truncate(TruncateError::InTransit(
                        shape
                    )))
                );
            }
            assert!(matches!(
                seqs.truncate(handle, 10),
                Err(TruncateError::Beyond(_))
            ));
            assert_eq!(
                seqs.fork(handle, &mut [Handle::NONE; 2]),
                Err(BranchError::InTransit(shape))
            );
            assert_eq!(
                seqs.detach(handle).map(drop),
                Err(DetachError::InTransit(shape))
            );
            for terms in [
                Terms::copy(Owner::new(2), NEVER),
                Terms::moving(Owner::new(2), NEVER),
            ] {
                assert_eq!(
                    seqs.export(handle, space, leases, &terms).map(drop),
                    Err(ExportError::InTransit(shape))
                );
            }
            if let Some(growth) = growth {
                let expected = AppendError::InTransit(growth);
                for n in [1, 3, 8] {
                    assert_eq!(seqs.append(handle, n, step), Err(expected));
                    assert_eq!(seqs.check_append(handle, n), Err(expected));
                    seqs.step(&[(handle, n)], step);
                    assert_eq!(step.failures().len(), 1);
                    assert_eq!(step.failures()[0].error, expected);
                    assert!(step.slots().is_empty());
                }
                assert_eq!(seqs.ensure(handle, 17, step), Err(expected));
                assert_eq!(seqs.renew(handle, step), Err(expected));
            }
            let end = seqs.state(handle).expect("it lives").computed;
            assert_eq!(seqs.computed(handle, end), Ok(()));
            match state {
                State::Loading | State::Uncommitted => assert_eq!(
                    seqs.computed(handle, 5),
                    Err(ComputedError::InTransit(InTransit::Loading { arrived: 4 }))
                ),
                _ => assert_eq!(end, 9),
            }
            assert!(matches!(
                seqs.computed(handle, 10),
                Err(ComputedError::Beyond(_))
            ));
        });
        // A load without a move gets its positions beforehand.
        if growth.is_none() {
            here.seqs
                .append(handle, 8, &mut here.step)
                .expect("it is promised");
            assert_eq!(
                here.seqs.computed(handle, 10),
                Err(ComputedError::InTransit(InTransit::Loading { arrived: 4 }))
            );
        }
        // A pin is for whatever state.
        let pin = here
            .seqs
            .pin(handle, &mut here.leases, Owner::new(7), NEVER)
            .expect("it can be had");
        here.audit();
        pin.end().expect("it lives");
        here.audit();
    }
}

#[test]
fn a_sequence_may_end_in_every_state() {
    for state in STATES {
        for way in (0..WAYS).filter(|&way| way != 4) {
            for answers_first in [false, true] {
                let mut scene = Scene::new(state);
                if answers_first {
                    scene.answer();
                }
                go(&mut scene.here, scene.handle, way);
                if way != 5 {
                    // Only a registry that lives tells what its writers hold.
                    scene.here.audit();
                }
                assert_eq!(
                    scene.here.seqs.release(scene.handle),
                    Err(Stale),
                    "{state:?}"
                );
                if !answers_first {
                    scene.answer();
                }
                scene.here.lane.complete(Fence(1));
                scene.here.audit();
                if let Some(other) = scene.other {
                    let aborted = scene.far.seqs.loading(other).expect("it lives").aborted;
                    assert_eq!(aborted, state == State::Linked, "{state:?}");
                    scene.far.seqs.release(other).expect("it lives");
                }
                if let Some(export) = &scene.export {
                    let phase = if state == State::Moved {
                        Phase::Committed
                    } else {
                        Phase::Aborted
                    };
                    assert_eq!(export.phase(), phase, "{state:?} {way}");
                }
                scene.here.is_at_rest();
                scene.far.is_at_rest();
            }
        }
    }
}

// ---- drops

/// Every order of `n` things.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(n - 1);
    let with_last = |order: &Vec<usize>| {
        let order = order.clone();
        (0..n).map(move |at| {
            let mut order = order.clone();
            order.insert(at, n - 1);
            order
        })
    };
    shorter.iter().flat_map(with_last).collect()
}

#[test]
fn everything_may_be_dropped_in_any_order() {
    use core::any::Any;
    for copy in [false, true] {
        for order in orders(6) {
            let (mut here, mut far) = two();
            let source = far.computed(1, 9, Growth::Cap(8));
            let terms = if copy {
                Terms::copy(Owner::new(1), NEVER)
            } else {
                Terms::moving(Owner::new(1), NEVER)
            };
            let export = far.export(source, &terms).expect("it can be had");
            let imported = here
                .import(1, 9, &Incoming::from_export(&export, 2))
                .expect("it fits");
            imported.import.arrived(0, 0..2).expect("it is expected");
            imported.import.arrived(1, 0..1).expect("it is expected");
            here.seqs.loading(imported.handle).expect("it lives");
            let fenced = far.admit(2, 9, Growth::OnDemand);
            far.seqs
                .release_after(fenced, &mut far.lane, Fence(1))
                .expect("it lives");
            let pools = [here.pool.clone(), far.pool.clone()];
            let mut things: [Option<Box<dyn Any>>; 6] = [
                Some(Box::new(here.seqs)),
                Some(Box::new(far.seqs)),
                Some(Box::new(far.leases)),
                Some(Box::new(far.lane)),
                Some(Box::new(imported.import)),
                Some(Box::new(export)),
            ];
            for thing in &order {
                drop(things[*thing].take());
            }
            for (pool, idle) in pools.iter().zip([1, 2]) {
                let report = pool.report();
                assert_eq!(
                    (report.free, report.idle, report.reserved),
                    (20 - idle, idle, 0),
                    "{order:?}"
                );
                assert_eq!(pool.audit(&[]), Ok(()), "{order:?}");
            }
        }
    }
}

// ---- handles, lanes and tables of others

#[test]
fn a_handle_that_names_nothing_is_stale_in_every_call() {
    let (mut end, mut far) = two();
    let _living = end.computed(1, 9, Growth::Cap(8));
    let gone = end.admit(2, 9, Growth::OnDemand);
    end.seqs.release(gone).expect("it lives");
    let others = far.admit(1, 9, Growth::OnDemand);
    for handle in [Handle::NONE, Handle::from_bits(u64::MAX), gone, others] {
        end.refused(|end| {
            let End {
                seqs,
                leases,
                lane,
                step,
                space,
                ..
            } = end;
            assert_eq!(seqs.loading(handle), Err(Stale));
            assert_eq!(seqs.commit(handle), Err(CommitError::Stale(Stale)));
            assert_eq!(seqs.renew(handle, step), Err(AppendError::Stale(Stale)));
            let terms = Terms::copy(Owner::new(1), NEVER);
            assert_eq!(
                seqs.export(handle, space, leases, &terms).map(drop),
                Err(ExportError::Stale(Stale))
            );
            assert_eq!(
                seqs.pin(handle, leases, Owner::new(1), NEVER).map(drop),
                Err(PinError::Stale(Stale))
            );
            for end_after in [Sequences::release_after, Sequences::preempt_after] {
                assert_eq!(
                    end_after(seqs, handle, lane, Fence(1)),
                    Err(EndAfterError::Stale(Stale))
                );
            }
            assert_eq!(
                seqs.truncate_after(handle, 0, lane, Fence(1)),
                Err(TruncateAfterError::Truncate(TruncateError::Stale(Stale)))
            );
        });
    }
}

#[test]
fn a_lane_of_another_pool_takes_nothing() {
    let (mut end, mut far) = two();
    let handle = end.computed(1, 10, Growth::Cap(8));
    let wrong = ReleaseAfterError::WrongPool;
    // Passed or not makes no difference.
    for fence in [0, 9] {
        far.lane.complete(Fence(3));
        end.refused(|end| {
            for end_after in [Sequences::release_after, Sequences::preempt_after] {
                assert_eq!(
                    end_after(&mut end.seqs, handle, &mut far.lane, Fence(fence)),
                    Err(EndAfterError::Lane(wrong))
                );
            }
            assert_eq!(
                end.seqs
                    .truncate_after(handle, 4, &mut far.lane, Fence(fence)),
                Err(TruncateAfterError::Lane(wrong))
            );
        });
    }
    let detached = end.seqs.detach(handle).expect("it lives");
    let returned = detached
        .release_after(&mut far.lane, Fence(9))
        .expect_err("another pool's");
    assert_eq!(returned.error, wrong);
    returned
        .value
        .release_after(&mut end.lane, Fence(9))
        .expect("its pool's");
    assert_eq!(end.figures(), (17, 0, 0, 3, 0));
    assert_eq!((end.lane.complete(Fence(9)), far.lane.len()), (3, 0));
    end.is_at_rest();
    far.is_at_rest();
}

#[test]
fn what_speaks_against_a_lease_speaks_against_an_export_and_a_pin() {
    let (mut end, mut far) = two();
    let handle = end.computed(1, 10, Growth::Cap(8));
    let other = end.computed(2, 4, Growth::OnDemand);
    let mut small = Leases::new(&end.pool, 1).expect("memory");
    end.leases.tick(5);
    let held = end
        .seqs
        .pin(other, &mut end.leases, Owner::new(9), NEVER)
        .expect("it can be had");
    let refused =
        |end: &mut End, leases: Option<&mut Leases>, owner, deadline, expected: [_; 2]| {
            let mut given = leases;
            end.refused(|end| {
                let leases = match &mut given {
                    Some(leases) => leases,
                    None => &mut end.leases,
                };
                for terms in [
                    Terms::copy(Owner::new(owner), deadline),
                    Terms::moving(Owner::new(owner), deadline),
                ] {
                    let error = end.seqs.export(handle, &end.space, leases, &terms);
                    assert_eq!(error.map(drop), Err(ExportError::Lease(expected[0])));
                }
                let error = end.seqs.pin(handle, leases, Owner::new(owner), deadline);
                assert_eq!(error.map(drop), Err(PinError::Lease(expected[1])));
            });
        };
    refused(
        &mut end,
        Some(&mut far.leases),
        1,
        NEVER,
        [LeaseError::WrongPool; 2],
    );
    let taken = LeaseError::OwnerTaken {
        owner: Owner::new(9),
    };
    refused(&mut end, None, 9, NEVER, [taken; 2]);
    let over = LeaseError::AlreadyOver {
        deadline: 5,
        now: 5,
    };
    refused(&mut end, None, 1, 5, [over; 2]);
    let budget = |needed| LeaseError::OverBudget { needed, left: 1 };
    refused(&mut end, Some(&mut small), 1, NEVER, [budget(3), budget(2)]);
    end.refused(|end| {
        let space = Namespace::new().salt("other");
        let terms = Terms::copy(Owner::new(1), NEVER);
        let error = end.seqs.export(handle, &space, &mut end.leases, &terms);
        assert_eq!(
            error.map(drop),
            Err(ExportError::OtherNamespace(OtherNamespace))
        );
    });
    says(&OtherNamespace, &[]);
    held.end().expect("it lives");
}

#[test]
fn an_export_that_cannot_pay_for_the_next_write_is_refused() {
    let mut end = End::new(0, 6);
    let handle = end.computed(1, 10, Growth::Cap(2));
    let rest = end.admit(2, 12, Growth::OnDemand);
    for terms in [
        Terms::copy(Owner::new(1), NEVER),
        Terms::moving(Owner::new(1), NEVER),
    ] {
        match end.refused(|end| end.export(handle, &terms).map(drop)) {
            Err(ExportError::Refused(Refused::Shortfall {
                needed, available, ..
            })) => assert_eq!((needed, available), (1, 0)),
            other => panic!("{other:?}"),
        }
    }
    end.seqs.release(rest).expect("it lives");
    let terms = Terms::copy(Owner::new(1), NEVER);
    let export = end.export(handle, &terms).expect("three are free");
    assert_eq!(end.figures(), (3, 0, 3, 0, 1));
    let _taker = end.admit(2, 8, Growth::OnDemand);
    end.seqs
        .append(handle, 2, &mut end.step)
        .expect("its copy is promised");
    assert_eq!(end.step.copies().len(), 1);
    export.abort().expect("it is offered");
    end.audit();
}

// ---- bad content

#[test]
fn what_nobody_has_is_no_bad_content_of_anybody() {
    let mut end = End::new(0, 20);
    let handle = end.computed(1, 10, Growth::Cap(8));
    let table = end.seqs.table(handle).expect("it lives").to_vec();
    let mut affected = vec![handle];
    for id in [20, 21, u32::MAX] {
        end.refused(|end| {
            assert_eq!(
                end.seqs.invalidate(BlockId::new(id), &mut affected),
                Err(InvalidateError::OutOfRange {
                    block: BlockId::new(id),
                    capacity: 20
                })
            );
        });
        assert!(affected.is_empty());
    }
    let free = (0..20)
        .map(BlockId::new)
        .find(|block| !table.contains(block))
        .expect("17 are free");
    end.refused(|end| {
        assert_eq!(end.seqs.invalidate(free, &mut affected), Ok(()));
        assert!(affected.is_empty());
    });
    // Appended and not computed.
    end.seqs
        .append(handle, 8, &mut end.step)
        .expect("it is promised");
    let last = *end.seqs.table(handle).expect("it lives").last().expect("5");
    end.refused(|end| {
        assert_eq!(end.seqs.invalidate(last, &mut affected), Ok(()));
        assert!(affected.is_empty());
    });
}

#[test]
fn bad_private_shared_and_cached_blocks_are_told_to_who_has_them() {
    let mut end = End::new(0, 20);
    let a = end.computed(1, 10, Growth::Cap(8));
    let mut b = [Handle::NONE];
    end.seqs.fork(a, &mut b).expect("there is room");
    let c = end.computed(2, 10, Growth::OnDemand);
    let mut affected = Vec::new();
    let computed = |end: &End, it| {
        let state = end.seqs.state(it).expect("it lives");
        (state.computed, state.published, state.known)
    };
    // Private, of both branches.
    let bad = end.seqs.table(a).expect("it lives")[2];
    end.seqs.invalidate(bad, &mut affected).expect("a block");
    assert_eq!(affected, [a, b[0]]);
    assert_eq!(computed(&end, a), (8, 2, 10));
    assert_eq!(computed(&end, b[0]), (8, 2, 10));
    assert_eq!(computed(&end, c), (10, 2, 10));
    end.audit();
    // The first gets a block of its own, the other has the old one alone then.
    end.seqs.renew(a, &mut end.step).expect("there is room");
    assert_eq!(end.step.changes().len(), 1);
    end.seqs.renew(b[0], &mut end.step).expect("it is its own");
    assert!(end.step.changes().is_empty());
    for it in [a, b[0]] {
        end.audit();
        end.seqs.computed(it, 10).expect("it has them");
        end.seqs
            .append(it, 8, &mut end.step)
            .expect("it is promised");
    }
    // Cached only.
    end.seqs.release(c).expect("it lives");
    let found = {
        let tokens = text(2, 9);
        let request = Admit::new(Prompt::new(&end.space, &tokens), Growth::OnDemand);
        let handle = end.seqs.admit(&request).expect("it fits").handle;
        let table = end.seqs.table(handle).expect("it lives").to_vec();
        end.seqs.release(handle).expect("it lives");
        table
    };
    end.seqs
        .invalidate(found[0], &mut affected)
        .expect("a block");
    assert_eq!((affected.len(), end.probe(2, 10)), (0, 0));
    for it in [a, b[0]] {
        end.seqs.release(it).expect("it lives");
    }
    end.is_at_rest();
}

#[test]
fn a_bad_duplicate_goes_back_by_whichever_copy_is_named() {
    for own in [true, false] {
        let mut end = End::new(0, 20);
        let a = end.admit(1, 10, Growth::OnDemand);
        let b = end.admit(1, 10, Growth::OnDemand);
        end.seqs.computed(a, 10).expect("it has them");
        end.seqs.computed(b, 10).expect("it has them");
        let tables = [a, b].map(|it| end.seqs.table(it).expect("it lives").to_vec());
        let mut affected = Vec::new();
        let bad = tables[usize::from(own)][1];
        end.seqs.invalidate(bad, &mut affected).expect("a block");
        let (expected, probe) = if own { (vec![b], 8) } else { (vec![a, b], 4) };
        assert_eq!((affected, end.probe(1, 10)), (expected, probe));
        assert_eq!(end.seqs.state(b).map(|it| it.computed), Ok(4));
        end.audit();
        end.seqs.renew(b, &mut end.step).expect("there is room");
        end.seqs.computed(b, 10).expect("it has them");
        assert_eq!(end.probe(1, 10), 8);
        end.audit();
        for it in [a, b] {
            end.seqs.release(it).expect("it lives");
        }
        end.is_at_rest();
    }
}

/// What can't be read back of a bad block is to be told again: with extra keys or chain keys, or compared by digest.
#[test]
fn tokens_that_cannot_be_read_back_are_told_again() {
    let extra: Vec<ExtraKey> = (1..=3).map(ExtraKey::new).collect();
    let keys = [11, 22, 33];
    for kind in 0..4 {
        for bad in 0..3 {
            let mut config = PoolConfig::new(20, SIZE).events(256);
            if kind == 3 {
                config = config.proof(Proof::Digest);
            }
            let mut end = End::with(&config, &SequencesConfig::new(8));
            let (space, tokens) = (Namespace::new(), text(1, 13));
            let prompt = |prompt| match kind {
                1 => Prompt::extra(prompt, &extra),
                2 => Prompt::keys(prompt, &keys),
                _ => prompt,
            };
            let request = Admit::new(prompt(Prompt::new(&space, &tokens)), Growth::Cap(8));
            let handle = end.seqs.admit(&request).expect("it fits").handle;
            end.seqs.computed(handle, 13).expect("it has them");
            let whole = end.seqs.table(handle).expect("it lives").to_vec();
            let mut affected = Vec::new();
            end.seqs
                .invalidate(whole[bad], &mut affected)
                .expect("a block");
            assert_eq!(affected, [handle]);
            end.audit();
            let known = if kind == 0 { 13 } else { 4 * bad };
            let state = end.seqs.state(handle).expect("it lives");
            assert_eq!((state.computed, state.known), (4 * bad, known));
            end.seqs
                .renew(handle, &mut end.step)
                .expect("there is room");
            end.seqs.computed(handle, 13).expect("it has them");
            end.audit();
            if kind != 0 {
                end.refused(|end| {
                    let error = end.seqs.tokens(handle, 13, &Contents::new(&[]));
                    assert!(
                        matches!(error, Err(TokensError::NotNext(it)) if it.known == known),
                        "{error:?}"
                    );
                });
                let contents = Contents::new(&tokens[known..]);
                let contents = match kind {
                    1 => contents.extra(&extra[bad..]),
                    2 => contents.keys(&keys[bad..]),
                    _ => contents,
                };
                end.seqs
                    .tokens(handle, known, &contents)
                    .expect("they are the next ones");
            }
            let state = end.seqs.state(handle).expect("it lives");
            assert_eq!((state.known, state.published), (13, 3), "{kind} {bad}");
            let found = end
                .pool
                .probe(&prompt(Prompt::new(&space, &tokens)))
                .expect("as many keys as blocks");
            assert_eq!(found.positions, 12, "{kind} {bad}");
            end.audit();
            end.seqs.release(handle).expect("it lives");
            end.is_at_rest();
        }
    }
}

#[test]
fn bad_content_calls_a_move_off() {
    for linked in [false, true] {
        let (mut here, mut far) = two();
        let handle = here.computed(1, 9, Growth::Cap(8));
        let export = here.offer(handle);
        let imported = linked.then(|| {
            far.import(1, 9, &Incoming::from_export(&export, 1))
                .expect("it fits")
        });
        let bad = here.seqs.table(handle).expect("it lives")[0];
        let mut affected = Vec::new();
        here.seqs.invalidate(bad, &mut affected).expect("a block");
        assert_eq!((affected, export.phase()), (vec![handle], Phase::Aborted));
        here.audit();
        if let Some(imported) = imported {
            imported.import.arrived(0, 0..3).expect("it is expected");
            assert_eq!(
                far.seqs.commit(imported.handle),
                Err(CommitError::Aborted(MoveAborted))
            );
            far.seqs.release(imported.handle).expect("it lives");
        }
        here.seqs
            .renew(handle, &mut here.step)
            .expect("there is room");
        here.seqs.computed(handle, 9).expect("it has them");
        here.seqs
            .append(handle, 8, &mut here.step)
            .expect("it is promised");
        here.audit();
        here.seqs.release(handle).expect("it lives");
        here.is_at_rest();
    }
}

#[test]
fn a_renewal_without_room_changes_nothing() {
    let mut end = End::new(0, 9);
    let a = end.computed(1, 14, Growth::Cap(2));
    let b = end.computed(1, 14, Growth::OnDemand);
    let rest = end.admit(3, 12, Growth::OnDemand);
    let bad = end.seqs.table(a).expect("it lives")[1];
    let mut affected = Vec::new();
    end.seqs.invalidate(bad, &mut affected).expect("a block");
    assert_eq!(affected, [a, b]);
    let mut last = end.refusals();
    for it in [a, b] {
        let error = end.refused(|end| end.seqs.renew(it, &mut end.step));
        match error {
            Err(AppendError::Refused(Refused::Shortfall {
                needed, available, ..
            })) => assert_eq!((needed, available), (2, 1)),
            other => panic!("{other:?}"),
        }
        assert!(end.step.changes().is_empty());
        let now = end.refusals();
        assert_eq!(now, (last.0, last.1 + 1, last.2 + 1));
        last = now;
    }
    end.seqs.release(rest).expect("it lives");
    for it in [a, b] {
        end.seqs.renew(it, &mut end.step).expect("there is room");
        end.seqs.computed(it, 14).expect("it has them");
        end.audit();
    }
    end.seqs
        .append(a, 2, &mut end.step)
        .expect("it is promised");
    assert_eq!(end.probe(1, 14), 12);
}

#[test]
fn a_renewal_of_a_load_without_room_leaves_the_load_as_it_was() {
    let mut end = End::new(0, 6);
    let imported = end.import(1, 9, &Incoming::new(9, 1)).expect("it fits");
    let handle = imported.handle;
    let taker = end.admit(2, 4, Growth::OnDemand);
    let error = end.refused(|end| end.seqs.renew(handle, &mut end.step));
    assert!(matches!(
        error,
        Err(AppendError::Refused(Refused::Shortfall {
            needed: 3,
            available: 0,
            ..
        }))
    ));
    assert!(imported.import.is_wanted());
    assert_eq!(imported.import.arrived(0, 0..2), Ok(Answer::Taken));
    assert_eq!(end.seqs.loading(handle).map(|it| it.arrived), Ok(8));
    end.seqs.release(taker).expect("it lives");
    end.seqs.renew(handle, &mut end.step).expect("one is free");
    assert_eq!(imported.import.arrived(0, 2..3), Ok(Answer::Unwanted));
    end.seqs.computed(handle, 9).expect("it has them");
    end.seqs
        .append(handle, 8, &mut end.step)
        .expect("it is promised");
    end.seqs.release(handle).expect("it lives");
    end.is_at_rest();
}

// ---- promises

/// A small generator with a seed.
struct Random(u64);

impl Random {
    /// Below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % n
    }
}

/// Says which seed it was, if the test fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

/// Sequences that share, part, load, are read, fenced, cut back and spoilt, in any order.
struct Crowd {
    end: End,
    random: Random,
    living: Vec<(Handle, usize)>,
    imports: Vec<Import>,
    exports: Vec<Export>,
    pins: Vec<Lease>,
    tickets: Vec<kvblock::CopyTicket>,
    fence: u64,
    owner: u64,
    refused: usize,
}

impl Crowd {
    fn new(seed: u64) -> Self {
        let pool = PoolConfig::new(40, SIZE).events(64);
        let config = SequencesConfig::new(12).format(format(SIZE, 1, &[1]));
        Self {
            end: End::with(&pool, &config),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            living: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            pins: Vec::new(),
            tickets: Vec::new(),
            fence: 0,
            owner: 0,
            refused: 0,
        }
    }

    fn pick<T>(random: &mut Random, of: &mut Vec<T>) -> Option<T> {
        let n = of.len();
        (n > 0).then(|| of.swap_remove(random.below(n)))
    }

    fn begin(&mut self) {
        let random = &mut self.random;
        let (list, n) = (1 + u32::from(random.below(2) == 0), 1 + random.below(18));
        let (cap, kind, load) = (random.below(12), random.below(6), random.below(2));
        let growth = match kind {
            0 => Growth::OnDemand,
            1 => Growth::Ahead(2),
            _ => Growth::Cap(cap),
        };
        let tokens = text(list, n);
        let request =
            Admit::new(Prompt::new(&self.end.space, &tokens), growth).insert(random.below(4) > 0);
        let seqs = &mut self.end.seqs;
        let handle = if load == 0 {
            seqs.admit(&request).map(|it| it.handle).ok()
        } else {
            let incoming = Incoming::new(random.below(n + 1), 1 + random.below(2));
            let source = Self::pick(random, &mut self.exports);
            let imported = match &source {
                Some(source) if source.positions() <= n => {
                    seqs.import(&request, &Incoming::from_export(source, incoming.writers))
                }
                _ => seqs.import(&request, &incoming),
            };
            self.exports.extend(source);
            imported.ok().map(|it| {
                self.imports.push(it.import);
                it.handle
            })
        };
        let end = if let Growth::Cap(cap) = growth {
            n + cap
        } else {
            0
        };
        self.living.extend(handle.map(|handle| (handle, end)));
    }

    fn answer(&mut self) {
        let Some(import) = Self::pick(&mut self.random, &mut self.imports) else {
            return;
        };
        let writer = self.random.below(2);
        let blocks = import.ids().len();
        let from = self.random.below(blocks + 1);
        let to = from + self.random.below(blocks - from + 1);
        let _ = match self.random.below(6) {
            0 => import.end(writer).map(drop),
            1 => import.failed(writer, from..to).map(drop),
            _ => import.arrived(writer, from..to).map(drop),
        };
        if !import.is_settled() || self.random.below(2) == 0 {
            self.imports.push(import);
        }
    }

    fn grow(&mut self, handle: Handle, end: usize) {
        let state = self.end.seqs.state(handle).expect("it lives");
        let mut n = 1 + self.random.below(6);
        if end > 0 {
            n = n.min(end - state.positions);
        }
        let End { seqs, step, .. } = &mut self.end;
        let appended = if self.random.below(8) == 0 {
            seqs.ensure(handle, state.positions + n, step)
        } else {
            seqs.append(handle, n, step)
        };
        match appended {
            Ok(()) => self.tickets.extend_from_slice(step.copies()),
            Err(AppendError::Refused(refused)) => {
                assert_eq!(end, 0, "a promise within a cap was not kept: {refused:?}");
                self.refused += 1;
            }
            Err(AppendError::InTransit(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
        let state = self.end.seqs.state(handle).expect("it lives");
        let missing = state.positions - state.known;
        let list = 5 + u32::from(self.random.below(2) == 0);
        let told = Contents::new(&text(list, 64)[..missing]).tokens.to_vec();
        self.end
            .seqs
            .tokens(handle, state.known, &Contents::new(&told))
            .expect("they are the next ones");
    }

    fn offer(&mut self, handle: Handle) {
        self.owner += 1;
        let deadline = [NEVER, self.fence + 20][self.random.below(2)];
        let owner = Owner::new(self.owner);
        if self.random.below(3) == 0 {
            let pin = self
                .end
                .seqs
                .pin(handle, &mut self.end.leases, owner, deadline);
            self.pins.extend(pin.ok());
            return;
        }
        let terms = if self.random.below(3) == 0 {
            Terms::moving(owner, deadline)
        } else {
            Terms::copy(owner, deadline)
        };
        self.exports.extend(self.end.export(handle, &terms).ok());
    }

    fn end(&mut self, at: usize) {
        let (handle, _) = self.living.swap_remove(at);
        let fence = Fence(self.fence + 1 + self.random.below(3) as u64);
        let way = self.random.below(3);
        let End { seqs, lane, .. } = &mut self.end;
        match way {
            0 => seqs.release_after(handle, lane, fence).expect("it lives"),
            1 => seqs.preempt(handle).expect("it lives"),
            _ => seqs.release(handle).expect("it lives"),
        }
    }

    fn shorten(&mut self, handle: Handle) {
        let state = self.end.seqs.state(handle).expect("it lives");
        let to = self.random.below(state.positions + 1);
        let fence = Fence(self.fence + 1 + self.random.below(3) as u64);
        let End { seqs, lane, .. } = &mut self.end;
        let _ = if self.random.below(2) == 0 {
            seqs.truncate(handle, to).is_ok()
        } else {
            seqs.truncate_after(handle, to, lane, fence).is_ok()
        };
    }

    fn spoil(&mut self, handle: Handle) {
        let table = self.end.seqs.table(handle).expect("it lives").to_vec();
        if table.is_empty() {
            return;
        }
        let bad = table[self.random.below(table.len())];
        let mut affected = Vec::new();
        self.end
            .seqs
            .invalidate(bad, &mut affected)
            .expect("a block");
        self.end.audit();
        for handle in affected {
            // Some do not listen.
            if self.random.below(3) > 0 {
                let _ = self.end.seqs.renew(handle, &mut self.end.step);
            }
        }
    }

    fn act(&mut self) {
        let action = self.random.below(24);
        match action {
            0..=2 => self.begin(),
            3..=5 => self.answer(),
            6 => {
                self.fence += 1;
                self.end.lane.complete(Fence(self.fence));
                self.end.leases.tick(self.fence);
            }
            7 | 8 => {
                if let Some(ticket) = Self::pick(&mut self.random, &mut self.tickets) {
                    self.end.seqs.copied(ticket).expect("it is pending");
                }
            }
            9 => {
                if let Some(export) = Self::pick(&mut self.random, &mut self.exports) {
                    let _ = match self.random.below(3) {
                        0 => export.abort(),
                        1 => export.finish(),
                        _ => Ok(()),
                    };
                }
            }
            10 => {
                if let Some(pin) = Self::pick(&mut self.random, &mut self.pins) {
                    let _ = pin.end();
                }
            }
            _ if self.living.is_empty() => {}
            _ => {
                let at = self.random.below(self.living.len());
                let (handle, end) = self.living[at];
                self.act_on(action, at, handle, end);
            }
        }
    }

    fn act_on(&mut self, action: usize, at: usize, handle: Handle, end: usize) {
        match action {
            11 => self.end(at),
            12 | 13 => self.shorten(handle),
            14 => self.spoil(handle),
            15 => {
                let mut child = [Handle::NONE];
                if self.end.seqs.fork(handle, &mut child).is_ok() {
                    self.living.push((child[0], end));
                }
            }
            16 | 17 => self.offer(handle),
            18 => {
                let positions = self.end.seqs.state(handle).expect("it lives").positions;
                let n = self.random.below(positions + 1);
                let _ = self.end.seqs.computed(handle, n);
            }
            19 => {
                let _ = self.end.seqs.loading(handle).expect("it lives");
            }
            20 => {
                let End { seqs, step, .. } = &mut self.end;
                let _ = match self.random.below(4) {
                    0 => seqs.commit(handle).is_ok(),
                    1 => seqs.renew(handle, step).is_ok(),
                    2 => seqs.adopt_duplicates(handle).is_ok(),
                    _ => {
                        if let Ok(detached) = seqs.detach(handle) {
                            self.living[at].0 = seqs.attach(detached).expect("its slot is vacant");
                        }
                        true
                    }
                };
            }
            _ => self.grow(handle, end),
        }
    }

    /// Every append within a cap could be made now.
    fn promises_are_kept(&self) {
        for &(handle, end) in self.living.iter().filter(|it| it.1 > 0) {
            let state = self.end.seqs.state(handle).expect("it lives");
            for n in 1..=end - state.positions {
                match self.end.seqs.check_append(handle, n) {
                    Ok(_) | Err(AppendError::InTransit(_)) => {}
                    Err(other) => panic!("{handle:?} cannot append {n}: {other:?}, {state:?}"),
                }
            }
        }
    }
}

#[test]
fn a_cap_is_kept_beside_exports_leases_forks_fences_loads_and_bad_content() {
    let mut refused = 0;
    // The last two found what the others did not.
    for seed in (0..150).chain([1541, 1714]) {
        let _seed = Seed(seed);
        let mut crowd = Crowd::new(seed);
        for _ in 0..400 {
            crowd.act();
            crowd.end.audit();
            crowd.promises_are_kept();
        }
        refused += crowd.refused;
        let Crowd {
            mut end,
            living,
            imports,
            exports,
            pins,
            tickets,
            ..
        } = crowd;
        for (handle, _) in living {
            end.seqs.release(handle).expect("it lives");
        }
        for ticket in tickets {
            end.seqs.copied(ticket).expect("it is pending");
        }
        for import in imports {
            for writer in 0..import.writers() {
                let _ = import.end(writer);
            }
        }
        for lease in exports.iter().map(Export::lease).chain(&pins) {
            let _ = lease.end();
        }
        end.leases.tick(u64::MAX - 1);
        let never: Vec<Owner> = end.leases.iter().map(Lease::owner).collect();
        for owner in never {
            let lease = end.leases.get(owner).expect("it lives");
            lease.end().expect("it lives");
        }
        end.lane.complete(Fence(u64::MAX));
        end.is_at_rest();
    }
    assert!(refused > 100, "the pool is scarce: {refused} refusals");
}
