//! The plain twin of a lane: what waits for fences, in order of release.

use crate::reference::Model;

#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// A fence, and what was released after it, tail first.
    releases: Vec<(u64, Vec<u32>)>,
    pub(crate) completed: Option<u64>,
}

impl Waiting {
    pub(crate) fn has_passed(&self, fence: u64) -> bool {
        self.completed.is_some_and(|completed| completed >= fence)
    }

    /// Gives these references back when the fence has passed.
    pub(crate) fn release(&mut self, pool: &mut Model, fence: u64, references: Vec<u32>) {
        if self.has_passed(fence) {
            references.into_iter().for_each(|id| pool.let_go(id));
            return;
        }
        references.iter().for_each(|&id| pool.fence_in(id));
        self.releases.push((fence, references));
    }

    /// Answers how many blocks can be had now that could not.
    pub(crate) fn complete(&mut self, pool: &mut Model, fence: u64) -> usize {
        if self.has_passed(fence) {
            return 0;
        }
        self.completed = Some(fence);
        let before = pool.available() + pool.reserved();
        for (of, references) in core::mem::take(&mut self.releases) {
            if of <= fence {
                references.into_iter().for_each(|id| pool.fence_out(id));
            } else {
                self.releases.push((of, references));
            }
        }
        pool.available() + pool.reserved() - before
    }

    /// References that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting().count()
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.releases.iter().flat_map(|(_, ids)| ids).copied()
    }
}
