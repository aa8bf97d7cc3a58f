//! What is done in each plane when blocks of one layout are copied to another.
//!
//! Invariant: both sides of each plane copy are within the planes of the two layouts; layouts in one memory are the same, or no byte is in
//! both.

use alloc::vec::Vec;

use super::layout::BlockLayout;
use super::permutation::{Permutation, TileStrides};
use super::plan_error::CopyEnd;
use super::plane::Plane;
use super::route_error::CopyRouteError;
use super::tile::{Inner, Tile};
use super::width::AccessWidth;
use crate::shared::Shared;

/// Some heads of both sides: what a rank gets from another one if the tensor-parallel degree changes.
///
/// From 2 ranks of 4 heads to 4 ranks of 2: rank 3 gets heads 2 and 3 of rank 1, as its heads 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeadSlice {
    /// The first head that is read.
    pub source_first: u32,
    /// The head that it becomes.
    pub destination_first: u32,
    /// How many heads.
    pub heads: u32,
}

/// Where the blocks of one side of a plane copy are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaneSpan {
    /// Address of the first byte of block 0 that is copied.
    pub base: u64,
    /// Bytes from a block to the next. That of a layout of one block says nothing.
    pub block_stride: u64,
}

/// How the bytes of a block are copied in a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyKind {
    /// As they are.
    Same {
        /// Bytes of a block.
        bytes: u64,
    },
    /// Vector by vector.
    Permute(Permutation),
}

/// What is done in one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaneCopy {
    /// Which plane, of both layouts.
    pub plane: usize,
    /// Where blocks are read.
    pub source: PlaneSpan,
    /// Where blocks are written.
    pub destination: PlaneSpan,
    /// What is done with each block.
    pub kind: CopyKind,
    /// The widest access of which every address and length of this plane is a multiple.
    pub access: AccessWidth,
}

impl PlaneCopy {
    /// Bytes that are copied of a block.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        match self.kind {
            CopyKind::Same { bytes } => bytes,
            CopyKind::Permute(permutation) => permutation.bytes(),
        }
    }
}

/// How blocks get from one layout to another. Made once for two layouts; cheap to clone, and never changed.
///
/// A plane of which both layouts say what is inside ([`Tile`]) is put in the order of the destination. A plane of which one of them says
/// nothing is copied as it is.
///
/// ```
/// # use kvblock::{BlockLayout, CopyKind, CopyRoute, KvTensor, MemoryId, Order};
/// let tensor = |order| KvTensor::new(16, 8, 256, order);
/// let prefill = BlockLayout::blocks_first(tensor(Order::Nhd), &[0, 1 << 30], 100)?;
/// let decode = BlockLayout::blocks_first(tensor(Order::Hnd), &[0, 1 << 30], 400)?.in_memory(MemoryId::new(1));
/// let route = CopyRoute::new(&prefill, &decode)?;
/// assert!(route.planes().iter().all(|plane| matches!(plane.kind, CopyKind::Permute(_))));
/// assert_eq!(route.block_bytes(), 2 * 2 * 16 * 8 * 256);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a route copies nothing by itself"]
pub struct CopyRoute {
    inner: Shared<Inside>,
}

#[derive(Debug)]
struct Inside {
    source: BlockLayout,
    destination: BlockLayout,
    planes: Vec<PlaneCopy>,
    block_bytes: u64,
    in_place: bool,
}

impl CopyRoute {
    /// Whole blocks from `source` to `destination`. The two may be one layout: then blocks are copied in place.
    ///
    /// # Errors
    /// [`CopyRouteError`] names the first plane whose two sides do not fit, or which overlaps another layout of the same memory.
    ///
    /// O(planes), and as [`BlockLayout::new`] if both are in one memory. Allocates.
    pub fn new(source: &BlockLayout, destination: &BlockLayout) -> Result<Self, CopyRouteError> {
        Self::make(source, destination, None)
    }

    /// Some heads of blocks, in every plane. The other heads of the destination stay as they are.
    ///
    /// # Errors
    /// As of [`new`](Self::new), but the two sides of a plane may have different numbers of heads. [`CopyRouteError::NoHeads`],
    /// [`CopyRouteError::HeadsOutOfRange`], [`CopyRouteError::HeadsOfOpaque`]: a plane with no [`Tile`] on both sides.
    ///
    /// As [`new`](Self::new).
    pub fn heads(
        source: &BlockLayout,
        destination: &BlockLayout,
        slice: HeadSlice,
    ) -> Result<Self, CopyRouteError> {
        if slice.heads == 0 {
            return Err(CopyRouteError::NoHeads);
        }
        Self::make(source, destination, Some(slice))
    }

    fn make(
        source: &BlockLayout,
        destination: &BlockLayout,
        slice: Option<HeadSlice>,
    ) -> Result<Self, CopyRouteError> {
        let (from, to) = (source.planes(), destination.planes());
        if from.len() != to.len() {
            return Err(CopyRouteError::PlaneCount {
                source: from.len(),
                destination: to.len(),
            });
        }
        let many = (source.blocks() > 1, destination.blocks() > 1);
        let mut planes = Vec::new();
        let enough = planes.try_reserve_exact(from.len());
        enough.map_err(|_| CopyRouteError::OutOfMemory)?;
        for (plane, (from, to)) in from.iter().zip(to).enumerate() {
            let (kind, bases) = match slice {
                None => whole(plane, (from, to))?,
                Some(slice) => some_heads(plane, (from, to), slice)?,
            };
            let (source, destination) = (span(from, bases.0), span(to, bases.1));
            let access = access((&source, &destination), many, &kind);
            planes.push(PlaneCopy {
                plane,
                source,
                destination,
                kind,
                access,
            });
        }
        let in_place = source == destination;
        if source.memory() == destination.memory() && !in_place {
            if let Some((source_plane, destination_plane)) = source.planes_that_touch(destination) {
                return Err(CopyRouteError::Touch {
                    source_plane,
                    destination_plane,
                });
            }
        }
        let clone = |layout: &BlockLayout| layout.try_clone().ok_or(CopyRouteError::OutOfMemory);
        let inside = Inside {
            source: clone(source)?,
            destination: clone(destination)?,
            // No more than those of a block, whose sum was found not to overflow.
            block_bytes: planes.iter().map(PlaneCopy::bytes).sum(),
            planes,
            in_place,
        };
        let inner = Shared::try_new(inside).map_err(|_| CopyRouteError::OutOfMemory)?;
        Ok(Self { inner })
    }

    /// From where.
    #[must_use]
    pub fn source(&self) -> &BlockLayout {
        &self.inner.source
    }

    /// To where.
    #[must_use]
    pub fn destination(&self) -> &BlockLayout {
        &self.inner.destination
    }

    /// What is done in each plane.
    #[must_use]
    pub fn planes(&self) -> &[PlaneCopy] {
        &self.inner.planes
    }

    /// Bytes that are copied of a block, in all planes together.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.inner.block_bytes
    }

    /// Whether source and destination are one layout of one memory, so that a block that one pair reads may be one that another pair
    /// writes.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.inner.in_place
    }

    /// Whether the other is this route or a clone of it. A mover can keep what it made for a route, together with a clone.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        core::ptr::eq(&raw const *self.inner, &raw const *other.inner)
    }
}

fn span(plane: &Plane, base: u64) -> PlaneSpan {
    PlaneSpan {
        base,
        block_stride: plane.block_stride,
    }
}

/// What is copied, and where block 0 begins on both sides.
type Copied = (CopyKind, (u64, u64));

fn whole(plane: usize, (from, to): (&Plane, &Plane)) -> Result<Copied, CopyRouteError> {
    let bases = (from.base, to.base);
    if let (Inner::Tile(source), Inner::Tile(destination)) = (from.inner, to.inner) {
        check_tiles(plane, &source, &destination)?;
        if source.heads != destination.heads {
            return Err(CopyRouteError::Tiles {
                plane,
                source,
                destination,
            });
        }
        if source.order != destination.order {
            let permutation = permutation(&source, &destination, source.heads);
            return Ok((CopyKind::Permute(permutation), bases));
        }
    }
    if from.block_bytes != to.block_bytes {
        return Err(CopyRouteError::PlaneBytes {
            plane,
            source: from.block_bytes,
            destination: to.block_bytes,
        });
    }
    let bytes = from.block_bytes;
    Ok((CopyKind::Same { bytes }, bases))
}

fn some_heads(
    plane: usize,
    (from, to): (&Plane, &Plane),
    slice: HeadSlice,
) -> Result<Copied, CopyRouteError> {
    let (Inner::Tile(source), Inner::Tile(destination)) = (from.inner, to.inner) else {
        return Err(CopyRouteError::HeadsOfOpaque { plane });
    };
    check_tiles(plane, &source, &destination)?;
    let ends = [
        (CopyEnd::Source, slice.source_first, source.heads),
        (
            CopyEnd::Destination,
            slice.destination_first,
            destination.heads,
        ),
    ];
    for (end, first, heads) in ends {
        if first
            .checked_add(slice.heads)
            .is_none_or(|behind| behind > heads)
        {
            return Err(CopyRouteError::HeadsOutOfRange {
                plane,
                end,
                first,
                asked: slice.heads,
                heads,
            });
        }
    }
    if source.heads == slice.heads && destination.heads == slice.heads {
        return whole(plane, (from, to));
    }
    let permutation = permutation(&source, &destination, slice.heads);
    let first = |strides: &TileStrides, head| strides.offset(0, 0, head);
    let bases = (
        from.base + first(&permutation.source, slice.source_first),
        to.base + first(&permutation.destination, slice.destination_first),
    );
    Ok((CopyKind::Permute(permutation), bases))
}

/// Whether two tiles have the same vectors, but for the heads.
fn check_tiles(plane: usize, source: &Tile, destination: &Tile) -> Result<(), CopyRouteError> {
    let vectors = |tile: &Tile| (tile.parts, tile.positions, tile.head_bytes);
    if vectors(source) == vectors(destination) {
        return Ok(());
    }
    Err(CopyRouteError::Tiles {
        plane,
        source: *source,
        destination: *destination,
    })
}

const fn permutation(source: &Tile, destination: &Tile, heads: u32) -> Permutation {
    Permutation {
        parts: source.parts,
        positions: source.positions,
        heads,
        head_bytes: source.head_bytes,
        source: TileStrides::of(source),
        destination: TileStrides::of(destination),
    }
}

/// The widest access. The stride of a side with one block says nothing.
fn access(
    (source, destination): (&PlaneSpan, &PlaneSpan),
    (many_sources, many_destinations): (bool, bool),
    kind: &CopyKind,
) -> AccessWidth {
    let stride = |span: &PlaneSpan, many| if many { span.block_stride } else { 0 };
    let blocks = [
        source.base,
        destination.base,
        stride(source, many_sources),
        stride(destination, many_destinations),
    ];
    let inside = match *kind {
        CopyKind::Same { bytes } => bytes,
        // All strides inside a tile are multiples of it.
        CopyKind::Permute(permutation) => permutation.head_bytes.into(),
    };
    AccessWidth::dividing(blocks.into_iter().chain([inside]))
}
