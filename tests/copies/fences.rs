//! The fence table by itself: who waits for whom, and what is refused.

use kvblock::{
    Access, BlockId, BlockLayout, CopyPlan, CopyRoute, Fence, FenceError, FenceTable, MAX_BLOCKS,
    MAX_TIMELINES, MemoryId, Plane, TimelineId, Waits,
};

use super::bench::pairs;
use super::support::says;

const HERE: MemoryId = MemoryId::new(3);
const THERE: MemoryId = MemoryId::new(4);

fn layout(memory: MemoryId, blocks: usize) -> BlockLayout {
    let layout = BlockLayout::new(&[Plane::new(0, 8, 8)], blocks);
    layout.expect("it is sound").in_memory(memory)
}

fn plan(to: MemoryId, list: &[(u32, u32)]) -> CopyPlan {
    let route = CopyRoute::new(&layout(HERE, 8), &layout(to, 8)).expect("they fit");
    let list: Vec<_> = list.iter().flat_map(|&pair| pairs([pair])).collect();
    route.plan(&list).expect("it is sound")
}

/// A table of two memories with three timelines.
fn table() -> (FenceTable, [TimelineId; 3]) {
    let mut fences = FenceTable::new();
    fences.track(HERE, 8).expect("few");
    let lines = [0; 3].map(|_| fences.add_timeline().expect("few"));
    fences.track(THERE, 8).expect("few");
    (fences, lines)
}

fn waits(waits: Waits) -> Vec<(u8, u64)> {
    waits
        .iter()
        .map(|(line, fence)| (line.get(), fence.0))
        .collect()
}

const NOTHING: [(u8, u64); 0] = [];

#[test]
fn readers_wait_for_writes_and_writers_for_both_at_both_ends() {
    let (mut fences, [engine, out, back]) = table();
    let to = plan(THERE, &[(1, 5)]);
    assert_eq!(waits(fences.waits_for(&to, out).expect("known")), NOTHING);
    fences.record(&to, out, Fence(7)).expect("known");

    let of = |fences: &FenceTable, memory, block, access, on| {
        let found = fences.waits_for_blocks(memory, &[BlockId::new(block)], access, on);
        waits(found.expect("known"))
    };
    // The source is read.
    assert_eq!(of(&fences, HERE, 1, Access::Read, engine), NOTHING);
    assert_eq!(of(&fences, HERE, 1, Access::Write, engine), [(1, 7)]);
    // The destination is written.
    assert_eq!(of(&fences, THERE, 5, Access::Read, engine), [(1, 7)]);
    assert_eq!(of(&fences, THERE, 5, Access::Write, engine), [(1, 7)]);
    // Nothing else is touched, and the block of the same number elsewhere is another.
    assert_eq!(of(&fences, HERE, 5, Access::Write, engine), NOTHING);
    assert_eq!(of(&fences, THERE, 1, Access::Write, engine), NOTHING);
    // On its own timeline all is in order.
    assert_eq!(of(&fences, THERE, 5, Access::Write, out), NOTHING);

    // Another reads the destination and the source, a third writes: the write waits for the reads and the write.
    let read = [BlockId::new(5)];
    fences
        .record_blocks(THERE, &read, Access::Read, back, Fence(2))
        .expect("known");
    assert_eq!(
        of(&fences, THERE, 5, Access::Write, engine),
        [(1, 7), (2, 2)]
    );
    assert_eq!(of(&fences, THERE, 5, Access::Read, engine), [(1, 7)]);
    // After a write only that is left.
    fences
        .record_blocks(THERE, &read, Access::Write, engine, Fence(9))
        .expect("known");
    assert_eq!(of(&fences, THERE, 5, Access::Write, back), [(0, 9)]);
    assert_eq!(of(&fences, THERE, 5, Access::Write, out), [(0, 9)]);
    // A plan waits at both ends, for the last of each timeline.
    fences
        .record_blocks(HERE, &[BlockId::new(2)], Access::Write, back, Fence(4))
        .expect("known");
    let plan = plan(THERE, &[(2, 0), (1, 5)]);
    assert_eq!(
        waits(fences.waits_for(&plan, out).expect("known")),
        [(0, 9), (2, 4)]
    );
}

#[test]
fn a_block_that_is_read_and_written_by_one_plan_is_written_last() {
    let (mut fences, [engine, out, _]) = table();
    fences
        .record(&plan(HERE, &[(0, 1), (1, 2)]), out, Fence(1))
        .expect("known");
    for (block, read, write) in [(0, 0, 1), (1, 1, 1), (2, 1, 1), (3, 0, 0)] {
        let of = |access| {
            let found = fences.waits_for_blocks(HERE, &[BlockId::new(block)], access, engine);
            found.expect("known").on(out).map_or(0, |fence| fence.0)
        };
        assert_eq!(
            (of(Access::Read), of(Access::Write)),
            (read, write),
            "block {block}"
        );
    }
}

#[test]
fn what_has_passed_is_not_waited_for() {
    let (mut fences, [engine, out, _]) = table();
    let blocks = [0, 1].map(BlockId::new);
    fences
        .record_blocks(HERE, &blocks[..1], Access::Write, out, Fence(3))
        .expect("known");
    fences
        .record_blocks(HERE, &blocks[1..], Access::Write, out, Fence(4))
        .expect("known");
    let of = |fences: &FenceTable| {
        let found = fences.waits_for_blocks(HERE, &blocks, Access::Read, engine);
        waits(found.expect("known"))
    };
    assert_eq!(of(&fences), [(1, 4)]);
    fences.completed(out, Fence(3)).expect("known");
    assert_eq!(of(&fences), [(1, 4)]);
    fences.completed(out, Fence(4)).expect("known");
    fences
        .completed(out, Fence(1))
        .expect("it has passed already");
    assert_eq!(of(&fences), NOTHING);
    assert_eq!(fences.last(out), Ok(Fence(4)));
    assert_eq!(fences.last(engine), Ok(Fence(0)));
}

#[test]
fn waits_are_joined() {
    let (mut fences, [engine, out, back]) = table();
    let of = |fences: &FenceTable, block| {
        let found = fences.waits_for_blocks(HERE, &[BlockId::new(block)], Access::Read, engine);
        found.expect("known")
    };
    let write = |fences: &mut FenceTable, block, on, fence| {
        let recorded = fences.record_blocks(HERE, &[BlockId::new(block)], Access::Write, on, fence);
        recorded.expect("known");
    };
    write(&mut fences, 0, out, Fence(3));
    write(&mut fences, 1, out, Fence(5));
    write(&mut fences, 2, back, Fence(1));
    let joined = of(&fences, 1).and(of(&fences, 0)).and(of(&fences, 2));
    assert_eq!(waits(joined), [(1, 5), (2, 1)]);
    assert!(Waits::none().is_empty() && !joined.is_empty());
    assert_eq!(joined.on(TimelineId::new(200)), None);
    assert_eq!(joined.into_iter().count(), 2);
}

#[test]
fn what_the_table_does_not_know_is_refused_and_changes_nothing() {
    let (mut fences, [engine, out, _]) = table();
    let here = plan(HERE, &[(0, 1)]);
    let before = format!("{fences:?}");
    let strange = TimelineId::new(3);
    let unknown = FenceError::NoSuchTimeline {
        timeline: strange,
        timelines: 3,
    };
    assert_eq!(fences.waits_for(&here, strange), Err(unknown));
    assert_eq!(fences.record(&here, strange, Fence(1)), Err(unknown));
    assert_eq!(fences.completed(strange, Fence(1)), Err(unknown));
    assert_eq!(fences.last(strange), Err(unknown));
    says(&unknown, &[3]);
    let elsewhere = MemoryId::new(9);
    let untracked = FenceError::Untracked { memory: elsewhere };
    assert_eq!(
        fences.waits_for(&plan(elsewhere, &[(0, 1)]), out),
        Err(untracked)
    );
    let list = fences.record_blocks(elsewhere, &[], Access::Read, out, Fence(1));
    assert_eq!(list, Err(untracked));
    says(&untracked, &[9]);
    // All blocks of a layout, or all of a list.
    let wide = CopyRoute::new(&layout(HERE, 9), &layout(HERE, 9)).expect("they fit");
    let wide = wide.plan(&pairs([(0, 1)])).expect("it is sound");
    let range = |block| FenceError::OutOfRange {
        memory: HERE,
        block: BlockId::new(block),
        blocks: 8,
    };
    assert_eq!(fences.waits_for(&wide, out), Err(range(8)));
    assert_eq!(fences.record(&wide, out, Fence(1)), Err(range(8)));
    let list = [1, 12, 9].map(BlockId::new);
    let asked = fences.waits_for_blocks(HERE, &list, Access::Read, out);
    assert_eq!(asked, Err(range(12)));
    let recorded = fences.record_blocks(HERE, &list, Access::Write, out, Fence(1));
    assert_eq!(recorded, Err(range(12)));
    says(&range(8), &[3, 8]);
    // Back in time.
    let zero = FenceError::NotLater {
        timeline: engine,
        fence: Fence(0),
        last: Fence(0),
    };
    assert_eq!(fences.record(&here, engine, Fence(0)), Err(zero));
    assert_eq!(format!("{fences:?}"), before);
    fences.record(&here, out, Fence(5)).expect("known");
    fences
        .record(&here, out, Fence(5))
        .expect("as late as the last");
    let earlier = FenceError::NotLater {
        timeline: out,
        fence: Fence(4),
        last: Fence(5),
    };
    assert_eq!(fences.record(&here, out, Fence(4)), Err(earlier));
    says(&earlier, &[1, 4, 5]);
}

#[test]
fn tables_grow_and_have_an_end() {
    let mut fences = FenceTable::new();
    fences.track(HERE, 4).expect("few");
    let first = fences.add_timeline().expect("the first");
    let write = |fences: &mut FenceTable, block, fence| {
        fences.record_blocks(HERE, &[BlockId::new(block)], Access::Write, first, fence)
    };
    write(&mut fences, 3, Fence(1)).expect("known");
    assert!(write(&mut fences, 4, Fence(2)).is_err());
    // More blocks and more timelines keep what is known; fewer blocks are no change.
    fences.track(HERE, 6).expect("few");
    fences.track(HERE, 2).expect("no change");
    let others: Vec<_> = (1..MAX_TIMELINES)
        .map(|_| fences.add_timeline().expect("few"))
        .collect();
    write(&mut fences, 5, Fence(2)).expect("known");
    for (at, &line) in others.iter().enumerate() {
        assert_eq!(usize::from(line.get()), at + 1);
        let of = |block| fences.waits_for_blocks(HERE, &[BlockId::new(block)], Access::Read, line);
        assert_eq!(waits(of(3).expect("known")), [(0, 1)]);
        assert_eq!(waits(of(5).expect("known")), [(0, 2)]);
        assert!(of(4).expect("known").is_empty());
    }
    let full = FenceError::TooManyTimelines { max: MAX_TIMELINES };
    assert_eq!(fences.add_timeline(), Err(full));
    says(&full, &[8]);
    let many = FenceError::TooManyBlocks {
        asked: MAX_BLOCKS + 1,
        max: MAX_BLOCKS,
    };
    assert_eq!(fences.track(THERE, MAX_BLOCKS + 1), Err(many));
    says(&many, &[MAX_BLOCKS, MAX_BLOCKS + 1]);
    fences.track(THERE, 0).expect("nothing");
    let none = fences.waits_for_blocks(THERE, &[], Access::Read, first);
    assert_eq!(none, Ok(Waits::none()));
}

#[test]
fn a_fence_that_was_never_recorded_lets_nothing_pass_that_comes_later() {
    let (mut fences, [engine, copies, _]) = table();
    let block = [BlockId::new(1)];
    let mut write = |fence: u64, told: u64| {
        let recorded = fences.record_blocks(HERE, &block, Access::Write, engine, Fence(fence));
        recorded.expect("later");
        fences.completed(engine, Fence(told)).expect("known");
        let waits = fences.waits_for_blocks(HERE, &block, Access::Read, copies);
        waits.expect("known").on(engine)
    };
    assert_eq!(write(3, 1000), None, "up to 3 it has passed");
    assert_eq!(write(4, 3), Some(Fence(4)));
    assert_eq!(write(5, 5), None);
}
