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
use alloc::string::ToString;
use alloc::vec::Vec;

use kvblock::trace::Request;

use super::engine::{Engine, Launched, Stage, Turn};
use super::figures::Outcome;
use super::fleet::moves::Move;
use super::fleet::placement::Router;
use super::fleet::scale::Plan;
use super::fleet::timeline::FleetTimeline;
use super::schedule::Schedule;
use super::settings::Settings;
use super::step_time::Nanos;
use super::world::World;
use crate::failure::Failure;

/// Engines that serve the requests of a trace.
pub(crate) struct Simulator<'t> {
    pub(super) world: World<'t>,
    /// By their numbers.
    pub(super) engines: Vec<Engine>,
    pub(super) router: Router,
    pub(super) plan: Plan,
    pub(super) moves: Vec<Move>,
    /// The new instance, until it holds about as much as the others.
    pub(super) filled: Option<usize>,
    pub(super) timeline: FleetTimeline,
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
        let engines = (0..settings.fleet.instances).map(|number| {
            let mut engine = Engine::new(settings, number)?;
            engine.figures.ready = Some(0);
            Ok(engine)
        });
        Ok(Self {
            engines: engines.collect::<Result<_, Failure>>()?,
            world: World::new(settings, requests, id_tokens, schedule, on_end),
            router: Router::new(settings.fleet.placement),
            plan: Plan::new(&settings.fleet),
            moves: Vec::new(),
            filled: None,
            timeline: FleetTimeline::new(),
        })
    }

    /// Serves until nothing is left, or until an audit fails.
    pub(crate) fn run(mut self) -> Result<Outcome, Failure> {
        loop {
            self.world.arrive();
            self.change()?;
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
            self.begin_moves()?;
            self.plan_steps()?;
            self.admit()?;
            if self.launch()? {
                self.sample();
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
        let is_idle = |it: &Engine| it.is_idle() && it.turn == Turn::Between;
        self.world.queue.is_empty() && self.engines.iter().all(is_idle)
    }

    /// The devices get done before the next request comes. Gives when that is, or a change before it.
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
        Ok(resizes.chain(self.next_change()).chain([next]).min())
    }

    fn plan_steps(&mut self) -> Result<(), Failure> {
        for at in 0..self.engines.len() {
            let engine = &mut self.engines[at];
            if engine.turn == Turn::Between && engine.is_alive() {
                engine.plan(&mut self.world)?;
                self.drop_cut()?;
            }
        }
        self.relieve()
    }

    /// Ends the branches that requests have in other engines than the one that ended them.
    pub(super) fn drop_cut(&mut self) -> Result<(), Failure> {
        let cut = core::mem::take(&mut self.world.cut);
        if self.engines.len() < 2 {
            return Ok(());
        }
        for branch in cut {
            for engine in &mut self.engines {
                engine.drop_request(&branch)?;
            }
        }
        self.forget_ended()
    }

    /// Begins the steps that were planned; false if some engine is to plan anew before time passes.
    fn launch(&mut self) -> Result<bool, Failure> {
        let mut passes = true;
        for engine in &mut self.engines {
            if engine.launch(&mut self.world)? == Launched::Again {
                passes = false;
                self.world
                    .log
                    .audit_if_due(&engine.memory, engine.figures.steps);
            }
        }
        Ok(passes)
    }

    /// When something happens next: a step ends, or, if somebody has nothing to do, a request comes; or the fleet changes. `None` if no
    /// step is under way.
    fn next_at(&self) -> Option<Nanos> {
        let ends = self.engines.iter().filter_map(|engine| match engine.turn {
            Turn::Until(at) => Some(at),
            Turn::Between | Turn::Planning { .. } => None,
        });
        let first = ends.min()?;
        let waits = |it: &Engine| it.stage == Stage::Ready && it.turn == Turn::Between;
        let arrival = match self.engines.iter().any(waits) {
            true => self.world.schedule.next_at(),
            false => None,
        };
        let others = arrival.into_iter().chain(self.next_change());
        others.chain([first]).min()
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
            self.drop_cut()?;
            self.load_moves(at)?;
            let engine = &mut self.engines[at];
            engine.memory.end_step()?;
            engine.end_swaps()?;
            self.world
                .log
                .audit_if_due(&engine.memory, engine.figures.steps);
        }
        Ok(())
    }

    /// Nothing can be computed: that is so if all has just ended, or if copies under way, the devices' last steps, or pins hold the last
    /// blocks, or if requests wait for an instance.
    fn unblock(&mut self) -> Result<(), Failure> {
        let mut goes_on = self.is_idle();
        for engine in &mut self.engines {
            goes_on = goes_on || engine.memory.wait()?;
            self.world
                .log
                .audit_if_due(&engine.memory, engine.figures.steps);
        }
        if goes_on {
            return Ok(());
        }
        if let Some(next) = self.next_change() {
            self.world.log.jump(next);
            return Ok(());
        }
        let waiting: usize = self.engines.iter().map(|engine| engine.queue.len()).sum();
        let shards = self.engines.iter().flat_map(|it| it.memory.shards());
        let reports: Vec<_> = shards.map(|it| it.pool().report().to_string()).collect();
        Err(Failure::Defect(format!(
            "{} requests wait for memory that nobody holds:\n{}",
            self.world.queue.len() + waiting,
            reports.join("\n")
        )))
    }

    /// Notes what the instances of a fleet have.
    fn sample(&mut self) {
        let now = self.world.log.now();
        if !self.world.settings.fleet.asked {
            return;
        }
        let duplicated = match self.moves.is_empty() {
            true => 0,
            false => self.engines.iter().map(|it| it.memory.duplicated()).sum(),
        };
        if self.timeline.is_due(now, duplicated) {
            let instances = self.engines.iter().filter(|it| it.stage != Stage::Removed);
            let instances = instances.flat_map(Engine::sample).collect();
            self.timeline.add(now, self.world.queue.len(), instances);
        }
    }

    fn finish(self) -> Result<Outcome, Failure> {
        self.world.check_ended()?;
        let now = self.world.log.now();
        let engines = self.engines.into_iter().map(|engine| {
            let resized = engine.resizer.finish(engine.memory.pool(), now)?;
            Ok((engine.memory, resized, engine.figures))
        });
        let engines = engines.collect::<Result<_, Failure>>()?;
        let series = self.timeline.into_samples();
        self.world.log.finish(engines, series)
    }
}
