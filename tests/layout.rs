//! Where blocks are in memory, and in which runs they lie.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use kvblock::{BlockId, BlockLayout, LayoutError, MAX_BLOCKS, Plane, RunsError, pair_runs};

use support::says;

fn plane(base: u64, block_stride: u64, block_bytes: u64) -> Plane {
    Plane::new(base, block_stride, block_bytes)
}

fn layout(planes: &[Plane], blocks: usize) -> BlockLayout {
    BlockLayout::new(planes, blocks).expect("a sound layout")
}

fn ids<const N: usize>(ids: [u32; N]) -> [BlockId; N] {
    ids.map(BlockId::new)
}

/// Plane, address, bytes, first place in the list, blocks.
fn runs(layout: &BlockLayout, blocks: &[BlockId]) -> Vec<(usize, u64, u64, usize, usize)> {
    let runs = layout.runs(blocks).expect("all are there");
    runs.map(|run| (run.plane, run.address, run.bytes, run.first, run.blocks))
        .collect()
}

#[test]
fn c082_offsets_need_64_bits() {
    const BASE: u64 = 0x7f00_0000_0000;
    let bytes = 2_097_152;
    let one = layout(&[plane(BASE, bytes, bytes)], 4096);
    assert_eq!(one.address(0, BlockId::new(3000)), Ok(BASE + 6_291_456_000));
    assert_eq!(
        runs(&one, &ids([3000, 3001])),
        [(0, BASE + 6_291_456_000, 4_194_304, 0, 2)]
    );
}

#[test]
fn c082_what_overflows_64_bits_is_refused() {
    let last =
        |base, stride, bytes, blocks| BlockLayout::new(&[plane(base, stride, bytes)], blocks);
    let overflow = Err(LayoutError::Overflow { plane: 0 });
    // The last byte may be the last that has an address; the end is one address further.
    assert!(last(u64::MAX - 40, 10, 10, 4).is_ok());
    assert_eq!(last(u64::MAX - 39, 10, 10, 4), overflow);
    assert_eq!(last(0, 1 << 62, 1, 5), overflow, "a stride too many");
    assert_eq!(last(0, u64::MAX, 1, 2), overflow);
    assert!(last(0, u64::MAX, 1, 1).is_ok(), "one block has no stride");
    // Each is addressable, their sum is not a size.
    let half = plane(0, 1 << 62, 1 << 62);
    assert!(BlockLayout::new(&[half], 2).is_ok());
    assert_eq!(
        BlockLayout::new(&[half, half], 2),
        Err(LayoutError::Overflow { plane: 1 })
    );
    says(&LayoutError::Overflow { plane: 1 }, &[1, 64]);
}

#[test]
fn what_is_no_layout_is_refused_by_plane() {
    let good = plane(0, 8, 8);
    assert_eq!(BlockLayout::new(&[], 4), Err(LayoutError::NoPlanes));
    assert_eq!(BlockLayout::new(&[good], 0), Err(LayoutError::NoBlocks));
    let many = LayoutError::TooManyBlocks {
        asked: MAX_BLOCKS + 1,
        max: MAX_BLOCKS,
    };
    assert_eq!(BlockLayout::new(&[good], MAX_BLOCKS + 1), Err(many));
    says(&many, &[MAX_BLOCKS + 1, MAX_BLOCKS]);
    assert_eq!(
        BlockLayout::new(&[good, plane(0, 8, 0)], 4),
        Err(LayoutError::NoBytes { plane: 1 })
    );
    let overlap = LayoutError::Overlap {
        plane: 2,
        stride: 7,
        bytes: 8,
    };
    let planes = [good, plane(100, 8, 8), plane(200, 7, 8)];
    assert_eq!(BlockLayout::new(&planes, 2), Err(overlap));
    says(&overlap, &[2, 7, 8]);
    assert!(BlockLayout::new(&planes, 1).is_ok());
}

#[test]
fn a_block_has_a_part_in_each_plane() {
    // K and V side by side, and a scale for each block.
    let planes = [
        plane(1000, 100, 50),
        plane(1050, 100, 50),
        plane(9000, 4, 4),
    ];
    let layout = layout(&planes, 10);
    assert_eq!((layout.block_bytes(), layout.blocks()), (104, 10));
    assert_eq!(layout.planes(), planes);
    let block = BlockId::new(7);
    assert_eq!(
        [0, 1, 2].map(|at| layout.address(at, block).ok()),
        [Some(1700), Some(1750), Some(9028)]
    );
    let none = RunsError::NoSuchPlane {
        plane: 3,
        planes: 3,
    };
    assert_eq!(layout.address(3, block), Err(none));
    says(&none, &[3]);
}

#[test]
fn neighbours_are_one_run_where_nothing_is_between_them() {
    let layout = layout(&[plane(0, 100, 50), plane(5000, 10, 10)], 20);
    let list = ids([3, 4, 5, 9, 8, 2, 3, 3]);
    let mut expected: Vec<_> = [300, 400, 500, 900, 800, 200, 300, 300]
        .into_iter()
        .enumerate()
        .map(|(at, address)| (0, address, 50, at, 1))
        .collect();
    expected.extend([
        (1, 5030, 30, 0, 3),
        (1, 5090, 10, 3, 1),
        (1, 5080, 10, 4, 1),
        (1, 5020, 20, 5, 2),
        (1, 5030, 10, 7, 1),
    ]);
    assert_eq!(runs(&layout, &list), expected);
    assert_eq!(runs(&layout, &[]), []);
}

#[test]
fn a_block_out_of_range_is_refused_before_anything() {
    let layout = layout(&[plane(0, 8, 8)], 4);
    let none = RunsError::OutOfRange {
        block: BlockId::new(4),
        blocks: 4,
    };
    assert_eq!(layout.runs(&ids([0, 4, 9])).err(), Some(none));
    assert_eq!(layout.address(0, BlockId::new(4)), Err(none));
    says(&none, &[4]);
}

#[test]
fn pairs_are_one_run_where_both_sides_are() {
    let source = layout(&[plane(0, 10, 10), plane(1000, 10, 10)], 20);
    let destination = layout(&[plane(50_000, 10, 10), plane(60_000, 16, 10)], 8);
    let (from, to) = (ids([1, 2, 3, 4, 9, 10]), ids([0, 1, 4, 5, 6, 7]));
    let pairs: Vec<_> = pair_runs(&source, &from, &destination, &to)
        .expect("they fit")
        .map(|run| {
            assert_eq!(run.bytes, 10 * run.blocks as u64);
            (run.plane, run.source, run.destination, run.bytes, run.first)
        })
        .collect();
    assert_eq!(
        pairs,
        [
            (0, 10, 50_000, 20, 0),
            (0, 30, 50_040, 20, 2),
            (0, 90, 50_060, 20, 4),
            (1, 1010, 60_000, 10, 0),
            (1, 1020, 60_016, 10, 1),
            (1, 1030, 60_064, 10, 2),
            (1, 1040, 60_080, 10, 3),
            (1, 1090, 60_096, 10, 4),
            (1, 1100, 60_112, 10, 5),
        ]
    );
}

#[test]
fn pairs_that_do_not_fit_are_refused() {
    let source = layout(&[plane(0, 10, 10), plane(1000, 20, 20)], 4);
    let refused = |destination: &BlockLayout, from: &[BlockId], to: &[BlockId]| {
        pair_runs(&source, from, destination, to).map(|_| ()).err()
    };
    let two = ids([0, 1]);
    let lengths = RunsError::LengthMismatch {
        sources: 2,
        destinations: 1,
    };
    assert_eq!(refused(&source, &two, &two[..1]), Some(lengths));
    says(&lengths, &[2, 1]);
    let planes = RunsError::PlaneCount {
        source: 2,
        destination: 1,
    };
    assert_eq!(
        refused(&layout(&[plane(0, 10, 10)], 4), &two, &two),
        Some(planes)
    );
    says(&planes, &[2, 1]);
    let bytes = RunsError::PlaneBytes {
        plane: 1,
        source: 20,
        destination: 19,
    };
    let other = layout(&[plane(0, 10, 10), plane(100, 20, 19)], 4);
    assert_eq!(refused(&other, &two, &two), Some(bytes));
    says(&bytes, &[1, 20, 19]);
    let fewer = layout(source.planes(), 2);
    let range = |block, blocks| {
        let block = BlockId::new(block);
        Some(RunsError::OutOfRange { block, blocks })
    };
    assert_eq!(refused(&fewer, &two, &ids([0, 2])), range(2, 2));
    assert_eq!(refused(&fewer, &ids([4, 0]), &ids([0, 2])), range(4, 4));
    assert_eq!(refused(&fewer, &ids([2, 3]), &two), None);
}
