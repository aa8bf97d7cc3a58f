//! What is done in each plane: as it is or vector by vector, with the widest access, or refused.

use kvblock::{
    AccessWidth, BlockId, BlockLayout, CopyKind, CopyRoute, CopyRouteError, Inner, KvTensor,
    MemoryId, Order, Plane, RunsError, Tile, TileStrides, pair_runs,
};
use proptest::prelude::*;

use super::bench::{Bench, Kind, Pairs, Shape, pairs, shape};
use super::properties;
use super::support::says;

const ONE: MemoryId = MemoryId::new(1);

fn layout(planes: &[Plane]) -> BlockLayout {
    BlockLayout::new(planes, 8).expect("it is sound")
}

fn tile(order: Order, heads: u32, head_bytes: u32) -> Tile {
    Tile {
        order,
        parts: 2,
        positions: 4,
        heads,
        head_bytes,
    }
}

fn tiled(base: u64, tile: Tile) -> Plane {
    let bytes = tile.bytes().expect("few");
    Plane::new(base, bytes, bytes).tile(tile)
}

/// The widest that divides all, found by trying.
fn widest(numbers: &[u64]) -> AccessWidth {
    let divides = |width: &&AccessWidth| {
        let bytes = u64::from(width.bytes());
        numbers.iter().all(|number| number % bytes == 0)
    };
    *AccessWidth::ALL.iter().rev().find(divides).expect("1 does")
}

#[test]
fn the_access_is_the_widest_that_every_number_of_both_sides_allows() {
    let width = |from: Plane, to: Plane| {
        let (source, destination) = (layout(&[from]), layout(&[to]).in_memory(ONE));
        let route = CopyRoute::new(&source, &destination).expect("they fit");
        route.planes()[0].access
    };
    let even = Plane::new(4096, 512, 512);
    assert_eq!(width(even, even), AccessWidth::Sixteen);
    assert_eq!(width(even, Plane::new(4104, 512, 512)), AccessWidth::Eight);
    assert_eq!(width(Plane::new(4096, 516, 512), even), AccessWidth::Four);
    let short = Plane::new(4096, 512, 510);
    assert_eq!(width(short, short), AccessWidth::Two);
    assert_eq!(width(even, Plane::new(1, 512, 512)), AccessWidth::One);
    let heads = |head_bytes| tiled(0, tile(Order::Nhd, 4, head_bytes));
    let turned = |head_bytes| tiled(0, tile(Order::Hnd, 4, head_bytes));
    assert_eq!(width(heads(8), turned(8)), AccessWidth::Eight);
    assert_eq!(
        width(heads(8), heads(8)),
        AccessWidth::Sixteen,
        "nothing is put elsewhere"
    );
    // One block has no stride.
    let one = BlockLayout::new(&[Plane::new(0, 3, 16)], 1).expect("it is sound");
    let route = CopyRoute::new(&one, &one.clone().in_memory(ONE)).expect("they fit");
    assert_eq!(route.planes()[0].access, AccessWidth::Sixteen);
    let bytes = AccessWidth::ALL.map(AccessWidth::bytes);
    assert_eq!(bytes, [1, 2, 4, 8, 16]);
    assert_eq!(AccessWidth::dividing([]), AccessWidth::Sixteen);
}

#[test]
fn a_pool_without_gaps_is_copied_as_wide_as_its_blocks_allow() {
    let widths = |layout: &BlockLayout| {
        let host = BlockLayout::like(layout, 0, 9).expect("it fits");
        let route = CopyRoute::new(layout, &host.in_memory(MemoryId::new(1))).expect("they fit");
        let widths = route.planes().iter().map(|plane| plane.access.bytes());
        widths.collect::<Vec<_>>()
    };
    let at = |layers: u64| (0..layers).map(|layer| layer << 32).collect::<Vec<_>>();
    for (layers, wide) in [(60, 16), (61, 4), (62, 8)] {
        let bases = at(2 * layers);
        let (latents, scales) = bases.split_at(bases.len() / 2);
        let layout = BlockLayout::latents(64, 576, latents, 9).expect("it is sound");
        let layout = layout.with_scales(scales, 4).expect("it is sound");
        let widths = widths(&layout);
        let (latents, scales) = widths.split_at(latents.len());
        assert!(latents.iter().all(|&it| it == wide), "{layers} layers");
        assert!(scales.iter().all(|&it| it == 4), "{layers} layers");
    }
    // Scales between the data are put behind them.
    let plane = |at: u64, bytes| Plane::new(at << 32, bytes, bytes);
    let between = [plane(0, 64), plane(1, 4), plane(2, 64), plane(3, 12)];
    assert_eq!(widths(&layout(&between)), [16, 4, 16, 4]);
}

#[test]
fn what_has_another_order_is_permuted_with_these_strides() {
    let (nhd, hnd) = (tile(Order::Nhd, 3, 8), tile(Order::Hnd, 3, 8));
    let source = layout(&[tiled(1000, nhd), tiled(9000, nhd)]);
    let destination = layout(&[tiled(2000, hnd), tiled(9000, nhd)]).in_memory(ONE);
    let route = CopyRoute::new(&source, &destination).expect("the same vectors");
    assert_eq!(route.block_bytes(), 2 * 192);
    assert!(!route.is_in_place());
    let [turned, same] = route.planes() else {
        panic!("two planes")
    };
    assert_eq!(same.kind, CopyKind::Same { bytes: 192 });
    assert_eq!(
        (same.plane, same.source.base, same.destination.base),
        (1, 9000, 9000)
    );
    let CopyKind::Permute(permutation) = turned.kind else {
        panic!("another order")
    };
    let strides = |it: TileStrides| (it.part, it.position, it.head);
    assert_eq!(strides(permutation.source), (96, 24, 8));
    assert_eq!(strides(permutation.destination), (96, 8, 32));
    assert_eq!(permutation.destination.offset(1, 3, 2), 96 + 24 + 64);
    let sizes = (permutation.parts, permutation.positions, permutation.heads);
    assert_eq!((sizes, permutation.head_bytes), ((2, 4, 3), 8));
    assert_eq!((permutation.bytes(), turned.bytes()), (192, 192));
    assert_eq!((turned.source.base, turned.destination.base), (1000, 2000));
    assert_eq!((turned.source.block_stride, turned.plane), (192, 0));
}

#[test]
fn layouts_that_do_not_fit_are_refused_with_both_sides() {
    let refused = |from: &[Plane], to: &[Plane]| {
        let (source, destination) = (layout(from), layout(to).in_memory(ONE));
        CopyRoute::new(&source, &destination).map(|_| ()).err()
    };
    let plain = |base, bytes| Plane::new(base, 1000, bytes);
    let count = CopyRouteError::PlaneCount {
        source: 2,
        destination: 1,
    };
    assert_eq!(
        refused(&[plain(0, 9), plain(500, 9)], &[plain(0, 9)]),
        Some(count)
    );
    says(&count, &[2, 1]);
    let bytes = CopyRouteError::PlaneBytes {
        plane: 1,
        source: 9,
        destination: 8,
    };
    let one_less = [plain(0, 9), plain(500, 8)];
    assert_eq!(
        refused(&[plain(0, 9), plain(500, 9)], &one_less),
        Some(bytes)
    );
    says(&bytes, &[1, 9, 8]);
    // As many bytes, but other vectors: 2 x 4 positions x 3 heads x 8 bytes.
    let ours = tile(Order::Nhd, 3, 8);
    for theirs in [
        Tile {
            heads: 6,
            head_bytes: 4,
            ..ours
        },
        Tile {
            heads: 6,
            parts: 1,
            ..ours
        },
        Tile {
            heads: 6,
            positions: 2,
            ..ours
        },
        Tile {
            head_bytes: 4,
            parts: 4,
            ..ours
        },
        Tile {
            heads: 2,
            positions: 6,
            ..ours
        },
        Tile { heads: 2, ..ours },
    ] {
        let error = CopyRouteError::Tiles {
            plane: 0,
            source: ours,
            destination: theirs,
        };
        assert_eq!(refused(&[tiled(0, ours)], &[tiled(0, theirs)]), Some(error));
        says(&error, &[0, 3, theirs.heads as usize]);
    }
    // Of which one says nothing: as it is, if it has as many bytes.
    assert_eq!(refused(&[tiled(0, ours)], &[Plane::new(0, 192, 192)]), None);
    let opaque = CopyRouteError::PlaneBytes {
        plane: 0,
        source: 192,
        destination: 191,
    };
    assert_eq!(
        refused(&[tiled(0, ours)], &[Plane::new(0, 192, 191)]),
        Some(opaque)
    );
}

#[test]
fn layouts_of_one_memory_are_the_same_or_have_no_byte_in_common() {
    let ours = layout(&[Plane::new(0, 100, 10), Plane::new(20, 100, 10)]);
    let route = |other: &BlockLayout| CopyRoute::new(&ours, other).map(|it| it.is_in_place());
    assert_eq!(route(&ours.clone()), Ok(true));
    let between = layout(&[Plane::new(40, 100, 10), Plane::new(60, 100, 10)]);
    assert_eq!(route(&between), Ok(false));
    let touches = layout(&[Plane::new(40, 100, 10), Plane::new(29, 50, 10)]);
    let error = CopyRouteError::Touch {
        source_plane: 1,
        destination_plane: 1,
    };
    assert_eq!(route(&touches), Err(error));
    says(&error, &[1]);
    assert_eq!(route(&touches.in_memory(ONE)), Ok(false));
    // Fewer blocks of the same planes are another layout.
    let fewer = BlockLayout::new(ours.planes(), 7).expect("it is sound");
    assert!(route(&fewer).is_err());
    // A clone is the same route, another one for the same layouts is not.
    let (one, other) = (CopyRoute::new(&ours, &ours), CopyRoute::new(&ours, &ours));
    let (one, other) = (one.expect("they fit"), other.expect("they fit"));
    assert!(one.is_same(&one.clone()) && !one.is_same(&other));
}

/// Where K or V of a layer, a position and a head of a block is, as the shapes of the tensors say it.
fn vector(
    shape: &Shape,
    block: u64,
    (layer, part): (u64, u64),
    (position, head): (u64, u64),
) -> u64 {
    let KvTensor {
        block_size,
        heads,
        head_bytes,
        order,
        ..
    } = shape.tensor;
    let [positions, heads, bytes] = [block_size, heads, head_bytes].map(u64::from);
    let (layers, blocks) = (u64::from(shape.layers), shape.blocks as u64);
    let tensor = positions * heads * bytes;
    // A tensor of a layer; keys and values of all layers apart if they are separate.
    let (base, of) = (shape.base, |tensors| tensors * blocks * tensor + shape.gap);
    let start = match shape.kind {
        Kind::Separate => base + part * layers * of(1) + layer * of(1) + block * tensor,
        Kind::KeysFirst => base + layer * of(2) + (part * blocks + block) * tensor,
        Kind::BlocksFirst => base + layer * of(2) + (block * 2 + part) * tensor,
        Kind::CrossLayer => base + ((block * layers + layer) * 2 + part) * tensor,
        _ => panic!("no tensors of K and V alone"),
    };
    let before = match order {
        Order::Nhd => position * heads + head,
        Order::Hnd => head * positions + position,
    };
    start + before * bytes
}

#[test]
fn runs_of_pairs_are_not_told_where_heads_are_in_another_order() {
    let source = layout(&[Plane::new(9000, 8, 8), tiled(0, tile(Order::Nhd, 3, 8))]);
    let destination = layout(&[Plane::new(9000, 8, 8), tiled(0, tile(Order::Hnd, 3, 8))]);
    let ids = [BlockId::new(0)];
    let error = RunsError::Inner { plane: 1 };
    let runs = |to| pair_runs(&source, &ids, to, &ids).map(|_| ()).err();
    assert_eq!(runs(&destination), Some(error));
    says(&error, &[1]);
    assert_eq!(runs(&source), None);
}

#[test]
fn heads_with_one_position_or_one_head_are_the_same_bytes_in_both_orders() {
    // The copy is a permutation still, and changes nothing but the place of the block.
    let tensor = |order| KvTensor::new(1, 4, 8, order);
    let source = BlockLayout::blocks_first(tensor(Order::Nhd), &[0], 3).expect("it is sound");
    let other = BlockLayout::blocks_first(tensor(Order::Hnd), &[0], 3).expect("it is sound");
    let destination = other.in_memory(ONE);
    let mut bench = Bench::of(&[&source, &destination]);
    let route = CopyRoute::new(&source, &destination).expect("they fit");
    bench.copy(&route.plan(&pairs([(1, 2)])).expect("it is sound"));
    assert_eq!(bench.memory(1)[128..192], bench.memory(0)[64..128]);
}

/// Kinds whose vectors are those of K and V, with nothing beside them.
fn engine() -> impl Strategy<Value = Kind> {
    proptest::sample::select(vec![
        Kind::Separate,
        Kind::KeysFirst,
        Kind::BlocksFirst,
        Kind::CrossLayer,
    ])
}

proptest! {
    #![proptest_config(properties::config(1000, "proptest-regressions/copies-routes.txt", 5000))]

    /// There and back again: every block is as it was, in another memory and another order in between.
    #[test]
    fn the_inverse_of_a_permutation_gives_back_what_was(shape in shape(), blocks in 8_usize..12) {
        let source = shape.layout();
        let mut turned = Shape { blocks, ..shape };
        turned.tensor.order = match turned.tensor.order {
            Order::Nhd => Order::Hnd,
            Order::Hnd => Order::Nhd,
        };
        let between = turned.layout().in_memory(ONE);
        let back = source.clone().in_memory(MemoryId::new(2));
        let mut bench = Bench::of(&[&source, &between, &back]);
        let all: Vec<_> = (0..u32::try_from(source.blocks()).expect("few")).collect();
        let there: Pairs = all.iter().map(|&it| (BlockId::new(it), BlockId::new(7 - it))).collect();
        let home: Pairs = there.iter().map(|&(a, b)| (b, a)).collect();
        let first = CopyRoute::new(&source, &between).expect("the same vectors");
        let second = CopyRoute::new(&between, &back).expect("the same vectors");
        bench.copy(&first.plan(&there).expect("it is sound"));
        bench.copy(&second.plan(&home).expect("it is sound"));
        bench.expect(&source, &back, None, &all.iter().map(|&it| (BlockId::new(it), BlockId::new(it))).collect::<Pairs>());
        bench.expect(&source, &between, None, &there);
        bench.check();
        if shape.kind != Kind::Latents && shape.kind != Kind::Strides {
            let kind = first.planes()[0].kind;
            prop_assert!(matches!(kind, CopyKind::Permute(_)));
        }
    }

    /// However both sides put K and V of the layers together: part by part each vector is where the tensors' shapes say.
    #[test]
    fn by_part_blocks_go_between_engines_that_put_tensors_together_in_different_ways(
        (from, shape) in (engine(), shape()),
        (to, base, gap, order, blocks) in (engine(), 0_u64..20, 0_u64..9, super::bench::order(), 1_usize..9),
        (source, destination) in (0_u64..9, 0_u64..9),
    ) {
        let from = Shape { kind: from, ..shape };
        let mut to = Shape { kind: to, base, gap, blocks, ..shape };
        to.tensor.order = order;
        let (a, b) = (source % from.blocks as u64, destination % blocks as u64);
        let by_part = |shape: &Shape| shape.layout().by_part().expect("few");
        let (source, destination) = (by_part(&from), by_part(&to).in_memory(ONE));
        let mut bench = Bench::of(&[&source, &destination]);
        let route = CopyRoute::new(&source, &destination).expect("the same vectors");
        let id = |block| BlockId::new(u32::try_from(block).expect("few"));
        bench.copy(&route.plan(&[(id(a), id(b))]).expect("it is sound"));
        let KvTensor { block_size, heads, head_bytes, .. } = shape.tensor;
        for layer in 0..u64::from(shape.layers) {
            for (part, position, head) in (0..2).flat_map(|part| {
                (0..u64::from(block_size)).flat_map(move |it| (0..u64::from(heads)).map(move |head| (part, it, head)))
            }) {
                let at = |shape, block| {
                    usize::try_from(vector(shape, block, (layer, part), (position, head))).expect("few")
                };
                let (read, written) = (at(&from, a), at(&to, b));
                for byte in 0..head_bytes as usize {
                    bench.model[1][written + byte] = bench.model[0][read + byte];
                }
            }
        }
        bench.check();
    }

    #[test]
    fn no_wider_access_would_be_right_and_no_narrower_is_needed(
        shape in shape(),
        (base, gap, order) in (0_u64..40, proptest::sample::select(&[0_u64, 4, 16][..]), super::bench::order()),
    ) {
        let source = shape.layout();
        let mut other = Shape { base, gap, ..shape };
        other.tensor.order = order;
        let destination = other.layout().in_memory(ONE);
        let route = CopyRoute::new(&source, &destination).expect("the same vectors");
        for copy in route.planes() {
            let mut numbers = vec![copy.source.base, copy.destination.base];
            if source.blocks() > 1 {
                numbers.extend([copy.source.block_stride, copy.destination.block_stride]);
            }
            match copy.kind {
                CopyKind::Permute(it) => {
                    numbers.push(it.head_bytes.into());
                    for strides in [it.source, it.destination] {
                        numbers.extend([strides.part, strides.position, strides.head]);
                    }
                }
                _ => numbers.push(copy.bytes()),
            }
            prop_assert_eq!(copy.access, widest(&numbers));
            let inner = source.planes()[copy.plane].inner;
            let is_opaque = inner == Inner::Opaque;
            let same = matches!(copy.kind, CopyKind::Same { .. });
            prop_assert!(same || !is_opaque);
        }
    }
}
