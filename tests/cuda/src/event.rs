//! Events: the point of a stream where they were recorded last.

use crate::capture::Dependencies;
use crate::error::{INVALID_HANDLE, NOT_READY, Outcome};
use crate::order::{Clock, Point};
use crate::work::Work;
use crate::world::World;

/// What an event stands for.
#[derive(Debug, Clone, Default)]
pub(crate) enum Recorded {
    #[default]
    Never,
    At(Point, Clock),
    /// Nodes of a graph that is being captured.
    Captured(Dependencies),
}

/// An event.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) recorded: Recorded,
    pub(crate) timing: bool,
    /// When it passed, in ticks.
    pub(crate) passed: u64,
}

impl World {
    pub(crate) fn event(&self, handle: usize) -> Outcome<&Event> {
        self.events.get(&handle).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn event_mut(&mut self, handle: usize) -> Outcome<&mut Event> {
        self.events.get_mut(&handle).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn record_event(&mut self, event: usize, stream: usize) -> Outcome {
        self.event(event)?;
        let lane = self.streams.lane(stream)?;
        let recorded = match self.captured(lane)? {
            Some(dependencies) => Recorded::Captured(dependencies),
            None => {
                self.check_legacy(lane)?;
                let point = self
                    .streams
                    .push(lane, Vec::new(), &[], Work::Mark { event });
                Recorded::At(point, self.streams.lanes[lane].clock.clone())
            }
        };
        self.event_mut(event)?.recorded = recorded;
        Ok(())
    }

    /// Work queued later on the stream waits for what the event stands for now.
    pub(crate) fn wait_event(&mut self, stream: usize, event: usize) -> Outcome {
        let recorded = self.event(event)?.recorded.clone();
        let lane = self.streams.lane(stream)?;
        match recorded {
            Recorded::Captured(dependencies) => self.join_capture(lane, &dependencies),
            _ if self.streams.lanes[lane].capture.is_some() => self.wait_outside(lane, &recorded),
            Recorded::Never => Ok(()),
            Recorded::At(point, clock) => {
                self.check_legacy(lane)?;
                self.streams
                    .push(lane, vec![point], &[&clock], Work::Nothing);
                Ok(())
            }
        }
    }

    /// A mark was reached.
    pub(crate) fn pass_event(&mut self, handle: usize, reached: Point) {
        let ticks = self.ticks;
        if let Some(event) = self.events.get_mut(&handle) {
            if matches!(&event.recorded, Recorded::At(point, _) if *point == reached) {
                event.passed = ticks;
            }
        }
    }

    /// Whether an event has passed; some time may go by.
    pub(crate) fn query_event(&mut self, handle: usize) -> Outcome {
        let Recorded::At(point, clock) = self.passable(handle)? else {
            return Ok(());
        };
        if !self.streams.is_done(point) {
            self.run_some()?;
        }
        if !self.streams.is_done(point) {
            return Err(NOT_READY);
        }
        self.host_learns(&clock);
        Ok(())
    }

    pub(crate) fn synchronize_event(&mut self, handle: usize) -> Outcome {
        let Recorded::At(point, clock) = self.passable(handle)? else {
            return Ok(());
        };
        self.run_until(&[point])?;
        self.host_learns(&clock);
        Ok(())
    }

    fn passable(&mut self, handle: usize) -> Outcome<Recorded> {
        let recorded = self.event(handle)?.recorded.clone();
        if let Recorded::Captured(dependencies) = &recorded {
            return Err(self.captured_event(dependencies));
        }
        self.check_uncaptured()?;
        Ok(recorded)
    }

    /// Milliseconds between two events, by the ticks of what ran in between: no measure of anything.
    pub(crate) fn elapsed(&mut self, start: usize, end: usize) -> Outcome<f32> {
        let (first, last) = (self.event(start)?, self.event(end)?);
        if !first.timing || !last.timing {
            return Err(INVALID_HANDLE);
        }
        let (Recorded::At(from, _), Recorded::At(to, _)) = (&first.recorded, &last.recorded) else {
            return Err(INVALID_HANDLE);
        };
        if !self.streams.is_done(*from) || !self.streams.is_done(*to) {
            return Err(NOT_READY);
        }
        Ok((last.passed as f32 - first.passed as f32) / Self::TICKS_PER_MILLISECOND)
    }
}
