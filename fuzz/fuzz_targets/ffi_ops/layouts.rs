//! Layouts, beside what they must be: ranges of bytes that are looked at one by one.

use core::ptr;

use kvblock_c::copy::*;
use kvblock_c::format::{kvb_format, kvb_format_block_bytes, kvb_format_destroy};
use kvblock_c::status::*;

use crate::arguments::{Bytes, List, Place, Told};
use crate::world::{MOST, World};

/// Most blocks of a layout that is not absurd.
pub(crate) const MOST_BLOCKS: usize = 8;
const MOST_PLANES: usize = 3;
/// More blocks than a shard has ids.
const TOO_MANY: usize = 1 << 25;
/// Where a plane is that lies apart from the others: its blocks have at most 48 bytes and 15 more between them.
const APART: u64 = 1024;

/// One plane as it was asked for. A tile with the order `KVB_ORDER_OPAQUE` is none.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) plane: kvb_plane,
    pub(crate) tile: kvb_tile,
}

/// What a layout must be.
#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) parts: Vec<Part>,
    pub(crate) blocks: usize,
    pub(crate) memory: u32,
}

pub(crate) struct Layout {
    pub(crate) it: *mut kvb_layout,
    pub(crate) shape: Shape,
}

fn tile_bytes(tile: &kvb_tile) -> u128 {
    u128::from(tile.parts)
        * u128::from(tile.positions)
        * u128::from(tile.heads)
        * u128::from(tile.head_bytes)
}

pub(crate) fn is_tile(tile: &kvb_tile) -> bool {
    tile.order != KVB_ORDER_OPAQUE
}

impl Shape {
    /// Where a block of a plane is.
    pub(crate) fn range(&self, part: &Part, block: usize) -> (u128, u128) {
        let plane = &part.plane;
        let stride = if block == 0 { 0 } else { plane.block_stride };
        let start = u128::from(plane.base) + u128::from(stride) * block as u128;
        (start, start + u128::from(plane.block_bytes))
    }

    fn ranges(&self, part: &Part) -> impl Iterator<Item = (u128, u128)> {
        (0..self.blocks).map(|block| self.range(part, block))
    }

    /// Whether a byte is in planes of both.
    pub(crate) fn touches(&self, part: &Part, other: &Self, others: &Part) -> bool {
        let meets = |one: (u128, u128), two: (u128, u128)| one.0 < two.1 && two.0 < one.1;
        self.ranges(part)
            .any(|one| other.ranges(others).any(|two| meets(one, two)))
    }

    /// What `kvb_layout_create_tiled` must answer.
    fn status(&self) -> kvb_status {
        if self.parts.is_empty() || self.blocks == 0 {
            return KVB_ERR_LAYOUT;
        }
        if self.blocks >= TOO_MANY {
            return KVB_ERR_TOO_MANY_BLOCKS;
        }
        let is_wrong = |part: &Part| {
            let plane = &part.plane;
            plane.block_bytes == 0
                || self.blocks > 1 && plane.block_stride < plane.block_bytes
                || is_tile(&part.tile) && tile_bytes(&part.tile) != plane.block_bytes.into()
                || self.range(part, self.blocks - 1).1 > u64::MAX.into()
        };
        let overlaps = |at: usize| {
            let mut before = self.parts[..at].iter();
            before.any(|part| self.touches(part, self, &self.parts[at]))
        };
        if self.parts.iter().any(is_wrong) || (0..self.parts.len()).any(overlaps) {
            return KVB_ERR_LAYOUT;
        }
        KVB_OK
    }

    pub(crate) fn block_bytes(&self) -> u64 {
        self.parts.iter().map(|it| it.plane.block_bytes).sum()
    }

    /// Where the last plane ends.
    pub(crate) fn end(&self) -> u128 {
        let ends = self.parts.iter().flat_map(|part| self.ranges(part));
        ends.map(|(_, end)| end).max().unwrap_or_default()
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let numbers = |it: &Part| {
            let tile = (it.tile.parts, it.tile.positions, it.tile.heads);
            let inside = (it.tile.order, tile, it.tile.head_bytes);
            let plane = &it.plane;
            (plane.base, plane.block_stride, plane.block_bytes, inside)
        };
        self.memory == other.memory
            && self.blocks == other.blocks
            && self
                .parts
                .iter()
                .map(numbers)
                .eq(other.parts.iter().map(numbers))
    }
}

fn some_part(at: usize, kind: u8, bytes: &mut Bytes<'_>) -> Part {
    let choice = bytes.byte();
    // Mostly alike, so that there are routes.
    let orders = [
        KVB_ORDER_NHD,
        KVB_ORDER_HND,
        KVB_ORDER_HND,
        KVB_ORDER_OPAQUE,
    ];
    let mut order = orders[usize::from(choice & 3)];
    let heads = [2, 2, 2, 4][usize::from(choice >> 2 & 3)];
    let numbers = match kind {
        0xF0.. => [1, 2, 2],
        0xE0.. => [2, 3, 1],
        // Another number of positions than of heads: what is put in another order is not its own inverse then.
        _ => [2, 3, 2],
    };
    let [parts, positions, head_bytes] = numbers;
    let block_bytes = u64::from(parts * positions * heads * head_bytes);
    let mut plane = kvb_plane {
        base: at as u64 * APART + bytes.below(16) as u64,
        block_stride: block_bytes + u64::from(choice >> 4),
        block_bytes,
    };
    match bytes.byte() {
        255 => plane.base = bytes.word(),
        254 => plane.block_stride = bytes.word(),
        253 => plane.block_bytes = bytes.word(),
        252 => plane.base = u64::from(bytes.byte()),
        251 => plane.block_bytes -= 1,
        250 => order = 3,
        _ => {}
    }
    let tile = |order, [parts, positions, heads, head_bytes]: [u32; 4]| kvb_tile {
        order,
        parts,
        positions,
        heads,
        head_bytes,
    };
    let tile = match (order, bytes.byte()) {
        (_, 255) => tile(
            order,
            [bytes.word() as u32, positions, u32::MAX, head_bytes],
        ),
        (KVB_ORDER_OPAQUE, _) => tile(order, [0; 4]),
        _ => tile(order, [parts, positions, heads, head_bytes]),
    };
    Part { plane, tile }
}

/// Makes a layout, or gives one back if there are many.
pub(crate) fn create(world: &mut World, bytes: &mut Bytes<'_>) {
    if world.copies.layouts.len() >= MOST {
        let gone = bytes.below(MOST);
        let gone = world.copies.layouts.swap_remove(gone);
        // SAFETY: made by its create function; nobody else has it.
        unsafe { kvb_layout_destroy(gone.it) };
        return;
    }
    let kind = bytes.byte();
    let count = match bytes.byte() {
        255 => 0,
        byte => [1, 2, 2, MOST_PLANES][usize::from(byte & 3)],
    };
    let mut shape = Shape {
        parts: (0..count).map(|at| some_part(at, kind, bytes)).collect(),
        blocks: match bytes.byte() {
            255 => bytes.count(1),
            byte => 1 + usize::from(byte) % MOST_BLOCKS,
        },
        // Mostly another one than that of the layout before it.
        memory: if kind & 0x22 == 0 {
            0
        } else {
            world.copies.layouts.len() as u32 & 1
        },
    };
    let planes = shape.parts.iter().map(|it| it.plane).collect();
    let mut planes = List::new(planes, bytes);
    let with_tiles = kind & 0x50 != 0x50;
    let mut tiles = List::right(shape.parts.iter().map(|it| it.tile).collect());
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_layout>::new(bytes));
    // SAFETY: pointers and counts are as `arguments` makes them. Where the count of planes is absurd no tile is looked at.
    let status = unsafe {
        if with_tiles {
            let tiles = tiles.pointer();
            kvb_layout_create_tiled(
                planes.pointer(),
                tiles,
                planes.count(),
                shape.blocks,
                shape.memory,
                place.pointer(),
                told.pointer(),
            )
        } else {
            kvb_layout_create(
                planes.pointer(),
                planes.count(),
                shape.blocks,
                place.pointer(),
                told.pointer(),
            )
        }
    };
    if !with_tiles {
        shape.memory = 0;
        for part in &mut shape.parts {
            part.tile = kvb_tile {
                order: KVB_ORDER_OPAQUE,
                parts: 0,
                positions: 0,
                heads: 0,
                head_bytes: 0,
            };
        }
    }
    let made = place.result(told.check(status));
    if told.is_usable() && planes.told().is_some() && !place.pointer().is_null() {
        let means_nothing = |part: &Part| {
            let it = &part.tile;
            let numbers = [it.parts, it.positions, it.heads, it.head_bytes];
            it.order > KVB_ORDER_HND || !is_tile(it) && numbers != [0; 4]
        };
        let expected = if shape.parts.iter().any(means_nothing) {
            KVB_ERR_INVALID
        } else {
            shape.status()
        };
        assert_eq!(status, expected, "a layout");
    }
    if let Some(it) = made {
        // SAFETY: it was made just now.
        unsafe {
            assert_eq!(kvb_layout_memory(it), shape.memory);
            assert_eq!(kvb_layout_block_bytes(it), shape.block_bytes());
        }
        world.copies.layouts.push(Layout { it, shape });
    }
}

/// Two of the layouts, often neighbours; rarely null.
pub(crate) fn pick_two(
    world: &World,
    bytes: &mut Bytes<'_>,
) -> [(*const kvb_layout, Option<Shape>); 2] {
    let (one, other) = (bytes.byte(), bytes.byte());
    let second = if other < 0xC0 {
        one.wrapping_add(1) % 254
    } else {
        other
    };
    [one, second].map(|byte| at(world, byte))
}

/// One of the layouts; rarely null.
fn pick(world: &World, bytes: &mut Bytes<'_>) -> (*const kvb_layout, Option<Shape>) {
    at(world, bytes.byte())
}

fn at(world: &World, byte: u8) -> (*const kvb_layout, Option<Shape>) {
    let all = &world.copies.layouts;
    let it = all.get(usize::from(byte) % all.len().max(1));
    match it.filter(|_| byte != 255) {
        Some(it) => (it.it.cast_const(), Some(it.shape.clone())),
        None => (ptr::null(), None),
    }
}

/// Ids of blocks below a limit, rarely another.
pub(crate) fn some_blocks(most: usize, limit: usize, bytes: &mut Bytes<'_>) -> Vec<u32> {
    let block = |byte: u8| match byte {
        255 => u32::MAX,
        _ => u32::from(byte) % (limit as u32 + u32::from(byte >= 0xF8)),
    };
    (0..bytes.below(most + 1))
        .map(|_| block(bytes.byte()))
        .collect()
}

/// What a layout says of its blocks.
pub(crate) fn look(world: &mut World, bytes: &mut Bytes<'_>) {
    let (it, shape) = pick(world, bytes);
    let (plane, block) = (bytes.count(MOST_PLANES), bytes.byte());
    let block = if block == 255 {
        u32::MAX
    } else {
        u32::from(block) % 10
    };
    let (mut told, mut address) = (Told::new(bytes), Place::<u64>::new(bytes));
    let mut blocks = List::new(some_blocks(6, 4, bytes), bytes);
    // SAFETY: integers.
    let mut runs = List::new(
        vec![unsafe { core::mem::zeroed::<kvb_run>() }; bytes.below(20)],
        bytes,
    );
    let (mut again, mut count) = (Told::new(bytes), Place::<usize>::new(bytes));
    // SAFETY: as above; the layout lives, or is null.
    unsafe {
        let status = kvb_layout_address(it, plane, block, address.pointer(), told.pointer());
        if let (Some(address), Some(shape)) = (address.result(told.check(status)), &shape) {
            let part = &shape.parts[plane];
            assert_eq!(u128::from(address), shape.range(part, block as usize).0);
        }
        let status = kvb_layout_runs(
            it,
            blocks.pointer(),
            blocks.count(),
            runs.pointer(),
            runs.count(),
            count.pointer(),
            again.pointer(),
        );
        let found = count.result(again.check(status));
        if let (Some(found), Some(shape), Some(blocks)) = (found, &shape, blocks.told()) {
            let runs = &runs.told().unwrap_or_default()[..found];
            let mut bytes = 0;
            for run in runs {
                let first = blocks[run.first] as usize;
                let part = &shape.parts[run.plane];
                assert_eq!(u128::from(run.address), shape.range(part, first).0);
                assert_eq!(run.bytes, run.blocks as u64 * part.plane.block_bytes);
                bytes += run.bytes;
            }
            assert_eq!(bytes, blocks.len() as u64 * shape.block_bytes());
        }
        let (mut third, mut format) = (Told::new(bytes), Place::<*mut kvb_format>::new(bytes));
        let status = kvb_layout_format(it, bytes.count(9), 1, format.pointer(), third.pointer());
        if let Some(format) = format.result(third.check(status)) {
            let own = shape.map_or(0, |it| it.block_bytes());
            assert_eq!(kvb_format_block_bytes(format), own);
            kvb_format_destroy(format);
        }
    }
}

/// What is to be copied between lists of two layouts.
pub(crate) fn look_at_pairs(world: &mut World, bytes: &mut Bytes<'_>) {
    let [(from, source), (to, destination)] = pick_two(world, bytes);
    let (sources, destinations) = (some_blocks(6, 4, bytes), some_blocks(6, 4, bytes));
    let count = sources.len().min(destinations.len());
    let mut sources = List::new(sources[..count].to_vec(), bytes);
    let mut destinations = List::new(destinations[..count].to_vec(), bytes);
    // SAFETY: integers.
    let runs = vec![unsafe { core::mem::zeroed::<kvb_pair_run>() }; bytes.below(20)];
    let mut runs = List::new(runs, bytes);
    let (mut told, mut place) = (Told::new(bytes), Place::<usize>::new(bytes));
    // SAFETY: as above.
    let status = unsafe {
        kvb_layout_pair_runs(
            from,
            sources.pointer(),
            to,
            destinations.pointer(),
            sources.count().max(destinations.count()),
            runs.pointer(),
            runs.count(),
            place.pointer(),
            told.pointer(),
        )
    };
    let Some(found) = place.result(told.check(status)) else {
        return;
    };
    let (Some(source), Some(destination)) = (source, destination) else {
        panic!("runs without a layout");
    };
    let mut copied = 0;
    for run in &runs.told().unwrap_or_default()[..found] {
        let ends = (&source.parts[run.plane], &destination.parts[run.plane]);
        let first = |list: &List<u32>| list.told().unwrap_or_default()[run.first] as usize;
        let range = source.range(ends.0, first(&sources));
        assert_eq!(u128::from(run.source), range.0);
        let range = destination.range(ends.1, first(&destinations));
        assert_eq!(u128::from(run.destination), range.0);
        assert_eq!(run.bytes, run.blocks as u64 * ends.0.plane.block_bytes);
        copied += run.bytes;
    }
    assert_eq!(copied, count as u64 * source.block_bytes());
}
