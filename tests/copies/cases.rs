//! The known failures of other systems (`CASES.md`) that are about copies: C079 to C081. C082 is in `layout.rs`, C083 in
//! `lifetime_cases.rs`.

use kvblock::{BlockId, BlockLayout, CopyEnd, CopyPlanError, CopyRoute, Plane};

use super::bench::{Bench, pairs};
use super::support::says;

#[test]
fn c079_one_plane_one_copy() {
    let layout = BlockLayout::new(&[Plane::new(0, 1024, 1024)], 8).expect("it is sound");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    let mut bench = Bench::of(&[&layout]);
    let before = bench.memory(0).to_vec();
    let plan = route.plan(&pairs([(0, 7)])).expect("both are there");
    assert_eq!(plan.bytes(), 1024);
    bench.copy(&plan);
    let after = bench.memory(0);
    assert_eq!(after[7168..8192], before[..1024]);
    assert_eq!(after[..7168], before[..7168], "nothing before changes");
    assert_eq!(after[8192..], before[8192..], "nothing after changes");
}

#[test]
fn c080_bad_plans_are_refused_before_any_byte_moves() {
    let layout = BlockLayout::new(&[Plane::new(0, 1024, 1024)], 8).expect("it is sound");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    let bench = Bench::of(&[&layout]);
    assert!(route.plan(&pairs([(0, 7)])).is_ok());
    let range = |pair, end| CopyPlanError::OutOfRange {
        pair,
        end,
        block: BlockId::new(8),
        blocks: 8,
    };
    let twice = CopyPlanError::DuplicateDestination {
        pair: 1,
        first: 0,
        block: BlockId::new(5),
    };
    let mut plan = route.plan(&pairs([(3, 4)])).expect("both are there");
    for (bad, expected) in [
        (pairs([(0, 8)]), range(0, CopyEnd::Destination)),
        (pairs([(8, 0)]), range(0, CopyEnd::Source)),
        (pairs([(0, 1), (2, 8)]), range(1, CopyEnd::Destination)),
        (pairs([(0, 5), (1, 5)]), twice),
    ] {
        assert_eq!(route.plan(&bad).map(|_| ()), Err(expected));
        assert_eq!(plan.set(&bad), Err(expected));
        assert_eq!(plan.as_slice(), pairs([(3, 4)]), "the plan is as it was");
        assert_eq!(plan.waves().len(), 1);
    }
    says(&range(1, CopyEnd::Destination), &[1, 8]);
    says(&twice, &[0, 1, 5]);
    bench.check();
}

#[test]
fn c081_scales_travel_with_their_block() {
    let layout = BlockLayout::new(&[Plane::new(0, 1024, 1024)], 8)
        .and_then(|data| data.with_scales(&[8192], 16))
        .expect("it is sound");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    let mut bench = Bench::of(&[&layout]);
    let plan = route.plan(&pairs([(2, 3)])).expect("both are there");
    assert_eq!(plan.bytes(), 1040);
    bench.expect(&layout, &layout, None, &pairs([(2, 3)]));
    bench.copy(&plan);
    bench.check();
    let memory = bench.memory(0);
    assert_eq!(memory[3072..4096], memory[2048..3072]);
    assert_eq!(memory[8192 + 48..][..16], memory[8192 + 32..][..16]);
}
