//! How blocks get from one layout to another.

use kvblock::{
    CopyKind, CopyRoute, CopyRouteError, HeadSlice, Permutation, PlaneCopy, TileStrides,
};

use super::{kvb_layout, list};
use crate::arg;
use crate::error::{self, kvb_error, refused};
use crate::object;
use crate::status::kvb_status;

/// How blocks get from one layout to another: what is done in each plane. It does not change once it is made.
///
/// A plane of which both layouts say what is inside is put in the order of the destination. A plane of which one of them says nothing is
/// copied as it is.
#[derive(Debug)]
pub struct kvb_copy_route {
    pub(super) inner: CopyRoute,
}

/// Whole blocks from `source` to `destination`. The two may be alike, and in one memory: then blocks are copied in place.
///
/// Ownership: the layouts are copied; `*out` is the caller's, to be given to `kvb_copy_route_destroy`. Threads: any. O(planes), and as
/// `kvb_layout_create` if both are in one memory. Errors: `KVB_ERR_INCOMPATIBLE` (other planes, bytes, or vectors; `error->which` is the
/// first plane that differs), `KVB_ERR_LAYOUT` (two layouts of one memory that are not alike, and have a byte in common: `error->which` is
/// the plane of the destination, `error->needed` that of the source), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_route_create(
    source: *const kvb_layout,
    destination: *const kvb_layout,
    out: *mut *mut kvb_copy_route,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (source, destination) = unsafe { (arg::get(source)?, arg::get(destination)?) };
        // SAFETY: as above.
        let out = unsafe { arg::place(out) }?;
        let made = CopyRoute::new(&source.inner, &destination.inner);
        let inner = made.map_err(refused::<CopyRouteError>)?;
        Ok(object::give(kvb_copy_route { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Some heads of blocks, in every plane: `heads` of them from `source_first` on become those from `destination_first` on, and the others of
/// the destination stay as they are. What a rank gets from another one if the tensor-parallel degree changes.
///
/// As `kvb_copy_route_create`, but the two sides may have different numbers of heads. `KVB_ERR_INVALID`: no head; `KVB_ERR_OUT_OF_RANGE`: no
/// such heads (`error->which` is the plane, `error->needed` heads would have to be there of which there are `error->limit`;
/// `error->available` is 0 if it is the source, 1 if it is the destination);
/// `KVB_ERR_UNKNOWN_FORMAT`: nothing says what is inside of the plane `error->which`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_route_create_heads(
    source: *const kvb_layout,
    destination: *const kvb_layout,
    source_first: u32,
    destination_first: u32,
    heads: u32,
    out: *mut *mut kvb_copy_route,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (source, destination) = unsafe { (arg::get(source)?, arg::get(destination)?) };
        // SAFETY: as above.
        let out = unsafe { arg::place(out) }?;
        let slice = HeadSlice {
            source_first,
            destination_first,
            heads,
        };
        let made = CopyRoute::heads(&source.inner, &destination.inner, slice);
        let inner = made.map_err(refused::<CopyRouteError>)?;
        Ok(object::give(kvb_copy_route { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Bytes that are copied of a block, in all planes together.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_route_block_bytes(route: *const kvb_copy_route) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { route.as_ref() }.map_or(0, |route| route.inner.block_bytes())
}

/// Whether source and destination are one layout of one memory, so that a block that one pair reads may be one that another pair writes.
///
/// Threads: any. O(1). NULL: false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_route_is_in_place(route: *const kvb_copy_route) -> bool {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { route.as_ref() }.is_some_and(|route| route.inner.is_in_place())
}

/// The bytes of a block are copied as they are.
pub const KVB_COPY_SAME: u32 = 0;
/// Vector by vector, each to its place.
pub const KVB_COPY_PERMUTE: u32 = 1;

/// Where the vectors of a block lie: bytes from one part, position and head to the next.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct kvb_tile_strides {
    /// From a part to the next.
    pub part: u64,
    /// From a position to the next.
    pub position: u64,
    /// From a head to the next.
    pub head: u64,
}

impl From<TileStrides> for kvb_tile_strides {
    fn from(strides: TileStrides) -> Self {
        Self {
            part: strides.part,
            position: strides.position,
            head: strides.head,
        }
    }
}

/// What is done in one plane. With `KVB_COPY_SAME` the `bytes` bytes at `source_base + block * source_stride` go to the same place of the
/// destination, and all below `bytes` is 0. With `KVB_COPY_PERMUTE` the `head_bytes` bytes of each vector, at
/// `source_base + block * source_stride + part * source.part + position * source.position + head * source.head`, do.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_plane_copy {
    /// Which plane, of both layouts.
    pub plane: usize,
    /// `KVB_COPY_*`.
    pub kind: u32,
    /// Bytes of the widest access, up to 16, of which every address and length of this plane is a multiple.
    pub access: u32,
    /// Address of the first byte of block 0 that is read.
    pub source_base: u64,
    /// Bytes from a block to the next.
    pub source_stride: u64,
    /// Address of the first byte of block 0 that is written.
    pub destination_base: u64,
    /// Bytes from a block to the next.
    pub destination_stride: u64,
    /// Bytes that are copied of a block.
    pub bytes: u64,
    /// Tensors in a block.
    pub parts: u32,
    /// Positions of a block.
    pub positions: u32,
    /// Heads that are copied, from 0 on.
    pub heads: u32,
    /// Bytes of a vector.
    pub head_bytes: u32,
    /// Where vectors lie in a block of the source.
    pub source: kvb_tile_strides,
    /// Where vectors lie in a block of the destination.
    pub destination: kvb_tile_strides,
}

impl kvb_plane_copy {
    fn of(copy: &PlaneCopy) -> Self {
        let it = Self {
            plane: copy.plane,
            kind: KVB_COPY_SAME,
            access: copy.access.bytes(),
            source_base: copy.source.base,
            source_stride: copy.source.block_stride,
            destination_base: copy.destination.base,
            destination_stride: copy.destination.block_stride,
            bytes: copy.bytes(),
            parts: 0,
            positions: 0,
            heads: 0,
            head_bytes: 0,
            source: kvb_tile_strides::default(),
            destination: kvb_tile_strides::default(),
        };
        match copy.kind {
            CopyKind::Permute(permutation) => it.permuted(&permutation),
            _ => it,
        }
    }

    fn permuted(self, permutation: &Permutation) -> Self {
        Self {
            kind: KVB_COPY_PERMUTE,
            parts: permutation.parts,
            positions: permutation.positions,
            heads: permutation.heads,
            head_bytes: permutation.head_bytes,
            source: permutation.source.into(),
            destination: permutation.destination.into(),
            ..self
        }
    }
}

/// Lists what is done in each plane. `*count` is how many planes there are.
///
/// Ownership: `out` has room for `capacity`. Threads: any. O(planes), no allocation. Errors: `KVB_ERR_TOO_SHORT` (`error->needed` is how
/// many there are). NULL: `out` if `capacity` is 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_route_planes(
    route: *const kvb_copy_route,
    out: *mut kvb_plane_copy,
    capacity: usize,
    count: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (route, count) = unsafe { (arg::get(route)?, arg::place(count)?) };
        // SAFETY: as above.
        let out = unsafe { arg::places(out, capacity) }?;
        let planes = route.inner.planes().iter();
        count.write(list(out, planes, kvb_plane_copy::of).map_err(refused)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives a route back. Plans that were made of it stay.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_route_destroy(route: *mut kvb_copy_route) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(route) });
}
