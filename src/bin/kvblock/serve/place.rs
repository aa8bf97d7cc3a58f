//! Admissions: who lost its memory comes back to its engine, and the queue's head goes to an engine that has room.

use alloc::format;

use kvblock::{Admit, Prompt, Refused};

use super::engine::Engine;
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
        for engine in &mut self.engines {
            engine.admit_own(&mut self.world)?;
        }
        while let Some(head) = self.world.queue.head() {
            let engine = &mut self.engines[0];
            if !engine.queue.is_empty() || engine.room(self.world.settings) == 0 {
                break;
            }
            let prospects = engine.memory.prospects();
            if is_hopeless(self.world.queue.refused_at, prospects) {
                self.world.log.figures.short_steps += 1;
                break;
            }
            match engine.admit_head(&mut self.world, &head, Waited::AtRouter)? {
                Ok(()) => {}
                Err(Refused::NeverFits { .. }) => engine.never(&mut self.world, &head)?,
                Err(_) => {
                    self.world.note_wait(&head);
                    self.world.queue.refused_at = Some(prospects);
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Whether an admission that was refused then is refused now.
fn is_hopeless(refused_at: Option<(u64, usize)>, (changes, available): (u64, usize)) -> bool {
    refused_at.is_some_and(|(before, then)| changes == before && available <= then)
}

impl Engine {
    /// Admits those that wait here, the oldest first.
    fn admit_own(&mut self, world: &mut World<'_>) -> Result<(), Failure> {
        while let Some(head) = self.queue.head() {
            if self.room(world.settings) == 0 {
                break;
            }
            let prospects = self.memory.prospects();
            if is_hopeless(self.queue.refused_at, prospects) {
                world.log.figures.short_steps += 1;
                break;
            }
            match self.admit_head(world, &head, Waited::AtEngine)? {
                Ok(()) => {}
                Err(Refused::NeverFits { .. }) => self.never(world, &head)?,
                Err(_) => {
                    world.note_wait(&head);
                    self.queue.refused_at = Some(prospects);
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
        let pool = self.memory.pool();
        let blocks = length.div_ceil(pool.block_size());
        if blocks > pool.capacity() {
            // Not worth making its tokens.
            return Ok(Err(Refused::NeverFits {
                shard: pool.shard(),
                needed: blocks,
                capacity: pool.capacity(),
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
            .map_err(|error| {
                Failure::Input(format!(
                    "request {} of the trace: {error}",
                    head.request + 1
                ))
            })?;
        let prompt = Prompt::new(&world.namespace, tokens);
        let admit = Admit::new(prompt, world.settings.growth.of(left))
            .budget(world.settings.budget.into())
            .returning(head.returning)
            .label(head.request as u64);
        let entered = match job.fetch.filter(|_| !head.returning) {
            Some(fate) => self.memory.import(&admit, head.request as u64, fate)?,
            None => self.memory.admit(&admit)?,
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
            running.load = Load::UnderWay;
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
