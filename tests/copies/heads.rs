//! Some heads of blocks: what ranks get from each other when the tensor-parallel degree changes.

use kvblock::{
    BlockId, BlockLayout, CopyEnd, CopyKind, CopyRoute, CopyRouteError, HeadSlice, KvTensor,
    MemoryId, Order, Plane,
};
use proptest::prelude::*;

use super::bench::{Bench, Kind, Pairs, Shape, pairs};
use super::properties;
use super::support::says;

const POSITIONS: u32 = 3;
const VECTOR: u32 = 4;
const BLOCKS: u32 = 4;
/// Heads of the model.
const HEADS: u32 = 8;

/// A rank of so many, in a memory of its own.
fn rank(kind: Kind, order: Order, ranks: u32, memory: u32) -> BlockLayout {
    let shape = Shape {
        kind,
        tensor: KvTensor::new(POSITIONS, HEADS / ranks, VECTOR, order),
        layers: 2,
        base: 3,
        gap: 5,
        blocks: BLOCKS as usize,
    };
    shape.layout().in_memory(MemoryId::new(memory))
}

/// What is copied from a rank of `from` to a rank of `to`, if they have a head in common.
fn slice((from, source): (u32, u32), (to, destination): (u32, u32)) -> Option<HeadSlice> {
    let (ours, theirs) = (HEADS / from, HEADS / to);
    let first = (source * ours).max(destination * theirs);
    let behind = ((source + 1) * ours).min((destination + 1) * theirs);
    (first < behind).then(|| HeadSlice {
        source_first: first - source * ours,
        destination_first: first - destination * theirs,
        heads: behind - first,
    })
}

/// The vectors of one head of the model in a block, wherever they lie: for each plane that has it, part by part and position by position.
fn head(bench: &Bench, layouts: &[BlockLayout], head: u32, block: BlockId) -> Vec<u8> {
    let ranks = u32::try_from(layouts.len()).expect("few");
    let layout = &layouts[(head / (HEADS / ranks)) as usize];
    let head = head % (HEADS / ranks);
    let mut bytes = Vec::new();
    for (at, plane) in layout.planes().iter().enumerate() {
        let kvblock::Inner::Tile(tile) = plane.inner else {
            panic!("all planes have heads")
        };
        let block = layout.address(at, block).expect("it is there");
        for part in 0..tile.parts {
            for position in 0..tile.positions {
                let before = match tile.order {
                    Order::Nhd => (part * tile.positions + position) * tile.heads + head,
                    Order::Hnd => (part * tile.heads + head) * tile.positions + position,
                };
                let from = block + u64::from(before * tile.head_bytes);
                let memory = bench.memory(layout.memory().get());
                let from = usize::try_from(from).expect("few");
                bytes.extend(&memory[from..][..tile.head_bytes as usize]);
            }
        }
    }
    bytes
}

/// Each block of a group of ranks to a group with another degree: every head arrives, and nothing else changes.
fn change(kind: Kind, from: u32, to: u32, orders: (Order, Order)) {
    let sources: Vec<_> = (0..from).map(|at| rank(kind, orders.0, from, at)).collect();
    let destinations: Vec<_> = (0..to)
        .map(|at| rank(kind, orders.1, to, from + at))
        .collect();
    let mut bench = Bench::of(&sources.iter().chain(&destinations).collect::<Vec<_>>());
    let list = pairs([(0, 2), (3, 1)]);
    let mut bytes = 0;
    for (r, source) in (0..).zip(&sources) {
        for (d, destination) in (0..).zip(&destinations) {
            let Some(slice) = slice((from, r), (to, d)) else {
                continue;
            };
            let route = CopyRoute::heads(source, destination, slice).expect("they fit");
            assert_eq!(route.planes().len(), source.planes().len());
            let plan = route.plan(&list).expect("it is sound");
            bytes += plan.bytes();
            bench.expect(source, destination, Some(slice), &list);
            bench.copy(&plan);
            bench.check();
        }
    }
    // Every head once, K and V of both layers.
    assert_eq!(bytes, u64::from(2 * 2 * 2 * POSITIONS * HEADS * VECTOR));
    for &(source, destination) in &list {
        for number in 0..HEADS {
            let before = head(&bench, &sources, number, source);
            let after = head(&bench, &destinations, number, destination);
            assert_eq!(before, after, "head {number} of {source:?}");
        }
    }
}

#[test]
fn every_head_arrives_when_the_degree_changes() {
    for kind in [
        Kind::BlocksFirst,
        Kind::KeysFirst,
        Kind::Separate,
        Kind::CrossLayer,
    ] {
        for (from, to) in [(2, 4), (4, 2), (1, 8), (4, 4)] {
            for from_order in [Order::Nhd, Order::Hnd] {
                for to_order in [Order::Nhd, Order::Hnd] {
                    change(kind, from, to, (from_order, to_order));
                }
            }
        }
    }
}

#[test]
fn all_heads_of_both_sides_are_copied_as_they_are() {
    let (source, destination) = (
        rank(Kind::BlocksFirst, Order::Nhd, 4, 0),
        rank(Kind::BlocksFirst, Order::Nhd, 4, 1),
    );
    let all = HeadSlice {
        source_first: 0,
        destination_first: 0,
        heads: 2,
    };
    let route = CopyRoute::heads(&source, &destination, all).expect("they fit");
    let same = |kind: &CopyKind| matches!(kind, CopyKind::Same { .. });
    assert!(route.planes().iter().all(|copy| same(&copy.kind)));
    // Half of them of a whole, or a half to a whole, are not.
    let half = HeadSlice { heads: 1, ..all };
    let route = CopyRoute::heads(&source, &destination, half).expect("they fit");
    assert!(!route.planes().iter().any(|copy| same(&copy.kind)));
}

#[test]
fn heads_that_are_not_there_are_refused() {
    let (source, destination) = (
        rank(Kind::KeysFirst, Order::Nhd, 2, 0),
        rank(Kind::KeysFirst, Order::Hnd, 4, 1),
    );
    let of = |source_first, destination_first, heads| {
        let slice = HeadSlice {
            source_first,
            destination_first,
            heads,
        };
        CopyRoute::heads(&source, &destination, slice).map(|_| ())
    };
    let range = |end, first, asked, heads| CopyRouteError::HeadsOutOfRange {
        plane: 0,
        end,
        first,
        asked,
        heads,
    };
    assert_eq!(of(2, 0, 2), Ok(()));
    assert_eq!(of(3, 0, 2), Err(range(CopyEnd::Source, 3, 2, 4)));
    assert_eq!(of(0, 1, 2), Err(range(CopyEnd::Destination, 1, 2, 2)));
    assert_eq!(of(0, 0, 3), Err(range(CopyEnd::Destination, 0, 3, 2)));
    let far = range(CopyEnd::Source, u32::MAX, 2, 4);
    assert_eq!(of(u32::MAX, 0, 2), Err(far));
    says(&range(CopyEnd::Source, 3, 2, 4), &[0, 3, 2, 4]);
    assert_eq!(of(0, 0, 0), Err(CopyRouteError::NoHeads));
    // Whole blocks have other heads.
    let whole = CopyRoute::new(&source, &destination).map(|_| ());
    assert!(matches!(whole, Err(CopyRouteError::Tiles { plane: 0, .. })));
    // Nobody knows which scales are of which head.
    let scaled = source.with_scales(&[9000], 4).expect("it is sound");
    let other = destination.with_scales(&[9000], 4).expect("it is sound");
    let slice = HeadSlice {
        source_first: 0,
        destination_first: 0,
        heads: 1,
    };
    let opaque = CopyRouteError::HeadsOfOpaque { plane: 4 };
    let refused = CopyRoute::heads(&scaled, &other, slice).map(|_| ());
    assert_eq!(refused, Err(opaque));
    says(&opaque, &[4]);
}

#[test]
fn in_place_heads_move_from_block_to_block() {
    let layout = rank(Kind::BlocksFirst, Order::Hnd, 2, 0);
    let slice = HeadSlice {
        source_first: 0,
        destination_first: 2,
        heads: 2,
    };
    let route = CopyRoute::heads(&layout, &layout, slice).expect("it is one layout");
    let mut bench = Bench::of(&[&layout]);
    let list = pairs([(0, 1), (1, 2), (2, 3)]);
    let plan = route.plan(&list).expect("it is sound");
    bench.expect(&layout, &layout, Some(slice), &list);
    bench.copy(&plan);
    bench.check();
}

proptest! {
    #![proptest_config(properties::config(1500, "proptest-regressions/copies-heads.txt", 5000))]

    #[test]
    fn any_heads_of_any_layout_are_copied_and_no_others(
        kind in proptest::sample::select(&Kind::ALL[..5]),
        (positions, bytes) in (1_u32..4, proptest::sample::select(&[1_u32, 2, 6, 16][..])),
        orders in (super::bench::order(), super::bench::order()),
        (ours, theirs) in (1_u32..6, 1_u32..6),
        (first, second, heads) in (0_u32..6, 0_u32..6, 1_u32..6),
        layers in 1_u32..3,
        list in proptest::collection::vec((0_u32..4, 0_u32..4), 0..6),
    ) {
        // Latents are one head whatever its bytes.
        let latent = kind == Kind::Latents;
        let (ours, theirs) = if latent { (1, 1) } else { (ours, theirs) };
        let of = |heads, order, base| {
            let tensor = KvTensor::new(positions, heads, bytes, order);
            Shape { kind, tensor, layers, base, gap: 3, blocks: 4 }.layout()
        };
        let source = of(ours, orders.0, 0);
        let destination = of(theirs, orders.1, 5).in_memory(MemoryId::new(1));
        let slice = HeadSlice {
            source_first: first % ours,
            destination_first: second % theirs,
            heads,
        };
        let route = CopyRoute::heads(&source, &destination, slice);
        let fits = slice.source_first + heads <= ours && slice.destination_first + heads <= theirs;
        prop_assert_eq!(route.is_ok(), fits);
        if let Ok(route) = route {
            let mut list: Pairs = list.into_iter().map(|(a, b)| (BlockId::new(a), BlockId::new(b))).collect();
            list.sort_by_key(|pair| pair.1);
            list.dedup_by_key(|pair| pair.1);
            let mut bench = Bench::of(&[&source, &destination]);
            bench.expect(&source, &destination, Some(slice), &list);
            let plan = route.plan(&list).expect("no destination is there twice");
            let vectors = u64::from(positions * heads * bytes) * source.planes().iter()
                .map(|plane| match plane.inner { kvblock::Inner::Tile(tile) => u64::from(tile.parts), _ => 0 })
                .sum::<u64>();
            prop_assert_eq!(route.block_bytes(), vectors);
            bench.copy(&plan);
            bench.check();
        }
    }
}

#[test]
fn scales_of_heads_go_with_their_heads() {
    // Data in fp8 and a scale for each head, both with a say on what is inside.
    let of = |heads: u32, memory| {
        let tensor = KvTensor::new(POSITIONS, heads, 2, Order::Nhd);
        let scales = kvblock::Tile {
            order: Order::Nhd,
            parts: 2,
            positions: 1,
            heads,
            head_bytes: 4,
        };
        let bytes = scales.bytes().expect("few");
        let plane = Plane::new(1000, bytes, bytes).tile(scales);
        let data =
            BlockLayout::blocks_first(tensor, &[0], 4).and_then(|it| it.with_planes(&[plane]));
        data.expect("it is sound").in_memory(MemoryId::new(memory))
    };
    let (source, destination) = (of(4, 0), of(2, 1));
    let slice = HeadSlice {
        source_first: 2,
        destination_first: 0,
        heads: 2,
    };
    let route = CopyRoute::heads(&source, &destination, slice).expect("they fit");
    let mut bench = Bench::of(&[&source, &destination]);
    let list = pairs([(1, 3)]);
    bench.expect(&source, &destination, Some(slice), &list);
    bench.copy(&route.plan(&list).expect("it is sound"));
    bench.check();
    // Scales of heads 2 and 3 of K of block 1.
    assert_eq!(
        bench.memory(1)[1000 + 3 * 16..][..8],
        bench.memory(0)[1000 + 32 + 8..][..8]
    );
}
