//! Continuous batching on a virtual clock.
//!
//! ```text
//! arrivals -> queue; the pool's size, if it is time                                              world.rs resize.rs
//! each engine between two steps:                                                                 engine.rs
//!   decoding sequences get a position (or some, with drafts), the oldest first                   plan.rs
//!     no memory: the newest sequences lose theirs, and wait again, ahead of the queue
//!   prefills get what is left of the token budget, then the queue's head is admitted             place.rs
//! the clock moves on to what comes next, the end of a step                                       simulator.rs
//!   tokens, watermarks, publication, forks, ends, transfers, cancellations                       settle.rs
//! ```
//!
//! Memory moves only from newer to older, and who else holds some gives it back, so the oldest sequence always gets on, and the run
//! ends.

use alloc::format;
use alloc::vec::Vec;

use kvblock::trace::Request;

use super::engine::{Engine, Launched, Turn};
use super::figures::Outcome;
use super::schedule::Schedule;
use super::settings::Settings;
use super::step_time::Nanos;
use super::world::World;
use crate::failure::Failure;

/// Engines that serve the requests of a trace.
pub(crate) struct Simulator<'t> {
    pub(super) world: World<'t>,
    pub(super) engines: Vec<Engine>,
}

impl<'t> Simulator<'t> {
    /// `on_end` is called whenever a request has ended.
    pub(crate) fn new(
        settings: &'t Settings,
        requests: &'t [Request],
        id_tokens: usize,
        schedule: Schedule,
        on_end: &'t mut dyn FnMut(),
    ) -> Result<Self, Failure> {
        Ok(Self {
            engines: Vec::from([Engine::new(settings)?]),
            world: World::new(settings, requests, id_tokens, schedule, on_end),
        })
    }

    /// Serves until nothing is left, or until an audit fails.
    pub(crate) fn run(mut self) -> Result<Outcome, Failure> {
        loop {
            self.world.arrive();
            let now = self.world.log.now();
            for engine in &mut self.engines {
                engine.memory.tick(now);
                engine.resize(now)?;
            }
            if self.is_idle() {
                let Some(next) = self.rest()? else {
                    break;
                };
                self.world.log.jump(next);
                continue;
            }
            self.plan()?;
            self.admit()?;
            if self.launch()? {
                if let Some(next) = self.next_at() {
                    self.world.log.jump(next);
                    self.settle()?;
                } else {
                    self.unblock()?;
                }
            }
            if self.world.log.figures.inconsistency.is_some() {
                break;
            }
        }
        self.finish()
    }

    /// Whether nothing runs and nothing waits.
    fn is_idle(&self) -> bool {
        self.world.queue.is_empty() && self.engines.iter().all(Engine::is_idle)
    }

    /// The devices get done before the next request comes. Gives when that is.
    fn rest(&mut self) -> Result<Option<Nanos>, Failure> {
        let now = self.world.log.now();
        for engine in &mut self.engines {
            engine.memory.idle()?;
            engine.resize(now)?;
        }
        let Some(next) = self.world.schedule.next_at() else {
            return Ok(None);
        };
        let resizes = self.engines.iter().filter_map(|it| it.resizer.next_at());
        Ok(resizes.chain([next]).min())
    }

    fn plan(&mut self) -> Result<(), Failure> {
        for engine in &mut self.engines {
            if engine.turn == Turn::Between {
                engine.plan(&mut self.world)?;
            }
        }
        Ok(())
    }

    /// Begins the steps that were planned; false if some engine is to plan anew before time passes.
    fn launch(&mut self) -> Result<bool, Failure> {
        let mut passes = true;
        for engine in &mut self.engines {
            if engine.launch(&mut self.world)? == Launched::Again {
                passes = false;
                self.world.log.audit_if_due(&engine.memory, engine.steps);
            }
        }
        Ok(passes)
    }

    /// When the next step ends; `None` if none is under way.
    fn next_at(&self) -> Option<Nanos> {
        let ends = self.engines.iter().filter_map(|engine| match engine.turn {
            Turn::Until(at) => Some(at),
            Turn::Between | Turn::Planning { .. } => None,
        });
        ends.min()
    }

    /// Books the steps that end now.
    fn settle(&mut self) -> Result<(), Failure> {
        let now = self.world.log.now();
        for at in 0..self.engines.len() {
            let engine = &mut self.engines[at];
            if engine.turn != Turn::Until(now) {
                continue;
            }
            engine.end_step(&mut self.world)?;
            self.world.log.audit_if_due(&engine.memory, engine.steps);
        }
        Ok(())
    }

    /// Nothing can be computed: that is so if all has just ended, or if copies under way, the devices' last steps, or pins hold the last
    /// blocks.
    fn unblock(&mut self) -> Result<(), Failure> {
        let mut goes_on = self.is_idle();
        for engine in &mut self.engines {
            goes_on = goes_on || engine.memory.wait()?;
            self.world.log.audit_if_due(&engine.memory, engine.steps);
        }
        if goes_on {
            return Ok(());
        }
        let waiting: usize = self.engines.iter().map(|engine| engine.queue.len()).sum();
        let reports = self.engines.iter().map(|it| it.memory.pool().report());
        Err(Failure::Defect(format!(
            "{} requests wait for memory that nobody holds:\n{}",
            self.world.queue.len() + waiting,
            reports
                .map(|report| format!("{report}"))
                .collect::<Vec<_>>()
                .join("\n")
        )))
    }

    fn finish(self) -> Result<Outcome, Failure> {
        self.world.check_ended()?;
        let now = self.world.log.now();
        let engines = self.engines.into_iter().map(|engine| {
            let resized = engine.resizer.finish(engine.memory.pool(), now)?;
            Ok((engine.memory, resized))
        });
        let engines = engines.collect::<Result<_, Failure>>()?;
        self.world.log.finish(engines)
    }
}
