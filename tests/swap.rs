//! Swaps between two tiers: what is copied, who has the sequence, and when blocks come back; in every order of fences, ends and aborts.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use kvblock::{
    Admit, AppendError, BlockPool, CommitError, CopyPending, ExportError, ExtraKey, Fence, Growth,
    Handle, ImportError, InTransit, Incoming, Instance, LeaseError, Leases, Namespace, NotOpen,
    OtherNamespace, Owner, PoolConfig, Prompt, Proof, Refused, Sequences, SequencesConfig, ShardId,
    Stale, Step, Swap, SwapAbortError, SwapCopyError, SwapError, SwapFinishError, SwapOver,
    TooManySequences, WrongPool,
};

use support::{probe, says, text};

const B: usize = 4;
const OWNER: Owner = Owner::new(1);

/// A registry over the blocks of one memory, and the leases on them.
struct Tier {
    seqs: Sequences,
    leases: Leases,
}

impl Tier {
    fn new(shard: u32, blocks: usize) -> Self {
        let config = PoolConfig::new(blocks, B).shard(ShardId::new(shard));
        Self::over(BlockPool::new(&config).unwrap())
    }

    fn over(pool: BlockPool) -> Self {
        Self {
            leases: Leases::new(&pool, 1000).unwrap(),
            seqs: Sequences::new(pool, &SequencesConfig::new(8)).unwrap(),
        }
    }

    fn computed(&mut self, tokens: &str, growth: Growth) -> Handle {
        let (space, tokens) = (Namespace::new(), text(tokens));
        let request = Admit::new(Prompt::new(&space, &tokens), growth).label(7);
        let handle = self.seqs.admit(&request).unwrap().handle;
        self.seqs.computed(handle, tokens.len()).unwrap();
        handle
    }

    fn swap(
        &mut self,
        handle: Handle,
        to: &mut Self,
        tokens: &str,
        growth: Growth,
    ) -> Result<Swap, SwapError> {
        let (space, tokens) = (Namespace::new(), text(tokens));
        let request = Admit::new(Prompt::new(&space, &tokens), growth).label(7);
        self.seqs
            .swap_to(handle, &mut to.seqs, &request, &mut self.leases, OWNER)
    }

    /// Swaps, and copies at once.
    fn swapped(&mut self, handle: Handle, to: &mut Self, tokens: &str, growth: Growth) -> Handle {
        let mut swap = self.swap(handle, to, tokens, growth).unwrap();
        swap.copying(Fence(1)).unwrap();
        assert!(swap.complete(Fence(1)));
        swap.finish(&mut self.seqs, &mut to.seqs).unwrap()
    }

    #[track_caller]
    fn counts(&self, free: usize, idle: usize, held: usize) {
        support::counts(self.seqs.pool(), free, idle, held);
        self.seqs.audit(&[&self.leases]).unwrap();
    }

    fn probe(&self, tokens: &str) -> usize {
        probe(self.seqs.pool(), &Namespace::new(), tokens)
    }

    /// Swapped out, swapped in, copied here, found here.
    fn swaps(&self) -> [u64; 4] {
        let report = self.seqs.report();
        [
            report.swapped_out,
            report.swapped_in,
            report.swap_copied,
            report.swap_hits,
        ]
    }
}

fn tiers(device: usize, host: usize) -> (Tier, Tier) {
    (Tier::new(0, device), Tier::new(1, host))
}

#[test]
fn a_sequence_goes_out_and_comes_back_with_its_hits() {
    let (mut device, mut host) = tiers(4, 8);
    let a = device.computed("P14", Growth::Cap(2));
    device.counts(0, 0, 4);
    let table = device.seqs.table(a).unwrap().to_vec();
    let mut swap = device
        .swap(a, &mut host, "P14", Growth::OnDemand)
        .expect("there is room");
    // All blocks in the order of the table, the partial one at the end too.
    let host_table = host.seqs.table(swap.handle()).unwrap();
    let pairs: Vec<_> = table
        .iter()
        .copied()
        .zip(host_table.iter().copied())
        .collect();
    assert_eq!(swap.pairs(), pairs);
    assert_eq!((swap.source(), swap.hit()), (a, 0));
    // Nothing is findable before it is there.
    assert_eq!(host.probe("P15"), 0);
    swap.copying(Fence(3)).unwrap();
    assert!(!swap.complete(Fence(2)));
    let not_yet = swap.finish(&mut device.seqs, &mut host.seqs).unwrap_err();
    assert!(matches!(
        not_yet,
        SwapFinishError::NotCopied(found) if (found.blocks, found.until) == (4, Some(Fence(3)))
    ));
    says(&not_yet, &[4, 3]);
    device.counts(0, 0, 4);
    assert!(swap.complete(Fence(3)) && swap.complete(Fence(9)));
    let stored = swap.finish(&mut device.seqs, &mut host.seqs).unwrap();
    device.counts(1, 3, 0);
    host.counts(4, 0, 4);
    assert_eq!(device.seqs.state(a), Err(Stale));
    let state = host.seqs.state(stored).unwrap();
    assert_eq!(
        (
            state.positions,
            state.computed,
            state.published,
            state.label,
            state.promised
        ),
        (14, 14, 3, 7, 0)
    );
    assert_eq!((device.probe("P15"), host.probe("P15")), (12, 12));
    assert_eq!((device.swaps(), host.swaps()), ([1, 0, 0, 0], [0, 1, 4, 0]));

    // One published block has gone meanwhile, leaf first: two blocks are found, two come.
    let x = device.computed("Q8", Growth::OnDemand);
    device.counts(0, 2, 2);
    device.seqs.release(x).unwrap();
    let mut back = host
        .swap(stored, &mut device, "P14", Growth::Cap(2))
        .unwrap();
    assert_eq!((back.hit(), back.pairs().len()), (8, 2));
    back.copying(Fence(4)).unwrap();
    back.complete(Fence(4));
    let a = back.finish(&mut host.seqs, &mut device.seqs).unwrap();
    let state = device.seqs.state(a).unwrap();
    assert_eq!(
        (state.positions, state.computed, state.growth),
        (14, 14, Growth::Cap(2))
    );
    assert_eq!((device.swaps(), host.swaps()), ([1, 1, 2, 2], [1, 1, 4, 0]));
    // It was never looked up as a prompt of the workload; only P14 and Q8 were.
    assert_eq!(device.seqs.report().first.requests, 2);
    assert_eq!(device.seqs.report().returned.requests, 0);
    assert_eq!(host.seqs.report().first.requests, 0);
    device.counts(0, 0, 4);
    host.counts(5, 3, 0);
}

#[test]
fn a_tier_with_nothing_left_swaps_out_whatever_it_has_promised() {
    for growth in [Growth::Cap(2), Growth::Ahead(1), Growth::OnDemand] {
        let (mut device, mut host) = tiers(3, 8);
        let a = device.computed("P6", growth);
        let rest = device.seqs.pool().available();
        let b = device.computed(&format!("Q{}", rest * B), Growth::OnDemand);
        assert_eq!(device.seqs.pool().available(), 0);
        let promised = device.seqs.state(a).unwrap().promised;
        let swap = device.swap(a, &mut host, "P6", Growth::OnDemand);
        let mut swap = swap.expect("no block is taken for it");
        device.seqs.audit(&[&device.leases]).unwrap();
        assert_eq!(device.seqs.state(a).unwrap().promised, promised);
        swap.copying(Fence(1)).unwrap();
        swap.complete(Fence(1));
        swap.finish(&mut device.seqs, &mut host.seqs).unwrap();
        assert_eq!(device.seqs.pool().available(), 3 - rest);
        device.seqs.release(b).unwrap();
        device.seqs.audit(&[&device.leases]).unwrap();
    }
}

#[test]
fn a_refusal_names_the_destination_and_changes_nothing() {
    let (mut device, mut host) = tiers(8, 4);
    let x = host.computed("X8", Growth::OnDemand);
    let a = device.computed("P14", Growth::Ahead(1));
    let before = (device.seqs.report(), device.seqs.state(a));
    let refused = device
        .swap(a, &mut host, "P14", Growth::OnDemand)
        .unwrap_err();
    let named = ShardId::new(1);
    assert!(matches!(
        refused.refused(),
        Some(Refused::Shortfall { shard, needed: 4, available: 2, .. }) if shard == named
    ));
    says(&refused, &[4, 2]);
    let never = device
        .swap(a, &mut host, "P14", Growth::Cap(8))
        .unwrap_err();
    assert!(matches!(
        never.refused(),
        Some(Refused::NeverFits { shard, needed: 6, capacity: 4, .. }) if shard == named
    ));
    assert_eq!((device.seqs.report(), device.seqs.state(a)), before);
    assert_eq!(host.seqs.pool().report().refused_shortfall, 1);
    assert_eq!(host.seqs.pool().report().refused_never, 1);
    device.counts(4, 0, 4);
    host.counts(2, 0, 2);
    // Not a refusal for want of blocks.
    let mut full = Tier::new(2, 64);
    for n in 0..8 {
        full.computed(&format!("X{}", n + 1), Growth::OnDemand);
    }
    let other = device
        .swap(a, &mut full, "P14", Growth::OnDemand)
        .unwrap_err();
    assert!(matches!(
        other,
        SwapError::Destination(ImportError::Admit(kvblock::AdmitError::TooManySequences(
            TooManySequences { max: 8, .. }
        )))
    ));
    assert_eq!(other.refused(), None);
    assert_eq!((device.seqs.report(), device.seqs.state(a)), before);
    host.seqs.release(x).unwrap();
    device
        .swap(a, &mut host, "P14", Growth::OnDemand)
        .expect("now there is room")
        .abort(&mut host.seqs)
        .unwrap();
}

#[test]
fn what_cannot_be_swapped_now_is_told_with_its_reason() {
    let (mut device, mut host) = tiers(16, 16);
    let mut step = Step::new();
    // A pending copy into its end.
    let a = device.computed("P6", Growth::OnDemand);
    let mut child = [a];
    device.seqs.fork(a, &mut child).unwrap();
    device.seqs.append(a, 1, &mut step).unwrap();
    let tokens = "P7";
    assert!(matches!(
        device.swap(a, &mut host, tokens, Growth::OnDemand),
        Err(SwapError::Source(ExportError::CopyPending(CopyPending)))
    ));
    for ticket in step.copies().to_vec() {
        device.seqs.copied(ticket).unwrap();
    }
    // Fewer tokens than positions.
    let short = device
        .swap(a, &mut host, "P6", Growth::OnDemand)
        .unwrap_err();
    assert_eq!(
        short,
        SwapError::Shorter {
            tokens: 6,
            positions: 7
        }
    );
    says(&short, &[6, 7]);
    // On its way already.
    let mut swap = device.swap(a, &mut host, tokens, Growth::OnDemand).unwrap();
    let again = device.swap(a, &mut host, tokens, Growth::OnDemand);
    assert!(matches!(
        again,
        Err(SwapError::Source(ExportError::InTransit(
            InTransit::Leaving
        )))
    ));
    assert!(matches!(
        device.swap(child[0], &mut host, "P6", Growth::OnDemand),
        Err(SwapError::Source(ExportError::Lease(LeaseError::OwnerTaken { owner }))) if owner == OWNER
    ));
    let arriving = swap.handle();
    let onward = host.swap(arriving, &mut device, tokens, Growth::OnDemand);
    assert!(matches!(
        onward,
        Err(SwapError::Source(ExportError::InTransit(
            InTransit::Uncommitted
        )))
    ));
    swap.abort(&mut host.seqs).unwrap();
    // Of another namespace, and not there.
    let (space, tokens) = (Namespace::new().adapter("a", 1), text("P7"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let other = device
        .seqs
        .swap_to(a, &mut host.seqs, &request, &mut device.leases, OWNER);
    assert!(matches!(
        other,
        Err(SwapError::Source(ExportError::OtherNamespace(
            OtherNamespace
        )))
    ));
    device.seqs.release(a).unwrap();
    assert!(matches!(
        device.swap(a, &mut host, "P7", Growth::OnDemand),
        Err(SwapError::Source(ExportError::Stale(Stale)))
    ));
    // Being loaded from elsewhere.
    let (space, tokens) = (Namespace::new(), text("R8"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let loads = device.seqs.import(&request, &Incoming::new(8, 1)).unwrap();
    assert!(matches!(
        device.swap(loads.handle, &mut host, "R8", Growth::OnDemand),
        Err(SwapError::Source(ExportError::InTransit(
            InTransit::Loading { .. }
        )))
    ));
    // The leases of another pool.
    let b = device.computed("S4", Growth::OnDemand);
    let (space, tokens) = (Namespace::new(), text("S4"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let foreign = device
        .seqs
        .swap_to(b, &mut host.seqs, &request, &mut host.leases, OWNER);
    assert!(matches!(
        foreign,
        Err(SwapError::Source(ExportError::Lease(LeaseError::WrongPool)))
    ));
    host.counts(16, 0, 0);
    device.seqs.audit(&[&device.leases]).unwrap();
}

#[test]
fn content_goes_under_no_other_tokens_and_no_other_extra_key_than_it_has() {
    let keys = |keys: [u128; 2]| keys.map(ExtraKey::new);
    let ours = keys([0, 5]);
    for proof in [Proof::Tokens, Proof::Digest] {
        // Two blocks and two positions; what is computed is published, or waits as a branch has the second block too.
        for (computed, shared) in [(10, false), (9, false), (8, true), (6, false), (3, false)] {
            let pool = BlockPool::new(&PoolConfig::new(8, B).proof(proof)).unwrap();
            let mut device = Tier::over(pool);
            let mut host = Tier::new(1, 8);
            let (space, tokens) = (Namespace::new(), text("P10"));
            let prompt = Prompt::new(&space, &tokens).extra(&ours);
            let request = Admit::new(prompt, Growth::OnDemand);
            let a = device.seqs.admit(&request).unwrap().handle;
            if shared {
                device.seqs.fork(a, &mut [a]).unwrap();
            }
            device.seqs.computed(a, computed).unwrap();
            let mut swap = |tokens: &[u32], extra: &[ExtraKey]| {
                let before = (device.seqs.report(), host.seqs.report());
                let prompt = Prompt::new(&space, tokens).extra(extra);
                let request = Admit::new(prompt, Growth::OnDemand);
                let leases = &mut device.leases;
                let begun = device
                    .seqs
                    .swap_to(a, &mut host.seqs, &request, leases, OWNER);
                let error = begun.map(|mut swap| swap.abort(&mut host.seqs)).err();
                if error.is_some() {
                    assert_eq!((device.seqs.report(), host.seqs.report()), before);
                }
                error
            };
            for at in 0..10 {
                let mut other = tokens.clone();
                other[at] += 1;
                let block = at / B;
                let refused = (at < computed).then_some(SwapError::OtherTokens { block });
                let case = (proof, computed, shared, at);
                assert_eq!(swap(&other, &ours), refused, "{case:?}");
            }
            // Of the second block the key is told as well, once some of it is computed.
            let refused = (computed > B).then_some(SwapError::OtherTokens { block: 1 });
            assert_eq!(swap(&tokens, &keys([0, 6])), refused);
            assert_eq!(swap(&tokens, &[]), refused);
            let first = Some(SwapError::OtherTokens { block: 0 });
            assert_eq!(swap(&tokens, &keys([1, 5])), first);
            // As many as there are blocks, or none.
            assert!(matches!(
                swap(&tokens, &[ExtraKey::new(1)]),
                Some(SwapError::Destination(_))
            ));
            assert_eq!(swap(&tokens, &ours), None);
        }
    }
    says(&SwapError::OtherTokens { block: 3 }, &[3]);
}

#[test]
fn of_what_the_source_was_told_nothing_about_the_word_of_the_swap_counts() {
    let (mut device, mut host) = tiers(8, 8);
    let a = device.computed("P6", Growth::OnDemand);
    device.seqs.append(a, 4, &mut Step::new()).unwrap();
    device.seqs.computed(a, 10).unwrap();
    let other = device.swap(a, &mut host, "P5+Q5", Growth::OnDemand);
    assert_eq!(other.err(), Some(SwapError::OtherTokens { block: 1 }));
    let stored = device.swapped(a, &mut host, "P6+Q4", Growth::OnDemand);
    assert_eq!(host.probe("P6+Q4"), 8);
    let back = host.swapped(stored, &mut device, "P6+Q4", Growth::OnDemand);
    // It was admitted to publish nothing: then nothing is kept of it.
    let (space, tokens) = (Namespace::new(), text("R6"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand).insert(false);
    let b = device.seqs.admit(&request).unwrap().handle;
    device.seqs.computed(b, 6).unwrap();
    device.swapped(b, &mut host, "S6", Growth::OnDemand);
    device.seqs.release(back).unwrap();
    device.seqs.audit(&[&device.leases]).unwrap();
}

#[test]
fn a_tier_that_lays_blocks_out_otherwise_is_refused_and_changes_nothing() {
    let mut device = Tier::new(0, 8);
    let pool = BlockPool::new(&PoolConfig::new(8, 2 * B)).unwrap();
    let mut host = Sequences::new(pool, &SequencesConfig::new(8)).unwrap();
    let a = device.computed("P6", Growth::Cap(4));
    let before = (device.seqs.report(), device.seqs.state(a));
    let (space, tokens) = (Namespace::new(), text("P6"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let other = device
        .seqs
        .swap_to(a, &mut host, &request, &mut device.leases, OWNER);
    assert!(matches!(
        other,
        Err(SwapError::Destination(ImportError::Incompatible(_)))
    ));
    assert_eq!((device.seqs.report(), device.seqs.state(a)), before);
    assert!(device.leases.is_empty() && host.is_empty());
    device.seqs.append(a, 1, &mut Step::new()).unwrap();
}

#[test]
fn a_refusal_leaves_a_load_that_failed_as_it_was() {
    let pool = BlockPool::new(&PoolConfig::new(8, 2 * B)).unwrap();
    let mut host = Sequences::new(pool, &SequencesConfig::new(8)).unwrap();
    let mut device = Tier::new(0, 8);
    let (space, tokens) = (Namespace::new(), text("P12"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let loads = device.seqs.import(&request, &Incoming::new(12, 1)).unwrap();
    loads.import.arrived(0, 0..1).unwrap();
    loads.import.failed(0, 1..3).unwrap();
    let before = device.seqs.loading(loads.handle).unwrap();
    assert!(before.failed && before.arrived == 4);
    let leases = &mut device.leases;
    let other = device
        .seqs
        .swap_to(loads.handle, &mut host, &request, leases, OWNER);
    assert!(matches!(
        other,
        Err(SwapError::Destination(ImportError::Incompatible(_)))
    ));
    assert_eq!(device.seqs.loading(loads.handle), Ok(before));
    assert!(loads.import.is_wanted());
    // A swap that begins takes what has arrived.
    let mut other = Tier::new(1, 8);
    let begun = device.swap(loads.handle, &mut other, "P12", Growth::OnDemand);
    assert!(begun.is_ok() && !loads.import.is_wanted());
    begun.unwrap().abort(&mut other.seqs).unwrap();
    device.seqs.release(loads.handle).unwrap();
    device.counts(7, 1, 0);
}

#[test]
fn what_was_not_computed_stays_to_be_computed_at_its_last_position() {
    let (mut device, mut host) = tiers(8, 8);
    let whole = host.computed("P8", Growth::OnDemand);
    host.seqs.release(whole).unwrap();
    let (space, tokens) = (Namespace::new(), text("P8"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    for (computed, there) in [(3, 4), (8, 8)] {
        let a = device.seqs.admit(&request).unwrap().handle;
        device.seqs.computed(a, computed).unwrap();
        let b = device.swapped(a, &mut host, "P8", Growth::OnDemand);
        assert_eq!(host.seqs.state(b).unwrap().computed, there);
        host.seqs.release(b).unwrap();
    }
}

/// Its end is written in place, with what was promised.
#[track_caller]
fn goes_on(device: &mut Tier, a: Handle) {
    let state = device.seqs.state(a).unwrap();
    assert_eq!((state.label, state.growth), (7, Growth::Cap(4)));
    let table = device.seqs.table(a).unwrap().to_vec();
    let mut step = Step::new();
    device.seqs.append(a, 4, &mut step).unwrap();
    assert_eq!(step.copies(), []);
    assert_eq!(device.seqs.table(a).unwrap()[..table.len()], table);
    assert_eq!(device.seqs.state(a).unwrap().promised, 0);
}

#[test]
fn aborted_before_the_copy_is_launched_both_sides_have_all_back_at_once() {
    let (mut device, mut host) = tiers(3, 4);
    let a = device.computed("P6", Growth::Cap(4));
    let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    let arriving = swap.handle();
    assert_eq!(
        device.seqs.append(a, 1, &mut Step::new()),
        Err(AppendError::InTransit(InTransit::Leaving))
    );
    host.counts(2, 0, 2);
    swap.abort(&mut host.seqs).unwrap();
    assert!(swap.pairs().is_empty() && swap.complete(Fence(0)));
    host.counts(4, 0, 0);
    assert_eq!(host.seqs.state(arriving), Err(Stale));
    assert_eq!(swap.abort(&mut host.seqs), Err(SwapOver.into()));
    assert_eq!(swap.copying(Fence(1)), Err(SwapOver.into()));
    assert_eq!(
        swap.finish(&mut device.seqs, &mut host.seqs),
        Err(SwapOver.into())
    );
    goes_on(&mut device, a);
    assert_eq!(device.swaps(), [0; 4]);
    assert_eq!(host.swaps(), [0; 4]);
    device.counts(0, 0, 3);
}

#[test]
fn a_part_launched_when_all_was_said_to_have_passed_is_refused() {
    let (mut device, mut host) = tiers(3, 4);
    let a = device.computed("P6", Growth::Cap(4));
    let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    swap.copying(Fence(5)).unwrap();
    assert!(swap.complete(Fence(5)));
    // It has passed, too.
    swap.copying(Fence(4)).unwrap();
    let late = swap.copying(Fence(7)).unwrap_err();
    assert!(matches!(
        late,
        SwapCopyError::AlreadyCopied(it) if (it.blocks, it.until, it.fence) == (2, Fence(5), Fence(7))
    ));
    says(&late, &[2, 5, 7]);
    assert!(swap.complete(Fence(5)));
    swap.abort(&mut host.seqs).unwrap();
    goes_on(&mut device, a);

    // Of a swap that has nothing to copy it says nothing.
    let (mut device, mut host) = tiers(3, 4);
    let a = device.computed("P8", Growth::OnDemand);
    let there = host.computed("P8", Growth::OnDemand);
    let mut swap = device.swap(a, &mut host, "P8", Growth::OnDemand).unwrap();
    assert!(swap.pairs().is_empty() && swap.complete(Fence(0)));
    swap.copying(Fence(1)).unwrap();
    swap.copying(Fence(2)).unwrap();
    swap.finish(&mut device.seqs, &mut host.seqs).unwrap();
    host.seqs.release(there).unwrap();
}

#[test]
fn aborted_amid_the_copy_the_destination_has_its_blocks_back_behind_it_once() {
    let (mut device, mut host) = tiers(3, 4);
    let a = device.computed("P6", Growth::Cap(4));
    let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    // In two parts: the later one counts.
    swap.copying(Fence(5)).unwrap();
    swap.copying(Fence(4)).unwrap();
    swap.abort(&mut host.seqs).unwrap();
    host.counts(2, 0, 2);
    assert!(!swap.complete(Fence(4)));
    host.counts(2, 0, 2);
    // Nobody writes what is being read, and no copy of the end is needed.
    assert_eq!(
        device.seqs.append(a, 1, &mut Step::new()),
        Err(AppendError::InTransit(InTransit::Leaving))
    );
    device.seqs.audit(&[&device.leases]).unwrap();
    assert!(swap.complete(Fence(5)) && swap.complete(Fence(5)));
    host.counts(4, 0, 0);
    assert_eq!(host.probe("P7"), 0);
    drop(swap);
    host.counts(4, 0, 0);
    goes_on(&mut device, a);
    device.counts(0, 0, 3);
}

#[test]
fn aborted_when_the_copy_has_passed_the_source_goes_on_all_the_same() {
    let (mut device, mut host) = tiers(3, 4);
    let a = device.computed("P6", Growth::Cap(4));
    let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    swap.copying(Fence(1)).unwrap();
    assert!(swap.complete(Fence(1)));
    swap.abort(&mut host.seqs).unwrap();
    // What was copied is a hit there.
    host.counts(3, 1, 0);
    assert_eq!((host.probe("P7"), host.swaps()), (4, [0; 4]));
    goes_on(&mut device, a);
}

#[test]
fn blocks_that_somebody_has_answered_for_keep_no_others_from_being_answered_for() {
    // The copy has passed: one of its blocks was said to be there before, one not to be.
    for (lost, finishes) in [(false, true), (true, false)] {
        let (mut device, mut host) = tiers(4, 4);
        let a = device.computed("P10", Growth::Cap(2));
        let mut swap = device.swap(a, &mut host, "P10", Growth::OnDemand).unwrap();
        swap.copying(Fence(1)).unwrap();
        let import = swap.import().clone();
        if lost {
            import.failed(0, 1..2).unwrap();
        } else {
            import.arrived(0, 1..2).unwrap();
        }
        assert!(swap.complete(Fence(1)));
        assert_eq!((import.left(), device.leases.used()), (0, 0));
        assert_eq!(
            swap.finish(&mut device.seqs, &mut host.seqs).is_ok(),
            finishes
        );
        if !finishes {
            swap.abort(&mut host.seqs).unwrap();
            device.seqs.append(a, 1, &mut Step::new()).unwrap();
        }
    }
    // Called off before it was launched, and amid it.
    for launched in [false, true] {
        let (mut device, mut host) = tiers(3, 4);
        let a = device.computed("P6", Growth::Cap(4));
        let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
        if launched {
            swap.copying(Fence(1)).unwrap();
        }
        swap.import().arrived(0, 0..1).unwrap();
        swap.abort(&mut host.seqs).unwrap();
        assert!(swap.complete(Fence(1)));
        host.counts(3, 1, 0);
        goes_on(&mut device, a);
    }
}

#[test]
fn a_source_released_amid_the_copy_is_held_until_it_has_passed() {
    let (mut device, mut host) = tiers(4, 4);
    let a = device.computed("P6", Growth::Cap(4));
    let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    swap.copying(Fence(1)).unwrap();
    device.seqs.release(a).unwrap();
    device.counts(2, 0, 2);
    assert!(swap.complete(Fence(1)));
    device.counts(3, 1, 0);
    assert!(matches!(
        swap.finish(&mut device.seqs, &mut host.seqs),
        Err(SwapFinishError::Commit(CommitError::Aborted(_)))
    ));
    swap.abort(&mut host.seqs).unwrap();
    host.counts(3, 1, 0);
}

#[test]
fn content_that_turns_out_bad_is_not_taken_over() {
    let (mut device, mut host) = tiers(4, 4);
    let a = device.computed("P8", Growth::OnDemand);
    let mut swap = device.swap(a, &mut host, "P8", Growth::OnDemand).unwrap();
    swap.copying(Fence(1)).unwrap();
    let bad = device.seqs.table(a).unwrap()[1];
    device.seqs.invalidate(bad, &mut Vec::new()).unwrap();
    swap.complete(Fence(1));
    assert!(matches!(
        swap.finish(&mut device.seqs, &mut host.seqs),
        Err(SwapFinishError::Commit(_))
    ));
    swap.abort(&mut host.seqs).unwrap();
    assert_eq!(device.seqs.state(a).unwrap().computed, 4);
    assert!(host.probe("P9") <= 4);
    host.seqs.audit(&[&host.leases]).unwrap();
    device.seqs.audit(&[&device.leases]).unwrap();
}

#[test]
fn a_swap_whose_table_of_leases_is_gone_names_what_it_reads() {
    let (mut device, mut host) = tiers(3, 4);
    let a = device.computed("P6", Growth::Cap(4));
    let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    swap.copying(Fence(1)).unwrap();
    let table = core::mem::replace(
        &mut device.leases,
        Leases::new(device.seqs.pool(), 1000).unwrap(),
    );
    drop(table);
    assert!(device.seqs.audit(&[&device.leases]).is_err());
    assert_eq!(swap.lease().ids().len(), 2);
    device.seqs.audit(&[&device.leases, swap.lease()]).unwrap();
    assert!(swap.complete(Fence(1)));
    swap.finish(&mut device.seqs, &mut host.seqs).unwrap();
    device.counts(2, 1, 0);
}

#[test]
fn a_dropped_swap_leaves_the_sequence_to_its_source() {
    // Before the copy: its blocks at the destination are those of a sequence that is to be released there.
    let (mut device, mut host) = tiers(3, 4);
    let a = device.computed("P6", Growth::Cap(4));
    let swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    let arriving = swap.handle();
    drop(swap);
    host.counts(2, 0, 2);
    assert!(matches!(
        host.seqs.commit(arriving),
        Err(CommitError::Aborted(_))
    ));
    host.seqs.release(arriving).unwrap();
    host.counts(4, 0, 0);
    goes_on(&mut device, a);

    // Amid it: they are held until somebody answers for the copy.
    let (mut device, mut host) = tiers(3, 4);
    let a = device.computed("P6", Growth::Cap(4));
    let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    swap.copying(Fence(1)).unwrap();
    let (arriving, import) = (swap.handle(), swap.import().clone());
    drop(swap);
    host.seqs.release(arriving).unwrap();
    host.counts(2, 0, 2);
    assert!(device.seqs.append(a, 1, &mut Step::new()).is_err());
    assert_eq!(import.end(0), Ok(2));
    host.counts(4, 0, 0);
    goes_on(&mut device, a);
}

#[test]
fn of_a_branch_the_shared_blocks_are_copied_and_the_others_keep_theirs() {
    let (mut device, mut host) = tiers(8, 8);
    let a = device.computed("P10", Growth::Ahead(1));
    let mut child = [a];
    device.seqs.fork(a, &mut child).unwrap();
    let [b] = child;
    let table = device.seqs.table(b).unwrap().to_vec();
    let mut step = Step::new();
    device.seqs.append(b, 1, &mut step).unwrap();
    // The copy of the shared end reads a block of the other branch: that one may leave.
    assert_eq!(step.copies().len(), 1);
    let stored = device.swapped(a, &mut host, "P10", Growth::OnDemand);
    host.counts(5, 0, 3);
    let now = device.seqs.table(b).unwrap().to_vec();
    assert_eq!(now[..2], table[..2]);
    for ticket in step.copies().to_vec() {
        device.seqs.copied(ticket).unwrap();
    }
    let state = device.seqs.state(b).unwrap();
    assert_eq!((state.positions, state.blocks), (11, 3));
    device.seqs.audit(&[&device.leases]).unwrap();
    // It finds the shared blocks when it comes back.
    let mut back = host
        .swap(stored, &mut device, "P10", Growth::Ahead(1))
        .unwrap();
    assert_eq!((back.hit(), back.pairs().len()), (8, 1));
    back.copying(Fence(2)).unwrap();
    back.complete(Fence(2));
    let a = back.finish(&mut host.seqs, &mut device.seqs).unwrap();
    assert_eq!(device.seqs.table(a).unwrap()[..2], table[..2]);
    device.seqs.audit(&[&device.leases]).unwrap();
}

#[test]
fn what_is_appended_and_not_computed_and_what_nothing_is_computed_of_goes_along() {
    let (mut device, mut host) = tiers(8, 8);
    let (space, tokens) = (Namespace::new(), text("P9"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    for (computed, blocks) in [(0, 0), (3, 1), (4, 1), (5, 2), (9, 3)] {
        let a = device.seqs.admit(&request).unwrap().handle;
        device.seqs.computed(a, computed).unwrap();
        let mut swap = device.swap(a, &mut host, "P9", Growth::OnDemand).unwrap();
        let hits = swap.hit() / B;
        assert_eq!(swap.pairs().len(), blocks - hits, "{computed}");
        if !swap.pairs().is_empty() {
            assert!(!swap.complete(Fence(9)), "nobody has launched it");
            swap.copying(Fence(1)).unwrap();
        }
        assert!(swap.complete(Fence(1)));
        let b = swap.finish(&mut device.seqs, &mut host.seqs).unwrap();
        let state = host.seqs.state(b).unwrap();
        assert_eq!(
            (state.positions, state.known, state.computed),
            (9, 9, computed)
        );
        assert_eq!(host.seqs.table(b).unwrap().len(), 3);
        host.seqs.release(b).unwrap();
        device.seqs.audit(&[&device.leases]).unwrap();
        host.seqs.audit(&[&host.leases]).unwrap();
        let mut worker = host.seqs.pool().worker().unwrap();
        host.seqs.pool().evict(&mut worker, 8).unwrap();
        let mut worker = device.seqs.pool().worker().unwrap();
        device.seqs.pool().evict(&mut worker, 8).unwrap();
    }
}

#[test]
fn nothing_more_is_computed_on_either_side_before_the_swap_has_ended() {
    let (mut device, mut host) = tiers(8, 8);
    let (space, tokens) = (Namespace::new(), text("P9"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let a = device.seqs.admit(&request).unwrap().handle;
    device.seqs.computed(a, 5).unwrap();
    let mut swap = device.swap(a, &mut host, "P9", Growth::OnDemand).unwrap();
    let b = swap.handle();
    swap.copying(Fence(1)).unwrap();
    let loading = InTransit::Loading { arrived: 0 };
    assert_eq!(host.seqs.computed(b, 6), Err(loading.into()));
    assert!(swap.complete(Fence(1)));
    let uncommitted = InTransit::Uncommitted;
    assert_eq!(host.seqs.computed(b, 6), Err(uncommitted.into()));
    assert_eq!(device.seqs.computed(a, 6), Err(InTransit::Leaving.into()));
    swap.finish(&mut device.seqs, &mut host.seqs).unwrap();
    assert_eq!(host.seqs.computed(b, 6), Ok(()));
}

#[test]
fn other_registries_are_not_obeyed() {
    let (mut device, mut host) = tiers(8, 8);
    let mut other = Tier::new(2, 8);
    let mut beside = Sequences::new(host.seqs.pool().clone(), &SequencesConfig::new(8)).unwrap();
    let mut near = Sequences::new(device.seqs.pool().clone(), &SequencesConfig::new(8)).unwrap();
    let a = device.computed("P6", Growth::Cap(4));
    let mut swap = device.swap(a, &mut host, "P6", Growth::OnDemand).unwrap();
    swap.copying(Fence(1)).unwrap();
    swap.complete(Fence(1));
    let wrong = Err(SwapFinishError::WrongPool(WrongPool));
    assert_eq!(swap.finish(&mut device.seqs, &mut other.seqs), wrong);
    assert_eq!(swap.finish(&mut other.seqs, &mut host.seqs), wrong);
    assert_eq!(swap.finish(&mut host.seqs, &mut device.seqs), wrong);
    let stale = Err(SwapFinishError::Stale(Stale));
    assert_eq!(swap.finish(&mut near, &mut host.seqs), stale);
    assert_eq!(swap.finish(&mut device.seqs, &mut beside), stale);
    assert_eq!(
        swap.abort(&mut other.seqs),
        Err(SwapAbortError::WrongPool(WrongPool))
    );
    assert_eq!(swap.abort(&mut beside), Err(SwapAbortError::Stale(Stale)));
    // The destination's registry may have taken it over by itself: then it is to be finished.
    host.seqs.commit(swap.handle()).unwrap();
    assert_eq!(
        swap.abort(&mut host.seqs),
        Err(SwapAbortError::NotOpen(NotOpen::Committed))
    );
    let b = swap.finish(&mut device.seqs, &mut host.seqs).unwrap();
    assert_eq!(host.seqs.state(b).unwrap().computed, 6);
    device.counts(7, 1, 0);
}

// ---- the cases of `CASES.md` on host tiers, as swaps; as plain transfers they are in `lifetime_cases.rs`

#[test]
fn c015_swap_in_needs_room_for_the_pending_tokens_too() {
    let (mut device, mut host) = tiers(3, 8);
    let stored = host.computed("P8", Growth::OnDemand);
    let x = device.computed("X4", Growth::OnDemand);
    let refused = host
        .swap(stored, &mut device, "P9", Growth::OnDemand)
        .unwrap_err();
    assert!(matches!(
        refused.refused(),
        Some(Refused::Shortfall {
            needed: 3,
            available: 2,
            ..
        })
    ));
    device.counts(2, 0, 1);
    device.seqs.release(x).unwrap();
    let mut worker = device.seqs.pool().worker().unwrap();
    device.seqs.pool().evict(&mut worker, 1).unwrap();
    let mut swap = host
        .swap(stored, &mut device, "P9", Growth::OnDemand)
        .unwrap();
    assert_eq!(swap.pairs().len(), 2);
    device.counts(0, 0, 3);
    swap.copying(Fence(1)).unwrap();
    swap.complete(Fence(1));
    let a = swap.finish(&mut host.seqs, &mut device.seqs).unwrap();
    let state = device.seqs.state(a).unwrap();
    assert_eq!((state.positions, state.computed), (9, 8));
}

#[test]
fn c055_a_host_copy_being_swapped_in_is_not_evictable() {
    let (mut device, mut host) = tiers(4, 2);
    let h1 = host.computed("P4", Growth::OnDemand);
    let h2 = host.computed("Q4", Growth::OnDemand);
    host.seqs.release(h2).unwrap();
    let mut worker = host.seqs.pool().worker().unwrap();
    let mut swap = host.swap(h1, &mut device, "P4", Growth::OnDemand).unwrap();
    swap.copying(Fence(1)).unwrap();
    assert_eq!(host.seqs.pool().evict(&mut worker, 2), Ok(1));
    // Not even if the sequence is given up meanwhile.
    host.seqs.release(h1).unwrap();
    assert_eq!(host.seqs.pool().evict(&mut worker, 2), Ok(0));
    swap.complete(Fence(1));
    assert_eq!(host.seqs.pool().evict(&mut worker, 2), Ok(1));
    swap.abort(&mut device.seqs).unwrap();
    device.seqs.audit(&[&device.leases]).unwrap();
}

#[test]
fn c077_tiers_are_counted_apart() {
    let (mut device, mut host) = tiers(8, 4);
    let a = device.computed("P8", Growth::OnDemand);
    let b = device.swapped(a, &mut host, "P8", Growth::OnDemand);
    device.counts(6, 2, 0);
    host.counts(2, 0, 2);
    host.seqs.release(b).unwrap();
    host.counts(2, 2, 0);
    assert_eq!((device.probe("P9"), host.probe("P9")), (8, 8));
}

// ---- instances

/// Two stages of a pipeline and their leases.
fn stages(first: u32, blocks: [usize; 2]) -> (Instance, Vec<Leases>) {
    let shards = blocks.into_iter().zip(first..).map(|(blocks, shard)| {
        let pool = BlockPool::new(&PoolConfig::new(blocks, B).shard(ShardId::new(shard))).unwrap();
        Sequences::new(pool, &SequencesConfig::new(4)).unwrap()
    });
    let instance = Instance::split(shards.collect()).unwrap();
    let leases = instance.leases(100).unwrap();
    (instance, leases)
}

#[track_caller]
fn audit(instance: &Instance, leases: &[Leases]) {
    let others: Vec<_> = leases.iter().map(|it| it as &dyn kvblock::Holder).collect();
    instance.audit(&others).unwrap();
}

#[test]
fn a_sequence_of_an_instance_is_swapped_on_all_shards_or_on_none() {
    let (mut device, mut on_device) = stages(0, [4, 3]);
    let (mut host, mut on_host) = stages(8, [8, 3]);
    let (space, tokens) = (Namespace::new(), text("P10"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand).label(7);
    let a = device.admit(&request).unwrap().handle;
    device.computed(a, 10).unwrap();

    // Too little on the second stage of the host: nothing on the first.
    let (_, more) = (Namespace::new(), text("X4"));
    let x = Admit::new(Prompt::new(&space, &more), Growth::OnDemand);
    let x = host.admit(&x).unwrap().handle;
    let before = (device.report(), host.shards()[0].report().held_blocks);
    let refused = device
        .swap_to(a, &mut host, &request, &mut on_device, OWNER)
        .unwrap_err();
    assert!(matches!(
        refused.refused(),
        Some(Refused::Shortfall { shard, .. }) if shard == ShardId::new(9)
    ));
    assert_eq!(
        (device.report(), host.shards()[0].report().held_blocks),
        before
    );
    audit(&device, &on_device);
    audit(&host, &on_host);
    // What can't leave is told before, and nobody is refused for it.
    let refusals = host.shards()[1].report().pool.refused_shortfall;
    let elsewhere = Namespace::new().adapter("a", 1);
    let wrong = Admit::new(Prompt::new(&elsewhere, &tokens), Growth::OnDemand);
    assert!(matches!(
        device.swap_to(a, &mut host, &wrong, &mut on_device, OWNER),
        Err(SwapError::Source(ExportError::OtherNamespace(_)))
    ));
    let (_, others) = (Namespace::new(), text("P8+X2"));
    let wrong = Admit::new(Prompt::new(&space, &others), Growth::OnDemand);
    assert_eq!(
        device
            .swap_to(a, &mut host, &wrong, &mut on_device, OWNER)
            .err(),
        Some(SwapError::OtherTokens { block: 2 })
    );
    let now = host.shards()[1].report().pool.refused_shortfall;
    assert_eq!(now, refusals);
    host.release(x).unwrap();

    // Each shard's copy has its own fence; the sequence goes on when both have passed.
    let mut swap = device
        .swap_to(a, &mut host, &request, &mut on_device, OWNER)
        .unwrap();
    assert_eq!([0, 1, 2].map(|shard| swap.pairs(shard).len()), [3, 3, 0]);
    swap.copying(0, Fence(5)).unwrap();
    swap.copying(1, Fence(2)).unwrap();
    assert!(matches!(
        swap.copying(2, Fence(1)),
        Err(SwapCopyError::NoSuchShard(found)) if (found.shard, found.shards) == (2, 2)
    ));
    assert!(!swap.complete(1, Fence(2)) && !swap.complete(2, Fence(9)));
    assert!(matches!(
        swap.finish(&mut device, &mut host),
        Err(SwapFinishError::NotCopied(_))
    ));
    assert!(swap.complete(0, Fence(5)));
    assert_eq!(
        swap.finish(&mut host, &mut device),
        Err(SwapFinishError::WrongPool(WrongPool))
    );
    let stored = swap.finish(&mut device, &mut host).unwrap();
    assert_eq!(device.len(), 0);
    assert_eq!(host.state(stored).unwrap().computed, 10);
    for it in host.shards() {
        let report = it.report();
        assert_eq!((report.swapped_in, report.swap_copied), (1, 3));
    }

    // Back, called off amid the copy of one shard: the other's blocks are back at once.
    let mut back = host
        .swap_to(stored, &mut device, &request, &mut on_host, OWNER)
        .unwrap();
    assert_eq!(back.hit(), 8);
    back.copying(1, Fence(3)).unwrap();
    back.abort(&mut device).unwrap();
    let held = |it: &Instance| {
        let shards = it.shards().iter();
        shards.map(|it| it.pool().report().held).collect::<Vec<_>>()
    };
    assert_eq!(held(&device), [0, 1]);
    assert!(back.complete(1, Fence(3)));
    assert_eq!(held(&device), [0, 0]);
    audit(&device, &on_device);
    audit(&host, &on_host);

    // And dropped before it.
    let back = host
        .swap_to(stored, &mut device, &request, &mut on_host, OWNER)
        .unwrap();
    let arriving = back.handle();
    drop(back);
    device.release(arriving).unwrap();
    assert_eq!(host.state(stored).unwrap().computed, 10);
    let mut back = host
        .swap_to(stored, &mut device, &request, &mut on_host, OWNER)
        .unwrap();
    for shard in 0..2 {
        back.copying(shard, Fence(4)).unwrap();
        back.complete(shard, Fence(4));
    }
    let a = back.finish(&mut host, &mut device).unwrap();
    assert_eq!(device.state(a).unwrap().computed, 10);
    audit(&device, &on_device);
    audit(&host, &on_host);
}
