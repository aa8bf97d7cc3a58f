//! What can be wrong with a layout, or with where it is.

use core::error::Error;
use core::fmt;

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
        /// [`MAX_BLOCKS`](crate::MAX_BLOCKS).
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
    /// A byte belongs to blocks of two planes.
    PlanesOverlap {
        /// The first plane that overlaps another.
        first: usize,
        /// The first behind it that it overlaps.
        second: usize,
    },
    /// A block has not as many bytes as its tile.
    TileBytes {
        /// Which plane.
        plane: usize,
        /// Bytes of a block.
        block: u64,
        /// Bytes of the tile.
        tile: u64,
    },
    /// Not as many tensors of V as of K.
    TensorCount {
        /// Tensors of K.
        keys: usize,
        /// Tensors of V.
        values: usize,
    },
    /// An address, the bytes of a tile, or the bytes of all planes up to this one, overflow 64 bits.
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
            Self::PlanesOverlap { first, second } => {
                write!(f, "planes {first} and {second} overlap")
            }
            Self::TileBytes { plane, block, tile } => write!(
                f,
                "plane {plane}: blocks of {block} bytes with {tile} bytes inside"
            ),
            Self::TensorCount { keys, values } => {
                write!(f, "{keys} tensors of keys for {values} of values")
            }
            Self::Overflow { plane } => write!(f, "plane {plane}: sizes overflow 64 bits"),
            Self::OutOfMemory => f.write_str("no memory for the list of planes"),
        }
    }
}
impl Error for LayoutError {}

/// A plane is not wholly inside a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutsideMemory {
    /// The first such plane.
    pub plane: usize,
    /// Address of its first byte.
    pub start: u64,
    /// The address behind its last byte.
    pub end: u64,
    /// Address of the memory's first byte.
    pub memory_start: u64,
    /// The address behind the memory's last byte, or the last address if there is none behind it.
    pub memory_end: u64,
}

impl fmt::Display for OutsideMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            plane,
            start,
            end,
            memory_start,
            memory_end,
        } = *self;
        write!(
            f,
            "plane {plane} from {start} to {end} is not within the memory from {memory_start} to {memory_end}"
        )
    }
}
impl Error for OutsideMemory {}

/// A number of a [`Plane`](crate::Plane).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaneField {
    /// The address of block 0.
    Base,
    /// Bytes from a block to the next.
    BlockStride,
    /// Bytes of a block.
    BlockBytes,
    /// Bytes of one head's vector.
    HeadBytes,
}

impl fmt::Display for PlaneField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::BlockStride => "block stride",
            Self::BlockBytes => "bytes of a block",
            Self::HeadBytes => "bytes of a head",
        })
    }
}

/// A number of a plane is no multiple of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misaligned {
    /// The first such plane.
    pub plane: usize,
    /// Its first such number.
    pub field: PlaneField,
    /// The number.
    pub value: u64,
    /// What it should be a multiple of.
    pub alignment: u64,
}

impl fmt::Display for Misaligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            plane,
            field,
            value,
            alignment,
        } = *self;
        write!(
            f,
            "plane {plane}: the {field}, {value}, is no multiple of {alignment}"
        )
    }
}
impl Error for Misaligned {}
