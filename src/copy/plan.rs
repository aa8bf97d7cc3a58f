//! Which blocks are copied, and in which order.
//!
//! A plan means: *as if its pairs were copied one after another, in the order of the list.* A mover would rather copy all at once. So
//! pairs are put in waves: a pair comes one wave after the last earlier pair that writes what it reads, or reads what it writes. Between
//! different layouts no pair does, and there is one wave.
//!
//! # Complexity
//! O(pairs log(pairs)) for the order of sources inside a wave, else O(pairs).

use alloc::vec::Vec;
use core::mem;

use hashbrown::HashMap;

use super::plan_error::{CopyEnd, CopyPlanError};
use super::route::CopyRoute;
use super::wave::Wave;
use crate::block::BlockId;
use crate::error::OutOfMemory;

/// Pairs of blocks that are to be copied along a route, checked and in waves.
///
/// It means: as if its pairs were copied one after another, in the order in which they were given. A chain (0 to 1, then 1 to 2) copies
/// block 0 twice, a chain in reverse (1 to 2, then 0 to 1) moves each block by one, and a cycle (0 to 1, then 1 to 0) leaves both blocks
/// with what 0 had: nothing is kept aside. Each of the three takes two waves, and a chain of n pairs takes n.
///
/// ```
/// # use kvblock::{BlockId, BlockLayout, CopyPlanError, CopyRoute, Plane};
/// let layout = BlockLayout::new(&[Plane::new(0, 4096, 4096)], 100)?;
/// let route = CopyRoute::new(&layout, &layout)?;
/// let pair = |from, to| (BlockId::new(from), BlockId::new(to));
///
/// let mut plan = route.plan(&[pair(7, 41), pair(6, 40), pair(40, 3)])?;
/// let waves: Vec<_> = plan.waves().map(|wave| wave.to_vec()).collect();
/// assert_eq!(waves, [vec![pair(6, 40), pair(7, 41)], vec![pair(40, 3)]]);
/// // 6 and 7 lie together, and so do 40 and 41.
/// let runs: Vec<_> = plan.waves().flat_map(|wave| wave.runs()).map(|run| run.bytes).collect();
/// assert_eq!(runs, [8192, 4096]);
///
/// // Nothing changes if a pair cannot be.
/// let twice = plan.set(&[pair(0, 9), pair(1, 9)]);
/// assert!(matches!(twice, Err(CopyPlanError::DuplicateDestination { pair: 1, first: 0, .. })));
/// assert_eq!(plan.pairs(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a plan copies nothing by itself"]
pub struct CopyPlan {
    route: CopyRoute,
    /// Wave after wave, in each by source.
    pairs: Vec<(BlockId, BlockId)>,
    /// Where each wave ends.
    ends: Vec<usize>,
    work: Work,
}

/// What a plan is made with, kept for the next one.
#[derive(Clone, Debug, Default)]
struct Work {
    /// What earlier pairs did with a block.
    touched: HashMap<BlockId, Touched>,
    /// The wave of each pair, from 1 on.
    waves: Vec<u32>,
    placed: Vec<(u32, BlockId, BlockId)>,
    ends: Vec<usize>,
}

/// What earlier pairs did with a block.
#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    /// The last wave that reads it; 0 if none does.
    read_in: u32,
    /// The pair that writes it.
    written_by: Option<u32>,
}

impl CopyRoute {
    /// A plan for these pairs of (source, destination).
    ///
    /// # Errors
    /// [`CopyPlanError`]: what is wrong with the first pair that cannot be.
    ///
    /// O(pairs log(pairs)). Allocates.
    pub fn plan(&self, pairs: &[(BlockId, BlockId)]) -> Result<CopyPlan, CopyPlanError> {
        let mut plan = CopyPlan {
            route: self.clone(),
            pairs: Vec::new(),
            ends: Vec::new(),
            work: Work::default(),
        };
        plan.set(pairs)?;
        Ok(plan)
    }
}

impl CopyPlan {
    /// Replaces the pairs.
    ///
    /// # Errors
    /// [`CopyPlanError`]: what is wrong with the first pair that cannot be; the plan is as it was.
    ///
    /// O(pairs log(pairs)). Allocates only if there was never a list of so many pairs, or [room](Self::make_room) for one.
    pub fn set(&mut self, pairs: &[(BlockId, BlockId)]) -> Result<(), CopyPlanError> {
        // A list without duplicates is no longer than this, and another one is left at the first duplicate.
        let most = pairs.len().min(1 + self.route.destination().blocks());
        self.make_room(most)
            .map_err(|_| CopyPlanError::OutOfMemory)?;
        self.work.place(&self.route, pairs)?;
        self.pairs.clear();
        let placed = self.work.placed.iter();
        self.pairs.extend(placed.map(|&(_, from, to)| (from, to)));
        mem::swap(&mut self.ends, &mut self.work.ends);
        Ok(())
    }

    /// Room for lists of so many pairs, so that [`set`](Self::set) does not allocate for them.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn make_room(&mut self, pairs: usize) -> Result<(), OutOfMemory> {
        let work = &mut self.work;
        work.touched.clear();
        work.waves.clear();
        work.placed.clear();
        work.ends.clear();
        let in_place = self.route.is_in_place();
        let touched = if in_place {
            pairs.saturating_mul(2)
        } else {
            pairs
        };
        let waves = if in_place { pairs } else { 1 };
        let more = |have: usize| pairs.saturating_sub(have);
        work.touched.try_reserve(touched).map_err(|_| OutOfMemory)?;
        work.waves.try_reserve(pairs).map_err(|_| OutOfMemory)?;
        work.placed.try_reserve(pairs).map_err(|_| OutOfMemory)?;
        work.ends.try_reserve(waves).map_err(|_| OutOfMemory)?;
        self.pairs
            .try_reserve(more(self.pairs.len()))
            .map_err(|_| OutOfMemory)?;
        self.ends
            .try_reserve(waves.saturating_sub(self.ends.len()))
            .map_err(|_| OutOfMemory)
    }

    /// The route.
    pub const fn route(&self) -> &CopyRoute {
        &self.route
    }

    /// The waves, each of pairs that may be copied in any order. The next wave may begin when the one before it has ended.
    #[must_use]
    pub fn waves(&self) -> impl ExactSizeIterator<Item = Wave<'_>> + Clone {
        self.ends.iter().enumerate().map(|(at, &end)| {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            Wave::new(&self.route, &self.pairs[start..end])
        })
    }

    /// All pairs, wave after wave.
    #[must_use]
    pub fn as_slice(&self) -> &[(BlockId, BlockId)] {
        &self.pairs
    }

    /// How many pairs there are.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is nothing to copy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Bytes that are copied, in all planes together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // No destination is there twice, and all blocks of a layout together were found not to overflow.
        self.route.block_bytes() * self.pairs.len() as u64
    }
}

impl Work {
    /// Puts pairs in waves. There is room for as many as there can be before an error.
    fn place(
        &mut self,
        route: &CopyRoute,
        pairs: &[(BlockId, BlockId)],
    ) -> Result<(), CopyPlanError> {
        let in_place = route.is_in_place();
        for (at, &(from, to)) in pairs.iter().enumerate() {
            check_ends(route, at, (from, to))?;
            let wave = self.wave_of(pairs, at, in_place)?;
            self.waves.push(wave);
            self.placed.push((wave, from, to));
        }
        self.placed.sort_unstable();
        let waves = self.placed.chunk_by(|one, next| one.0 == next.0);
        let mut end = 0;
        for wave in waves {
            end += wave.len();
            self.ends.push(end);
        }
        Ok(())
    }

    /// The wave of the pair at a place, behind all earlier ones that it has to wait for.
    fn wave_of(
        &mut self,
        pairs: &[(BlockId, BlockId)],
        at: usize,
        in_place: bool,
    ) -> Result<u32, CopyPlanError> {
        let (from, to) = pairs[at];
        // As many as there are ids at most.
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let destination = self.touched.entry(to).or_default();
        if let Some(first) = destination.written_by {
            return Err(CopyPlanError::DuplicateDestination {
                pair: at,
                first: first as usize,
                block: to,
            });
        }
        destination.written_by = Some(number);
        if !in_place {
            return Ok(1);
        }
        let read_in = destination.read_in;
        let source = self.touched.entry(from).or_default();
        let written_in = source
            .written_by
            .map_or(0, |pair| self.waves[pair as usize]);
        let wave = 1 + read_in.max(written_in);
        source.read_in = source.read_in.max(wave);
        Ok(wave)
    }
}

/// Whether both blocks of a pair are there, and are two.
fn check_ends(
    route: &CopyRoute,
    pair: usize,
    (from, to): (BlockId, BlockId),
) -> Result<(), CopyPlanError> {
    let ends = [
        (CopyEnd::Source, from, route.source().blocks()),
        (CopyEnd::Destination, to, route.destination().blocks()),
    ];
    for (end, block, blocks) in ends {
        if block.index() >= blocks {
            return Err(CopyPlanError::OutOfRange {
                pair,
                end,
                block,
                blocks,
            });
        }
    }
    if route.is_in_place() && from == to {
        return Err(CopyPlanError::OntoItself { pair, block: from });
    }
    Ok(())
}
