//! Bytes of a list of blocks that lie together.

use super::layout::BlockLayout;
use super::plane::Plane;
use super::runs_error::RunsError;
use crate::block::BlockId;

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

impl BlockLayout {
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
        Ok(self.planes().iter().enumerate().flat_map(of_plane))
    }

    /// Whether a block has the same parts in both.
    fn check_same_parts(&self, destination: &Self) -> Result<(), RunsError> {
        let (ours, theirs) = (self.planes(), destination.planes());
        if ours.len() != theirs.len() {
            return Err(RunsError::PlaneCount {
                source: ours.len(),
                destination: theirs.len(),
            });
        }
        for (plane, (from, to)) in ours.iter().zip(theirs).enumerate() {
            if from.block_bytes != to.block_bytes {
                return Err(RunsError::PlaneBytes {
                    plane,
                    source: from.block_bytes,
                    destination: to.block_bytes,
                });
            }
            if !from.inner.is_same_bytes(&to.inner) {
                return Err(RunsError::Inner { plane });
            }
        }
        Ok(())
    }
}

/// What has to be copied so that each of `destinations` gets the bytes of the block at the same place of `sources`: plane by plane, in
/// the order of the lists. Neighbours in the lists that are neighbours in memory on both sides are one run.
///
/// Whether a copy of one run may come before that of another is not looked at: nothing says here that no destination is a source, or
/// that each is there once. A [`CopyPlan`](crate::CopyPlan) does.
///
/// # Errors
/// [`RunsError::LengthMismatch`], [`RunsError::PlaneCount`], [`RunsError::PlaneBytes`], [`RunsError::Inner`],
/// [`RunsError::OutOfRange`] (sources first).
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
    let of_plane = move |(plane, planes): (usize, (&'a Plane, &'a Plane))| {
        let pair = move |at: usize| (sources[at], destinations[at]);
        pair_runs_of_plane(plane, planes, sources.len(), pair)
    };
    let planes = source.planes().iter().zip(destination.planes());
    Ok(planes.enumerate().flat_map(of_plane))
}

/// The runs of one plane, of which a block has as many bytes on both sides. `pair` gives the pair at a place below `len`.
pub(super) fn pair_runs_of_plane<'a>(
    plane: usize,
    (from, to): (&'a Plane, &'a Plane),
    len: usize,
    pair: impl Fn(usize) -> (BlockId, BlockId) + Copy + 'a,
) -> impl Iterator<Item = PairRun> + Clone + 'a {
    let joins = move |at: usize| {
        let (before, next) = (pair(at - 1), pair(at));
        from.joins(before.0, next.0) && to.joins(before.1, next.1)
    };
    stretches(len, joins).map(move |(first, count)| PairRun {
        plane,
        source: from.address(pair(first).0),
        destination: to.address(pair(first).1),
        bytes: count as u64 * from.block_bytes,
        first,
        blocks: count,
    })
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
