//! Timelines, and what has to pass on the others before something may begin on one of them.

use core::fmt;

use crate::pool::Fence;

/// Most timelines of a [`FenceTable`](crate::FenceTable).
pub const MAX_TIMELINES: usize = 8;

/// A timeline of a [`FenceTable`](crate::FenceTable): a stream, or whatever else does things one after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimelineId(u8);

impl TimelineId {
    /// The timeline with this number: a table counts them from 0.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for TimelineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timeline {}", self.0)
    }
}

impl fmt::Display for TimelineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The fences that have to pass before something may begin: for each timeline none, or the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[must_use = "what is not waited for may still be in flight"]
pub struct Waits {
    /// `Fence(0)`: nothing.
    fences: [Fence; MAX_TIMELINES],
}

impl Waits {
    /// Nothing to wait for.
    pub const fn none() -> Self {
        Self {
            fences: [Fence(0); MAX_TIMELINES],
        }
    }

    /// Whether there is nothing to wait for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fences.iter().all(|&fence| fence == Fence(0))
    }

    /// What has to pass on a timeline.
    #[must_use]
    pub fn on(&self, timeline: TimelineId) -> Option<Fence> {
        let fence = self.fences.get(timeline.index()).copied();
        fence.filter(|&fence| fence != Fence(0))
    }

    /// Each timeline on which something has to pass, and what.
    pub fn iter(&self) -> impl Iterator<Item = (TimelineId, Fence)> + Clone + use<> {
        self.into_iter()
    }

    /// Waits for both.
    pub fn and(mut self, other: Self) -> Self {
        for (ours, theirs) in self.fences.iter_mut().zip(other.fences) {
            *ours = theirs.max(*ours);
        }
        self
    }

    pub(super) fn add(&mut self, timeline: TimelineId, fence: Fence) {
        if let Some(last) = self.fences.get_mut(timeline.index()) {
            *last = fence.max(*last);
        }
    }

    pub(super) fn remove(&mut self, timeline: TimelineId) {
        if let Some(last) = self.fences.get_mut(timeline.index()) {
            *last = Fence(0);
        }
    }
}

impl IntoIterator for Waits {
    type Item = (TimelineId, Fence);
    type IntoIter = WaitsIter;
    fn into_iter(self) -> WaitsIter {
        WaitsIter { waits: self, at: 0 }
    }
}

/// The fences of [`Waits`], by timeline.
#[derive(Clone, Debug)]
pub struct WaitsIter {
    waits: Waits,
    at: u8,
}

impl Iterator for WaitsIter {
    type Item = (TimelineId, Fence);
    fn next(&mut self) -> Option<Self::Item> {
        while usize::from(self.at) < MAX_TIMELINES {
            let timeline = TimelineId(self.at);
            self.at += 1;
            if let Some(fence) = self.waits.on(timeline) {
                return Some((timeline, fence));
            }
        }
        None
    }
}
