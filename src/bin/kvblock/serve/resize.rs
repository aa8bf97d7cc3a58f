//! Resizes: blocks come into service and go out of it while requests are served.
//!
//! Each has a target, the blocks online once it and all before it are granted. A shrink that is refused, as reservations stand, is
//! tried again at every step, until the next one's time has come: then that one's target counts.

use alloc::format;
use alloc::vec::Vec;

use kvblock::{BlockPool, ResizeError, Worker};
use serde::{Serialize, Serializer};

use super::settings::Resize;
use super::step_time::Nanos;
use crate::failure::{Failure, cannot_fail};

/// Steps between two collections of what is left over above the limit.
const COLLECT_EVERY: u64 = 16;

/// What became of a resize.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Resized {
    #[serde(rename = "asked_s", serialize_with = "seconds")]
    pub(crate) asked: Nanos,
    /// Blocks online before it, and once it is granted.
    pub(crate) from: usize,
    pub(crate) to: usize,
    #[serde(rename = "granted_s", serialize_with = "some_seconds")]
    pub(crate) granted: Option<Nanos>,
    pub(crate) refusals: u64,
    /// Blocks that came online, were taken back from draining, and went offline, all at once.
    pub(crate) came_online: usize,
    pub(crate) taken_back: usize,
    pub(crate) went_offline: usize,
    /// Blocks that were left to drain, and when the last of them went offline.
    pub(crate) left_draining: usize,
    #[serde(rename = "drained_s", serialize_with = "some_seconds")]
    pub(crate) drained: Option<Nanos>,
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn seconds<S: Serializer>(nanos: &Nanos, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(*nanos as f64 / 1e9)
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn some_seconds<S: Serializer>(nanos: &Option<Nanos>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_some(&nanos.map(|nanos| nanos as f64 / 1e9))
}

/// The resizes of a run, those to come and those whose time has come.
#[derive(Debug)]
pub(crate) struct Resizer {
    worker: Option<Worker>,
    plan: Vec<Resize>,
    done: Vec<Resized>,
    /// The last one has been granted.
    settled: bool,
    /// Looks at what drains.
    looks: u64,
}

impl Resizer {
    pub(crate) fn new(pool: &BlockPool, plan: &[Resize]) -> Result<Self, Failure> {
        let worker =
            if plan.is_empty() {
                None
            } else {
                let worker = pool.worker();
                Some(worker.map_err(|error| {
                    Failure::Input(format!("the pool cannot be resized: {error}"))
                })?)
            };
        Ok(Self {
            worker,
            plan: plan.to_vec(),
            done: Vec::new(),
            settled: true,
            looks: 0,
        })
    }

    /// When the next one is due.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.plan.get(self.done.len()).map(|resize| resize.at)
    }

    /// Does what is due by now, and gives whether the pool has changed.
    pub(crate) fn act(&mut self, pool: &BlockPool, now: Nanos) -> Result<bool, Failure> {
        if self.next_at().is_none_or(|at| at > now) {
            return self.go_on(pool, now);
        }
        let mut changed = false;
        while self.next_at().is_some_and(|at| at <= now) {
            self.begin(pool);
            changed |= self.go_on(pool, now)?;
        }
        Ok(changed)
    }

    /// The next one's time has come.
    fn begin(&mut self, pool: &BlockPool) {
        let Some(resize) = self.plan.get(self.done.len()) else {
            return;
        };
        self.done.push(Resized {
            asked: resize.at,
            from: pool.capacity(),
            to: resize.to,
            granted: None,
            refusals: 0,
            came_online: 0,
            taken_back: 0,
            went_offline: 0,
            left_draining: 0,
            drained: None,
        });
        self.settled = false;
    }

    /// Tries the last one, or sees how far it has drained; gives whether the pool has changed.
    fn go_on(&mut self, pool: &BlockPool, now: Nanos) -> Result<bool, Failure> {
        let (Some(worker), Some(last)) = (&mut self.worker, self.done.last_mut()) else {
            return Ok(false);
        };
        if self.settled {
            if last.left_draining > 0 && last.drained.is_none() {
                self.looks += 1;
                if self.looks % COLLECT_EVERY == 0 {
                    collect(pool, worker)?;
                }
                last.drained = (pool.in_service() == pool.capacity()).then_some(now);
            }
            return Ok(false);
        }
        let online = pool.capacity();
        if last.to >= online {
            let grown = pool.grow(last.to - online).map_err(cannot_fail("grow"))?;
            last.came_online = grown.online;
            last.taken_back = grown.taken_back;
        } else {
            match pool.shrink(worker, online - last.to) {
                Ok(shrunk) => {
                    last.went_offline = shrunk.offline;
                    last.left_draining = shrunk.draining;
                    last.drained = (shrunk.draining == 0).then_some(now);
                }
                Err(ResizeError::Refused(_)) => {
                    last.refusals += 1;
                    return Ok(false);
                }
                Err(ResizeError::OutOfMemory) => {
                    return Err(Failure::Input(format!(
                        "no memory to shrink the pool: {}",
                        ResizeError::OutOfMemory
                    )));
                }
                Err(other) => return Err(cannot_fail("shrink")(other)),
            }
        }
        last.granted = Some(now);
        self.settled = true;
        Ok(true)
    }

    /// The book, of those too whose time has not come.
    pub(crate) fn finish(mut self, pool: &BlockPool, now: Nanos) -> Result<Vec<Resized>, Failure> {
        if let (Some(worker), true) = (&mut self.worker, self.settled) {
            collect(pool, worker)?;
            self.act(pool, now)?;
        }
        while self.next_at().is_some() {
            self.begin(pool);
        }
        Ok(self.done)
    }
}

/// Takes what is free above the limit and still in service, unless it is promised.
fn collect(pool: &BlockPool, worker: &mut Worker) -> Result<(), Failure> {
    match pool.shrink(worker, 0) {
        Ok(_) | Err(ResizeError::Refused(_) | ResizeError::OutOfMemory) => Ok(()),
        Err(other) => Err(cannot_fail("shrink")(other)),
    }
}

#[cfg(test)]
mod tests {
    use kvblock::PoolConfig;

    use super::*;

    #[test]
    fn a_refused_shrink_is_tried_again_and_superseded_by_the_next() {
        let pool = BlockPool::new(&PoolConfig::new(8, 1)).expect("a small pool");
        let mut worker = pool.worker().expect("a worker");
        let plan = [(10, 4), (20, 8), (30, 4)].map(|(at, to)| Resize { at, to });
        let mut resizer = Resizer::new(&pool, &plan).expect("a worker");
        assert_eq!(resizer.next_at(), Some(10));

        let mut promised = pool.reserve(6).expect("free");
        for now in [9, 10, 11] {
            assert!(!resizer.act(&pool, now).expect("no defect"));
        }
        assert!(resizer.act(&pool, 20).expect("no defect"));
        let held = promised.take(&mut worker, 6).expect("reserved");
        assert!(resizer.act(&pool, 30).expect("no defect"));
        assert!(!resizer.act(&pool, 31).expect("no defect"));
        drop(held);
        assert!(!resizer.act(&pool, 32).expect("no defect"));

        let done = resizer.finish(&pool, 40).expect("no defect");
        let told: Vec<_> = done
            .iter()
            .map(|it| (it.granted, it.refusals, it.went_offline, it.drained))
            .collect();
        assert_eq!(
            told,
            [
                (None, 2, 0, None),
                (Some(20), 0, 0, None),
                (Some(30), 0, 2, Some(32))
            ]
        );
        assert_eq!((done[2].left_draining, done[1].came_online), (2, 0));
    }
}
