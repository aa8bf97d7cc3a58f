//! Admissions: who lost its memory comes back to its engine, and the queue's head goes to an engine that has room.

use alloc::format;
use alloc::vec::Vec;

use kvblock::{Admit, Prompt, Refused};

use super::engine::{Engine, Stage, Turn};
use super::fleet::placement::Candidate;
use super::job::Ending;
use super::queue::Branch;
use super::running::{Load, Running};
use super::simulator::Simulator;
use super::world::World;
use crate::failure::Failure;

/// Where a branch waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// At the engine that it ran on before.
    AtEngine,
    /// Before the router.
    AtRouter,
}

impl Simulator<'_> {
    /// Admits while there is budget to compute with: first who waits at its engine, then from the common queue's head on.
    pub(super) fn admit(&mut self) -> Result<(), Failure> {
        for at in 0..self.engines.len() {
            self.engines[at].admit_own(&mut self.world)?;
            self.drop_cut()?;
        }
        while let Some(head) = self.world.queue.head() {
            let settings = self.world.settings;
            let ready = || self.engines.iter().filter(|it| it.stage == Stage::Ready);
            let have_room = |it: &&Engine| it.queue.is_empty() && it.room(settings) > 0;
            let plan = |it: &&Engine| matches!(it.turn, Turn::Planning { .. });
            let planning = ready().filter(have_room).filter(plan).count() as u64;
            if ready().filter(have_room).count() == 0 {
                break;
            }
            let prospects: Vec<_> = ready().map(Engine::prospects).collect();
            if self.world.queue.is_hopeless(&prospects) {
                self.world.log.figures.short_steps += planning;
                break;
            }
            match self.place(&head)? {
                Placed::Admitted => {}
                Placed::Busy => break,
                Placed::Never(needed, capacities) => self.never(&head, needed, &capacities)?,
                Placed::Waits(needed, available) => {
                    if self.world.note_wait(&head) {
                        self.world.log.figures.fits_now.note(needed, &available);
                    }
                    self.world.log.figures.short_steps += planning;
                    self.world.queue.refused_at = prospects;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Lets the router choose, of those that can take the queue's head now.
    fn place(&mut self, head: &Branch) -> Result<Placed, Failure> {
        let settings = self.world.settings;
        let ready = || self.engines.iter().filter(|it| it.stage == Stage::Ready);
        if ready().count() == 1 {
            let only = ready().map(|it| it.number).next().unwrap_or_default();
            return self.admit_at(only, head);
        }
        let most = |it: &Engine| it.memory.capacity().saturating_sub(settings.watermark);
        let needed = self.world.blocks_at_least(head);
        if Some(needed) > ready().map(most).max() {
            // Not worth making its tokens.
            let capacities = ready().map(most).collect();
            return Ok(Placed::Never(self.world.blocks_promised(head), capacities));
        }
        let mut candidates = Vec::new();
        let mut refusals = Refusals::default();
        let left = self.world.left(head);
        let returning = head.returning;
        let job = &self.world.jobs[head.request];
        let request = &self.world.requests[head.request];
        let tokens = self
            .world
            .queue
            .prompt(head, (request, job), &self.world.content)
            .map_err(|error| no_tokens(head, &error))?;
        let prompt = Prompt::new(&self.world.namespace, tokens);
        let admit = Admit::new(prompt, settings.growth.of(left))
            .budget(settings.budget.into())
            .returning(returning);
        let mut is_busy = false;
        for engine in ready() {
            if !engine.has_place(settings) {
                is_busy = true;
                continue;
            }
            match engine.memory.check(&admit)? {
                Err(refused) => refusals.add(refused),
                Ok(_) if !engine.queue.is_empty() || engine.room(settings) == 0 => is_busy = true,
                Ok(room) => candidates.push(Candidate {
                    instance: engine.number,
                    hit: room.hit,
                    available: room.available,
                }),
            }
        }
        match self.router.choose(&candidates) {
            Some(chosen) => self.admit_at(chosen, head),
            None if is_busy => Ok(Placed::Busy),
            None => Ok(refusals.sum_up()),
        }
    }

    fn admit_at(&mut self, at: usize, head: &Branch) -> Result<Placed, Failure> {
        let engine = &mut self.engines[at];
        let mut refusals = Refusals::default();
        match engine.admit_head(&mut self.world, head, Waited::AtRouter)? {
            Err(refused) => {
                refusals.add(refused);
                return Ok(refusals.sum_up());
            }
            Ok(()) => self.router.placed(at),
        }
        let figures = &mut engine.figures;
        figures.requests += u64::from(!head.returning);
        figures.first_request = figures.first_request.or(Some(self.world.log.now()));
        Ok(Placed::Admitted)
    }

    /// The queue's head asks for more than any instance has.
    fn never(&mut self, head: &Branch, needed: usize, capacities: &[usize]) -> Result<(), Failure> {
        self.world.log.figures.fits_ever.note(needed, capacities);
        if let Some(engine) = self.engines.first_mut() {
            engine.never(&mut self.world, head)?;
        }
        self.drop_cut()
    }
}

/// What became of the common queue's head.
enum Placed {
    Admitted,
    /// Some instance has the memory, and none of those computes anything for it now.
    Busy,
    /// No memory now: the blocks that are needed, and what each instance has available.
    Waits(usize, Vec<usize>),
    /// No memory ever: the blocks that are needed, and what each instance has at all.
    Never(usize, Vec<usize>),
}

/// Why instances refuse a request.
#[derive(Debug, Default)]
struct Refusals {
    /// The blocks that the one with the longest hit lacks the fewest of, and what each has.
    now: (Option<usize>, Vec<usize>),
    ever: (Option<usize>, Vec<usize>),
}

impl Refusals {
    fn add(&mut self, refused: Refused) {
        let (all, needed, had) = match refused {
            Refused::NeverFits {
                needed, capacity, ..
            } => (&mut self.ever, needed, capacity),
            Refused::Shortfall {
                needed, available, ..
            } => (&mut self.now, needed, available),
            _ => return,
        };
        all.0 = Some(all.0.map_or(needed, |least| least.min(needed)));
        all.1.push(had);
    }

    /// Who may have the memory later is worth waiting for.
    fn sum_up(self) -> Placed {
        match (self.now, self.ever) {
            ((None, _), (Some(needed), capacities)) => Placed::Never(needed, capacities),
            ((needed, available), _) => Placed::Waits(needed.unwrap_or(usize::MAX), available),
        }
    }
}

fn no_tokens(head: &Branch, error: &dyn core::fmt::Display) -> Failure {
    Failure::Input(format!(
        "request {} of the trace: {error}",
        head.request + 1
    ))
}

impl Engine {
    /// Admits those that wait here, the oldest first.
    fn admit_own(&mut self, world: &mut World<'_>) -> Result<(), Failure> {
        while let Some(head) = self.queue.head() {
            if self.room(world.settings) == 0 {
                break;
            }
            if self.memory.is_leaving(head.seniority) {
                // It comes back when it has arrived.
                break;
            }
            let prospects = [self.prospects()];
            if self.queue.is_hopeless(&prospects) {
                world.log.figures.short_steps += 1;
                break;
            }
            match self.admit_head(world, &head, Waited::AtEngine)? {
                Ok(()) => {}
                Err(Refused::NeverFits { .. }) => self.never(world, &head)?,
                Err(_) => {
                    world.note_wait(&head);
                    world.log.figures.short_steps += 1;
                    self.queue.refused_at = prospects.into();
                    break;
                }
            }
        }
        Ok(())
    }

    /// Admits a queue's head, or says why not.
    fn admit_head(
        &mut self,
        world: &mut World<'_>,
        head: &Branch,
        waited: Waited,
    ) -> Result<Result<(), Refused>, Failure> {
        let (length, left) = (world.length(head), world.left(head));
        let capacity = self.memory.capacity();
        if world.blocks_at_least(head) > capacity {
            // Not worth making its tokens.
            return Ok(Err(Refused::NeverFits {
                shard: self.memory.pool().shard(),
                needed: world.blocks_promised(head),
                capacity,
            }));
        }
        let queue = match waited {
            Waited::AtEngine => &mut self.queue,
            Waited::AtRouter => &mut world.queue,
        };
        let job = &world.jobs[head.request];
        let request = &world.requests[head.request];
        let tokens = queue
            .prompt(head, (request, job), &world.content)
            .map_err(|error| no_tokens(head, &error))?;
        let prompt = Prompt::new(&world.namespace, tokens);
        let admit = Admit::new(prompt, world.settings.growth.of(left))
            .budget(world.settings.budget.into())
            .returning(head.returning)
            .label(head.request as u64);
        let swapped = self.memory.swap_in(head.seniority, &admit)?;
        let swaps = swapped.is_some();
        let entered = match (swapped, job.fetch.filter(|_| !head.returning)) {
            (Some(entered), _) => entered,
            (None, Some(fate)) => self.memory.import(&admit, head.request as u64, fate)?,
            (None, None) => self.memory.admit(&admit)?,
        };
        let admitted = match entered {
            Ok(admitted) => admitted,
            Err(refused) => return Ok(Err(refused)),
        };
        queue.pop();
        if job.is_later_turn && !head.returning {
            world.log.figures.later_turns.add(length, admitted.hit);
            self.memory.unpin(head.request as u64);
        }
        if head.joins {
            world.log.figures.joined.add(length, admitted.hit);
        }
        let mut running = Running::new(*head, admitted.handle, length, admitted.hit);
        if admitted.loads {
            running.load = if swaps { Load::SwapsIn } else { Load::UnderWay };
        }
        self.enter(running);
        Ok(Ok(()))
    }

    /// A queue's head asks for more than there is.
    fn never(&mut self, world: &mut World<'_>, head: &Branch) -> Result<(), Failure> {
        world.note_length(head.request);
        let ending = if head.returning {
            Ending::Failed
        } else {
            Ending::RefusedNever
        };
        self.cut_off(world, head, ending)
    }
}
