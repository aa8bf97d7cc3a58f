//! Transfers: moves between two pools, loads from a store, bad content; in every order of answers and ends.

use kvblock::{
    Admit, Answer, AnswerError, AppendError, BlockPool, CommitError, Contents, CopyPending,
    ElementType, Export, ExportError, Flights, Growth, Handle, ImportError, Imported, InTransit,
    Incoming, Incompatible, KvFormat, Leases, Namespace, NotOpen, Owner, Phase, PoolConfig, Prompt,
    Sequences, SequencesConfig, ShardId, SourceTaken, Step, Terms,
};

const B: usize = 4;

struct End {
    seqs: Sequences,
    leases: Leases,
}

impl End {
    fn new(shard: u32, blocks: usize) -> Self {
        let pool = BlockPool::new(&PoolConfig::new(blocks, B).shard(ShardId::new(shard))).unwrap();
        let leases = Leases::new(&pool, 1000).unwrap();
        let format = KvFormat::new(B, ElementType::new(1), [100]).unwrap();
        Self {
            seqs: Sequences::new(pool, &SequencesConfig::new(8).format(format)).unwrap(),
            leases,
        }
    }
    fn admit(&mut self, tokens: &[u32], growth: Growth) -> Handle {
        let space = Namespace::new();
        self.seqs
            .admit(&Admit::new(Prompt::new(&space, tokens), growth))
            .unwrap()
            .handle
    }
    fn computed(&mut self, tokens: &[u32]) -> Handle {
        let handle = self.admit(tokens, Growth::Cap(8));
        self.seqs.computed(handle, tokens.len()).unwrap();
        handle
    }
    fn import(&mut self, tokens: &[u32], incoming: &Incoming<'_>) -> Result<Imported, ImportError> {
        let space = Namespace::new();
        self.seqs.import(
            &Admit::new(Prompt::new(&space, tokens), Growth::Cap(8)),
            incoming,
        )
    }
    fn offer(&mut self, handle: Handle) -> Export {
        self.seqs
            .export(
                handle,
                &Namespace::new(),
                &mut self.leases,
                &Terms::moving(Owner::new(1), 100),
            )
            .unwrap()
    }
    /// (free, idle, held, reserved)
    fn figures(&self) -> (usize, usize, usize, usize) {
        let r = self.seqs.pool().report();
        assert_eq!(r.capacity, r.free + r.idle + r.held + r.quarantined);
        self.seqs.audit(&[&self.leases]).unwrap();
        (r.free, r.idle, r.held, r.reserved)
    }
    fn probe(&self, tokens: &[u32]) -> usize {
        let space = Namespace::new();
        self.seqs
            .pool()
            .probe(&Prompt::new(&space, tokens))
            .unwrap()
            .positions
    }
}

fn tokens(n: usize) -> Vec<u32> {
    (0..u32::try_from(n).unwrap()).collect()
}

#[test]
fn a_sequence_moves_and_has_one_owner_at_any_time() {
    let (mut a, mut b) = (End::new(0, 8), End::new(1, 8));
    let prompt = tokens(9);
    let here = a.computed(&prompt);
    let mut step = Step::new();
    let export = a.offer(here);
    assert_eq!(
        (export.positions(), export.ids().len(), export.phase()),
        (9, 3, Phase::Offered)
    );
    assert_eq!(
        a.seqs.append(here, 1, &mut step),
        Err(AppendError::InTransit(InTransit::Leaving))
    );

    let imported = b
        .import(&prompt, &Incoming::from_export(&export, 2))
        .unwrap();
    let (there, import) = (imported.handle, imported.import);
    assert_eq!(
        (imported.hit, imported.fresh, import.ids().len()),
        (0, 3, 3)
    );
    assert_eq!(export.phase(), Phase::Linked);
    assert_eq!(
        (a.seqs.report().duplicated, b.seqs.report().duplicated),
        (3, 3)
    );
    assert_eq!(b.figures(), (5, 0, 3, 2));

    // Blocks in any order, two writers; nothing is found before both wrote it.
    assert_eq!(import.arrived(1, 1..3), Ok(Answer::Taken));
    assert_eq!(import.arrived(0, 2..3), Ok(Answer::Taken));
    assert_eq!(
        import.arrived(0, 2..3),
        Err(AnswerError::Repeated { writer: 0, at: 2 })
    );
    assert_eq!(
        (b.seqs.loading(there).unwrap().arrived, b.probe(&prompt)),
        (0, 0)
    );
    assert_eq!(import.arrived(0, 0..1), Ok(Answer::Taken));
    assert_eq!(import.arrived(1, 0..1), Ok(Answer::Taken));
    assert_eq!(
        (b.seqs.loading(there).unwrap().arrived, b.probe(&prompt)),
        (4, 4)
    );
    assert!(
        matches!(b.seqs.commit(there), Err(CommitError::NotArrived(it)) if (it.arrived, it.expected, it.left) == (4, 9, 1))
    );
    assert_eq!(
        b.seqs.append(there, 1, &mut step),
        Err(AppendError::InTransit(InTransit::Uncommitted))
    );
    assert_eq!(import.arrived(0, 1..2), Ok(Answer::Taken));
    assert_eq!(
        (b.seqs.loading(there).unwrap().arrived, b.probe(&prompt)),
        (9, 8)
    );
    assert!(!export.lease().is_live(), "nobody reads any more");

    assert_eq!(b.seqs.commit(there), Ok(()));
    assert_eq!(export.abort(), Err(NotOpen::Committed));
    assert_eq!(
        a.seqs.append(here, 1, &mut step),
        Err(AppendError::InTransit(InTransit::Moved))
    );
    a.seqs.release(here).unwrap();
    b.seqs.append(there, 8, &mut step).unwrap();
    assert_eq!(b.seqs.report().duplicated, 0);
    assert_eq!(a.figures(), (6, 2, 0, 0));
    assert_eq!(b.figures(), (3, 0, 5, 0));
}

#[test]
fn no_positions_are_to_be_had_of_a_sequence_that_leaves() {
    let mut a = End::new(0, 8);
    let here = a.computed(&tokens(8));
    let mut step = Step::new();
    a.seqs.ensure(here, 9, &mut step).unwrap();
    let _export = a.offer(here);
    // The predictor says what the append says, and nothing makes room for one.
    assert_eq!(a.seqs.check_append(here, 0), Ok(0));
    assert_eq!(a.seqs.append(here, 0, &mut step), Ok(()));
    assert_eq!(a.seqs.ensure(here, 0, &mut step), Ok(()));
    assert_eq!(
        a.seqs.append(here, 1, &mut step),
        Err(AppendError::InTransit(InTransit::Leaving))
    );
    assert_eq!(
        a.seqs.ensure(here, 10, &mut step),
        Err(AppendError::InTransit(InTransit::Leaving))
    );
}

#[test]
fn an_abort_of_either_side_frees_each_once_and_not_before_the_last_answer() {
    for by_source in [true, false] {
        let (mut a, mut b) = (End::new(0, 8), End::new(1, 8));
        let prompt = tokens(9);
        let here = a.computed(&prompt);
        let export = a.offer(here);
        let imported = b
            .import(&prompt, &Incoming::from_export(&export, 1))
            .unwrap();
        let import = imported.import;
        import.arrived(0, 0..1).unwrap();
        if by_source {
            export.abort().unwrap();
            assert!(b.seqs.loading(imported.handle).unwrap().aborted);
            assert_eq!(
                b.seqs.commit(imported.handle),
                Err(CommitError::Aborted(kvblock::MoveAborted))
            );
            b.seqs.release(imported.handle).unwrap();
        } else {
            b.seqs.release(imported.handle).unwrap();
            assert_eq!(export.abort(), Err(NotOpen::Aborted));
        }
        assert!(export.lease().is_live(), "a writer still reads");
        assert_eq!(b.figures().2, 2);
        assert_eq!(import.end(0), Ok(2));
        assert_eq!(import.end(0), Err(AnswerError::Ended { writer: 0 }));
        assert!(!export.lease().is_live());
        assert_eq!(b.figures().2, 0);
        let mut step = Step::new();
        a.seqs.append(here, 8, &mut step).unwrap();
        a.seqs.release(here).unwrap();
        assert_eq!(a.figures(), (6, 2, 0, 0));
    }
}

#[test]
fn what_was_read_after_the_lease_does_not_count() {
    let (mut a, mut b) = (End::new(0, 8), End::new(1, 8));
    let prompt = tokens(9);
    let here = a.computed(&prompt);
    let export = a.offer(here);
    let imported = b
        .import(&prompt, &Incoming::from_export(&export, 1))
        .unwrap();
    imported.import.arrived(0, 0..1).unwrap();
    assert_eq!(a.leases.tick(100), 1);
    assert_eq!(imported.import.arrived(0, 1..3), Ok(Answer::SourceGone));
    let state = b.seqs.loading(imported.handle).unwrap();
    assert_eq!((state.arrived, state.failed, state.left), (4, true, 0));
    assert!(matches!(
        b.seqs.commit(imported.handle),
        Err(CommitError::NotArrived(_))
    ));
    b.seqs.release(imported.handle).unwrap();
    assert_eq!(export.phase(), Phase::Aborted);
    let mut step = Step::new();
    a.seqs.append(here, 1, &mut step).unwrap();
    a.figures();
    b.figures();
}

#[test]
fn a_failed_load_is_computed_by_the_sequence_itself() {
    let mut b = End::new(1, 12);
    let prompt = tokens(14);
    let flights = Flights::new(300).unwrap();
    let incoming = Incoming::new(12, 1).flights(&flights);
    let imported = b.import(&prompt, &incoming).unwrap();
    assert_eq!((flights.in_flight(), imported.import.ids().len()), (300, 3));
    assert!(matches!(
        b.import(&tokens(20)[10..], &Incoming::new(8, 1).flights(&flights)),
        Err(ImportError::TooManyBytes(_))
    ));
    imported.import.arrived(0, 0..1).unwrap();
    imported.import.failed(0, 1..2).unwrap();
    let handle = imported.handle;
    assert_eq!(b.seqs.loading(handle).unwrap().arrived, 4);
    assert!(
        b.seqs.computed(handle, 14).is_err(),
        "a writer may still touch it"
    );
    // Tired of waiting: blocks of its own, of which one is needed for the one that is still being written.
    let mut step = Step::new();
    b.seqs.renew(handle, &mut step).unwrap();
    assert_eq!(step.changes().len(), 1);
    assert_eq!(b.figures(), (7, 0, 5, 2));
    b.seqs.computed(handle, 14).unwrap();
    assert_eq!(b.probe(&prompt), 12);
    assert_eq!(imported.import.arrived(0, 2..3), Ok(Answer::Unwanted));
    assert_eq!(flights.in_flight(), 0);
    assert_eq!(b.figures(), (8, 0, 4, 2));
    b.seqs.append(handle, 8, &mut step).unwrap();
    b.seqs.release(handle).unwrap();
    assert_eq!(b.figures(), (9, 3, 0, 0));
}

#[test]
fn everybody_goes_back_to_before_a_bad_block() {
    let mut a = End::new(0, 16);
    let p = tokens(16);
    let first = a.computed(&p);
    let mut longer = p.clone();
    longer.extend([90, 91, 92, 93]);
    let second = a.computed(&longer);
    let bad = a.seqs.table(first).unwrap()[2];
    let mut affected = Vec::new();
    a.seqs.invalidate(bad, &mut affected).unwrap();
    assert_eq!(affected, [first, second]);
    for (handle, blocks) in [(first, 4), (second, 5)] {
        let state = a.seqs.state(handle).unwrap();
        assert_eq!(
            (state.computed, state.blocks, state.published),
            (8, blocks, 2)
        );
    }
    let mut seventeen = p.clone();
    seventeen.push(7);
    assert_eq!(a.probe(&seventeen), 8);
    a.figures();
    let mut step = Step::new();
    a.seqs.renew(first, &mut step).unwrap();
    assert_eq!(
        step.changes().iter().map(|it| it.entry).collect::<Vec<_>>(),
        [2, 3]
    );
    a.seqs.computed(first, 16).unwrap();
    assert_eq!(a.probe(&seventeen), 16);
    a.seqs.renew(second, &mut step).unwrap();
    a.seqs.computed(second, 20).unwrap();
    a.seqs.release(first).unwrap();
    a.seqs.release(second).unwrap();
    let figures = a.figures();
    assert_eq!((figures.2, figures.3), (0, 0));
    a.seqs.append(first, 1, &mut step).unwrap_err();
    let _ = Contents::new(&[]);
}

#[test]
fn bad_content_of_a_load_is_not_computed_again_by_the_next_look() {
    // The first block has arrived, in the order of a gap or not, and was noticed or not; then it turns out bad.
    for (first, noticed, bad) in [(0, true, 0), (0, false, 0), (1, true, 1), (1, false, 1)] {
        let mut b = End::new(1, 8);
        let prompt = tokens(14);
        let imported = b.import(&prompt, &Incoming::new(12, 1)).unwrap();
        let (handle, import) = (imported.handle, imported.import);
        import.arrived(0, first..first + 1).unwrap();
        if noticed {
            b.seqs.loading(handle).unwrap();
        }
        let mut affected = Vec::new();
        b.seqs.invalidate(import.ids()[bad], &mut affected).unwrap();
        assert_eq!(affected, [handle]);
        for at in (0..3).filter(|&at| at != first) {
            import.arrived(0, at..at + 1).unwrap();
            let state = b.seqs.loading(handle).unwrap();
            assert!(state.failed && state.arrived <= 4 * bad);
            b.figures();
        }
        assert_eq!(b.seqs.loading(handle).unwrap().arrived, 4 * bad);
        assert_eq!(b.seqs.state(handle).unwrap().computed, 4 * bad);
        assert_eq!(b.probe(&prompt), 4 * bad);
        let mut step = Step::new();
        b.seqs.renew(handle, &mut step).unwrap();
        b.seqs.computed(handle, 14).unwrap();
        assert_eq!(b.probe(&prompt), 12);
        b.figures();
    }
}

#[test]
fn a_move_with_bad_content_is_not_committed() {
    let (mut a, mut b) = (End::new(0, 8), End::new(1, 8));
    let prompt = tokens(9);
    let here = a.computed(&prompt);
    let export = a.offer(here);
    let imported = b
        .import(&prompt, &Incoming::from_export(&export, 1))
        .unwrap();
    imported.import.arrived(0, 0..3).unwrap();
    assert_eq!(b.seqs.loading(imported.handle).unwrap().arrived, 9);
    let mut affected = Vec::new();
    let bad = imported.import.ids()[1];
    b.seqs.invalidate(bad, &mut affected).unwrap();
    assert_eq!(affected, [imported.handle]);
    assert!(
        matches!(b.seqs.commit(imported.handle), Err(CommitError::NotArrived(it)) if (it.arrived, it.expected, it.left) == (4, 9, 0))
    );
    assert_eq!(export.phase(), Phase::Linked);
    b.seqs.release(imported.handle).unwrap();
    let mut step = Step::new();
    a.seqs.append(here, 8, &mut step).unwrap();
    a.figures();
    b.figures();
}

#[test]
fn what_arrived_for_positions_that_were_taken_back_does_not_count_for_later_ones() {
    let mut b = End::new(1, 8);
    let prompt = tokens(14);
    let imported = b.import(&prompt, &Incoming::new(12, 1)).unwrap();
    let handle = imported.handle;
    imported.import.arrived(0, 0..3).unwrap();
    // Nobody looked since.
    b.seqs.truncate(handle, 5).unwrap();
    let mut step = Step::new();
    b.seqs.append(handle, 7, &mut step).unwrap();
    b.seqs
        .tokens(
            handle,
            5,
            &Contents::new(&[70, 71, 72, 73, 74, 75, 76, 77][..7]),
        )
        .unwrap();
    let state = b.seqs.loading(handle).unwrap();
    assert_eq!((state.arrived, state.failed), (5, false));
    let state = b.seqs.state(handle).unwrap();
    assert_eq!((state.computed, state.published), (5, 1));
    b.figures();
}

#[test]
fn a_load_that_failed_is_not_all_there_until_it_is_computed() {
    let mut b = End::new(1, 8);
    let prompt = tokens(9);
    let imported = b.import(&prompt, &Incoming::new(8, 1)).unwrap();
    imported.import.arrived(0, 0..1).unwrap();
    imported.import.end(0).unwrap();
    for _ in 0..2 {
        let state = b.seqs.loading(imported.handle).unwrap();
        assert_eq!((state.arrived, state.left, state.failed), (4, 0, true));
        assert!(
            matches!(b.seqs.commit(imported.handle), Err(CommitError::NotArrived(it)) if (it.arrived, it.expected, it.left) == (4, 8, 0))
        );
    }
    b.seqs.computed(imported.handle, 9).unwrap();
    assert!(!b.seqs.loading(imported.handle).unwrap().failed);
    assert_eq!(b.seqs.commit(imported.handle), Ok(()));
    b.figures();
}

#[test]
fn a_copy_that_has_arrived_is_committed_and_no_longer_twice() {
    let (mut a, mut b) = (End::new(0, 8), End::new(1, 8));
    let prompt = tokens(9);
    let here = a.computed(&prompt);
    let terms = Terms::copy(Owner::new(1), 100);
    let export = a
        .seqs
        .export(here, &Namespace::new(), &mut a.leases, &terms)
        .unwrap();
    let imported = b
        .import(&prompt, &Incoming::from_export(&export, 1))
        .unwrap();
    assert_eq!(b.seqs.report().duplicated, 3);
    imported.import.arrived(0, 0..3).unwrap();
    assert_eq!(b.seqs.report().duplicated, 0);
    assert_eq!(b.seqs.loading(imported.handle).unwrap().arrived, 9);
    assert_eq!(export.phase(), Phase::Committed);
    assert_eq!(export.abort(), Err(NotOpen::Committed));
    b.seqs.release(imported.handle).unwrap();
    assert_eq!(export.phase(), Phase::Committed);
    a.figures();
    b.figures();
}

#[test]
fn an_export_whose_lease_is_over_is_not_imported() {
    let (mut a, mut b) = (End::new(0, 8), End::new(1, 8));
    let prompt = tokens(9);
    let here = a.computed(&prompt);
    let export = a.offer(here);
    assert_eq!(a.leases.tick(100), 1);
    // The source can have other content by the time that anything is read.
    assert_eq!(
        b.import(&prompt, &Incoming::from_export(&export, 1))
            .map(|_| ()),
        Err(ImportError::SourceTaken(SourceTaken))
    );
    assert_eq!(b.figures(), (8, 0, 0, 0));
    assert_eq!(export.abort(), Ok(()));
    a.figures();
}

/// Everything that holds a block holds what it hangs below: else that would be counted as available, and nobody could take it.
#[test]
fn bad_blocks_hang_below_the_findable_copies_of_those_before_them() {
    let mut a = End::new(0, 8);
    let p = tokens(14);
    let first = a.admit(&p[..9], Growth::OnDemand);
    let second = a.admit(&p, Growth::OnDemand);
    a.seqs.computed(first, 9).unwrap();
    // Two duplicates, and a block below the second's findable copy.
    a.seqs.computed(second, 14).unwrap();
    let bad = a.seqs.table(first).unwrap()[0];
    a.seqs.release(first).unwrap();
    assert_eq!(a.figures(), (2, 0, 6, 0));
    let mut affected = Vec::new();
    a.seqs.invalidate(bad, &mut affected).unwrap();
    assert_eq!(affected, [second]);
    assert_eq!(a.figures(), (2, 0, 6, 0));
    let mut child = [Handle::NONE];
    a.seqs.fork(second, &mut child).unwrap();
    a.figures();
    a.seqs.release(child[0]).unwrap();
    let mut step = Step::new();
    a.seqs.renew(second, &mut step).unwrap();
    assert_eq!(step.changes().len(), 1, "two were its own");
    a.seqs.computed(second, 14).unwrap();
    assert_eq!(a.probe(&p), 12);
    let (free, idle, held, _) = a.figures();
    assert_eq!((free + idle, held), (4, 4));
    // All that is said to be available is.
    let mut worker = a.seqs.pool().worker().unwrap();
    let pool = a.seqs.pool().clone();
    let rest = pool.reserve(4).unwrap().take(&mut worker, 4).unwrap();
    a.seqs.audit(&[&a.leases, &rest]).unwrap();
}

#[test]
fn a_fenced_tail_of_bad_blocks_holds_what_it_hangs_below() {
    for renewed in [false, true] {
        let mut a = End::new(0, 12);
        let p = tokens(14);
        let handle = a.computed(&p);
        let bad = a.seqs.table(handle).unwrap()[0];
        let mut affected = Vec::new();
        a.seqs.invalidate(bad, &mut affected).unwrap();
        let mut step = Step::new();
        if renewed {
            a.seqs.renew(handle, &mut step).unwrap();
        }
        let mut lane = a.seqs.pool().lane();
        a.seqs
            .truncate_after(handle, 4, &mut lane, kvblock::Fence(1))
            .unwrap();
        assert_eq!(a.seqs.audit(&[&lane]), Ok(()));
        a.seqs.release(handle).unwrap();
        assert_eq!(a.seqs.audit(&[&lane]), Ok(()));
        lane.complete(kvblock::Fence(1));
        assert_eq!(a.figures().2, 0);
    }
}

#[test]
fn a_fenced_block_that_was_partly_kept_holds_what_it_hangs_below() {
    let mut a = End::new(0, 12);
    let handle = a.computed(&tokens(14));
    a.seqs.truncate(handle, 10).unwrap();
    let mut lane = a.seqs.pool().lane();
    a.seqs
        .truncate_after(handle, 8, &mut lane, kvblock::Fence(1))
        .unwrap();
    assert_eq!(a.seqs.audit(&[&lane]), Ok(()));
    a.seqs.release(handle).unwrap();
    assert_eq!(a.seqs.audit(&[&lane]), Ok(()));
    lane.complete(kvblock::Fence(1));
    assert_eq!(a.figures(), (9, 3, 0, 0));
}

/// Two sequences with the same three blocks: the second has copies beside those of the first, of which the first block is bad.
fn with_bad_duplicates(a: &mut End) -> (Handle, Vec<u32>) {
    let p = tokens(14);
    let first = a.admit(&p, Growth::OnDemand);
    let second = a.admit(&p, Growth::OnDemand);
    a.seqs.computed(first, 14).unwrap();
    a.seqs.computed(second, 14).unwrap();
    let bad = a.seqs.table(first).unwrap()[0];
    let mut affected = Vec::new();
    a.seqs.invalidate(bad, &mut affected).unwrap();
    assert_eq!(affected, [first, second]);
    a.seqs.release(first).unwrap();
    (second, p)
}

#[test]
fn a_bad_copy_is_not_adopted() {
    let mut a = End::new(0, 8);
    let (second, _) = with_bad_duplicates(&mut a);
    let table = a.seqs.table(second).unwrap().to_vec();
    assert_eq!(a.seqs.adopt_duplicates(second), Ok(0));
    assert_eq!(a.seqs.table(second).unwrap(), table);
    assert_eq!(a.figures().2, 7);
}

#[test]
fn a_truncation_does_not_forget_that_what_it_keeps_is_bad() {
    let mut a = End::new(0, 8);
    let (second, p) = with_bad_duplicates(&mut a);
    let mut step = Step::new();
    a.seqs.truncate(second, 6).unwrap();
    assert_eq!(a.figures().2, 3, "two of its own, and one beside");
    a.seqs.append(second, 2, &mut step).unwrap();
    let known = a.seqs.state(second).unwrap().known;
    a.seqs
        .tokens(second, known, &Contents::new(&p[known..8]))
        .unwrap();
    a.seqs.computed(second, 8).unwrap();
    assert_eq!((a.figures().2, a.probe(&p)), (3, 0), "not before a renewal");
}

#[test]
fn a_renewal_behind_what_is_bad_lets_go_of_what_it_replaces() {
    let mut a = End::new(0, 12);
    let (second, _) = with_bad_duplicates(&mut a);
    // Against the advice: one block is said to be computed, and the others are renewed.
    a.seqs.computed(second, 4).unwrap();
    let mut step = Step::new();
    a.seqs.renew(second, &mut step).unwrap();
    assert_eq!(a.figures().2, 5, "four of its own, and one beside");
}

#[test]
fn what_has_not_been_copied_yet_is_not_offered() {
    let mut a = End::new(0, 12);
    let parent = a.computed(&tokens(10));
    let mut child = [Handle::NONE];
    a.seqs.fork(parent, &mut child).unwrap();
    let mut step = Step::new();
    a.seqs.append(child[0], 1, &mut step).unwrap();
    let terms = Terms::copy(Owner::new(1), 100);
    let space = Namespace::new();
    assert_eq!(
        a.seqs
            .export(child[0], &space, &mut a.leases, &terms)
            .map(|_| ()),
        Err(ExportError::CopyPending(CopyPending))
    );
    assert_eq!(a.leases.used(), 0);
    a.seqs.copied(step.copies()[0]).unwrap();
    let export = a.seqs.export(child[0], &space, &mut a.leases, &terms);
    assert_eq!(export.unwrap().positions(), 10);
    a.figures();
}

#[test]
fn writers_outlive_a_registry_that_closed() {
    let mut b = End::new(1, 8);
    let imported = b.import(&tokens(9), &Incoming::new(8, 1)).unwrap();
    let pool = b.seqs.pool().clone();
    let mut lane = pool.lane();
    b.seqs.close_after(&mut lane, kvblock::Fence(1)).unwrap();
    assert_eq!(lane.complete(kvblock::Fence(1)), 1);
    assert_eq!(pool.audit(&[&lane, &imported.import]), Ok(()));
    assert_eq!((pool.report().held, pool.report().free), (2, 6));
    assert_eq!(imported.import.end(0), Ok(2));
    assert_eq!(pool.audit(&[]), Ok(()));
    assert_eq!(pool.report().free, 8);
}

#[test]
fn a_move_is_not_finished_after_its_lease() {
    let mut a = End::new(0, 8);
    let here = a.computed(&tokens(9));
    let export = a.offer(here);
    a.leases.tick(100);
    assert_eq!(export.finish(), Err(NotOpen::LeaseOver));
    assert_eq!(export.phase(), Phase::Aborted);
    a.seqs.append(here, 1, &mut Step::new()).unwrap();
    a.figures();
}

#[test]
fn a_copy_of_what_is_bad_is_bad() {
    let mut a = End::new(0, 12);
    let parent = a.admit(&tokens(6), Growth::OnDemand);
    a.seqs.computed(parent, 6).unwrap();
    let mut child = [Handle::NONE];
    a.seqs.fork(parent, &mut child).unwrap();
    let mut step = Step::new();
    a.seqs.append(child[0], 2, &mut step).unwrap();
    let copy = step.copies()[0];
    let mut affected = Vec::new();
    a.seqs.invalidate(copy.src, &mut affected).unwrap();
    assert_eq!(affected, [parent, child[0]]);
    assert_eq!(a.seqs.state(child[0]).unwrap().computed, 4);
    a.seqs.copied(copy).unwrap();
    a.seqs.tokens(child[0], 6, &Contents::new(&[6, 7])).unwrap();
    assert_eq!(a.probe(&tokens(9)), 4, "not before it is computed anew");
    a.seqs.renew(child[0], &mut step).unwrap();
    a.seqs.computed(child[0], 8).unwrap();
    assert_eq!(a.probe(&tokens(9)), 8);
    a.figures();
}

#[test]
fn what_is_read_of_a_bad_block_does_not_count_at_the_other_end() {
    for moves in [false, true] {
        let (mut a, mut b) = (End::new(0, 8), End::new(1, 8));
        let prompt = tokens(9);
        let here = a.computed(&prompt);
        let terms = if moves {
            Terms::moving(Owner::new(1), 100)
        } else {
            Terms::copy(Owner::new(1), 100)
        };
        let space = Namespace::new();
        let export = a.seqs.export(here, &space, &mut a.leases, &terms).unwrap();
        let imported = b
            .import(&prompt, &Incoming::from_export(&export, 1))
            .unwrap();
        imported.import.arrived(0, 0..2).unwrap();
        let mut affected = Vec::new();
        let bad = a.seqs.table(here).unwrap()[1];
        a.seqs.invalidate(bad, &mut affected).unwrap();
        assert_eq!(export.phase(), Phase::Aborted);
        assert_eq!(imported.import.arrived(0, 2..3), Ok(Answer::SourceGone));
        let state = b.seqs.loading(imported.handle).unwrap();
        assert_eq!((state.arrived, state.failed), (4, true));
        assert_eq!(b.probe(&prompt), 4);
        assert!(b.seqs.commit(imported.handle).is_err());
        b.seqs.release(imported.handle).unwrap();
        assert!(!export.lease().is_live());
        a.figures();
        b.figures();
    }
}

#[test]
fn blocks_of_another_size_are_not_imported() {
    let mut a = End::new(0, 8);
    let pool = BlockPool::new(&PoolConfig::new(8, 2).shard(ShardId::new(1))).unwrap();
    let mut seqs = Sequences::new(pool, &SequencesConfig::new(4)).unwrap();
    let here = a.computed(&tokens(9));
    let export = a.offer(here);
    let space = Namespace::new();
    let prompt = tokens(9);
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand);
    let refused = seqs.import(&request, &Incoming::from_export(&export, 1));
    assert_eq!(
        refused.map(|_| ()),
        Err(ImportError::Incompatible(Incompatible::BlockSize {
            ours: 2,
            theirs: 4
        }))
    );
    assert_eq!(export.phase(), Phase::Offered);
}

#[test]
fn what_goes_offline_is_not_waited_for() {
    let mut a = End::new(0, 8);
    let low = a.admit(&tokens(16), Growth::OnDemand);
    let high: Vec<u32> = (100..116).collect();
    let high = a.admit(&high, Growth::OnDemand);
    let pool = a.seqs.pool().clone();
    let mut worker = pool.worker().unwrap();
    assert_eq!(pool.shrink(&mut worker, 4).unwrap().draining, 4);
    let mut victims = Vec::new();
    assert_eq!(a.seqs.select_victims(&[high], 4, &mut victims), Ok(0));
    assert!(victims.is_empty());
    let mut lane = pool.lane();
    a.seqs
        .release_after(high, &mut lane, kvblock::Fence(1))
        .unwrap();
    assert_eq!((pool.report().quarantined, pool.quarantined()), (4, 0));
    assert_eq!(lane.complete(kvblock::Fence(1)), 0);
    assert_eq!(pool.report().offline, 4);
    assert_eq!(a.seqs.select_victims(&[low], 4, &mut victims), Ok(4));
}

#[test]
fn a_shrink_that_is_taken_back_leaves_publishing_as_it_was() {
    let mut a = End::new(0, 4);
    let handle = a.admit(&tokens(12), Growth::OnDemand);
    let pool = a.seqs.pool().clone();
    let mut worker = pool.worker().unwrap();
    pool.shrink(&mut worker, 2).unwrap();
    a.seqs.computed(handle, 12).unwrap();
    assert_eq!(a.seqs.state(handle).unwrap().published, 2);
    pool.grow(2).unwrap();
    a.seqs.computed(handle, 12).unwrap();
    assert_eq!(a.seqs.state(handle).unwrap().published, 3);
    a.figures();
}
