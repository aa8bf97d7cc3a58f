//! How large a request may be: on one instance, and, to compare, if the instances of a model were one.

use super::Fleet;
use super::member::{Entry, InstanceState};

/// The largest requests of a model, in positions: prompt and promised growth of one of which nothing is found, with a physical budget.
///
/// What lies between `now` and `sum_now` fits in what is available on all instances together, and on none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Largest {
    /// The largest that one instance can admit now.
    pub now: usize,
    /// The largest that one instance can have when it is empty.
    pub ever: usize,
    /// What all instances can admit now, together.
    pub sum_now: usize,
    /// What all instances can have when they are empty, together.
    pub sum_ever: usize,
}

impl Fleet {
    /// How large a request of a model may be, on the instances that take requests. One without a slot left admits nothing now. All 0 if
    /// there are none. Of token service it says nothing.
    ///
    /// A load for each shard.
    #[must_use]
    pub fn largest(&self, model: u64) -> Largest {
        let mut largest = Largest::default();
        let serve = |it: &&Entry| it.member.model == model && it.state == InstanceState::Ready;
        for entry in self.members.iter().filter(serve) {
            let instance = &entry.instance;
            let has_slot = instance.len() < instance.max_sequences();
            let now = if has_slot { instance.free() } else { 0 };
            let (now, ever) = (entry.positions(now), entry.positions(instance.largest()));
            largest.now = largest.now.max(now);
            largest.ever = largest.ever.max(ever);
            largest.sum_now = largest.sum_now.saturating_add(now);
            largest.sum_ever = largest.sum_ever.saturating_add(ever);
        }
        largest
    }
}
