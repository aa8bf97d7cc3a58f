//! Calls with fences, on two lanes of the pool and one of another pool.

use kvblock::{
    BlockPool, EndAfterError, Fence, Lane, ReleaseAfterError, Stale, TruncateAfterError,
};

use crate::calls::{Aim, Scene, Who};
use crate::faults::truncate_fault;
use crate::lanes::Waiting;
use crate::ops::index;
use crate::registry::Fault;

/// A lane, and how far a fence is from what its lane has completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) lane: u8,
    pub(crate) fence: i8,
}

#[derive(Clone, Debug)]
pub(crate) enum FenceCall {
    Release {
        who: Who,
        preempt: bool,
        at: Point,
    },
    Truncate {
        who: Who,
        to: Aim,
        at: Point,
    },
    /// Of the sequence that has been detached longest.
    Detached(Point),
    Complete(Point),
}

/// The lanes of a run beside their twins; the last one is another pool's.
pub(crate) struct Lanes {
    pub(crate) own: [(Lane, Waiting); 2],
    foreign: Lane,
}

impl Lanes {
    pub(crate) fn new(pool: &BlockPool, other: &BlockPool) -> Self {
        Self {
            own: [0, 1].map(|_| (pool.lane(), Waiting::default())),
            foreign: other.lane(),
        }
    }

    fn point(&self, at: Point) -> (usize, u64) {
        let lane = usize::from(at.lane) % 3;
        let from = self.own.get(lane).and_then(|(_, twin)| twin.completed);
        (
            lane,
            from.unwrap_or(3).saturating_add_signed(at.fence.into()),
        )
    }

    pub(crate) fn check(&self) {
        for (real, twin) in &self.own {
            assert_eq!(
                (real.len(), real.is_empty(), real.completed()),
                (twin.len(), twin.len() == 0, twin.completed.map(Fence)),
                "lane"
            );
        }
        assert!(self.foreign.is_empty(), "a foreign lane has blocks");
    }
}

impl Scene<'_> {
    pub(crate) fn fence_call(&mut self, on: usize, call: &FenceCall) {
        match *call {
            FenceCall::Release { who, preempt, at } => self.release_after(on, who, preempt, at),
            FenceCall::Truncate { who, to, at } => self.truncate_after(on, who, to, at),
            FenceCall::Detached(at) => self.release_detached(at),
            FenceCall::Complete(at) => self.complete(at),
        }
    }

    fn release_after(&mut self, on: usize, who: Who, preempt: bool, at: Point) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let (lane, fence) = self.lanes.point(at);
        let twin = &mut self.twins[on];
        let real = match lane {
            2 => &mut self.lanes.foreign,
            _ => &mut self.lanes.own[lane].0,
        };
        let got = if preempt {
            twin.real.preempt_after(handle, real, Fence(fence))
        } else {
            twin.real.release_after(handle, real, Fence(fence))
        };
        let got = got.map_err(|error| match error {
            EndAfterError::Stale(Stale) => Fault::Stale,
            EndAfterError::Lane(ReleaseAfterError::WrongPool) => Fault::WrongPool,
            other => panic!("{other:?}"),
        });
        let full = self.full_index_now(on);
        let (twin, pool) = (&mut self.twins[on].model, &mut self.under.model);
        let expected = match self.lanes.own.get_mut(lane) {
            Some((_, waiting)) => twin.release(pool, name, preempt, Some((waiting, fence)), full),
            None => twin.get(name).and(Err(Fault::WrongPool)),
        };
        assert_eq!(got, expected, "release after a fence");
        if expected.is_ok() {
            self.parted(on, handle);
            self.saw("released after a fence");
        }
    }

    fn truncate_after(&mut self, on: usize, who: Who, to: Aim, at: Point) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let (lane, fence) = self.lanes.point(at);
        let twin = &mut self.twins[on];
        let to = to.of(twin.model.positions(name));
        let real = match lane {
            2 => &mut self.lanes.foreign,
            _ => &mut self.lanes.own[lane].0,
        };
        let got = twin.real.truncate_after(handle, to, real, Fence(fence));
        let got = got.map_err(|error| match error {
            TruncateAfterError::Truncate(error) => truncate_fault(error),
            TruncateAfterError::Lane(ReleaseAfterError::WrongPool) => Fault::WrongPool,
            other => panic!("{other:?}"),
        });
        let lane = self.lanes.own.get_mut(lane);
        let lane = lane.map(|(_, waiting)| (waiting, fence)).ok_or(());
        let expected = (twin.model).truncate(&mut self.under.model, name, to, Some(lane));
        assert_eq!(got, expected, "truncate({to}) after a fence");
        if expected.is_ok() {
            self.memory.written.entry(name).or_default().truncate(to);
        }
        self.saw(match expected {
            Ok(()) => "truncated after a fence",
            Err(Fault::Refused(_)) => "truncation after a fence refused",
            Err(_) => "nothing to truncate after a fence",
        });
    }

    fn release_detached(&mut self, at: Point) {
        if self.detached.is_empty() {
            return;
        }
        let (lane, fence) = self.lanes.point(at);
        let (real, model, name) = self.detached.remove(0);
        match self.lanes.own.get_mut(lane) {
            Some((lane, waiting)) => {
                let done = real.release_after(lane, Fence(fence));
                assert!(done.is_ok(), "{:?}", done.map_err(|back| back.error));
                model.give_back_after(&mut self.under.model, waiting, fence);
                self.saw("a detached one released after a fence");
            }
            None => {
                let back = real.release_after(&mut self.lanes.foreign, Fence(fence));
                let back = back.expect_err("another pool's lane");
                assert_eq!(back.error, ReleaseAfterError::WrongPool);
                self.detached.insert(0, (back.value, model, name));
            }
        }
    }

    fn complete(&mut self, at: Point) {
        let (lane, fence) = self.lanes.point(at);
        let lane = index(2, u8::try_from(lane).expect("one of three")).expect("two of them");
        let (real, twin) = &mut self.lanes.own[lane];
        let got = real.complete(Fence(fence));
        let expected = twin.complete(&mut self.under.model, fence);
        assert_eq!(got, expected, "complete({fence})");
        if expected > 0 {
            self.saw("given back by a fence");
        }
    }

    /// Drops the lanes: all that waits is given back.
    pub(crate) fn drop_lanes(lanes: Lanes, pool: &mut crate::reference::Model) {
        for (real, mut twin) in lanes.own {
            drop(real);
            twin.complete(pool, u64::MAX);
        }
    }
}
