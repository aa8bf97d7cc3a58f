//! Instances that come and go.

use super::settings::FleetSettings;
use crate::failure::Failure;
use crate::serve::engine::{Engine, Stage, Turn};
use crate::serve::simulator::Simulator;
use crate::serve::step_time::Nanos;

/// What is still to happen to the fleet.
#[derive(Debug)]
pub(crate) struct Plan {
    scale_out_at: Option<Nanos>,
    drain_at: Option<Nanos>,
}

impl Plan {
    pub(crate) fn new(settings: &FleetSettings) -> Self {
        Self {
            scale_out_at: settings.scale_out.map(|it| it.at),
            drain_at: settings.drain_at,
        }
    }
}

/// Takes a time that has come.
fn due(at: &mut Option<Nanos>, now: Nanos) -> bool {
    at.take_if(|at| *at <= now).is_some()
}

impl Simulator<'_> {
    /// When something is to happen to the fleet.
    pub(in crate::serve) fn next_change(&self) -> Option<Nanos> {
        let ready = self.engines.iter().filter_map(|engine| match engine.stage {
            Stage::Starting(ready) => Some(ready),
            Stage::Ready | Stage::Draining | Stage::Removed => None,
        });
        let planned = [self.plan.scale_out_at, self.plan.drain_at];
        planned.into_iter().flatten().chain(ready).min()
    }

    /// Does what is due by now: instances are added, become ready, take no more, and are removed.
    pub(in crate::serve) fn change(&mut self) -> Result<(), Failure> {
        let (now, settings) = (self.world.log.now(), self.world.settings);
        if due(&mut self.plan.scale_out_at, now) {
            let mut engine = Engine::new(settings, self.engines.len())?;
            (engine.figures.added, engine.figures.is_new) = (now, true);
            let ready = settings.fleet.scale_out.map_or(now, |it| it.ready);
            engine.stage = Stage::Starting(ready);
            self.engines.push(engine);
            self.timeline.changed();
        }
        for engine in &mut self.engines {
            if matches!(engine.stage, Stage::Starting(ready) if ready <= now) {
                engine.stage = Stage::Ready;
                engine.figures.ready = Some(now);
                self.timeline.changed();
                self.filled = settings.fleet.migrate.then_some(engine.number);
            }
        }
        if due(&mut self.plan.drain_at, now) {
            if let Some(engine) = self.engines.first_mut() {
                engine.stage = Stage::Draining;
                engine.figures.drained_from = Some(now);
                self.timeline.changed();
                // Who waits there is older than all others, and comes first elsewhere.
                while let Some(branch) = engine.queue.pop() {
                    self.world.queue.push(branch);
                }
            }
        }
        for engine in &mut self.engines {
            let is_empty = engine.is_idle() && engine.incoming == 0 && engine.turn == Turn::Between;
            if engine.stage == Stage::Draining && is_empty {
                engine.memory.close()?;
                self.world.log.audit(&engine.memory);
                engine.stage = Stage::Removed;
                engine.figures.removed = Some(now);
                self.timeline.changed();
            }
        }
        Ok(())
    }
}
