//! One engine: its memory, what runs in it, and its steps, one at a time.

use alloc::vec::Vec;

use kvblock::Handle;

use super::fetch::News;
use super::fleet::figures::EngineFigures;
use super::fleet::timeline::ShardSample;
use super::memory::Memory;
use super::queue::{Branch, Prospects, Queue};
use super::resize::Resizer;
use super::running::{Load, Running};
use super::settings::Settings;
use super::step_time::Nanos;
use super::world::World;
use crate::failure::Failure;

/// Where an engine is between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// No step is under way, and none is planned.
    Between,
    /// A step is planned: the tokens that it may still compute, and whether somebody lost memory for it.
    Planning { budget: usize, preempted: bool },
    /// A step is under way.
    Until(Nanos),
}

/// What became of a planned step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launched {
    /// It is under way.
    Step,
    /// Nothing was computed, and there is reason to plan anew.
    Again,
    /// There is nothing that can be computed.
    Asleep,
}

/// Whether an engine takes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It loads its weights until then.
    Starting(Nanos),
    Ready,
    /// It takes none, and ends those that it has.
    Draining,
    /// It had none any more.
    Removed,
}

/// An engine.
pub(crate) struct Engine {
    pub(super) number: usize,
    pub(super) stage: Stage,
    pub(super) memory: Memory,
    /// The oldest first.
    pub(super) running: Vec<Running>,
    /// Who lost its memory here, and branches that there was none for: all older than any request that waits before the router.
    pub(super) queue: Queue,
    pub(super) resizer: Resizer,
    pub(super) turn: Turn,
    /// Sequences that are being moved here; none of them runs.
    pub(super) incoming: usize,
    /// Some sequence waits for blocks that are being swapped out, and how many such blocks are awaited.
    pub(super) short: bool,
    pub(super) awaited: usize,
    /// Alone it has not enough memory, and moves may hold some.
    pub(super) in_straits: bool,
    pub(super) figures: EngineFigures,
    pub(super) scratch: Scratch,
}

/// Buffers that every step uses anew.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) batch: Vec<(Handle, usize)>,
    pub(super) short: Vec<Handle>,
    pub(super) order: Vec<Handle>,
    pub(super) victims: Vec<Handle>,
    pub(super) tokens: Vec<u32>,
    pub(super) born: Vec<Running>,
    pub(super) news: Vec<News>,
}

impl Engine {
    pub(super) fn new(settings: &Settings, number: usize) -> Result<Self, Failure> {
        let memory = Memory::new(settings, number)?;
        Ok(Self {
            number,
            stage: Stage::Ready,
            incoming: 0,
            short: false,
            awaited: 0,
            in_straits: false,
            figures: EngineFigures::default(),
            resizer: Resizer::new(memory.pool(), &settings.resizes)?,
            memory,
            running: Vec::new(),
            queue: Queue::default(),
            turn: Turn::Between,
            scratch: Scratch::default(),
        })
    }

    /// Whether nothing runs here or waits for that.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.queue.is_empty()
    }

    /// Whether it computes anything.
    pub(super) const fn is_alive(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Draining)
    }

    pub(super) fn resize(&mut self, now: Nanos) -> Result<(), Failure> {
        if self.resizer.act(self.memory.pool(), now)? {
            self.memory.changed();
        }
        Ok(())
    }

    /// What an admission here can be compared with.
    pub(super) fn prospects(&self) -> Prospects {
        let (changes, available) = self.memory.prospects();
        Prospects {
            engine: self.number,
            changes,
            available,
        }
    }

    /// Begins to plan a step: positions for all that decode, then chunks of prompts.
    pub(super) fn plan(&mut self, world: &mut World<'_>) -> Result<(), Failure> {
        let mut budget = world.settings.token_budget;
        let preempted = self.grow(world, &mut budget)?;
        for running in &mut self.running {
            running.plan_chunk(&mut budget);
        }
        self.turn = Turn::Planning { budget, preempted };
        Ok(())
    }

    /// Whether one more sequence may live here.
    pub(super) fn has_place(&self, settings: &Settings) -> bool {
        let leaving = self.memory.leaving();
        self.running.len() + leaving + self.incoming < settings.max_sequences
    }

    /// Tokens that a request which is admitted now may compute in the step that is planned, or in the one behind the step that is under
    /// way; 0 if none is to be admitted.
    pub(super) fn room(&self, settings: &Settings) -> usize {
        if self.stage != Stage::Ready || !self.has_place(settings) {
            return 0;
        }
        match self.turn {
            Turn::Between => 0,
            Turn::Planning { preempted, .. } if preempted || self.short => 0,
            Turn::Planning { budget, .. } => budget,
            Turn::Until(_) => {
                let computed = self.running.iter().filter(|it| it.load == Load::None);
                let later = computed.map(|it| it.prefill_left() - it.chunk);
                settings.token_budget.saturating_sub(later.sum())
            }
        }
    }

    /// A branch has memory now, and takes its share of a step that is planned.
    pub(super) fn enter(&mut self, mut running: Running) {
        if let Turn::Planning { budget, .. } = &mut self.turn {
            running.plan_chunk(budget);
        }
        let seniority = running.branch.seniority;
        let at = self
            .running
            .partition_point(|other| other.branch.seniority < seniority);
        self.running.insert(at, running);
    }

    /// Lets a branch wait for memory, here if that is any use.
    pub(super) fn wait(&mut self, world: &mut World<'_>, branch: Branch) {
        if self.stage == Stage::Ready {
            self.queue.push(branch);
        } else {
            world.queue.push(branch);
        }
    }

    /// Begins the step that was planned.
    pub(super) fn launch(&mut self, world: &mut World<'_>) -> Result<Launched, Failure> {
        let Turn::Planning { budget, preempted } = self.turn else {
            return Ok(Launched::Step);
        };
        self.turn = Turn::Between;
        let computed = world.settings.token_budget - budget;
        if computed == 0 && preempted {
            // Who lost memory is admitted from the next step on.
            return Ok(Launched::Again);
        }
        if computed == 0 {
            if !self.memory.is_loading() {
                // Copies under way, the device's last step, or pins may hold the last blocks.
                let may_wait = !self.is_idle() || world.settings.fleet.is_several();
                let waits = may_wait && self.memory.wait()?;
                return Ok(if waits {
                    Launched::Again
                } else {
                    Launched::Asleep
                });
            }
            if self.memory.fetches.is_under_way() {
                self.memory.fetches.figures.load_steps += 1;
            }
            self.memory.count_swap_step();
        }
        self.memory.launch();
        let handles = self.running.iter().map(|running| running.handle);
        world.log.figures.full_steps += u64::from(budget == 0);
        let waiting = self.queue.len() + world.queue.len();
        let took = world.log.step(&self.memory, handles, waiting, computed)?;
        self.figures.busy = self.figures.busy.saturating_add(took);
        self.figures.held_most = self.figures.held_most.max(self.memory.held());
        self.turn = Turn::Until(world.log.now().saturating_add(took));
        Ok(Launched::Step)
    }

    /// The step that was under way is done; the device's part of it is still to be booked.
    pub(super) fn end_step(&mut self, world: &mut World<'_>) -> Result<(), Failure> {
        self.turn = Turn::Between;
        self.figures.steps += 1;
        self.settle(world)
    }

    /// What its shards have at this instant.
    pub(super) fn sample(&self) -> impl Iterator<Item = ShardSample> + '_ {
        let shards = self.memory.shards().iter().enumerate();
        shards.map(|(shard, it)| {
            let report = it.report();
            ShardSample {
                instance: self.number,
                shard,
                running: self.running.len(),
                waiting: self.queue.len(),
                free: report.pool.free,
                idle: report.pool.idle,
                held: report.pool.held,
                quarantined: report.pool.quarantined,
                loading: report.loading,
                late: self.memory.late(shard),
                stranded: self.memory.stranded(),
                duplicated: report.duplicated,
            }
        })
    }
}
