//! What the host does for copies: plans, their waits, their runs, and the reference mover beside a plain copy of the same bytes.

use core::hint::black_box;
use core::time::Duration;

use kvblock::{
    Access, BlockId, BlockLayout, CopyPlan, CopyRoute, Fence, FenceTable, HostMemory, HostMover,
    MemoryId, Mover, Plane, TimelineId,
};

use crate::Effort;
use crate::measure::{Row, table, timed};

/// Pairs of a plan: what a step of some hundred branches copies, or a short sequence that is swapped.
const PAIRS: usize = 64;
/// K and V of 32 layers.
const PLANES: usize = 64;
/// Bytes of a block in each of them: 16 positions of 8 heads of 128 elements of 16 bits.
const BYTES: usize = 16 * 8 * 128 * 2;
/// Plans of a sample.
const PLANS: usize = 16;

type Pairs = Vec<(BlockId, BlockId)>;

pub(crate) fn run(effort: &Effort) {
    let blocks = effort.sizes[0];
    let mut rows = vec![
        plan_row(
            "in place",
            &route(blocks, MemoryId::new(0)),
            scattered(blocks),
        ),
        plan_row(
            "to another memory",
            &route(blocks, MemoryId::new(1)),
            scattered(blocks),
        ),
        fences_row(blocks),
        runs_row("apart", blocks, scattered(blocks)),
        runs_row("in a row", blocks, in_a_row()),
    ];
    rows.extend(mover_rows());
    let title = format!("Copies, {blocks} blocks of {PLANES} planes, plans of {PAIRS} pairs");
    table(&title, &mut rows, effort.samples);
}

fn layout(blocks: usize, bytes: usize, memory: MemoryId) -> BlockLayout {
    let (tensor, bytes) = ((blocks * bytes) as u64, bytes as u64);
    let planes: Vec<Plane> = (0_u64..)
        .take(PLANES)
        .map(|plane| Plane::new(plane * tensor, bytes, bytes))
        .collect();
    let layout = BlockLayout::new(&planes, blocks).expect("planes that lie apart");
    layout.in_memory(memory)
}

/// From memory 0.
fn route(blocks: usize, to: MemoryId) -> CopyRoute {
    let source = layout(blocks, BYTES, MemoryId::new(0));
    CopyRoute::new(&source, &layout(blocks, BYTES, to)).expect("equal planes")
}

fn block(index: usize) -> BlockId {
    BlockId::new(u32::try_from(index).expect("fewer than are allowed"))
}

/// No two neighbours, and no block that is both read and written.
fn scattered(blocks: usize) -> Pairs {
    let apart = blocks / 2 / PAIRS;
    let pair = |at: usize| (block(at * apart), block(blocks - 1 - at * apart));
    (0..PAIRS).map(pair).collect()
}

fn in_a_row() -> Pairs {
    let pair = |at: usize| (block(at), block(1000 + at));
    (0..PAIRS).map(pair).collect()
}

fn plan_row<'a>(name: &str, route: &CopyRoute, pairs: Pairs) -> Row<'a> {
    let mut plan = route.plan(&pairs).expect("they are there");
    Row::new(format!("plan {name}"), "pair", None, move || {
        let time = timed(|| {
            for _ in 0..PLANS {
                plan.set(black_box(&pairs)).expect("they are there");
            }
        });
        assert_eq!(plan.waves().len(), 1);
        (time, PLANS * PAIRS)
    })
}

/// A step of the engine reads and writes the blocks, then they are copied.
fn fences_row<'a>(blocks: usize) -> Row<'a> {
    let memory = MemoryId::new(0);
    let pairs = scattered(blocks);
    let plan = route(blocks, memory).plan(&pairs).expect("they are there");
    let sources: Vec<BlockId> = pairs.iter().map(|&(from, _)| from).collect();
    let mut fences = FenceTable::new();
    let timelines: [TimelineId; 3] =
        core::array::from_fn(|_| fences.add_timeline().expect("three of eight"));
    fences.track(memory, blocks).expect("memory");
    let [compute, copies, _] = timelines;
    let mut now = 0;
    Row::new("waits of a plan, and its record", "pair", None, move || {
        let mut time = Duration::ZERO;
        for _ in 0..PLANS {
            now += 1;
            fences
                .record_blocks(memory, &sources, Access::Write, compute, Fence(now))
                .expect("later");
            time += timed(|| {
                let waits = fences.waits_for(&plan, copies).expect("tracked");
                assert_eq!(waits.on(compute), Some(Fence(now)));
                fences.record(&plan, copies, Fence(now)).expect("later");
            });
        }
        (time, PLANS * PAIRS)
    })
}

fn runs_row<'a>(name: &str, blocks: usize, pairs: Pairs) -> Row<'a> {
    let plan = route(blocks, MemoryId::new(1))
        .plan(&pairs)
        .expect("they are there");
    let bytes = plan.bytes();
    Row::new(
        format!("runs of pairs {name}"),
        "plane of a pair",
        None,
        move || {
            let mut sum = 0;
            let time = timed(|| {
                let runs = black_box(&plan).waves().flat_map(|wave| wave.runs());
                sum = runs.map(|run| run.bytes).sum();
            });
            assert_eq!(sum, bytes);
            (time, PLANES * PAIRS)
        },
    )
}

/// Copies of the reference mover, and the same bytes copied plane by plane and block by block with nothing around it.
fn mover_rows<'a>() -> [Row<'a>; 2] {
    // Few bytes, so that what is measured is not memory alone.
    const BYTES: usize = super::copies::BYTES / 16;
    const PAIRS: usize = super::copies::PAIRS / 8;
    const BLOCKS: usize = 2 * PAIRS;
    let all = PLANES * BLOCKS * BYTES;
    let pairs: Pairs = (0..PAIRS)
        .map(|at| (block(2 * at), block(2 * at + 1)))
        .collect();
    let kib = PLANES * PAIRS * BYTES / 1024;

    let memory = HostMemory::new(all).expect("memory");
    let plan: CopyPlan = {
        let planes: Vec<Plane> = (0..PLANES)
            .map(|plane| memory.base() + (plane * BLOCKS * BYTES) as u64)
            .map(|base| Plane::new(base, BYTES as u64, BYTES as u64))
            .collect();
        let layout = BlockLayout::new(&planes, BLOCKS).expect("planes that lie apart");
        let route = CopyRoute::new(&layout, &layout).expect("equal planes");
        route.plan(&pairs).expect("they are there")
    };
    let mut fences = FenceTable::new();
    let mut mover = HostMover::new(fences.add_timeline().expect("the first"));
    fences.track(MemoryId::new(0), BLOCKS).expect("memory");
    mover.register(MemoryId::new(0), memory).expect("the first");
    let by_mover = Row::new("HostMover", "KiB", None, move || {
        let time = again(|| {
            mover.copy(&plan, &mut fences).expect("registered");
        });
        (time, kib)
    });

    let mut plain = vec![0_u8; all];
    let by_hand = Row::new("the same by copy_within", "KiB", None, move || {
        let time = again(|| {
            for plane in plain.chunks_exact_mut(BLOCKS * BYTES) {
                for pair in plane.chunks_exact_mut(2 * BYTES) {
                    pair.copy_within(..BYTES, BYTES);
                }
            }
            black_box(&mut plain);
        });
        (time, kib)
    });
    [by_mover, by_hand]
}

/// The time of a second time: what others have run in between has the caches.
fn again(mut work: impl FnMut()) -> Duration {
    work();
    timed(work)
}
