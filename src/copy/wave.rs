//! Pairs of a plan that may be copied in any order, or all at once.

use core::ops::Deref;

use super::route::{CopyKind, CopyRoute};
use super::runs::{PairRun, pair_runs_of_plane};
use crate::block::BlockId;

/// Pairs of a plan that may be copied in any order, or all at once: within a wave no destination is a source or a destination of another
/// pair. It is a list of (source, destination), in the order of the sources.
#[derive(Clone, Copy, Debug)]
pub struct Wave<'a> {
    route: &'a CopyRoute,
    pairs: &'a [(BlockId, BlockId)],
}

impl<'a> Wave<'a> {
    /// A wave of pairs that were checked for this route.
    pub(super) const fn new(route: &'a CopyRoute, pairs: &'a [(BlockId, BlockId)]) -> Self {
        Self { route, pairs }
    }

    /// The pairs.
    #[must_use]
    pub const fn pairs(&self) -> &'a [(BlockId, BlockId)] {
        self.pairs
    }

    /// What is copied in the planes that are copied as they are ([`CopyKind::Same`]): plane by plane, neighbours that are neighbours on
    /// both sides in one run.
    ///
    /// One look at the pairs for each such plane. No allocation.
    pub fn runs(&self) -> impl Iterator<Item = PairRun> + Clone + use<'a> {
        let Self { route, pairs } = *self;
        let same = route
            .planes()
            .iter()
            .filter(|copy| matches!(copy.kind, CopyKind::Same { .. }));
        same.flat_map(move |copy| {
            let plane = copy.plane;
            // A route has as many planes as both of its layouts.
            let sides = (
                &route.source().planes()[plane],
                &route.destination().planes()[plane],
            );
            pair_runs_of_plane(plane, sides, pairs.len(), move |at| pairs[at])
        })
    }
}

impl Deref for Wave<'_> {
    type Target = [(BlockId, BlockId)];
    fn deref(&self) -> &Self::Target {
        self.pairs
    }
}

impl<'a> IntoIterator for Wave<'a> {
    type Item = (BlockId, BlockId);
    type IntoIter = core::iter::Copied<core::slice::Iter<'a, (BlockId, BlockId)>>;
    fn into_iter(self) -> Self::IntoIter {
        self.pairs.iter().copied()
    }
}
