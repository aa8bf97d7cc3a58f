//! What waits for fences before it is given back.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use super::chain::RawChain;
use super::core::Core;
use crate::block::BlockId;
use crate::error::{OutOfMemory, ReleaseAfterError};
use crate::shared::Shared;

/// A point on the timeline of a stream or a peer: the number of a step, of a launch, of a message. It belongs to the [`Lane`] that it
/// is given with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Fence(pub u64);

/// Released blocks that a device or a peer may still touch, on one timeline.
///
/// What is released after a fence stays where it is until the lane is told that its timeline has [completed](Self::complete) that
/// point; meanwhile it is *quarantined*, unless somebody else holds it. Published blocks stay findable, and a hit on a quarantined
/// one costs nothing. What passes together goes in the order of release, as without fences.
///
/// Made by [`BlockPool::lane`](crate::BlockPool::lane), one for each stream; several may have the same block. Dropping a lane says
/// that its timeline has ended: all of it is given back.
#[must_use = "dropping a lane gives back what waits in it"]
pub struct Lane {
    core: Shared<Core>,
    /// In order of release.
    waiting: VecDeque<Waiting>,
    completed: Option<Fence>,
    /// No fence before this one is waited for.
    next: Fence,
    /// Lists of blocks for the next releases.
    spare: Vec<RawChain>,
}

struct Waiting {
    fence: Fence,
    blocks: RawChain,
}

impl Lane {
    pub(crate) fn new(core: &Shared<Core>) -> Self {
        Self {
            core: core.clone(),
            waiting: VecDeque::new(),
            completed: None,
            next: Fence(u64::MAX),
            spare: Vec::new(),
        }
    }

    /// Room from the start for so many releases of up to so many blocks each.
    pub(crate) fn with_room(
        core: &Shared<Core>,
        releases: usize,
        blocks: usize,
    ) -> Result<Self, OutOfMemory> {
        let mut lane = Self::new(core);
        lane.make_lists(releases)?;
        for lists in &mut lane.spare {
            lists.make_room(blocks).map_err(|()| OutOfMemory)?;
        }
        Ok(lane)
    }

    /// The timeline has passed this point, and with it every earlier one: gives back what waited for them, in the order of release.
    /// Returns how many blocks are free or idle now that were not. A point that has been passed already changes nothing.
    ///
    /// A look at each release that waits, if one is due; a few read-modify-writes a block given back. No allocation.
    pub fn complete(&mut self, fence: Fence) -> usize {
        if self.has_passed(fence) {
            return 0;
        }
        self.completed = Some(fence);
        if self.next > fence {
            return 0;
        }
        let mut credits = 0;
        self.next = Fence(u64::MAX);
        for _ in 0..self.waiting.len() {
            let Some(mut waiting) = self.waiting.pop_front() else {
                break;
            };
            if waiting.fence <= fence {
                credits += release_fenced(&self.core, &mut waiting.blocks);
                self.spare.push(waiting.blocks);
            } else {
                self.next = self.next.min(waiting.fence);
                self.waiting.push_back(waiting);
            }
        }
        credits
    }

    /// The last point that has been passed.
    #[must_use]
    pub const fn completed(&self) -> Option<Fence> {
        self.completed
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// References that wait: a block counts once for each release.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting().count()
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.waiting.iter().flat_map(|it| it.blocks.held())
    }

    /// Whether what is released after this fence would be given back at once.
    pub(crate) fn has_passed(&self, fence: Fence) -> bool {
        self.completed.is_some_and(|completed| completed >= fence)
    }

    pub(crate) fn check_pool(&self, core: &Core) -> Result<(), ReleaseAfterError> {
        if core::ptr::eq::<Core>(&*self.core, core) {
            Ok(())
        } else {
            Err(ReleaseAfterError::WrongPool)
        }
    }

    /// Room for one more release of this pool's blocks.
    pub(crate) fn make_room(&mut self, core: &Core) -> Result<(), ReleaseAfterError> {
        self.check_pool(core)?;
        if self.spare.is_empty() {
            self.make_lists(1)?;
        }
        Ok(())
    }

    /// Room for so many.
    pub(crate) fn make_room_for(
        &mut self,
        core: &Core,
        releases: usize,
    ) -> Result<(), ReleaseAfterError> {
        self.make_room(core)?;
        let missing = releases.saturating_sub(self.spare.len());
        Ok(self.make_lists(missing)?)
    }

    fn make_lists(&mut self, n: usize) -> Result<(), OutOfMemory> {
        let all = self.waiting.len() + self.spare.len() + n;
        let enough = self.waiting.try_reserve(self.spare.len() + n);
        enough
            .and(self.spare.try_reserve(all - self.spare.len()))
            .map_err(|_| OutOfMemory)?;
        let vacant = core::iter::repeat_with(|| RawChain::vacant(&self.core));
        self.spare.extend(vacant.take(n));
        Ok(())
    }

    /// The lists for the next release, for which there is [room](Self::make_room).
    pub(crate) fn next_lists(&mut self) -> Option<&mut RawChain> {
        self.spare.last_mut()
    }

    /// Takes over what a chain holds, for which there is [room](Self::make_room); the chain is empty then and has other buffers.
    pub(crate) fn push(&mut self, fence: Fence, chain: &mut RawChain) {
        self.push_filled(fence, |blocks| core::mem::swap(blocks, chain));
    }

    /// Takes over what is put into the [next lists](Self::next_lists), for which there is [room](Self::make_room).
    pub(crate) fn push_filled(&mut self, fence: Fence, fill: impl FnOnce(&mut RawChain)) {
        debug_assert!(!self.spare.is_empty(), "room is made before");
        let vacant = || RawChain::vacant(&self.core);
        let mut blocks = self.spare.pop().unwrap_or_else(vacant);
        fill(&mut blocks);
        if self.has_passed(fence) || blocks.ids.is_empty() {
            blocks.release_and_clear(&self.core);
            self.spare.push(blocks);
            return;
        }
        for block in blocks.held() {
            self.core.fence_in(block);
        }
        self.next = self.next.min(fence);
        self.waiting.push_back(Waiting { fence, blocks });
    }
}

/// Gives back the fences' references, which have passed. Returns how many blocks became free or idle.
fn release_fenced(core: &Core, blocks: &mut RawChain) -> usize {
    let passed = blocks.held().inspect(|&it| core.fence_out(it));
    let credits = core.release_for(passed, core.capacity());
    core.credits.deposit(credits);
    for block in blocks.held() {
        core.settle_quarantine(block);
    }
    blocks.forget();
    credits as usize
}

impl Drop for Lane {
    fn drop(&mut self) {
        for waiting in &mut self.waiting {
            release_fenced(&self.core, &mut waiting.blocks);
        }
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("shard", &self.core.shard())
            .field("completed", &self.completed)
            .field("waiting", &self.len())
            .finish_non_exhaustive()
    }
}
