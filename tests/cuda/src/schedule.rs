//! Runs what is queued: as late as it may, in an order drawn from the seed.

use crate::error::{Code, LAUNCH_FAILED, Outcome, UNKNOWN};
use crate::memory::Fault;
use crate::order::{Point, Record};
use crate::ptx;
use crate::stream::HOST;
use crate::work::{self, Work};
use crate::world::World;

impl World {
    /// Runs until all points are over. How is drawn once: only what they need, all else first, or anything.
    pub(crate) fn run_until(&mut self, targets: &[Point]) -> Outcome {
        let manner = self.random.below(4);
        while let Some(target) = targets
            .iter()
            .copied()
            .find(|point| !self.streams.is_done(*point))
        {
            let needed = self.needed(target).ok_or(UNKNOWN)?;
            let ready = self.streams.runnable();
            let lane = match manner {
                0 => needed,
                1 => {
                    let others: Vec<usize> =
                        ready.into_iter().filter(|lane| *lane != needed).collect();
                    if others.is_empty() {
                        needed
                    } else {
                        others[self.random.below(others.len())]
                    }
                }
                _ => ready[self.random.below(ready.len())],
            };
            self.run_first(lane)?;
        }
        Ok(())
    }

    /// Runs everything there is.
    pub(crate) fn run_all(&mut self) -> Outcome {
        let ends: Vec<Point> = (0..self.streams.lanes.len())
            .filter(|lane| *lane != HOST)
            .map(|lane| self.streams.end_of(lane))
            .collect();
        self.run_until(&ends)
    }

    /// Time goes by: a few operations run, or none.
    pub(crate) fn run_some(&mut self) -> Outcome {
        for _ in 0..self.random.below(4) {
            let ready = self.streams.runnable();
            if ready.is_empty() {
                break;
            }
            let lane = ready[self.random.below(ready.len())];
            self.run_first(lane)?;
        }
        Ok(())
    }

    /// A lane whose first operation must run before `target` is over, and can.
    fn needed(&self, target: Point) -> Option<usize> {
        let mut lane = target.lane;
        // Each step goes to an operation queued earlier.
        loop {
            match self.streams.first_wait(lane)? {
                None => return Some(lane),
                Some(point) => lane = point.lane,
            }
        }
    }

    fn run_first(&mut self, lane: usize) -> Outcome {
        let Some(op) = self.streams.lanes[lane].queue.pop_front() else {
            return Err(UNKNOWN);
        };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let label = op.work.label();
        let done = match &op.work {
            Work::Nothing => Ok(()),
            Work::Mark { event } => {
                self.pass_event(
                    *event,
                    Point {
                        lane,
                        time: op.time,
                    },
                );
                Ok(())
            }
            Work::Copy { to, from, bytes } => {
                work::copy(&self.memory, to, from, *bytes, &mut reads, &mut writes)
            }
            Work::Fill {
                to,
                value,
                width,
                count,
            } => work::fill(&self.memory, *to, *value, *width, *count, &mut writes),
            Work::Kernel(launch) if !self.modules.contains_key(&launch.module) => Err(Fault {
                code: LAUNCH_FAILED,
                text: "its module was unloaded while it was in flight".into(),
            }),
            Work::Kernel(launch) => {
                let seed = self.random.next();
                let limit = self.settings.instruction_limit;
                ptx::execute(
                    launch,
                    &mut self.memory,
                    seed,
                    limit,
                    &mut reads,
                    &mut writes,
                    &mut self.findings,
                )
            }
        };
        self.ticks += 1 + (bytes_of(&reads) + bytes_of(&writes)) / 64;
        self.streams.lanes[lane].done = op.time;
        for &(start, end) in &writes {
            self.memory.note_written(start, end);
        }
        if let Err(fault) = done {
            return Err(self.break_down(&label, fault));
        }
        let record = Record {
            point: Point {
                lane,
                time: op.time,
            },
            label,
            reads,
            writes,
        };
        self.order.add(record, &op.clock, &mut self.findings);
        if self.order.is_full() {
            self.order.prune(&self.streams.floor());
        }
        Ok(())
    }

    /// A fault on the device: the context is of no more use.
    fn break_down(&mut self, label: &str, fault: Fault) -> Code {
        self.findings.fault(format!("{label}: {}", fault.text));
        self.stick(fault.code);
        fault.code
    }
}

fn bytes_of(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(start, end)| end - start).sum()
}
