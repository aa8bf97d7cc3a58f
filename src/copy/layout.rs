//! Where the blocks of a shard are in memory.
//!
//! A block has a part in each *plane*: K and V of each layer, or both interleaved, or of all layers at once, MLA latents, scales. A plane
//! is a base, the distance from block to block, and the bytes of a block in it. Addresses are whatever the engine's own mover takes:
//! device pointers, offsets into a registered region.
//!
//! Invariant: each plane's blocks lie one behind the other, and neither an address nor a sum of sizes overflows 64 bits.

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use crate::block::{BlockId, MAX_BLOCKS};

/// A part of every block, at regular distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Address of block 0.
    pub base: u64,
    /// Bytes from a block to the next.
    pub block_stride: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

impl Plane {
    /// Address of a block that the plane was checked for.
    fn address(&self, block: BlockId) -> u64 {
        self.base + u64::from(block.get()) * self.block_stride
    }

    /// Whether nothing is between a block and the next.
    const fn is_dense(&self) -> bool {
        self.block_stride == self.block_bytes
    }

    fn joins(&self, block: BlockId, next: BlockId) -> bool {
        self.is_dense() && block.get().checked_add(1) == Some(next.get())
    }

    /// The address behind the last of `blocks`.
    fn end(&self, blocks: u64) -> Option<u64> {
        let last = (blocks - 1).checked_mul(self.block_stride)?;
        self.base.checked_add(last)?.checked_add(self.block_bytes)
    }
}

/// Why there is no such layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// No plane.
    NoPlanes,
    /// No block.
    NoBlocks,
    /// More blocks than ids.
    TooManyBlocks {
        /// Blocks asked for.
        asked: usize,
        /// [`MAX_BLOCKS`].
        max: usize,
    },
    /// A block has no bytes in a plane.
    NoBytes {
        /// Which plane.
        plane: usize,
    },
    /// The blocks of a plane overlap.
    Overlap {
        /// Which plane.
        plane: usize,
        /// Bytes from a block to the next.
        stride: u64,
        /// Bytes of a block, which are more.
        bytes: u64,
    },
    /// An address, or the bytes of all planes up to this one, overflow 64 bits.
    Overflow {
        /// Which plane.
        plane: usize,
    },
    /// The host's allocator had no memory for the list of planes.
    OutOfMemory,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoPlanes => f.write_str("a layout needs at least one plane"),
            Self::NoBlocks => f.write_str("a layout needs at least one block"),
            Self::TooManyBlocks { asked, max } => {
                write!(f, "{asked} blocks are more than the {max} ids of a shard")
            }
            Self::NoBytes { plane } => write!(f, "plane {plane}: a block has no bytes"),
            Self::Overlap {
                plane,
                stride,
                bytes,
            } => write!(
                f,
                "plane {plane}: blocks of {bytes} bytes overlap at a stride of {stride}"
            ),
            Self::Overflow { plane } => write!(f, "plane {plane}: sizes overflow 64 bits"),
            Self::OutOfMemory => f.write_str("no memory for the list of planes"),
        }
    }
}
impl Error for LayoutError {}

/// Why there are no such addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunsError {
    /// The layout has fewer planes.
    NoSuchPlane {
        /// The plane asked for.
        plane: usize,
        /// Planes of the layout.
        planes: usize,
    },
    /// The layout has fewer blocks.
    OutOfRange {
        /// The block.
        block: BlockId,
        /// Ids below this exist.
        blocks: usize,
    },
    /// Not as many destinations as sources.
    LengthMismatch {
        /// Blocks to copy.
        sources: usize,
        /// Blocks to copy to.
        destinations: usize,
    },
    /// The two layouts have not as many planes.
    PlaneCount {
        /// Planes of the source.
        source: usize,
        /// Planes of the destination.
        destination: usize,
    },
    /// A block has not as many bytes in both.
    PlaneBytes {
        /// The first such plane.
        plane: usize,
        /// Bytes of a block in the source.
        source: u64,
        /// Bytes of a block in the destination.
        destination: u64,
    },
}

impl fmt::Display for RunsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoSuchPlane { plane, planes } => {
                write!(f, "plane {plane} is not one of {planes}")
            }
            Self::OutOfRange { block, blocks } => {
                write!(f, "block {block} is not one of {blocks}")
            }
            Self::LengthMismatch {
                sources,
                destinations,
            } => write!(f, "{sources} blocks for {destinations} destinations"),
            Self::PlaneCount {
                source,
                destination,
            } => write!(f, "{source} planes for {destination} in the destination"),
            Self::PlaneBytes {
                plane,
                source,
                destination,
            } => write!(
                f,
                "plane {plane}: blocks of {source} bytes for {destination} in the destination"
            ),
        }
    }
}
impl Error for RunsError {}

/// Bytes of one plane that lie together, and belong together in the list of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// In which plane.
    pub plane: usize,
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
    /// The place of its first block in the list given.
    pub first: usize,
    /// Blocks of it.
    pub blocks: usize,
}

/// Bytes of one plane that lie together on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairRun {
    /// In which plane.
    pub plane: usize,
    /// From where.
    pub source: u64,
    /// To where.
    pub destination: u64,
    /// How many.
    pub bytes: u64,
    /// The place of its first block in the lists given.
    pub first: usize,
    /// Blocks of it.
    pub blocks: usize,
}

/// Where the blocks of a shard are: a part in each of its planes.
///
/// ```
/// # use kvblock::{BlockId, BlockLayout, Plane};
/// // Two layers with K and V interleaved, and 2 MiB a block and layer.
/// const BYTES: u64 = 2 << 20;
/// let layer = |base| Plane { base, block_stride: BYTES, block_bytes: BYTES };
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
    planes: Vec<Plane>,
    blocks: usize,
    block_bytes: u64,
}

impl BlockLayout {
    /// A layout of `blocks` blocks. Planes may lie between one another; that they do not overlap is the caller's to know.
    ///
    /// # Errors
    /// [`LayoutError`] names the first plane that is none. The stride of a single block says nothing.
    ///
    /// Allocates.
    pub fn new(planes: &[Plane], blocks: usize) -> Result<Self, LayoutError> {
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
        for (plane, part) in planes.iter().enumerate() {
            let &Plane {
                block_stride: stride,
                block_bytes: bytes,
                ..
            } = part;
            if bytes == 0 {
                return Err(LayoutError::NoBytes { plane });
            }
            if blocks > 1 && stride < bytes {
                return Err(LayoutError::Overlap {
                    plane,
                    stride,
                    bytes,
                });
            }
            let overflow = LayoutError::Overflow { plane };
            part.end(count).ok_or(overflow)?;
            block_bytes = block_bytes.checked_add(bytes).ok_or(overflow)?;
            block_bytes.checked_mul(count).ok_or(overflow)?;
        }
        let mut list = Vec::new();
        list.try_reserve_exact(planes.len())
            .map_err(|_| LayoutError::OutOfMemory)?;
        list.extend_from_slice(planes);
        Ok(Self {
            planes: list,
            blocks,
            block_bytes,
        })
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

    /// The bytes of a list of blocks, plane by plane and in the order of the list. Neighbours in the list that are neighbours in a
    /// plane without gaps are one run of it.
    ///
    /// # Errors
    /// [`RunsError::OutOfRange`] names the first block that does not exist.
    ///
    /// One look at the list, and one for each plane. No allocation.
    pub fn runs<'a>(
        &'a self,
        blocks: &'a [BlockId],
    ) -> Result<impl Iterator<Item = Run> + Clone + 'a, RunsError> {
        self.check(blocks)?;
        let of_plane = move |(plane, part): (usize, &'a Plane)| {
            let joins = |at: usize| part.joins(blocks[at - 1], blocks[at]);
            stretches(blocks.len(), joins).map(move |(first, count)| Run {
                plane,
                address: part.address(blocks[first]),
                bytes: count as u64 * part.block_bytes,
                first,
                blocks: count,
            })
        };
        Ok(self.planes.iter().enumerate().flat_map(of_plane))
    }

    fn check(&self, blocks: &[BlockId]) -> Result<(), RunsError> {
        match blocks.iter().find(|block| block.index() >= self.blocks) {
            Some(&block) => Err(RunsError::OutOfRange {
                block,
                blocks: self.blocks,
            }),
            None => Ok(()),
        }
    }

    /// Whether a block has the same parts in both.
    fn check_same_parts(&self, destination: &Self) -> Result<(), RunsError> {
        if self.planes.len() != destination.planes.len() {
            return Err(RunsError::PlaneCount {
                source: self.planes.len(),
                destination: destination.planes.len(),
            });
        }
        let bytes = |layout: &Self, plane: usize| layout.planes[plane].block_bytes;
        match (0..self.planes.len()).find(|&at| bytes(self, at) != bytes(destination, at)) {
            Some(plane) => Err(RunsError::PlaneBytes {
                plane,
                source: bytes(self, plane),
                destination: bytes(destination, plane),
            }),
            None => Ok(()),
        }
    }
}

/// What has to be copied so that each of `destinations` gets the bytes of the block at the same place of `sources`: plane by plane, in
/// the order of the lists. Neighbours in the lists that are neighbours in memory on both sides are one run.
///
/// Whether a copy of one run may come before that of another is not looked at: nothing says here that no destination is a source, or
/// that each is there once.
///
/// # Errors
/// [`RunsError::LengthMismatch`], [`RunsError::PlaneCount`], [`RunsError::PlaneBytes`], [`RunsError::OutOfRange`] (sources first).
///
/// One look at the lists, and one for each plane. No allocation.
pub fn pair_runs<'a>(
    source: &'a BlockLayout,
    sources: &'a [BlockId],
    destination: &'a BlockLayout,
    destinations: &'a [BlockId],
) -> Result<impl Iterator<Item = PairRun> + Clone + 'a, RunsError> {
    if sources.len() != destinations.len() {
        return Err(RunsError::LengthMismatch {
            sources: sources.len(),
            destinations: destinations.len(),
        });
    }
    source.check_same_parts(destination)?;
    source.check(sources)?;
    destination.check(destinations)?;
    let of_plane = move |(plane, (from, to)): (usize, (&'a Plane, &'a Plane))| {
        let joins = |at: usize| {
            from.joins(sources[at - 1], sources[at])
                && to.joins(destinations[at - 1], destinations[at])
        };
        stretches(sources.len(), joins).map(move |(first, count)| PairRun {
            plane,
            source: from.address(sources[first]),
            destination: to.address(destinations[first]),
            bytes: count as u64 * from.block_bytes,
            first,
            blocks: count,
        })
    };
    let planes = source.planes.iter().zip(&destination.planes);
    Ok(planes.enumerate().flat_map(of_plane))
}

/// The stretches of a list of `len`, as first place and length, in which each place but the first `joins` the one before it.
fn stretches(
    len: usize,
    joins: impl Fn(usize) -> bool + Clone,
) -> impl Iterator<Item = (usize, usize)> + Clone {
    let stretch = move |first: usize| {
        let joined = (first + 1..len).take_while(|&at| joins(at)).count();
        (first < len).then_some((first, 1 + joined))
    };
    let after = stretch.clone();
    core::iter::successors(stretch(0), move |&(first, count)| after(first + count))
}
