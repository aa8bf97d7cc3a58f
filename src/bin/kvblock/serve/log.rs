//! The run's book: the clock, the figures, the time line, and the audits.

use alloc::vec::Vec;
use core::iter::ExactSizeIterator;

use kvblock::{Handle, Sequences};

use super::fetch::FetchFigures;
use super::figures::{Figures, Outcome, Totals};
use super::fleet::figures::{EngineFigures, InstanceEnd};
use super::fleet::timeline::FleetSample;
use super::memory::Memory;
use super::pins::PinFigures;
use super::resize::Resized;
use super::settings::Settings;
use super::step_time::{Clock, Nanos, StepTime};
use super::swap::{SwapFigures, Swaps};
use super::timeline::{Sample, Timeline};
use crate::failure::Failure;

/// What is noted of a run.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) figures: Figures,
    clock: Clock,
    timeline: Timeline,
    step_time: StepTime,
    audit_every: Option<u64>,
    /// It has a time line of its own.
    is_fleet: bool,
}

impl Log {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            figures: Figures::default(),
            clock: Clock::default(),
            timeline: Timeline::new(),
            step_time: settings.step_time,
            audit_every: settings.audit_every,
            is_fleet: settings.fleet.asked,
        }
    }

    pub(crate) const fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Nothing happens until then.
    pub(crate) fn jump(&mut self, to: Nanos) {
        self.clock.jump(to);
    }

    /// A step of the only engine: the clock moves on to its end.
    pub(crate) fn pass(
        &mut self,
        memory: &Memory,
        running: impl ExactSizeIterator<Item = Handle>,
        waiting: usize,
        tokens: usize,
    ) -> Result<(), Failure> {
        let took = self.step(memory, running, waiting, tokens)?;
        self.clock.jump(self.clock.now().saturating_add(took));
        Ok(())
    }

    /// A step computes `tokens` while these sequences run. Gives how long it takes.
    pub(crate) fn step(
        &mut self,
        memory: &Memory,
        running: impl ExactSizeIterator<Item = Handle>,
        waiting: usize,
        tokens: usize,
    ) -> Result<Nanos, Failure> {
        let count = running.len();
        let tables = memory.tables(running)?;
        let took = self.step_time.of(tokens as u64, tables.entries);
        self.clock.work(took);
        self.figures.steps += 1;
        self.figures.means.add(took, tables, memory.held());
        let now = self.clock.now().saturating_add(took);
        let most = &mut self.figures.quarantined_most;
        *most = (*most).max(memory.quarantined());
        if !self.is_fleet && self.timeline.is_due(now) {
            let pool = memory.pool().report();
            let (loading, late) = memory.fetches.blocks();
            let sample = Sample {
                time_s: 0.0,
                running: count,
                waiting,
                held: pool.held,
                idle: pool.idle,
                free: pool.free,
                reserved: pool.reserved,
                tail_waste: tables.tail_waste,
                online: pool.online,
                draining: pool.draining,
                quarantined: pool.quarantined,
                loading,
                late,
                pinned: memory.pins().map_or(0, |pins| pins.used()),
                swapping: memory.swapping().map_or(0, Swaps::left),
                host_held: memory.swapping().map_or(0, Swaps::held),
            };
            self.timeline.add(now, sample);
        }
        Ok(took)
    }

    /// Recounts everything if it is time after so many steps; false once anything disagrees.
    pub(crate) fn audit_if_due(&mut self, memory: &Memory, steps: u64) -> bool {
        if self.audit_every.is_some_and(|every| steps % every == 0) {
            self.audit(memory);
        }
        self.figures.inconsistency.is_none()
    }

    /// Recounts everything.
    pub(crate) fn audit(&mut self, memory: &Memory) {
        self.figures.audits += 1;
        // The first one is what matters.
        let found = memory.audit();
        self.figures.inconsistency = self.figures.inconsistency.take().or(found);
    }

    /// Waits for what is under way, recounts a last time, and closes the book.
    pub(crate) fn finish(
        mut self,
        engines: Vec<(Memory, Vec<Resized>, EngineFigures)>,
        fleet_series: Vec<FleetSample>,
    ) -> Result<Outcome, Failure> {
        let mut outcome = Outcome {
            figures: Figures::default(),
            series: Vec::new(),
            time: self.clock.now(),
            busy: self.clock.busy(),
            fetched: FetchFigures::default(),
            pinned: PinFigures::default(),
            swapped: SwapFigures::default(),
            resized: Vec::new(),
            instances: Vec::new(),
            fleet_series,
            totals: Totals::default(),
        };
        for (mut memory, resized, figures) in engines {
            memory.close()?;
            if self.figures.inconsistency.is_none() {
                self.audit(&memory);
            }
            outcome.fetched.add(&memory.fetches.figures);
            let late = &mut self.figures.moves.late_most;
            *late = (*late).max(memory.moves.figures.late_most);
            if let Some(pins) = memory.pins() {
                outcome.pinned.add(&pins.figures);
            }
            let swapped = memory.swapping().map(|swaps| swaps.figures);
            outcome.swapped.add(&swapped.unwrap_or_default());
            outcome.resized.extend(resized);
            let shards = memory.shards().iter();
            let reports: Vec<_> = shards.map(Sequences::report).collect();
            let host = memory.host_reports();
            outcome.totals.add(&reports, &host);
            outcome.instances.push(InstanceEnd {
                figures,
                reports,
                host,
                swapped,
            });
        }
        outcome.figures = self.figures;
        outcome.series = self.timeline.into_samples();
        Ok(outcome)
    }
}
