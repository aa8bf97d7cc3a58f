//! Why blocks of one layout are not copied to another.

use core::error::Error;
use core::fmt;

use super::plan_error::CopyEnd;
use super::tile::Tile;

/// Why blocks of one layout cannot be copied to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyRouteError {
    /// The two layouts have not as many planes. If they only put K and V of the layers together in different ways,
    /// [`by_part`](crate::BlockLayout::by_part) of both has as many.
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
    /// A block has not the same vectors in both: other parts, positions, heads, or bytes of a head.
    Tiles {
        /// The first such plane.
        plane: usize,
        /// The inside of a block of the source.
        source: Tile,
        /// The inside of a block of the destination.
        destination: Tile,
    },
    /// Some heads of a plane of which nobody says where its heads are.
    HeadsOfOpaque {
        /// The first such plane.
        plane: usize,
    },
    /// No such heads.
    HeadsOutOfRange {
        /// The first such plane.
        plane: usize,
        /// At which end.
        end: CopyEnd,
        /// The first head asked for.
        first: u32,
        /// How many were asked for.
        asked: u32,
        /// Heads of the tile.
        heads: u32,
    },
    /// No head is to be copied.
    NoHeads,
    /// The layouts are in one memory, are not the same, and have a byte in common.
    Touch {
        /// The first plane of the source that touches one of the destination.
        source_plane: usize,
        /// The first plane of the destination that it touches.
        destination_plane: usize,
    },
    /// The host's allocator had no memory.
    OutOfMemory,
}

impl fmt::Display for CopyRouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
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
            Self::Tiles {
                plane,
                source,
                destination,
            } => write!(
                f,
                "plane {plane}: blocks of {source} for {destination} in the destination"
            ),
            Self::HeadsOfOpaque { plane } => write!(
                f,
                "plane {plane}: nothing says where the heads of a block are"
            ),
            Self::HeadsOutOfRange {
                plane,
                end,
                first,
                asked,
                heads,
            } => write!(
                f,
                "plane {plane}: {asked} heads from head {first} on are not among the {heads} of the {end}"
            ),
            Self::NoHeads => f.write_str("no head is to be copied"),
            Self::Touch {
                source_plane,
                destination_plane,
            } => write!(
                f,
                "plane {source_plane} of the source overlaps plane {destination_plane} of another layout of the same memory"
            ),
            Self::OutOfMemory => f.write_str("no memory for the route"),
        }
    }
}
impl Error for CopyRouteError {}
