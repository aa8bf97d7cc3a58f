//! Where blocks are in memory, and which bytes a copy is of.

use alloc::vec::Vec;
use core::ptr;

use kvblock::{
    BlockId, BlockLayout, ElementType, Inner, KvFormat, LayoutError, MemoryId, Order, Plane, Run,
    RunsError, Tile, pair_runs,
};

use super::{ids, list, pair_run};
use crate::arg::{self, Argument};
use crate::error::{self, Either, NoRoom, Problem, kvb_error, refused};
use crate::format::kvb_format;
use crate::object;
use crate::status::{KVB_ERR_INVALID, KVB_ERR_NO_MEMORY, kvb_status};

/// Where the blocks of a shard are: a part in each of its planes. It does not change once it is made.
#[derive(Debug)]
pub struct kvb_layout {
    pub(crate) inner: BlockLayout,
}

/// A part of every block, at regular distances: K or V of a layer, both interleaved, all layers at once, latents, scales. Addresses are
/// whatever your own mover takes: pointers, device pointers, offsets into a registered region.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_plane {
    /// Address of block 0.
    pub base: u64,
    /// Bytes from a block to the next.
    pub block_stride: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

/// Says where `blocks` blocks are, in memory 0. Planes may lie between one another, but have no byte in common.
///
/// Ownership: the list is copied; `*out` is the caller's, to be given to `kvb_layout_destroy`. Threads: any. O(planes^2).
/// Errors: `KVB_ERR_LAYOUT` (no plane, no block, a plane without bytes, an address beyond 64 bits; blocks of the plane `error->which` that
/// overlap: `error->needed` bytes, `error->available` apart; two planes that overlap: `error->which` is the second of them, `error->needed`
/// the first), `KVB_ERR_TOO_MANY_BLOCKS`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_create(
    planes: *const kvb_plane,
    plane_count: usize,
    blocks: usize,
    out: *mut *mut kvb_layout,
    error: *mut kvb_error,
) -> kvb_status {
    let memory = MemoryId::default();
    // SAFETY: the head of the header says what pointers must be.
    unsafe { create(planes, ptr::null(), plane_count, blocks, memory, out, error) }
}

/// Nothing is known of the inside of a block: bytes that are copied as they are. All other fields of the tile are 0.
pub const KVB_ORDER_OPAQUE: u32 = 0;
/// Position by position, and in each all heads: `[positions, heads, head_bytes]`.
pub const KVB_ORDER_NHD: u32 = 1;
/// Head by head, and in each all positions: `[heads, positions, head_bytes]`.
pub const KVB_ORDER_HND: u32 = 2;

/// The inside of a block in a plane: `parts` tensors one behind the other, each of `positions` times `heads` vectors of `head_bytes`, without
/// gaps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_tile {
    /// `KVB_ORDER_*`: what comes first.
    pub order: u32,
    /// Tensors: 2 for K, then V; 1 for one of them, or for latents; twice the layers if all of them are in the plane.
    pub parts: u32,
    /// Positions of a block.
    pub positions: u32,
    /// Heads of K/V on this device.
    pub heads: u32,
    /// Bytes of one head's vector of one position.
    pub head_bytes: u32,
}

impl kvb_tile {
    fn read(&self) -> Result<Inner, Argument> {
        let order = match self.order {
            KVB_ORDER_NHD => Order::Nhd,
            KVB_ORDER_HND => Order::Hnd,
            KVB_ORDER_OPAQUE => {
                let others = [self.parts, self.positions, self.heads, self.head_bytes];
                let nothing = others.iter().all(|&number| number == 0);
                return nothing
                    .then_some(Inner::Opaque)
                    .ok_or(Argument(KVB_ERR_INVALID));
            }
            _ => return Err(Argument(KVB_ERR_INVALID)),
        };
        Ok(Inner::Tile(Tile {
            order,
            parts: self.parts,
            positions: self.positions,
            heads: self.heads,
            head_bytes: self.head_bytes,
        }))
    }
}

/// Says where `blocks` blocks are in a memory, and what is inside of them: a tile for each plane, of as many bytes as the plane has a block.
/// Two layouts with the same `memory`, a number of yours, are over the same bytes, and a block id means the same block in both; with
/// different ones they have no byte in common, which is yours to know.
///
/// As `kvb_layout_create`, and `KVB_ERR_LAYOUT` also for a tile with other bytes than a block: `error->which` is the plane, `error->needed`
/// the bytes of the tile, `error->available` those of the block. `KVB_ERR_INVALID`: the order of a tile. NULL: `tiles`, if nothing is known
/// of any; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_create_tiled(
    planes: *const kvb_plane,
    tiles: *const kvb_tile,
    plane_count: usize,
    blocks: usize,
    memory: u32,
    out: *mut *mut kvb_layout,
    error: *mut kvb_error,
) -> kvb_status {
    let memory = MemoryId::new(memory);
    // SAFETY: the head of the header says what pointers must be.
    unsafe { create(planes, tiles, plane_count, blocks, memory, out, error) }
}

/// # Safety
/// * As of the two above.
unsafe fn create(
    planes: *const kvb_plane,
    tiles: *const kvb_tile,
    plane_count: usize,
    blocks: usize,
    memory: MemoryId,
    out: *mut *mut kvb_layout,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: this function's contract, for both.
        let (planes, out) = unsafe { (arg::slice(planes, plane_count)?, arg::place(out)?) };
        let tiles = if tiles.is_null() {
            &[]
        } else {
            // SAFETY: this function's contract.
            unsafe { arg::slice(tiles, plane_count) }?
        };
        let mut list = Vec::new();
        let enough = list.try_reserve_exact(planes.len());
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        for (at, it) in planes.iter().enumerate() {
            let mut plane = Plane::new(it.base, it.block_stride, it.block_bytes);
            plane.inner = tiles.get(at).map_or(Ok(Inner::Opaque), kvb_tile::read)?;
            list.push(plane);
        }
        let inner = BlockLayout::new(&list, blocks).map_err(refused::<LayoutError>)?;
        let inner = inner.in_memory(memory);
        Ok(object::give(kvb_layout { inner }, out)?)
    };
    // SAFETY: this function's contract.
    unsafe { error::call(error, body) }
}

/// In which memory it is.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_memory(layout: *const kvb_layout) -> u32 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { layout.as_ref() }.map_or(0, |layout| layout.inner.memory().get())
}

/// Bytes of a block, in all planes together.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_block_bytes(layout: *const kvb_layout) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { layout.as_ref() }.map_or(0, |layout| layout.inner.block_bytes())
}

/// Makes the format of the blocks of a layout, for transfers and loans. Tiles are part of it: the other end must have its heads in the same
/// order.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_format_destroy`. Threads: any. O(planes). Errors: `KVB_ERR_NO_MEMORY`.
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_format(
    layout: *const kvb_layout,
    block_size: usize,
    element: u32,
    out: *mut *mut kvb_format,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (layout, out) = unsafe { (arg::get(layout)?, arg::place(out)?) };
        let inner = KvFormat::of_layout(block_size, ElementType::new(element), &layout.inner);
        let inner = inner.map_err(refused::<LayoutError>)?;
        Ok(object::give(kvb_format { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Where a block begins in a plane.
///
/// Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE` (no such plane), `KVB_ERR_NO_SUCH_BLOCK`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_address(
    layout: *const kvb_layout,
    plane: usize,
    block: u32,
    out: *mut u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (layout, out) = unsafe { (arg::get(layout)?, arg::place(out)?) };
        let block = BlockId::new(block);
        let address = layout.inner.address(plane, block);
        out.write(address.map_err(refused::<RunsError>)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Bytes of one plane that lie together, and belong together in the list of blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_run {
    /// In which plane.
    pub plane: usize,
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
    /// The place of its first block in the list.
    pub first: usize,
    /// Blocks of it.
    pub blocks: usize,
}

/// Bytes of one plane that lie together on both sides.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_pair_run {
    /// In which plane.
    pub plane: usize,
    /// From where.
    pub source: u64,
    /// To where.
    pub destination: u64,
    /// How many.
    pub bytes: u64,
    /// The place of its first block in the lists.
    pub first: usize,
    /// Blocks of it.
    pub blocks: usize,
}

type NoRuns = Either<RunsError, NoRoom>;

fn no_runs(error: RunsError) -> Problem<NoRuns> {
    refused(Either::One(error))
}

fn no_room(error: NoRoom) -> Problem<NoRuns> {
    refused(Either::Other(error))
}

/// Lists the bytes of some blocks, plane by plane and in the order of the list: neighbours in the list that are neighbours in a
/// plane without gaps are one run. There are at most as many as blocks * planes. `*run_count` is how many there are.
///
/// Ownership: `out` has room for `capacity`. Threads: any. O(blocks * planes), no allocation. Errors: `KVB_ERR_TOO_SHORT`
/// (`error->needed` is how many there are), `KVB_ERR_NO_SUCH_BLOCK`. NULL: no blocks; `out` if `capacity` is 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_runs(
    layout: *const kvb_layout,
    blocks: *const u32,
    block_count: usize,
    out: *mut kvb_run,
    capacity: usize,
    run_count: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (layout, blocks) = unsafe { (arg::get(layout)?, ids(blocks, block_count)?) };
        // SAFETY: as above.
        let (out, count) = unsafe { (arg::places(out, capacity)?, arg::place(run_count)?) };
        let runs = layout.inner.runs(blocks).map_err(no_runs)?;
        let as_c = |run: Run| kvb_run {
            plane: run.plane,
            address: run.address,
            bytes: run.bytes,
            first: run.first,
            blocks: run.blocks,
        };
        count.write(list(out, runs, as_c).map_err(no_room)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lists what has to be copied so that each of `destinations` gets the bytes of the block at the same place of `sources`: plane by plane,
/// in the order of the lists. Neighbours in the lists that are neighbours in memory on both sides are one run. That no destination is a
/// source, and each is there once, is yours to know. `*run_count` is how many runs there are.
///
/// Ownership: both lists have `block_count` blocks, `out` has room for `capacity`. Threads: any. O(blocks * planes), no allocation.
/// Errors: `KVB_ERR_TOO_SHORT` (`error->needed` is how many there are), `KVB_ERR_NO_SUCH_BLOCK`, `KVB_ERR_INCOMPATIBLE` (the planes are
/// not alike; `error->which` is the first that differs). NULL: no blocks; `out` if `capacity` is 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_pair_runs(
    source: *const kvb_layout,
    sources: *const u32,
    destination: *const kvb_layout,
    destinations: *const u32,
    block_count: usize,
    out: *mut kvb_pair_run,
    capacity: usize,
    run_count: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (source, sources) = unsafe { (arg::get(source)?, ids(sources, block_count)?) };
        // SAFETY: as above.
        let destination = unsafe { arg::get(destination) }?;
        // SAFETY: as above.
        let destinations = unsafe { ids(destinations, block_count) }?;
        // SAFETY: as above.
        let (out, count) = unsafe { (arg::places(out, capacity)?, arg::place(run_count)?) };
        let runs = pair_runs(&source.inner, sources, &destination.inner, destinations);
        let runs = runs.map_err(no_runs)?;
        count.write(list(out, runs, pair_run).map_err(no_room)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives a layout back.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_destroy(layout: *mut kvb_layout) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(layout) });
}
