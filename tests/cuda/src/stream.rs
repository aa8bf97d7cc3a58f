//! Streams: queues of operations that run as late as they may.

use std::collections::{BTreeMap, VecDeque};

use crate::error::{INVALID_HANDLE, NOT_SUPPORTED, Outcome};
use crate::order::{Clock, Point};
use crate::work::Work;

/// The host's lane.
pub(crate) const HOST: usize = 0;
/// The legacy default stream's lane: it waits for blocking streams, and they for it.
pub(crate) const LEGACY: usize = 1;

/// One operation in a queue.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) time: u32,
    /// Points that must be over first.
    pub(crate) after: Vec<Point>,
    /// What is over when it runs, itself included.
    pub(crate) clock: Clock,
    pub(crate) work: Work,
}

/// A queue, of a stream or of a chain of a graph.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) queue: VecDeque<Op>,
    /// Time of the operation queued last.
    pub(crate) last: u32,
    /// Time of the operation finished last.
    pub(crate) done: u32,
    pub(crate) clock: Clock,
    /// Takes part in the legacy default stream's order.
    pub(crate) blocking: bool,
    /// Which capture it is in.
    pub(crate) capture: Option<usize>,
}

/// All lanes, and the handles of those that are streams.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) lanes: Vec<Lane>,
    handles: BTreeMap<usize, usize>,
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self {
            lanes: vec![Lane::default(), Lane::default()],
            handles: BTreeMap::new(),
        }
    }

    pub(crate) fn open(&mut self, handle: usize, blocking: bool) {
        let lane = self.add_lane();
        self.lanes[lane].blocking = blocking;
        self.handles.insert(handle, lane);
    }

    /// A lane that no handle names.
    pub(crate) fn add_lane(&mut self) -> usize {
        self.lanes.push(Lane::default());
        self.lanes.len() - 1
    }

    /// Forgets a stream's handle; what it holds still runs.
    pub(crate) fn close(&mut self, handle: usize) {
        self.handles.remove(&handle);
    }

    pub(crate) fn lane(&self, handle: usize) -> Outcome<usize> {
        match handle {
            0 | 1 => Ok(LEGACY),
            2 => Err(NOT_SUPPORTED),
            _ => self.handles.get(&handle).copied().ok_or(INVALID_HANDLE),
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.handles.len()
    }

    pub(crate) fn is_done(&self, point: Point) -> bool {
        self.lanes[point.lane].done >= point.time
    }

    pub(crate) fn end_of(&self, lane: usize) -> Point {
        Point {
            lane,
            time: self.lanes[lane].last,
        }
    }

    /// Queues an operation: its point.
    pub(crate) fn push(
        &mut self,
        lane: usize,
        mut after: Vec<Point>,
        known: &[&Clock],
        work: Work,
    ) -> Point {
        let mut clock = self.lanes[lane].clock.clone();
        clock.join(&self.lanes[HOST].clock);
        for other in known {
            clock.join(other);
        }
        let ordered: Vec<usize> = if lane == LEGACY {
            (0..self.lanes.len())
                .filter(|other| self.lanes[*other].blocking)
                .collect()
        } else if self.lanes[lane].blocking {
            vec![LEGACY]
        } else {
            Vec::new()
        };
        for other in ordered {
            after.push(self.end_of(other));
            clock.join(&self.lanes[other].clock);
        }
        after.retain(|point| !self.is_done(*point));
        let queue = &mut self.lanes[lane];
        queue.last += 1;
        let point = Point {
            lane,
            time: queue.last,
        };
        clock.raise(point);
        queue.clock = clock.clone();
        queue.queue.push_back(Op {
            time: point.time,
            after,
            clock,
            work,
        });
        point
    }

    /// Lanes whose first operation waits for nothing.
    pub(crate) fn runnable(&self) -> Vec<usize> {
        (0..self.lanes.len())
            .filter(|lane| self.first_wait(*lane) == Some(None))
            .collect()
    }

    /// What a lane's first operation waits for, if there is one.
    pub(crate) fn first_wait(&self, lane: usize) -> Option<Option<Point>> {
        let op = self.lanes[lane].queue.front()?;
        Some(op.after.iter().copied().find(|point| !self.is_done(*point)))
    }

    /// What everybody knows who has not run yet or is still to come.
    pub(crate) fn floor(&self) -> Clock {
        let mut floor = self.lanes[HOST].clock.clone();
        for op in self.lanes.iter().flat_map(|lane| &lane.queue) {
            floor.meet(&op.clock);
        }
        floor
    }

    /// Nothing that is queued will run.
    pub(crate) fn abandon(&mut self) {
        for lane in &mut self.lanes {
            lane.queue.clear();
        }
    }

    pub(crate) fn close_all(&mut self) {
        self.abandon();
        self.handles.clear();
    }
}
