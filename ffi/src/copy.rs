//! Where blocks are in memory, and which bytes a copy is of.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use kvblock::{
    BlockId, BlockLayout, ElementType, KvFormat, LayoutError, PairRun, Plane, Run, RunsError,
    pair_runs,
};

use crate::arg::{self, Argument};
use crate::error::{self, Either, NoRoom, Problem, kvb_error, refused};
use crate::format::kvb_format;
use crate::object;
use crate::status::{KVB_ERR_NO_MEMORY, kvb_status};

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

/// Says where `blocks` blocks are. Planes may lie between one another, but have no byte in common.
///
/// Ownership: the list is copied; `*out` is the caller's, to be given to `kvb_layout_destroy`. Threads: any. O(planes^2).
/// Errors: `KVB_ERR_LAYOUT` (no plane, no block, a plane without bytes, blocks of a plane that overlap, an address beyond 64 bits; two
/// planes that overlap: `error->which` is the second of them, `error->needed` the first), `KVB_ERR_TOO_MANY_BLOCKS`, `KVB_ERR_NO_MEMORY`.
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_create(
    planes: *const kvb_plane,
    plane_count: usize,
    blocks: usize,
    out: *mut *mut kvb_layout,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (planes, out) = unsafe { (arg::slice(planes, plane_count)?, arg::place(out)?) };
        let mut list = Vec::new();
        let enough = list.try_reserve_exact(planes.len());
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        let plane = |it: &kvb_plane| Plane::new(it.base, it.block_stride, it.block_bytes);
        list.extend(planes.iter().map(plane));
        let inner = BlockLayout::new(&list, blocks).map_err(refused::<LayoutError>)?;
        Ok(object::give(kvb_layout { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Bytes of a block, in all planes together.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_block_bytes(layout: *const kvb_layout) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { layout.as_ref() }.map_or(0, |layout| layout.inner.block_bytes())
}

/// Makes the format of the blocks of a layout, for transfers and loans.
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
        let planes = layout.inner.plane_bytes();
        let inner = KvFormat::new(block_size, ElementType::new(element), planes);
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
        count.write(list(out, runs, |run: Run| kvb_run {
            plane: run.plane,
            address: run.address,
            bytes: run.bytes,
            first: run.first,
            blocks: run.blocks,
        })?);
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
        count.write(list(out, runs, |run: PairRun| kvb_pair_run {
            plane: run.plane,
            source: run.source,
            destination: run.destination,
            bytes: run.bytes,
            first: run.first,
            blocks: run.blocks,
        })?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// The same list, as the library knows it.
///
/// # Safety
/// * As of [`arg::slice`].
unsafe fn ids<'a>(blocks: *const u32, count: usize) -> Result<&'a [BlockId], Argument> {
    // SAFETY: this function's contract. A `BlockId` is a `u32`, whose every value is valid.
    unsafe { arg::slice(blocks.cast::<BlockId>(), count) }
}

/// Writes all runs, or none if there is not room for all. Returns how many.
fn list<R, C>(
    out: &mut [MaybeUninit<C>],
    runs: impl Iterator<Item = R> + Clone,
    as_c: impl Fn(R) -> C,
) -> Result<usize, Problem<NoRuns>> {
    let (needed, got) = (runs.clone().count(), out.len());
    if needed > got {
        return Err(refused(Either::Other(NoRoom { needed, got })));
    }
    for (place, run) in out.iter_mut().zip(runs) {
        place.write(as_c(run));
    }
    Ok(needed)
}

/// Gives a layout back.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_layout_destroy(layout: *mut kvb_layout) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(layout) });
}
