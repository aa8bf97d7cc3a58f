//! Where the blocks of a shard are in memory.
//!
//! A block has a part in each *plane*: K and V of each layer, or both interleaved, or of all layers at once, MLA latents, scales. A plane
//! is a base, the distance from block to block, and the bytes of a block in it. Addresses are whatever the engine's own mover takes:
//! device pointers, offsets into a registered region.
//!
//! Invariant: each plane's blocks lie one behind the other, no byte is in two planes, a tile fills its block, and neither an address nor
//! a sum of sizes overflows 64 bits.

use alloc::vec::Vec;

use super::layout_error::{LayoutError, Misaligned, OutsideMemory, PlaneField};
use super::memory::MemoryId;
use super::overlap::touch;
use super::plane::Plane;
use super::runs_error::RunsError;
use super::tile::Inner;
use crate::block::{BlockId, MAX_BLOCKS};

/// Where the blocks of a shard are: a part in each of its planes.
///
/// ```
/// # use kvblock::{BlockId, BlockLayout, Plane};
/// // Two layers with K and V interleaved, and 2 MiB a block and layer.
/// const BYTES: u64 = 2 << 20;
/// let layer = |base| Plane::new(base, BYTES, BYTES);
/// let layout = BlockLayout::new(&[layer(0), layer(1 << 40)], 4096)?;
/// assert_eq!(layout.block_bytes(), 2 * BYTES);
///
/// let blocks = [3, 4, 5, 9].map(BlockId::new);
/// let runs: Vec<_> = layout.runs(&blocks)?.map(|run| (run.address, run.bytes)).collect();
/// let second = 1 << 40;
/// assert_eq!(runs[..2], [(3 * BYTES, 3 * BYTES), (9 * BYTES, BYTES)]);
/// assert_eq!(runs[2..], [(second + 3 * BYTES, 3 * BYTES), (second + 9 * BYTES, BYTES)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    memory: MemoryId,
    planes: Vec<Plane>,
    blocks: usize,
    block_bytes: u64,
}

impl BlockLayout {
    /// A layout of `blocks` blocks in memory 0. Planes may lie between one another, but have no byte in common.
    ///
    /// # Errors
    /// [`LayoutError`] names the first plane that is none, or the first two that overlap. The stride of a single block says nothing.
    ///
    /// O(planes² log(stride)) at most; O(planes²) if no plane begins before another ends. Allocates the list of planes.
    pub fn new(planes: &[Plane], blocks: usize) -> Result<Self, LayoutError> {
        let mut list = Vec::new();
        list.try_reserve_exact(planes.len())
            .map_err(|_| LayoutError::OutOfMemory)?;
        list.extend_from_slice(planes);
        Self::of(list, blocks)
    }

    /// A layout of these planes.
    pub(super) fn of(planes: Vec<Plane>, blocks: usize) -> Result<Self, LayoutError> {
        if planes.is_empty() {
            return Err(LayoutError::NoPlanes);
        }
        if blocks == 0 {
            return Err(LayoutError::NoBlocks);
        }
        if blocks > MAX_BLOCKS {
            return Err(LayoutError::TooManyBlocks {
                asked: blocks,
                max: MAX_BLOCKS,
            });
        }
        let (count, mut block_bytes) = (blocks as u64, 0_u64);
        for (at, plane) in planes.iter().enumerate() {
            check_plane(at, plane, count)?;
            let overflow = LayoutError::Overflow { plane: at };
            block_bytes = block_bytes.checked_add(plane.block_bytes).ok_or(overflow)?;
            block_bytes.checked_mul(count).ok_or(overflow)?;
        }
        for (first, plane) in planes.iter().enumerate() {
            let ranges = plane.ranges(count);
            let mut behind = planes.iter().enumerate().skip(first + 1);
            if let Some((second, _)) = behind.find(|(_, it)| touch(&ranges, &it.ranges(count))) {
                return Err(LayoutError::PlanesOverlap { first, second });
            }
        }
        Ok(Self {
            memory: MemoryId::default(),
            planes,
            blocks,
            block_bytes,
        })
    }

    /// The same layout in another memory.
    #[must_use]
    pub fn in_memory(self, memory: MemoryId) -> Self {
        Self { memory, ..self }
    }

    /// The same layout with more planes: scales that lie beside the data, say.
    ///
    /// # Errors
    /// As of [`new`](Self::new); the planes added are counted behind those there are.
    ///
    /// As [`new`](Self::new).
    pub fn with_planes(self, planes: &[Plane]) -> Result<Self, LayoutError> {
        let mut list = self.planes;
        list.try_reserve(planes.len())
            .map_err(|_| LayoutError::OutOfMemory)?;
        list.extend_from_slice(planes);
        Ok(Self::of(list, self.blocks)?.in_memory(self.memory))
    }

    /// The same bytes with a plane for each part of a tile: K and V of each layer, in the order of [`separate`](Self::separate), whatever
    /// tensors they share. So a [`CopyRoute`](crate::CopyRoute) goes between engines that put them together in different ways.
    ///
    /// ```
    /// # use kvblock::{BlockLayout, CopyRoute, KvTensor, MemoryId, Order};
    /// let tensor = KvTensor::new(16, 8, 256, Order::Nhd);
    /// let keys_first = BlockLayout::keys_first(tensor, &[0, 1 << 30], 100)?;
    /// let cross_layer = BlockLayout::cross_layer(tensor, 2, 0, 400)?.in_memory(MemoryId::new(1));
    /// assert!(CopyRoute::new(&keys_first, &cross_layer).is_err(), "four planes are not one");
    /// let route = CopyRoute::new(&keys_first, &cross_layer.by_part()?)?;
    /// assert_eq!(route.planes().len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::OutOfMemory`].
    ///
    /// O(parts). Allocates.
    pub fn by_part(&self) -> Result<Self, LayoutError> {
        let mut planes = Vec::new();
        for plane in &self.planes {
            let parts = plane.parts();
            let enough = planes.try_reserve(parts.len());
            enough.map_err(|_| LayoutError::OutOfMemory)?;
            planes.extend(parts);
        }
        Ok(Self { planes, ..*self })
    }

    /// A copy; `None` if there is no memory for it.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let mut planes = Vec::new();
        planes.try_reserve_exact(self.planes.len()).ok()?;
        planes.extend_from_slice(&self.planes);
        Some(Self { planes, ..*self })
    }

    /// In which memory it is.
    #[must_use]
    pub const fn memory(&self) -> MemoryId {
        self.memory
    }

    /// The planes.
    #[must_use]
    pub fn planes(&self) -> &[Plane] {
        &self.planes
    }

    /// How many blocks there are.
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Bytes of a block in each plane.
    #[must_use]
    pub fn plane_bytes(&self) -> impl ExactSizeIterator<Item = u64> {
        self.planes.iter().map(|plane| plane.block_bytes)
    }

    /// Bytes of a block, in all planes together.
    #[must_use]
    pub const fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Where a block begins in a plane.
    ///
    /// # Errors
    /// [`RunsError::NoSuchPlane`], [`RunsError::OutOfRange`].
    pub fn address(&self, plane: usize, block: BlockId) -> Result<u64, RunsError> {
        let part = self.planes.get(plane).ok_or(RunsError::NoSuchPlane {
            plane,
            planes: self.planes.len(),
        })?;
        self.check(&[block])?;
        Ok(part.address(block))
    }

    /// Whether every plane is within the `bytes` bytes at `base`.
    ///
    /// # Errors
    /// [`OutsideMemory`] names the first plane that is not, and all four ends.
    ///
    /// O(planes), no allocation.
    pub fn check_within(&self, base: u64, bytes: u64) -> Result<(), OutsideMemory> {
        // The last byte that a plane can have has an address behind it, so nothing is lost here.
        let memory_end = base.saturating_add(bytes);
        let outside = |(plane, part): (usize, &Plane)| {
            let (start, end) = (part.base, self.end(part));
            (start < base || end > memory_end).then_some(OutsideMemory {
                plane,
                start,
                end,
                memory_start: base,
                memory_end,
            })
        };
        match self.planes.iter().enumerate().find_map(outside) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Whether every address of a block, every size of a block, and every head's vector in it, is a multiple of `alignment`. The stride of
    /// a single block says nothing. Nothing is a multiple of 0.
    ///
    /// # Errors
    /// [`Misaligned`] names the first plane and number that is not.
    ///
    /// O(planes), no allocation.
    pub fn check_alignment(&self, alignment: u64) -> Result<(), Misaligned> {
        for (plane, part) in self.planes.iter().enumerate() {
            let numbers = [
                (PlaneField::Base, Some(part.base)),
                (
                    PlaneField::BlockStride,
                    (self.blocks > 1).then_some(part.block_stride),
                ),
                (PlaneField::BlockBytes, Some(part.block_bytes)),
                (
                    PlaneField::HeadBytes,
                    match part.inner {
                        Inner::Tile(tile) => Some(tile.head_bytes.into()),
                        Inner::Opaque => None,
                    },
                ),
            ];
            for (field, value) in numbers {
                let Some(value) = value else { continue };
                if value.checked_rem(alignment) != Some(0) {
                    return Err(Misaligned {
                        plane,
                        field,
                        value,
                        alignment,
                    });
                }
            }
        }
        Ok(())
    }

    /// Addresses of the first byte of a plane, and of what is behind its last one.
    pub(super) fn ends(&self, plane: usize) -> (u64, u64) {
        let none = (u64::MAX, u64::MAX);
        let plane = self.planes.get(plane);
        plane.map_or(none, |plane| (plane.base, self.end(plane)))
    }

    /// From where to where each plane's blocks are, with what lies between them.
    #[must_use]
    pub fn extents(&self) -> impl ExactSizeIterator<Item = (u64, u64)> {
        self.planes
            .iter()
            .map(|plane| (plane.base, self.end(plane)))
    }

    /// The same blocks, `by` bytes further on: a layout of offsets becomes one of addresses.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`]. [`LayoutError::OutOfMemory`].
    ///
    /// O(planes). Allocates.
    pub fn moved(&self, by: u64) -> Result<Self, LayoutError> {
        let mut moved = self.try_clone().ok_or(LayoutError::OutOfMemory)?;
        for (at, plane) in moved.planes.iter_mut().enumerate() {
            let overflow = LayoutError::Overflow { plane: at };
            plane.base = plane.base.checked_add(by).ok_or(overflow)?;
            plane.end(self.blocks as u64).ok_or(overflow)?;
        }
        Ok(moved)
    }

    /// The address behind the last byte of a plane of this layout.
    fn end(&self, plane: &Plane) -> u64 {
        // It was found not to overflow.
        plane.end(self.blocks as u64).unwrap_or(u64::MAX)
    }

    pub(super) fn check(&self, blocks: &[BlockId]) -> Result<(), RunsError> {
        match blocks.iter().find(|block| block.index() >= self.blocks) {
            Some(&block) => Err(RunsError::OutOfRange {
                block,
                blocks: self.blocks,
            }),
            None => Ok(()),
        }
    }

    /// The first plane of this layout and the first of the other that have a byte in common.
    pub(super) fn planes_that_touch(&self, other: &Self) -> Option<(usize, usize)> {
        let (ours, theirs) = (self.blocks as u64, other.blocks as u64);
        let meets = |(at, plane): (usize, &Plane)| {
            let ranges = plane.ranges(ours);
            let mut planes = other.planes.iter();
            let with = planes.position(|it| touch(&ranges, &it.ranges(theirs)))?;
            Some((at, with))
        };
        self.planes.iter().enumerate().find_map(meets)
    }
}

/// Whether a plane of `blocks` blocks is one.
fn check_plane(at: usize, plane: &Plane, blocks: u64) -> Result<(), LayoutError> {
    let (stride, bytes) = (plane.block_stride, plane.block_bytes);
    if bytes == 0 {
        return Err(LayoutError::NoBytes { plane: at });
    }
    if blocks > 1 && stride < bytes {
        return Err(LayoutError::Overlap {
            plane: at,
            stride,
            bytes,
        });
    }
    let overflow = LayoutError::Overflow { plane: at };
    if let Inner::Tile(tile) = plane.inner {
        let inside = tile.bytes().ok_or(overflow)?;
        if inside != bytes {
            return Err(LayoutError::TileBytes {
                plane: at,
                block: bytes,
                tile: inside,
            });
        }
    }
    plane.end(blocks).ok_or(overflow)?;
    Ok(())
}
