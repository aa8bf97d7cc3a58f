//! What a layout is, and what is none: bounds, alignment, overlaps, the tensors of engines.

use kvblock::{
    BlockLayout, Inner, KvTensor, LayoutError, MAX_BLOCKS, MemoryId, Misaligned, Order,
    OutsideMemory, Plane, PlaneField, Tile,
};
use proptest::prelude::*;

use super::bench::{Kind, Shape, end, shape};
use super::properties;
use super::support::says;

const TENSOR: KvTensor = KvTensor::new(16, 8, 256, Order::Nhd);
/// Bytes of a block of it.
const BLOCK: u64 = 32 << 10;

/// Base, stride, bytes and tensors of each plane.
fn planes(layout: &BlockLayout) -> Vec<(u64, u64, u64, u32)> {
    let parts = |plane: &Plane| match plane.inner {
        Inner::Tile(tile) => tile.parts,
        Inner::Opaque => 0,
    };
    let planes = layout.planes().iter();
    planes
        .map(|it| (it.base, it.block_stride, it.block_bytes, parts(it)))
        .collect()
}

#[test]
fn tensors_of_engines_have_the_planes_that_they_say() {
    let (one, two) = (1 << 30, 2 << 30);
    let separate = BlockLayout::separate(TENSOR, &[0, one], &[two, two + one], 100);
    let expected = [0, two, one, two + one].map(|base| (base, BLOCK, BLOCK, 1));
    assert_eq!(planes(&separate.expect("it is sound")), expected);

    let keys_first = BlockLayout::keys_first(TENSOR, &[0, one], 100);
    let all = 100 * BLOCK;
    let expected = [0, all, one, one + all].map(|base| (base, BLOCK, BLOCK, 1));
    assert_eq!(planes(&keys_first.expect("it is sound")), expected);

    let blocks_first = BlockLayout::blocks_first(TENSOR, &[0, one], 100).expect("it is sound");
    let expected = [0, one].map(|base| (base, 2 * BLOCK, 2 * BLOCK, 2));
    assert_eq!(planes(&blocks_first), expected);

    let cross_layer = BlockLayout::cross_layer(TENSOR, 40, one, 100).expect("it is sound");
    let whole = 80 * BLOCK;
    assert_eq!(planes(&cross_layer), [(one, whole, whole, 80)]);

    let latents = BlockLayout::latents(64, 1152, &[0, one], 100).expect("it is sound");
    let latent = 64 * 1152;
    let expected = [0, one].map(|base| (base, latent, latent, 1));
    assert_eq!(planes(&latents), expected);

    let scaled = blocks_first.with_scales(&[two, two + one], 16);
    let scaled = scaled.expect("it is sound").in_memory(MemoryId::new(3));
    assert_eq!(
        planes(&scaled)[2..],
        [(two, 16, 16, 0), (two + one, 16, 16, 0)]
    );
    assert_eq!(scaled.memory(), MemoryId::new(3));
    assert_eq!(scaled.block_bytes(), 4 * BLOCK + 32);

    // A host's pool: all of a block together.
    let host = BlockLayout::like(&scaled, 10, 7).expect("it is sound");
    let stride = 4 * BLOCK + 32;
    let expected = [
        (10, stride, 2 * BLOCK, 2),
        (10 + 2 * BLOCK, stride, 2 * BLOCK, 2),
        (10 + 4 * BLOCK, stride, 16, 0),
        (26 + 4 * BLOCK, stride, 16, 0),
    ];
    assert_eq!(planes(&host), expected);
    let opaque = BlockLayout::block_first(scaled.plane_bytes(), 10, 7).expect("it is sound");
    assert_eq!(planes(&opaque), expected.map(|(a, b, c, _)| (a, b, c, 0)));

    // Those of which less is copied at once come behind the others.
    let bytes = [4, 32, 3, 8, 16, 1];
    let mixed = BlockLayout::block_first(bytes, 100, 7).expect("it is sound");
    let bases = |layout: &BlockLayout| layout.planes().iter().map(|it| it.base).collect::<Vec<_>>();
    assert_eq!(bases(&mixed), [100, 104, 136, 139, 147, 163]);
    let host = BlockLayout::like(&mixed, 1000, 3).expect("it is sound");
    assert_eq!(bases(&host), [1056, 1000, 1060, 1048, 1032, 1063]);
    assert!(host.plane_bytes().eq(bytes));
    assert!(host.planes().iter().all(|it| it.block_stride == 64));
}

#[test]
fn each_part_of_a_tile_can_be_a_plane() {
    let one = 1 << 30;
    let by_part = |layout: Result<BlockLayout, LayoutError>| {
        let layout = layout.expect("it is sound");
        let parts = layout.by_part().expect("few");
        assert_eq!(parts.block_bytes(), layout.block_bytes());
        assert_eq!(parts.blocks(), layout.blocks());
        assert_eq!(parts.memory(), layout.memory());
        planes(&parts)
    };
    // K, V, K, V, each at its place in the stride of its tensor.
    let blocks_first = BlockLayout::blocks_first(TENSOR, &[0, one], 100);
    let expected = [0, BLOCK, one, one + BLOCK].map(|base| (base, 2 * BLOCK, BLOCK, 1));
    assert_eq!(by_part(blocks_first), expected);
    let cross_layer = BlockLayout::cross_layer(TENSOR, 2, one, 100);
    let expected = [0, 1, 2, 3].map(|part| (one + part * BLOCK, 4 * BLOCK, BLOCK, 1));
    assert_eq!(by_part(cross_layer), expected);
    // What has one part, or nothing is known of, is as it was.
    let keys_first = BlockLayout::keys_first(TENSOR, &[0, one], 100).expect("it is sound");
    assert_eq!(keys_first.by_part(), Ok(keys_first.clone()));
    let scaled = keys_first
        .with_scales(&[one << 1], 16)
        .map(|it| it.in_memory(MemoryId::new(7)));
    assert_eq!(
        by_part(scaled.clone()),
        planes(&scaled.expect("it is sound"))
    );
}

#[test]
fn tensors_that_are_none_are_refused() {
    let count = LayoutError::TensorCount { keys: 2, values: 1 };
    assert_eq!(
        BlockLayout::separate(TENSOR, &[0, 1 << 30], &[2 << 30], 100),
        Err(count)
    );
    says(&count, &[2, 1]);
    let none = KvTensor::new(16, 0, 256, Order::Hnd);
    let empty = BlockLayout::blocks_first(none, &[0], 4);
    assert_eq!(empty, Err(LayoutError::NoBytes { plane: 0 }));
    for layout in [
        BlockLayout::separate(TENSOR, &[], &[], 4),
        BlockLayout::keys_first(TENSOR, &[], 4),
        BlockLayout::latents(16, 8, &[], 4),
        BlockLayout::block_first([], 0, 4),
    ] {
        assert_eq!(layout, Err(LayoutError::NoPlanes));
    }
    // Sizes and addresses that no 64 bits have.
    let huge = KvTensor::new(u32::MAX, u32::MAX, u32::MAX, Order::Nhd);
    let overflow = |plane| Err(LayoutError::Overflow { plane });
    assert_eq!(BlockLayout::keys_first(huge, &[0], 4), overflow(0));
    assert_eq!(BlockLayout::cross_layer(TENSOR, 1 << 31, 0, 4), overflow(0));
    let far = u64::MAX - 3 * BLOCK;
    assert_eq!(BlockLayout::keys_first(TENSOR, &[0, far], 4), overflow(3));
    assert_eq!(BlockLayout::block_first([8, u64::MAX], 0, 4), overflow(1));
    let tensors = BlockLayout::latents(1, 8, &[0, 16], 4);
    let overlap = LayoutError::PlanesOverlap {
        first: 0,
        second: 1,
    };
    assert_eq!(tensors, Err(overlap));
    says(&overlap, &[0, 1]);
}

#[test]
fn a_tile_fills_its_block() {
    let tile = Tile {
        order: Order::Hnd,
        parts: 2,
        positions: 4,
        heads: 3,
        head_bytes: 5,
    };
    let of = |bytes| BlockLayout::new(&[Plane::new(0, 200, bytes).tile(tile)], 4);
    assert!(of(120).is_ok());
    let error = LayoutError::TileBytes {
        plane: 0,
        block: 121,
        tile: 120,
    };
    assert_eq!(of(121), Err(error));
    says(&error, &[0, 121, 120]);
}

#[test]
fn planes_are_within_a_memory_or_not_and_the_error_has_both_ends() {
    let layout = BlockLayout::new(&[Plane::new(100, 20, 10), Plane::new(200, 8, 8)], 5);
    let layout = layout.expect("it is sound");
    // 100 to 190 and 200 to 240.
    assert_eq!(layout.check_within(100, 140), Ok(()));
    let outside = |plane, start, end, memory_start, memory_end| {
        move |error: OutsideMemory| {
            let OutsideMemory {
                plane: p,
                start: s,
                end: e,
                memory_start: ms,
                memory_end: me,
                ..
            } = error;
            assert_eq!(
                (p, s, e, ms, me),
                (plane, start, end, memory_start, memory_end)
            );
        }
    };
    let error = |base, bytes| layout.check_within(base, bytes).expect_err("it is not");
    outside(1, 200, 240, 100, 239)(error(100, 139));
    outside(0, 100, 190, 101, 241)(error(101, 140));
    outside(0, 100, 190, 0, 0)(error(0, 0));
    says(&error(100, 139), &[1, 200, 240, 100, 239]);
    let last = BlockLayout::new(&[Plane::new(u64::MAX - 8, 8, 8)], 1).expect("it is sound");
    assert_eq!(last.check_within(8, u64::MAX), Ok(()));
    assert_eq!(last.check_within(0, u64::MAX), Ok(()));
    assert!(last.check_within(0, u64::MAX - 1).is_err());
}

#[test]
fn alignment_is_that_of_every_number_that_counts() {
    let tile = Tile {
        order: Order::Nhd,
        parts: 1,
        positions: 4,
        heads: 2,
        head_bytes: 8,
    };
    let of = |plane: Plane, blocks| BlockLayout::new(&[Plane::new(0, 64, 64), plane], blocks);
    let misaligned = |plane, blocks, alignment| {
        let layout = of(plane, blocks).expect("it is sound");
        let error: Misaligned = layout.check_alignment(alignment).err()?;
        says(&error, &[1, usize::try_from(error.value).expect("few")]);
        Some((error.plane, error.field, error.value, error.alignment))
    };
    let at = |field, value| Some((1, field, value, 16));
    let far = 1 << 20;
    assert_eq!(misaligned(Plane::new(far, 64, 32), 4, 16), None);
    let base = at(PlaneField::Base, far + 8);
    assert_eq!(misaligned(Plane::new(far + 8, 64, 32), 4, 16), base);
    let stride = at(PlaneField::BlockStride, 72);
    assert_eq!(misaligned(Plane::new(far, 72, 32), 4, 16), stride);
    assert_eq!(
        misaligned(Plane::new(far, 72, 32), 1, 16),
        None,
        "one block has no stride"
    );
    let bytes = at(PlaneField::BlockBytes, 24);
    assert_eq!(misaligned(Plane::new(far, 64, 24), 4, 16), bytes);
    let head = at(PlaneField::HeadBytes, 8);
    assert_eq!(misaligned(Plane::new(far, 64, 64).tile(tile), 4, 16), head);
    assert_eq!(misaligned(Plane::new(far, 64, 64).tile(tile), 4, 8), None);
    let layout = of(Plane::new(far, 64, 64), 4).expect("it is sound");
    assert_eq!(layout.check_alignment(1), Ok(()));
    let none = layout
        .check_alignment(0)
        .expect_err("nothing is a multiple of 0");
    assert_eq!((none.plane, none.alignment), (0, 0));
}

#[test]
fn planes_of_all_ids_with_strides_of_any_size_are_compared() {
    // 2^25 - 1 blocks each: nobody looks at each of them.
    let stride = 1 << 38;
    let of = |other: Plane| BlockLayout::new(&[Plane::new(0, stride, 100), other], MAX_BLOCKS);
    let overlap = Err(LayoutError::PlanesOverlap {
        first: 0,
        second: 1,
    });
    assert!(of(Plane::new(100, stride, 100)).is_ok());
    assert_eq!(of(Plane::new(99, stride, 100)).map(|_| ()), overlap);
    assert!(of(Plane::new(stride - 100, stride, 100)).is_ok());
    assert_eq!(
        of(Plane::new(stride - 99, stride, 100)).map(|_| ()),
        overlap
    );
    // The second walks through the first's gaps, from byte 100 on, and is a byte further with each block. The last block has no other
    // behind it, so the last but one is the one that may run into its neighbour.
    let most = stride - 100 - (MAX_BLOCKS as u64 - 2);
    let walk = |bytes| Plane::new(100, stride + 1, bytes);
    assert!(of(walk(most)).is_ok());
    assert_eq!(of(walk(most + 1)).map(|_| ()), overlap);
}

proptest! {
    #![proptest_config(properties::config(4000, "proptest-regressions/copies-layouts.txt", 2000))]

    /// Two planes with any strides: exactly those whose blocks share a byte are refused.
    #[test]
    fn planes_that_share_a_byte_are_refused_and_no_others(
        blocks in 1_usize..10,
        planes in [(0_u64..80, 1_u64..8, 0_u64..16), (0_u64..80, 1_u64..8, 0_u64..16)],
    ) {
        let planes = planes.map(|(base, bytes, gap)| Plane::new(base, bytes + gap, bytes));
        let bytes = |plane: &Plane| -> Vec<u64> {
            let block = |at| plane.base + at * plane.block_stride;
            (0..blocks as u64).flat_map(|at| block(at)..block(at) + plane.block_bytes).collect()
        };
        let (ours, theirs) = (bytes(&planes[0]), bytes(&planes[1]));
        let shared = ours.iter().any(|byte| theirs.contains(byte));
        let layout = BlockLayout::new(&planes, blocks);
        if shared {
            prop_assert_eq!(layout, Err(LayoutError::PlanesOverlap { first: 0, second: 1 }));
        } else {
            prop_assert!(layout.is_ok());
        }
    }

    #[test]
    fn every_layout_is_within_its_own_bytes(shape in shape()) {
        let layout = shape.layout();
        let first = layout.planes().iter().map(|plane| plane.base).min().expect("some");
        let bytes = end(&layout) - first;
        prop_assert_eq!(layout.check_within(first, bytes), Ok(()));
        prop_assert!(layout.check_within(first, bytes - 1).is_err());
        prop_assert!(layout.check_within(first + 1, bytes).is_err());
        let host = BlockLayout::like(&layout, 5, 3).expect("it fits");
        prop_assert_eq!(host.check_within(5, 3 * layout.block_bytes()), Ok(()));
        prop_assert!(host.plane_bytes().eq(layout.plane_bytes()));
    }
}

#[test]
fn layouts_of_every_kind_are_made() {
    for kind in Kind::ALL {
        let shape = Shape {
            kind,
            tensor: TENSOR,
            layers: 3,
            base: 0,
            gap: 0,
            blocks: 5,
        };
        assert_eq!(shape.layout().blocks(), 5);
    }
}
