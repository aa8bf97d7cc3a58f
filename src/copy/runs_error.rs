//! Why there are no addresses of some blocks.

use core::error::Error;
use core::fmt;

use crate::block::BlockId;

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
    /// A block has as many bytes in both, but other heads, or in another order.
    Inner {
        /// The first such plane.
        plane: usize,
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
            Self::Inner { plane } => write!(
                f,
                "plane {plane}: the inside of a block differs from that in the destination"
            ),
        }
    }
}
impl Error for RunsError {}
