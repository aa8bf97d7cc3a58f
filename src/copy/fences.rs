//! Who used a block last, and what has to pass before somebody else may.
//!
//! Things happen on *timelines*, each in the order in which it was told. Between timelines nothing is in order unless one waits for a
//! fence of another. For each block the table keeps the last write, as timeline and fence, and the last read on each timeline since then:
//! * who reads a block waits for its last write,
//! * who writes it waits for its last write and for the reads since then,
//! * and nobody waits for what is earlier on his own timeline.
//!
//! A write that waited so is behind all that was before, so the table forgets the reads with it. A copy reads its sources and writes its
//! destinations.
//!
//! # Complexity
//! Per block: O(1) to ask for a read and to record one; O(timelines) for a write. 9 bytes a block, and 8 more for each timeline.

use alloc::vec::Vec;

use super::fence_error::FenceError;
use super::memory::MemoryId;
use super::plan::CopyPlan;
use super::waits::{MAX_TIMELINES, TimelineId, Waits};
use crate::block::{BlockId, MAX_BLOCKS};
use crate::pool::Fence;

/// What is done with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Its bytes are read.
    Read,
    /// Its bytes, or some of them, are written.
    Write,
}

/// Who used a block last, and what has to pass before somebody else may. Plain data: it waits for nothing by itself.
///
/// A [`Mover`](crate::Mover) asks and records for the plans that it copies. The engine does the same for what its own kernels read and
/// write. What is recorded must have waited for what the table answered.
///
/// ```
/// # use kvblock::{Access, BlockId, BlockLayout, CopyRoute, Fence, FenceTable, MemoryId, Plane};
/// let memory = MemoryId::new(0);
/// let layout = BlockLayout::new(&[Plane::new(0, 4096, 4096)], 100)?;
/// let plan = CopyRoute::new(&layout, &layout)?.plan(&[(BlockId::new(1), BlockId::new(2))])?;
///
/// let mut fences = FenceTable::new();
/// let (compute, copies) = (fences.add_timeline()?, fences.add_timeline()?);
/// fences.track(memory, 100)?;
///
/// // Step 41 of the engine writes block 1. The copy of it has to wait for that.
/// fences.record_blocks(memory, &[BlockId::new(1)], Access::Write, compute, Fence(41))?;
/// let waits = fences.waits_for(&plan, copies)?;
/// assert_eq!(waits.iter().collect::<Vec<_>>(), [(compute, Fence(41))]);
/// fences.record(&plan, copies, Fence(1))?;
///
/// // Who reads the copy waits for it, and who writes the source as well. Another reader of the source does not.
/// let waits = |block, access| fences.waits_for_blocks(memory, &[BlockId::new(block)], access, compute);
/// assert_eq!(waits(2, Access::Read)?.on(copies), Some(Fence(1)));
/// assert_eq!(waits(1, Access::Write)?.on(copies), Some(Fence(1)));
/// assert!(waits(1, Access::Read)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FenceTable {
    /// Of each timeline.
    timelines: Vec<Timeline>,
    memories: Vec<Tracked>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Timeline {
    /// The last fence recorded.
    last: Fence,
    /// No fence up to this one is waited for.
    completed: Fence,
}

/// The blocks of one memory. All lists are as long.
#[derive(Clone, Debug)]
struct Tracked {
    memory: MemoryId,
    /// The last write; `Fence(0)` if there was none.
    writes: Vec<Fence>,
    /// Where it was.
    writers: Vec<TimelineId>,
    /// On each timeline, the last read since the last write; `Fence(0)` if there was none.
    reads: Vec<Vec<Fence>>,
}

impl FenceTable {
    /// A table without timelines and memories.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            timelines: Vec::new(),
            memories: Vec::new(),
        }
    }

    /// One timeline more. Its number is how many there were. It stays: who replaces streams makes a new table, when all that the old one
    /// knows has passed.
    ///
    /// # Errors
    /// [`FenceError::TooManyTimelines`], [`FenceError::OutOfMemory`].
    ///
    /// O(tracked blocks). Allocates.
    pub fn add_timeline(&mut self) -> Result<TimelineId, FenceError> {
        let number = self.timelines.len();
        if number >= MAX_TIMELINES {
            return Err(FenceError::TooManyTimelines { max: MAX_TIMELINES });
        }
        let no_memory = |_| FenceError::OutOfMemory;
        self.timelines.try_reserve(1).map_err(no_memory)?;
        for tracked in &mut self.memories {
            // What is made here before another one fails is kept for the next try.
            if tracked.reads.len() <= number {
                tracked.reads.try_reserve(1).map_err(no_memory)?;
                let mut reads = Vec::new();
                grow(&mut reads, tracked.writes.len(), Fence(0))?;
                tracked.reads.push(reads);
            }
        }
        self.timelines.push(Timeline::default());
        Ok(TimelineId::new(u8::try_from(number).unwrap_or(u8::MAX)))
    }

    /// Knows `blocks` blocks of a memory from now on, none of them in use. If there are as many already, nothing changes.
    ///
    /// # Errors
    /// [`FenceError::TooManyBlocks`], [`FenceError::OutOfMemory`].
    ///
    /// O(blocks). Allocates.
    pub fn track(&mut self, memory: MemoryId, blocks: usize) -> Result<(), FenceError> {
        if blocks > MAX_BLOCKS {
            return Err(FenceError::TooManyBlocks {
                asked: blocks,
                max: MAX_BLOCKS,
            });
        }
        if let Some(tracked) = self.memories.iter_mut().find(|it| it.memory == memory) {
            return tracked.grow(blocks);
        }
        let mut tracked = Tracked {
            memory,
            writes: Vec::new(),
            writers: Vec::new(),
            reads: Vec::new(),
        };
        let timelines = self.timelines.len();
        let no_memory = |_| FenceError::OutOfMemory;
        tracked.reads.try_reserve(timelines).map_err(no_memory)?;
        tracked.reads.resize_with(timelines, Vec::new);
        tracked.grow(blocks)?;
        self.memories.try_reserve(1).map_err(no_memory)?;
        self.memories.push(tracked);
        Ok(())
    }

    /// What has to pass on each other timeline before a plan may begin on this one.
    ///
    /// # Errors
    /// [`FenceError::NoSuchTimeline`]; [`FenceError::Untracked`], [`FenceError::OutOfRange`]: not all blocks of a layout of the plan's route
    /// are tracked.
    ///
    /// O(pairs * timelines). No allocation.
    pub fn waits_for(&self, plan: &CopyPlan, on: TimelineId) -> Result<Waits, FenceError> {
        self.timeline(on)?;
        let (source, destination) = self.ends(plan)?;
        let (source, destination) = (&self.memories[source], &self.memories[destination]);
        let mut waits = Waits::none();
        for &(from, to) in plan.as_slice() {
            source.add_waits(&mut waits, from, Access::Read);
            destination.add_waits(&mut waits, to, Access::Write);
        }
        Ok(self.left_of(waits, on))
    }

    /// Says that a plan is done on a timeline once a fence of it has passed. It must have waited for what [`waits_for`](Self::waits_for)
    /// answered.
    ///
    /// # Errors
    /// As of [`waits_for`](Self::waits_for), and [`FenceError::NotLater`]: the fences of a timeline may be equal but never go back.
    ///
    /// O(pairs * timelines). No allocation.
    pub fn record(
        &mut self,
        plan: &CopyPlan,
        on: TimelineId,
        fence: Fence,
    ) -> Result<(), FenceError> {
        let (source, destination) = self.ends(plan)?;
        self.check_later(on, fence)?;
        for &(from, _) in plan.as_slice() {
            self.memories[source].record(from, Access::Read, on, fence);
        }
        for &(_, to) in plan.as_slice() {
            self.memories[destination].record(to, Access::Write, on, fence);
        }
        self.timelines[on.index()].last = fence;
        Ok(())
    }

    /// What has to pass on each other timeline before something on this one may read, or write, some blocks.
    ///
    /// # Errors
    /// [`FenceError::NoSuchTimeline`], [`FenceError::Untracked`], [`FenceError::OutOfRange`].
    ///
    /// O(blocks * timelines). No allocation.
    pub fn waits_for_blocks(
        &self,
        memory: MemoryId,
        blocks: &[BlockId],
        access: Access,
        on: TimelineId,
    ) -> Result<Waits, FenceError> {
        self.timeline(on)?;
        let tracked = &self.memories[self.blocks(memory, blocks)?];
        let mut waits = Waits::none();
        for &block in blocks {
            tracked.add_waits(&mut waits, block, access);
        }
        Ok(self.left_of(waits, on))
    }

    /// Says that something on a timeline has read, or written, some blocks once a fence of it has passed. It must have waited for what
    /// [`waits_for_blocks`](Self::waits_for_blocks) answered.
    ///
    /// # Errors
    /// As of [`waits_for_blocks`](Self::waits_for_blocks), and [`FenceError::NotLater`]: the fences of a timeline may be equal but never go
    /// back.
    ///
    /// O(blocks * timelines). No allocation.
    pub fn record_blocks(
        &mut self,
        memory: MemoryId,
        blocks: &[BlockId],
        access: Access,
        on: TimelineId,
        fence: Fence,
    ) -> Result<(), FenceError> {
        let tracked = self.blocks(memory, blocks)?;
        self.check_later(on, fence)?;
        for &block in blocks {
            self.memories[tracked].record(block, access, on, fence);
        }
        self.timelines[on.index()].last = fence;
        Ok(())
    }

    /// Says that a timeline has passed this fence, and with it every earlier one: nobody is told to wait for them any more. A fence that
    /// has passed already changes nothing, and of one that was not recorded only what was counts: what is recorded later is waited for.
    ///
    /// # Errors
    /// [`FenceError::NoSuchTimeline`].
    ///
    /// O(1).
    pub fn completed(&mut self, timeline: TimelineId, fence: Fence) -> Result<(), FenceError> {
        self.timeline(timeline)?;
        let known = &mut self.timelines[timeline.index()];
        known.completed = known.completed.max(fence.min(known.last));
        Ok(())
    }

    /// The last fence recorded on a timeline; `Fence(0)` if there is none.
    ///
    /// # Errors
    /// [`FenceError::NoSuchTimeline`].
    pub fn last(&self, timeline: TimelineId) -> Result<Fence, FenceError> {
        Ok(self.timeline(timeline)?.last)
    }

    fn timeline(&self, timeline: TimelineId) -> Result<&Timeline, FenceError> {
        let known = self.timelines.get(timeline.index());
        known.ok_or(FenceError::NoSuchTimeline {
            timeline,
            timelines: self.timelines.len(),
        })
    }

    /// Whether a fence may be recorded on a timeline.
    fn check_later(&self, timeline: TimelineId, fence: Fence) -> Result<(), FenceError> {
        let last = self.timeline(timeline)?.last;
        if fence < last || fence == Fence(0) {
            return Err(FenceError::NotLater {
                timeline,
                fence,
                last,
            });
        }
        Ok(())
    }

    /// Which memory has the first `blocks` blocks.
    fn memory(&self, memory: MemoryId, last: Option<BlockId>) -> Result<usize, FenceError> {
        let tracked = self.memories.iter().position(|it| it.memory == memory);
        let at = tracked.ok_or(FenceError::Untracked { memory })?;
        let blocks = self.memories[at].writes.len();
        match last.filter(|block| block.index() >= blocks) {
            Some(block) => Err(FenceError::OutOfRange {
                memory,
                block,
                blocks,
            }),
            None => Ok(at),
        }
    }

    /// The memory of a list, all of whose blocks are tracked.
    fn blocks(&self, memory: MemoryId, blocks: &[BlockId]) -> Result<usize, FenceError> {
        self.memory(memory, blocks.iter().copied().max())
    }

    /// The memories of both ends of a plan, with every block of its layouts.
    fn ends(&self, plan: &CopyPlan) -> Result<(usize, usize), FenceError> {
        let route = plan.route();
        let end = |layout: &super::layout::BlockLayout| {
            // A layout has at least one block.
            let last = BlockId::from_index(layout.blocks() - 1);
            self.memory(layout.memory(), Some(last))
        };
        Ok((end(route.source())?, end(route.destination())?))
    }

    /// Without what is in order anyway, and what has passed.
    fn left_of(&self, mut waits: Waits, on: TimelineId) -> Waits {
        waits.remove(on);
        for (timeline, fence) in waits {
            let known = self.timelines.get(timeline.index());
            if known.is_some_and(|known| fence <= known.completed) {
                waits.remove(timeline);
            }
        }
        waits
    }
}

impl Tracked {
    /// Knows so many blocks, if there are not as many already.
    fn grow(&mut self, blocks: usize) -> Result<(), FenceError> {
        // What grows here before another list fails is not looked at: `writes` comes last.
        for reads in &mut self.reads {
            grow(reads, blocks, Fence(0))?;
        }
        grow(&mut self.writers, blocks, TimelineId::new(0))?;
        grow(&mut self.writes, blocks, Fence(0))
    }

    fn add_waits(&self, waits: &mut Waits, block: BlockId, access: Access) {
        let at = block.index();
        waits.add(self.writers[at], self.writes[at]);
        if access == Access::Write {
            for (number, reads) in (0..).zip(&self.reads) {
                waits.add(TimelineId::new(number), reads[at]);
            }
        }
    }

    fn record(&mut self, block: BlockId, access: Access, on: TimelineId, fence: Fence) {
        let at = block.index();
        match access {
            Access::Read => self.reads[on.index()][at] = fence,
            Access::Write => {
                (self.writes[at], self.writers[at]) = (fence, on);
                for reads in &mut self.reads {
                    reads[at] = Fence(0);
                }
            }
        }
    }
}

/// A list of at least `len`.
fn grow<T: Clone>(list: &mut Vec<T>, len: usize, value: T) -> Result<(), FenceError> {
    let more = len.saturating_sub(list.len());
    list.try_reserve_exact(more)
        .map_err(|_| FenceError::OutOfMemory)?;
    list.resize(len.max(list.len()), value);
    Ok(())
}
