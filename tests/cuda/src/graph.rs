//! Graphs made by capture, and their launches.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::order::{Clock, Point};
use crate::work::Work;
use crate::world::World;

/// One operation of a graph.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) work: Work,
    pub(crate) after: Vec<usize>,
    /// The stream on which it was captured: nodes of one chain come one after another.
    pub(crate) chain: usize,
}

/// A graph.
#[derive(Debug)]
pub(crate) struct Graph {
    nodes: Arc<Vec<Node>>,
}

/// A graph ready to be launched.
#[derive(Debug)]
pub(crate) struct Executable {
    nodes: Arc<Vec<Node>>,
    /// Each chain's lane.
    lanes: BTreeMap<usize, usize>,
    /// The end of the launch before: launches of one executable do not overlap.
    last: Option<(Point, Clock)>,
}

impl Graph {
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        Self {
            nodes: Arc::new(nodes),
        }
    }
}

impl World {
    pub(crate) fn instantiate(&mut self, graph: usize) -> Outcome<Executable> {
        let nodes = self.graphs.get(&graph).ok_or(INVALID_VALUE)?.nodes.clone();
        let mut lanes = BTreeMap::new();
        for node in nodes.iter() {
            lanes
                .entry(node.chain)
                .or_insert_with(|| self.streams.add_lane());
        }
        Ok(Executable {
            nodes,
            lanes,
            last: None,
        })
    }

    /// Queues all nodes, each on its chain's lane, between two marks on the stream.
    pub(crate) fn launch_graph(&mut self, handle: usize, stream: usize) -> Outcome {
        let executable = self.executables.get(&handle).ok_or(INVALID_VALUE)?;
        let (nodes, lanes) = (executable.nodes.clone(), executable.lanes.clone());
        let before = executable.last.clone();
        let lane = self.streams.lane(stream)?;
        if self.captured(lane)?.is_some() {
            return Err(NOT_SUPPORTED);
        }
        self.check_legacy(lane)?;
        let known: Vec<&Clock> = before.iter().map(|(_, clock)| clock).collect();
        let start = self.streams.push(
            lane,
            before.iter().map(|(point, _)| *point).collect(),
            &known,
            Work::Nothing,
        );
        let start_clock = self.streams.lanes[lane].clock.clone();
        let mut queued: Vec<(Point, Clock)> = Vec::new();
        for node in nodes.iter() {
            let after = node
                .after
                .iter()
                .map(|before| queued[*before].0)
                .chain([start])
                .collect();
            let known: Vec<&Clock> = node
                .after
                .iter()
                .map(|before| &queued[*before].1)
                .chain([&start_clock])
                .collect();
            let chain = lanes[&node.chain];
            let point = self.streams.push(chain, after, &known, node.work.clone());
            queued.push((point, self.streams.lanes[chain].clock.clone()));
        }
        let known: Vec<&Clock> = queued.iter().map(|(_, clock)| clock).collect();
        let end = self.streams.push(
            lane,
            queued.iter().map(|(point, _)| *point).collect(),
            &known,
            Work::Nothing,
        );
        let last = Some((end, self.streams.lanes[lane].clock.clone()));
        if let Some(executable) = self.executables.get_mut(&handle) {
            executable.last = last;
        }
        Ok(())
    }
}
