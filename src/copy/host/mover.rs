//! The mover over plain memory.

use alloc::vec::Vec;

use super::error::HostMoverError;
use super::memory::HostMemory;
use crate::copy::fences::FenceTable;
use crate::copy::layout::BlockLayout;
use crate::copy::layout_error::OutsideMemory;
use crate::copy::memory::MemoryId;
use crate::copy::mover::Mover;
use crate::copy::plan::CopyPlan;
use crate::copy::route::{CopyKind, PlaneCopy};
use crate::copy::waits::TimelineId;
use crate::copy::wave::Wave;
use crate::pool::Fence;

/// Copies in the host's memory, at once, on the caller's thread: what every other mover must agree with byte for byte, and all that is
/// needed where the cache is in plain memory.
///
/// A step of an engine, from its copy tickets to their acknowledgement:
///
/// ```
/// # use kvblock::*;
/// // 8 blocks of 4 positions with 16 bytes of K and V each, in memory of this process.
/// let memory = HostMemory::new(8 * 64)?;
/// let layout = BlockLayout::new(&[Plane::new(memory.base(), 64, 64)], 8)?;
/// let mut fences = FenceTable::new();
/// fences.track(layout.memory(), 8)?;
/// let mut mover = HostMover::new(fences.add_timeline()?);
/// mover.register(layout.memory(), memory)?;
/// let route = CopyRoute::new(&layout, &layout)?;
/// let mut queue = CopyQueue::new();
///
/// // A sequence of 6 positions, and a branch of it: the second block is shared, and half full.
/// let pool = BlockPool::new(&PoolConfig::new(8, 4))?;
/// let mut sequences = Sequences::new(pool, &SequencesConfig::new(2))?;
/// let (space, prompt) = (Namespace::new(), [1, 2, 3, 4, 5, 6]);
/// let parent = sequences.admit(&Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand))?.handle;
/// sequences.computed(parent, 6)?;
/// let mut branches = [parent];
/// sequences.fork(parent, &mut branches)?;
///
/// // The branch writes a position: its own copy of the block comes first.
/// let mut step = Step::new();
/// sequences.step(&[(branches[0], 1)], &mut step);
/// let pairs: Vec<_> = step.copies().iter().map(|ticket| (ticket.src, ticket.dst)).collect();
/// let plan = route.plan(&pairs)?;
/// assert_eq!((plan.pairs(), plan.bytes()), (1, 64));
/// let fence = mover.copy(&plan, &mut fences)?;
/// queue.push(fence, step.copies())?;
///
/// // Later: what has been copied is acknowledged, and its source is let go.
/// queue.complete(mover.completed()?, |ticket| sequences.copied(ticket).expect("it is pending"));
/// assert_eq!(sequences.report().pending_copies, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HostMover {
    timeline: TimelineId,
    last: Fence,
    /// The memory of each piece.
    names: Vec<MemoryId>,
    /// The pieces. No two of them have a byte in common, and no two of one memory an address.
    pieces: Vec<HostMemory>,
    /// Which pieces have the two sides of each plane of a plan. Kept for the next one.
    sides: Vec<(usize, usize)>,
}

impl HostMover {
    /// A mover without memory, on a timeline of the table that its copies will be recorded in.
    #[must_use]
    pub const fn new(timeline: TimelineId) -> Self {
        Self {
            timeline,
            last: Fence(0),
            names: Vec::new(),
            pieces: Vec::new(),
            sides: Vec::new(),
        }
    }

    /// Adds a piece of a memory. A memory may have several: a tensor for each layer, say. Each plane must be within one.
    ///
    /// # Errors
    /// [`HostMoverError::Registered`]: another piece has some of these bytes, or one of this memory some of these addresses. The piece is
    /// dropped. [`HostMoverError::OutOfMemory`].
    ///
    /// O(pieces). Allocates.
    pub fn register(&mut self, memory: MemoryId, piece: HostMemory) -> Result<(), HostMoverError> {
        let pieces = self.names.iter().zip(&self.pieces);
        for (&name, known) in pieces {
            let same_addresses = name == memory && known.shares_addresses_with(&piece);
            if same_addresses || known.shares_bytes_with(&piece) {
                return Err(HostMoverError::Registered {
                    memory: name,
                    base: known.base(),
                });
            }
        }
        let no_memory = |_| HostMoverError::OutOfMemory;
        self.names.try_reserve(1).map_err(no_memory)?;
        self.pieces.try_reserve(1).map_err(no_memory)?;
        self.names.push(memory);
        self.pieces.push(piece);
        Ok(())
    }

    /// Bytes of a memory.
    ///
    /// # Errors
    /// [`HostMoverError::Unregistered`], [`HostMoverError::NoSuchBytes`].
    pub fn bytes(
        &self,
        memory: MemoryId,
        address: u64,
        bytes: u64,
    ) -> Result<&[u8], HostMoverError> {
        let (piece, at) = self.find(memory, address, bytes)?;
        // They were found.
        Ok(&self.pieces[piece].as_slice()[at..][..length(bytes)])
    }

    /// Bytes of a memory, to be written.
    ///
    /// # Errors
    /// As of [`bytes`](Self::bytes).
    pub fn bytes_mut(
        &mut self,
        memory: MemoryId,
        address: u64,
        bytes: u64,
    ) -> Result<&mut [u8], HostMoverError> {
        let (piece, at) = self.find(memory, address, bytes)?;
        // They were found.
        Ok(&mut self.pieces[piece].as_mut_slice()[at..][..length(bytes)])
    }

    /// The piece with all of these bytes, and their place in it.
    fn find(
        &self,
        memory: MemoryId,
        address: u64,
        bytes: u64,
    ) -> Result<(usize, usize), HostMoverError> {
        let place = |(at, piece): (usize, &HostMemory)| Some((at, piece.place(address, bytes)?));
        self.of(memory)?
            .find_map(place)
            .ok_or(HostMoverError::NoSuchBytes {
                memory,
                address,
                bytes,
            })
    }

    /// The pieces of a memory, of which there is at least one.
    fn of(
        &self,
        memory: MemoryId,
    ) -> Result<impl Iterator<Item = (usize, &HostMemory)> + Clone, HostMoverError> {
        let pieces = self.pieces.iter().enumerate();
        let of = pieces.filter(move |&(at, _)| self.names[at] == memory);
        match of.clone().next() {
            Some(_) => Ok(of),
            None => Err(HostMoverError::Unregistered { memory }),
        }
    }

    /// The piece that has a plane of a layout.
    fn piece_of(&self, layout: &BlockLayout, plane: usize) -> Result<usize, HostMoverError> {
        let memory = layout.memory();
        let (start, end) = layout.ends(plane);
        let mut pieces = self.of(memory)?;
        let first = pieces.clone().next();
        let has = |piece: &HostMemory| piece.place(start, end - start).is_some();
        let begins = |piece: &HostMemory| piece.place(start, 1).is_some();
        if let Some((at, _)) = pieces.clone().find(|(_, piece)| has(piece)) {
            return Ok(at);
        }
        let nearest = pieces.find(|(_, piece)| begins(piece)).or(first);
        let (base, bytes) = nearest.map_or((0, 0), |(_, piece)| (piece.base(), piece.len()));
        Err(HostMoverError::Outside {
            memory,
            outside: OutsideMemory {
                plane,
                start,
                end,
                memory_start: base,
                memory_end: base.saturating_add(bytes as u64),
            },
        })
    }

    /// Finds the pieces of all planes of a plan.
    fn find_sides(&mut self, plan: &CopyPlan) -> Result<(), HostMoverError> {
        let (source, destination) = (plan.route().source(), plan.route().destination());
        let planes = plan.route().planes().len();
        self.sides.clear();
        self.sides
            .try_reserve(planes)
            .map_err(|_| HostMoverError::OutOfMemory)?;
        for plane in 0..planes {
            let sides = (
                self.piece_of(source, plane)?,
                self.piece_of(destination, plane)?,
            );
            self.sides.push(sides);
        }
        Ok(())
    }

    fn copy_wave(&mut self, copies: &[PlaneCopy], wave: &Wave<'_>) {
        // Not by `for`, which hands each run over through memory and there waits for the bytes of the run before: a third slower.
        wave.runs().for_each(|run| {
            self.copy_bytes(run.plane, (run.source, run.destination), run.bytes);
        });
        for copy in copies {
            if let CopyKind::Permute(_) = copy.kind {
                for &(from, to) in wave.pairs() {
                    let block =
                        |base: u64, index: u32, stride: u64| base + u64::from(index) * stride;
                    let source = block(copy.source.base, from.get(), copy.source.block_stride);
                    let to = (
                        copy.destination.base,
                        to.get(),
                        copy.destination.block_stride,
                    );
                    self.permute(copy, (source, block(to.0, to.1, to.2)));
                }
            }
        }
    }

    /// Copies the vectors of one block, those that lie together on both sides at once.
    fn permute(&mut self, copy: &PlaneCopy, (source, destination): (u64, u64)) {
        let CopyKind::Permute(it) = copy.kind else {
            return;
        };
        let vector = u64::from(it.head_bytes);
        let heads_together = it.source.head == vector && it.destination.head == vector;
        let (heads, bytes) = if heads_together {
            (1, vector * u64::from(it.heads))
        } else {
            (it.heads, vector)
        };
        for part in 0..it.parts {
            for position in 0..it.positions {
                for head in 0..heads {
                    let from = source + it.source.offset(part, position, head);
                    let to = destination + it.destination.offset(part, position, head);
                    self.copy_bytes(copy.plane, (from, to), bytes);
                }
            }
        }
    }

    /// Copies bytes of a plane whose pieces were found.
    fn copy_bytes(&mut self, plane: usize, (from, to): (u64, u64), bytes: u64) {
        let (source, destination) = self.sides[plane];
        let copied = HostMemory::copy(&mut self.pieces, (source, from), (destination, to), bytes);
        debug_assert!(
            copied,
            "blocks are within their planes, and planes within pieces"
        );
    }
}

impl Mover for HostMover {
    type Error = HostMoverError;

    fn timeline(&self) -> TimelineId {
        self.timeline
    }

    /// Copies at once. What the plan has to wait for must have passed, and the table been [told](FenceTable::completed).
    ///
    /// # Errors
    /// [`HostMoverError`]; no byte has changed.
    fn copy(&mut self, plan: &CopyPlan, fences: &mut FenceTable) -> Result<Fence, HostMoverError> {
        let waits = fences.waits_for(plan, self.timeline)?;
        if let Some((timeline, fence)) = waits.iter().next() {
            return Err(HostMoverError::NotPassed { timeline, fence });
        }
        self.find_sides(plan)?;
        let fence = Fence(self.last.0 + 1);
        fences.record(plan, self.timeline, fence)?;
        fences.completed(self.timeline, fence)?;
        for wave in plan.waves() {
            self.copy_wave(plan.route().planes(), &wave);
        }
        self.last = fence;
        Ok(fence)
    }

    fn completed(&mut self) -> Result<Fence, HostMoverError> {
        Ok(self.last)
    }

    /// Never waits.
    ///
    /// # Errors
    /// [`HostMoverError::NoSuchFence`].
    fn wait(&mut self, fence: Fence) -> Result<(), HostMoverError> {
        if fence > self.last {
            return Err(HostMoverError::NoSuchFence {
                fence,
                last: self.last,
            });
        }
        Ok(())
    }
}

/// A length that was found to be there.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
