//! Copies: what is made once says when there is no memory, and what is done in every step needs none.

use kvblock::{
    Access, BlockId, BlockLayout, CopyPlanError, CopyQueue, CopyQueueError, CopyRoute,
    CopyRouteError, Fence, FenceError, FenceTable, HostMemory, HostMover, HostMoverError, KvTensor,
    LayoutError, MemoryId, Mover, Order, OutOfMemory,
};

use super::{LIVE, Refuse, armed};

const BLOCKS: usize = 64;
const THERE: MemoryId = MemoryId::new(1);
const BASES: [u64; 3] = [0, 1 << 20, 2 << 20];

/// Runs `call` with the n-th request refused, for n = 1, 2, ... until it needs no more: each refusal is `error`, and leaves nothing
/// behind.
fn fails_cleanly<T, E: PartialEq + core::fmt::Debug>(
    at_least: u64,
    error: &E,
    call: impl Fn() -> Result<T, E>,
) {
    for n in 1.. {
        let before = LIVE.get();
        let (result, requests) = armed(Refuse::Nth(n), &call);
        match result {
            Ok(made) => {
                assert!(requests < n, "request {n} was refused and nobody said so");
                assert!(n > at_least, "only {requests} requests");
                drop(made);
                assert_eq!(LIVE.get(), before, "bytes left behind by the drop");
                break;
            }
            Err(refused) => {
                assert_eq!(&refused, error, "request {n}");
                assert!(requests >= n, "an error, but request {n} was never made");
                assert_eq!(LIVE.get(), before, "request {n}: bytes left behind");
            }
        }
    }
}

fn layout(order: Order) -> BlockLayout {
    let tensor = KvTensor::new(4, 2, 8, order);
    BlockLayout::blocks_first(tensor, &BASES, BLOCKS).expect("it is sound")
}

fn list(first: u32, pairs: u32) -> Vec<(BlockId, BlockId)> {
    let pair = |at| (BlockId::new(at), BlockId::new(at + 1));
    (first..first + pairs).map(pair).collect()
}

#[test]
fn layouts_routes_and_memory_are_made_or_say_that_there_is_no_memory() {
    let tensor = KvTensor::new(4, 2, 8, Order::Nhd);
    let none = LayoutError::OutOfMemory;
    let there = BASES.map(|base| base + (1 << 19));
    let planes = BASES.map(|base| kvblock::Plane::new(base, 8, 8));
    fails_cleanly(1, &none, || BlockLayout::new(&planes, BLOCKS));
    fails_cleanly(1, &none, || {
        BlockLayout::separate(tensor, &BASES, &there, BLOCKS)
    });
    fails_cleanly(1, &none, || BlockLayout::keys_first(tensor, &BASES, BLOCKS));
    fails_cleanly(1, &none, || {
        BlockLayout::blocks_first(tensor, &BASES, BLOCKS)
    });
    fails_cleanly(1, &none, || BlockLayout::cross_layer(tensor, 3, 0, BLOCKS));
    fails_cleanly(1, &none, || BlockLayout::latents(4, 8, &BASES, BLOCKS));
    fails_cleanly(1, &none, || {
        BlockLayout::block_first([8, 8, 8, 8, 8], 0, BLOCKS)
    });
    fails_cleanly(3, &none, || {
        let layout = BlockLayout::blocks_first(tensor, &BASES, BLOCKS)?;
        layout.with_scales(&there, 4)
    });
    let (from, to) = (layout(Order::Nhd), layout(Order::Hnd).in_memory(THERE));
    fails_cleanly(1, &none, || BlockLayout::like(&from, 0, BLOCKS));
    fails_cleanly(4, &CopyRouteError::OutOfMemory, || {
        CopyRoute::new(&from, &to)
    });
    fails_cleanly(1, &OutOfMemory, || HostMemory::new(1000));
    fails_cleanly(2, &HostMoverError::OutOfMemory, || {
        let piece = HostMemory::new(1000).map_err(|_| HostMoverError::OutOfMemory)?;
        let mut mover = HostMover::new(kvblock::TimelineId::new(0));
        mover.register(THERE, piece)?;
        Ok(mover)
    });
    fails_cleanly(4, &FenceError::OutOfMemory, || {
        let mut fences = FenceTable::new();
        fences.track(THERE, BLOCKS)?;
        fences.add_timeline()?;
        fences.add_timeline()?;
        fences.track(MemoryId::new(0), BLOCKS)?;
        Ok(fences)
    });
}

#[test]
fn a_plan_that_there_is_no_memory_for_is_as_it_was() {
    let here = layout(Order::Nhd);
    for to in [here.clone(), layout(Order::Hnd).in_memory(THERE)] {
        let route = CopyRoute::new(&here, &to).expect("they fit");
        let (few, many) = (list(0, 3), list(0, 40));
        fails_cleanly(4, &CopyPlanError::OutOfMemory, || route.plan(&many));
        for n in 1.. {
            let mut plan = route.plan(&few).expect("memory");
            let before = (plan.as_slice().to_vec(), plan.waves().len());
            let (result, requests) = armed(Refuse::Nth(n), || plan.set(&many));
            let Err(error) = result else {
                assert!(n > 3 && requests < n, "request {n}");
                break;
            };
            assert_eq!(error, CopyPlanError::OutOfMemory);
            assert_eq!((plan.as_slice().to_vec(), plan.waves().len()), before);
            plan.set(&many).expect("with memory it succeeds");
        }
    }
}

#[test]
fn a_queue_that_there_is_no_memory_for_keeps_what_it_has() {
    let mut queue = CopyQueue::new();
    queue.push(Fence(1), &[1]).expect("memory");
    let more = vec![2; 1000];
    let (result, _) = armed(Refuse::Nth(1), || queue.push(Fence(2), &more));
    assert_eq!(result, Err(CopyQueueError::OutOfMemory));
    assert_eq!((queue.len(), queue.next()), (1, Some(Fence(1))));
}

/// A step of an engine: a list of copies becomes a plan, the table says what to wait for, the mover copies, tickets go round.
#[test]
fn copies_of_a_step_need_no_memory_once_there_was_one_as_large() {
    let (here, to) = (layout(Order::Nhd), layout(Order::Hnd).in_memory(THERE));
    let routes = [
        CopyRoute::new(&here, &here).expect("it is one layout"),
        CopyRoute::new(&here, &to).expect("they fit"),
    ];
    let mut fences = FenceTable::new();
    let engine = fences.add_timeline().expect("memory");
    let mut mover = HostMover::new(fences.add_timeline().expect("memory"));
    for memory in [here.memory(), THERE] {
        fences.track(memory, BLOCKS).expect("memory");
        let piece = HostMemory::new(3 << 20).expect("memory").at(0);
        mover.register(memory, piece).expect("nothing is there");
    }
    let lists = [list(3, 30), list(0, 1), list(20, 30), list(7, 0)];
    let mut plans = routes.map(|route| route.plan(&[]).expect("memory"));
    // Room that was asked for is as good as a list that was as long.
    plans[0].make_room(30).expect("memory");
    plans[1].set(&lists[2]).expect("memory");
    let mut queue = CopyQueue::new();
    let mut made = 0;
    for plan in &mut plans {
        mover.copy(plan, &mut fences).expect("nothing is in flight");
    }
    queue
        .push(Fence(0), &[BlockId::new(0); 60])
        .expect("memory");
    queue.complete(Fence(0), |_| made += 1);
    let ((), requests) = armed(Refuse::Nothing, || {
        for list in lists.iter().cycle().take(40) {
            for plan in &mut plans {
                plan.set(list).expect("it is sound");
                let last = fences.last(engine).expect("it is known").0;
                let written = [BlockId::new(5)];
                let waits = fences.waits_for_blocks(THERE, &written, Access::Write, engine);
                assert!(
                    waits.expect("it is known").is_empty(),
                    "copies pass at once"
                );
                let fence = Fence(last + 1);
                let recorded = fences.record_blocks(THERE, &written, Access::Write, engine, fence);
                recorded.expect("it is known");
                fences.completed(engine, fence).expect("it is known");
                let fence = mover.copy(plan, &mut fences).expect("nothing is in flight");
                for &(_, to) in plan.as_slice() {
                    queue.push(fence, &[to]).expect("memory");
                }
                queue.complete(fence, |_| made += 1);
            }
        }
    });
    assert_eq!(requests, 0, "requests for memory in steady state");
    assert_eq!(made, 60 + 2 * 10 * (30 + 1 + 30));
}
