//! Stream capture: what is called on a capturing stream becomes nodes of a graph instead of running.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, BTreeSet};

use crate::error::{
    CAPTURED_EVENT, Code, ILLEGAL_STATE, INVALID_VALUE, Outcome, STREAM_CAPTURE_IMPLICIT,
    STREAM_CAPTURE_INVALIDATED, STREAM_CAPTURE_ISOLATION, STREAM_CAPTURE_MERGE,
    STREAM_CAPTURE_UNJOINED, STREAM_CAPTURE_UNMATCHED, STREAM_CAPTURE_UNSUPPORTED,
    STREAM_CAPTURE_WRONG_THREAD,
};
use crate::event::Recorded;
use crate::graph::{Graph, Node};
use crate::order::Point;
use crate::stream::LEGACY;
use crate::work::Work;
use crate::world::{World, handle};

const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

static THREADS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static THREAD: u64 = THREADS.fetch_add(1, Ordering::Relaxed);
    static MODE: Cell<u32> = const { Cell::new(GLOBAL) };
}

/// What the next node on a stream would come after.
#[derive(Debug, Clone)]
pub(crate) struct Dependencies {
    capture: usize,
    nodes: Vec<usize>,
}

/// A capture that has begun and not ended.
#[derive(Debug)]
pub(crate) struct Capture {
    mode: u32,
    thread: u64,
    origin: usize,
    nodes: Vec<Node>,
    /// For each stream in it, the nodes that its next one comes after.
    ends: BTreeMap<usize, Vec<usize>>,
    invalidated: bool,
}

impl World {
    /// Queues work on a stream, or adds it to the graph that the stream captures.
    pub(crate) fn submit(&mut self, stream: usize, work: Work) -> Outcome<Option<Point>> {
        let lane = self.streams.lane(stream)?;
        let Some(dependencies) = self.captured(lane)? else {
            self.check_legacy(lane)?;
            return Ok(Some(self.streams.push(lane, Vec::new(), &[], work)));
        };
        if let Some(capture) = self.captures.get_mut(&dependencies.capture) {
            capture.nodes.push(Node {
                work,
                after: dependencies.nodes,
                chain: lane,
            });
            capture.ends.insert(lane, vec![capture.nodes.len() - 1]);
        }
        Ok(None)
    }

    /// What the next node on a lane would come after, if the lane is capturing.
    pub(crate) fn captured(&self, lane: usize) -> Outcome<Option<Dependencies>> {
        let Some(id) = self.streams.lanes[lane].capture else {
            return Ok(None);
        };
        match self.captures.get(&id) {
            Some(capture) if !capture.invalidated => Ok(Some(Dependencies {
                capture: id,
                nodes: capture.ends.get(&lane).cloned().unwrap_or_default(),
            })),
            _ => Err(STREAM_CAPTURE_INVALIDATED),
        }
    }

    pub(crate) fn begin_capture(&mut self, stream: usize, mode: u32) -> Outcome {
        let lane = self.streams.lane(stream)?;
        if lane == LEGACY {
            return Err(STREAM_CAPTURE_UNSUPPORTED);
        }
        if mode > RELAXED {
            return Err(INVALID_VALUE);
        }
        if self.streams.lanes[lane].capture.is_some() {
            return Err(ILLEGAL_STATE);
        }
        let id = handle();
        let thread = THREAD.with(|thread| *thread);
        let ends = BTreeMap::from([(lane, Vec::new())]);
        self.captures.insert(
            id,
            Capture {
                mode,
                thread,
                origin: lane,
                nodes: Vec::new(),
                ends,
                invalidated: false,
            },
        );
        self.streams.lanes[lane].capture = Some(id);
        Ok(())
    }

    pub(crate) fn end_capture(&mut self, stream: usize) -> Outcome<Graph> {
        let lane = self.streams.lane(stream)?;
        let id = self.streams.lanes[lane].capture.ok_or(ILLEGAL_STATE)?;
        let capture = self.captures.get(&id).ok_or(ILLEGAL_STATE)?;
        if capture.origin != lane {
            self.invalidate(id);
            return Err(STREAM_CAPTURE_UNMATCHED);
        }
        if capture.mode != RELAXED && capture.thread != THREAD.with(|thread| *thread) {
            return Err(STREAM_CAPTURE_WRONG_THREAD);
        }
        for lane in &mut self.streams.lanes {
            if lane.capture == Some(id) {
                lane.capture = None;
            }
        }
        let capture = self.captures.remove(&id).ok_or(ILLEGAL_STATE)?;
        if capture.invalidated {
            return Err(STREAM_CAPTURE_INVALIDATED);
        }
        if !capture.is_joined() {
            return Err(STREAM_CAPTURE_UNJOINED);
        }
        Ok(Graph::new(capture.nodes))
    }

    /// 0: not capturing, 1: capturing, 2: capturing, and the capture has failed. Of the legacy default stream it cannot be
    /// said while a blocking stream is captured, which goes on.
    pub(crate) fn capture_status(&self, stream: usize) -> Outcome<u32> {
        let lane = self.streams.lane(stream)?;
        if lane == LEGACY && !self.captures_of_blocking().is_empty() {
            return Err(STREAM_CAPTURE_IMPLICIT);
        }
        let Some(id) = self.streams.lanes[lane].capture else {
            return Ok(0);
        };
        Ok(
            if self
                .captures
                .get(&id)
                .is_some_and(|capture| !capture.invalidated)
            {
                1
            } else {
                2
            },
        )
    }

    /// A stream waits for an event of a capture: it joins the capture.
    pub(crate) fn join_capture(&mut self, lane: usize, dependencies: &Dependencies) -> Outcome {
        let id = dependencies.capture;
        let capture = self.captures.get_mut(&id).ok_or(CAPTURED_EVENT)?;
        if capture.invalidated {
            return Err(STREAM_CAPTURE_INVALIDATED);
        }
        match self.streams.lanes[lane].capture {
            Some(other) if other != id => {
                self.invalidate(id);
                self.invalidate(other);
                return Err(STREAM_CAPTURE_MERGE);
            }
            _ if lane == LEGACY => {
                self.invalidate(id);
                return Err(STREAM_CAPTURE_UNSUPPORTED);
            }
            _ => {}
        }
        let ends = capture.ends.entry(lane).or_default();
        ends.extend(&dependencies.nodes);
        ends.sort_unstable();
        ends.dedup();
        self.streams.lanes[lane].capture = Some(id);
        Ok(())
    }

    /// A capturing stream is to wait for an event that is not of its capture.
    pub(crate) fn wait_outside(&mut self, lane: usize, recorded: &Recorded) -> Outcome {
        self.captured(lane)?;
        if matches!(recorded, Recorded::Never) {
            return Ok(());
        }
        if let Some(id) = self.streams.lanes[lane].capture {
            self.invalidate(id);
        }
        Err(STREAM_CAPTURE_ISOLATION)
    }

    /// An event of a capture cannot be asked or waited for.
    pub(crate) fn captured_event(&mut self, dependencies: &Dependencies) -> Code {
        self.invalidate(dependencies.capture);
        CAPTURED_EVENT
    }

    pub(crate) fn invalidate(&mut self, id: usize) {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.invalidated = true;
        }
    }

    /// A call that may not be made on a capturing stream.
    pub(crate) fn check_not_capturing(&mut self, lane: usize) -> Outcome {
        let Some(id) = self.streams.lanes[lane].capture else {
            return Ok(());
        };
        self.invalidate(id);
        Err(STREAM_CAPTURE_UNSUPPORTED)
    }

    /// A call that may not be made while somebody captures, unless the modes allow it: it ends what captures it touches.
    pub(crate) fn check_uncaptured(&mut self) -> Outcome {
        let (mode, thread) = (MODE.get(), THREAD.with(|thread| *thread));
        let mut refused = false;
        for capture in self.captures.values_mut() {
            let own = capture.thread == thread && capture.mode != RELAXED;
            let global = capture.thread != thread && capture.mode == GLOBAL;
            if mode == GLOBAL && (own || global) || mode == THREAD_LOCAL && own {
                capture.invalidated = true;
                refused = true;
            }
        }
        if refused {
            Err(STREAM_CAPTURE_UNSUPPORTED)
        } else {
            Ok(())
        }
    }
}

/// Sets the calling thread's mode; answers the one before.
pub(crate) fn exchange_mode(mode: u32) -> Outcome<u32> {
    if mode > RELAXED {
        Err(INVALID_VALUE)
    } else {
        Ok(MODE.replace(mode))
    }
}

impl Capture {
    /// Whether the origin has waited for every other stream's nodes.
    fn is_joined(&self) -> bool {
        let mut before = BTreeSet::new();
        let mut open = self.ends.get(&self.origin).cloned().unwrap_or_default();
        while let Some(node) = open.pop() {
            if before.insert(node) {
                open.extend(&self.nodes[node].after);
            }
        }
        self.ends
            .values()
            .flatten()
            .all(|node| before.contains(node))
    }
}
