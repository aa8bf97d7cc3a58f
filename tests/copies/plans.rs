//! A plan is as if its pairs were copied one after another: over every layout, in place and between memories, in chains and cycles.

use std::collections::{BTreeMap, BTreeSet};

use kvblock::{BlockId, BlockLayout, CopyEnd, CopyPlan, CopyPlanError, CopyRoute, MemoryId, Plane};
use proptest::prelude::*;

use super::bench::{Bench, Pairs, order, pairs, shape};
use super::properties;
use super::support::says;

/// Up to `len` pairs among blocks up to a few, so that chains and cycles are common; now and then one that is not there.
fn any_pairs(len: usize) -> impl Strategy<Value = Vec<(u32, u32)>> {
    let id = || prop_oneof![40 => 0_u32..9, 1 => any::<u32>()];
    proptest::collection::vec((id(), id()), 0..len)
}

/// What the list says of each pair in turn.
fn first_error(
    (sources, destinations): (usize, usize),
    in_place: bool,
    pairs: &[(BlockId, BlockId)],
) -> Option<CopyPlanError> {
    let mut written: BTreeMap<BlockId, usize> = BTreeMap::new();
    for (pair, &(from, to)) in pairs.iter().enumerate() {
        for (end, block, blocks) in [
            (CopyEnd::Source, from, sources),
            (CopyEnd::Destination, to, destinations),
        ] {
            if block.get() as usize >= blocks {
                return Some(CopyPlanError::OutOfRange {
                    pair,
                    end,
                    block,
                    blocks,
                });
            }
        }
        if in_place && from == to {
            return Some(CopyPlanError::OntoItself { pair, block: from });
        }
        if let Some(&first) = written.get(&to) {
            return Some(CopyPlanError::DuplicateDestination {
                pair,
                first,
                block: to,
            });
        }
        written.insert(to, pair);
    }
    None
}

/// Without those that no plan can have.
fn sound(sources: usize, destinations: usize, in_place: bool, all: &[(u32, u32)]) -> Pairs {
    let mut kept = Pairs::new();
    for &(from, to) in all {
        let pair = (
            BlockId::new(from % u32::try_from(sources).expect("few")),
            BlockId::new(to % u32::try_from(destinations).expect("few")),
        );
        kept.push(pair);
        if first_error((sources, destinations), in_place, &kept).is_some() {
            kept.pop();
        }
    }
    kept
}

/// All pairs are there once, and within a wave no destination is a source or destination of another pair.
fn check_waves(plan: &CopyPlan, pairs: &[(BlockId, BlockId)]) {
    let planned: Pairs = plan.waves().flatten().collect();
    assert_eq!(planned, plan.as_slice());
    let (mut sorted, mut all) = (planned, pairs.to_vec());
    sorted.sort_unstable();
    all.sort_unstable();
    assert_eq!(sorted, all);
    assert_eq!(
        (plan.pairs(), plan.is_empty()),
        (pairs.len(), pairs.is_empty())
    );
    assert_eq!(
        plan.bytes(),
        plan.route().block_bytes() * pairs.len() as u64
    );
    for wave in plan.waves() {
        assert!(!wave.is_empty(), "no wave is empty");
        assert!(wave.is_sorted());
        let sources: BTreeSet<_> = wave.iter().map(|pair| pair.0).collect();
        let destinations: BTreeSet<_> = wave.iter().map(|pair| pair.1).collect();
        assert_eq!(destinations.len(), wave.len());
        let both = sources.intersection(&destinations).count();
        assert!(!plan.route().is_in_place() || both == 0);
    }
}

#[test]
fn chains_and_cycles_mean_what_the_list_says() {
    let layout = BlockLayout::new(&[Plane::new(0, 4, 4)], 6).expect("it is sound");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    for (list, waves, content) in [
        // A chain copies block 0 to all.
        (
            pairs([(0, 1), (1, 2), (2, 3)]),
            vec![1, 1, 1],
            [0, 0, 0, 0, 4, 5],
        ),
        // The other way round each block moves by one.
        (
            pairs([(2, 3), (1, 2), (0, 1)]),
            vec![1, 1, 1],
            [0, 0, 1, 2, 4, 5],
        ),
        // A cycle keeps nothing aside.
        (pairs([(0, 1), (1, 0)]), vec![1, 1], [0, 0, 2, 3, 4, 5]),
        (pairs([(1, 0), (0, 1)]), vec![1, 1], [1, 1, 2, 3, 4, 5]),
        // Readers of one block go together, what overwrites it goes behind them, and what is apart goes first.
        (
            pairs([(0, 1), (5, 0), (0, 2), (4, 3)]),
            vec![2, 1, 1],
            [5, 0, 5, 4, 4, 5],
        ),
    ] {
        let mut bench = Bench::of(&[&layout]);
        let before = bench.memory(0).to_vec();
        let plan = route.plan(&list).expect("it is sound");
        check_waves(&plan, &list);
        let lens: Vec<usize> = plan.waves().map(|wave| wave.len()).collect();
        assert_eq!(lens, waves, "{list:?}");
        bench.copy(&plan);
        for (at, from) in content.into_iter().enumerate() {
            assert_eq!(
                bench.memory(0)[4 * at..][..4],
                before[4 * from..][..4],
                "block {at} of {list:?}"
            );
        }
    }
}

#[test]
fn neighbours_of_a_wave_are_one_run_whatever_their_order() {
    let layout = BlockLayout::new(&[Plane::new(0, 8, 8), Plane::new(1000, 16, 8)], 20);
    let layout = layout.expect("it is sound");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    let plan = route.plan(&pairs([(2, 12), (0, 10), (1, 11), (5, 9)]));
    let plan = plan.expect("it is sound");
    let wave = plan.waves().next().expect("one");
    let runs: Vec<_> = wave
        .runs()
        .map(|run| {
            (
                run.plane,
                run.source,
                run.destination,
                run.bytes,
                run.first,
                run.blocks,
            )
        })
        .collect();
    assert_eq!(
        runs,
        [
            (0, 0, 80, 24, 0, 3),
            (0, 40, 72, 8, 3, 1),
            (1, 1000, 1160, 8, 0, 1),
            (1, 1016, 1176, 8, 1, 1),
            (1, 1032, 1192, 8, 2, 1),
            (1, 1080, 1144, 8, 3, 1),
        ]
    );
}

#[test]
fn a_block_is_not_copied_onto_itself_but_to_its_namesake_elsewhere() {
    let layout = BlockLayout::new(&[Plane::new(0, 8, 8)], 4).expect("it is sound");
    let there = layout.clone().in_memory(MemoryId::new(1));
    let beside = BlockLayout::new(&[Plane::new(100, 8, 8)], 4).expect("it is sound");
    let list = pairs([(0, 1), (2, 2)]);
    let onto = CopyPlanError::OntoItself {
        pair: 1,
        block: BlockId::new(2),
    };
    let route = |to| CopyRoute::new(&layout, to).expect("they fit");
    assert_eq!(route(&layout).plan(&list).map(|_| ()), Err(onto));
    says(&onto, &[1, 2]);
    for other in [&there, &beside] {
        let mut bench = Bench::of(&[&layout, other]);
        bench.expect(&layout, other, None, &list);
        bench.copy(&route(other).plan(&list).expect("two blocks"));
        bench.check();
    }
}

#[test]
fn a_plan_is_set_again_and_again() {
    let layout = BlockLayout::new(&[Plane::new(0, 8, 8)], 50).expect("it is sound");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    let mut plan = route.plan(&[]).expect("nothing is wrong with nothing");
    assert_eq!((plan.pairs(), plan.waves().len(), plan.bytes()), (0, 0, 0));
    for list in [
        pairs([(0, 1), (1, 2), (2, 0)]),
        pairs([(9, 8)]),
        pairs([]),
        pairs([(3, 4), (5, 6), (4, 7), (3, 9)]),
    ] {
        plan.set(&list).expect("it is sound");
        check_waves(&plan, &list);
    }
    // A list that is longer than there are blocks has a block twice.
    let many: Pairs = (0..1 << 16)
        .map(|at| (BlockId::new(0), BlockId::new(1 + at % 49)))
        .collect();
    let twice = CopyPlanError::DuplicateDestination {
        pair: 49,
        first: 0,
        block: BlockId::new(1),
    };
    assert_eq!(plan.set(&many), Err(twice));
    assert_eq!(plan.pairs(), 4);
}

proptest! {
    #![proptest_config(properties::config(2000, "proptest-regressions/copies-plans.txt", 5000))]

    #[test]
    fn in_place_the_list_is_copied_pair_by_pair(shape in shape(), list in any_pairs(14)) {
        let layout = shape.layout();
        let blocks = layout.blocks();
        let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
        let list = sound(blocks, blocks, true, &list);
        let mut bench = Bench::of(&[&layout]);
        let plan = route.plan(&list).expect("it is sound");
        check_waves(&plan, &list);
        bench.expect(&layout, &layout, None, &list);
        bench.copy(&plan);
        bench.check();
    }

    #[test]
    fn between_memories_the_list_is_copied_pair_by_pair(
        from in shape(),
        (base, gap, blocks, order) in (0_u64..20, 0_u64..9, 1_usize..9, order()),
        host in any::<bool>(),
        list in any_pairs(14),
    ) {
        let source = from.layout();
        let mut to = super::bench::Shape { base, gap, blocks, ..from };
        to.tensor.order = order;
        let destination = if host {
            BlockLayout::like(&to.layout(), base, blocks).expect("it fits")
        } else {
            to.layout()
        };
        let destination = destination.in_memory(MemoryId::new(1));
        let route = CopyRoute::new(&source, &destination).expect("they have the same vectors");
        let list = sound(source.blocks(), blocks, false, &list);
        let mut bench = Bench::of(&[&source, &destination]);
        let plan = route.plan(&list).expect("it is sound");
        check_waves(&plan, &list);
        prop_assert!(plan.waves().len() <= 1);
        bench.expect(&source, &destination, None, &list);
        bench.copy(&plan);
        bench.check();
    }

    #[test]
    fn what_is_wrong_with_a_list_is_said_of_its_first_bad_pair(
        sources in 1_usize..10,
        destinations in 1_usize..10,
        in_place in any::<bool>(),
        list in any_pairs(20),
    ) {
        let destinations = if in_place { sources } else { destinations };
        let plane = [Plane::new(0, 8, 8)];
        let source = BlockLayout::new(&plane, sources).expect("it is sound");
        let there = MemoryId::new(u32::from(!in_place));
        let destination = BlockLayout::new(&plane, destinations).expect("it is sound");
        let route = CopyRoute::new(&source, &destination.in_memory(there)).expect("they fit");
        let list: Pairs = list
            .into_iter()
            .map(|(from, to)| (BlockId::new(from), BlockId::new(to)))
            .collect();
        let mut plan = route.plan(&[]).expect("it is sound");
        let kept = sound(sources, destinations, in_place, &[(0, 1), (1, 2)]);
        plan.set(&kept).expect("it is sound");
        match first_error((sources, destinations), in_place, &list) {
            Some(error) => {
                prop_assert_eq!(route.plan(&list).map(|_| ()), Err(error));
                prop_assert_eq!(plan.set(&list), Err(error));
                check_waves(&plan, &kept);
            }
            None => {
                plan.set(&list).expect("nothing is wrong");
                check_waves(&plan, &list);
            }
        }
    }
}
