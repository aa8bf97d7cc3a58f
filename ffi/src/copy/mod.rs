//! Copies of blocks: where blocks are, what is copied of them, in which order, and behind what.

// In the order of the header.

mod layout;

mod route;

mod plan;

mod fences;

pub use self::fences::*;
pub use self::layout::*;
pub use self::plan::*;
pub use self::route::*;

use core::mem::MaybeUninit;

use kvblock::{BlockId, PairRun};

use crate::arg::{self, Argument};
use crate::error::NoRoom;

/// A list of blocks, as the library knows it.
///
/// # Safety
/// * As of [`arg::slice`].
unsafe fn ids<'a>(blocks: *const u32, count: usize) -> Result<&'a [BlockId], Argument> {
    // SAFETY: this function's contract. A `BlockId` is a `u32`, whose every value is valid.
    unsafe { arg::slice(blocks.cast::<BlockId>(), count) }
}

/// Writes all items, or none if there is not room for all. Returns how many.
fn list<R, C>(
    out: &mut [MaybeUninit<C>],
    items: impl Iterator<Item = R> + Clone,
    as_c: impl Fn(R) -> C,
) -> Result<usize, NoRoom> {
    let (needed, got) = (items.clone().count(), out.len());
    if needed > got {
        return Err(NoRoom { needed, got });
    }
    for (place, item) in out.iter_mut().zip(items) {
        place.write(as_c(item));
    }
    Ok(needed)
}

/// Writes pairs to two lists, or none if there is not room for all. Returns how many. Both lists are as long.
pub(crate) fn list_pairs(
    sources: &mut [MaybeUninit<u32>],
    destinations: &mut [MaybeUninit<u32>],
    pairs: &[(BlockId, BlockId)],
) -> Result<usize, NoRoom> {
    let (needed, got) = (pairs.len(), sources.len().min(destinations.len()));
    if needed > got {
        return Err(NoRoom { needed, got });
    }
    let places = sources.iter_mut().zip(destinations);
    for ((source, destination), (from, to)) in places.zip(pairs) {
        source.write(from.get());
        destination.write(to.get());
    }
    Ok(needed)
}

const fn pair_run(run: PairRun) -> kvb_pair_run {
    kvb_pair_run {
        plane: run.plane,
        source: run.source,
        destination: run.destination,
        bytes: run.bytes,
        first: run.first,
        blocks: run.blocks,
    }
}
