//! Positions for those who decode, and room for them if there is none.

use kvblock::Handle;

use alloc::format;

use super::engine::Engine;
use super::job::Ending;
use super::queue::Branch;
use super::running::Load;
use super::world::World;
use crate::failure::Failure;

impl Engine {
    /// Appends positions to all that decode, the oldest first, as far as the budget goes. Gives whether anyone lost memory
    /// for that.
    pub(super) fn grow(
        &mut self,
        world: &mut World<'_>,
        budget: &mut usize,
    ) -> Result<bool, Failure> {
        self.scratch.batch.clear();
        self.scratch.short.clear();
        self.short = false;
        self.awaited = 0;
        for running in &mut self.running {
            running.grows = 0;
            running.chunk = 0;
            let pauses = matches!(running.load, Load::Leaving | Load::SwapsIn);
            if running.prefill_left() > 0 || pauses || *budget == 0 {
                continue;
            }
            let output = world.jobs[running.branch.request].output;
            let drafts = world
                .settings
                .drafts
                .wanted(output - running.branch.generated);
            running.grows = (1 + drafts).min(*budget);
            *budget -= running.grows;
            self.scratch.batch.push((running.handle, running.grows));
        }
        if self.scratch.batch.is_empty() {
            return Ok(false);
        }
        self.memory
            .grow(&self.scratch.batch, &mut self.scratch.short)?;
        if self.scratch.short.is_empty() {
            return Ok(false);
        }
        let before = (world.log.figures.preemptions, world.log.figures.failed);
        for handle in core::mem::take(&mut self.scratch.short) {
            self.make_room(world, handle)?;
        }
        let used: usize = self.running.iter().map(|running| running.grows).sum();
        *budget = world.settings.token_budget - used;
        Ok(before != (world.log.figures.preemptions, world.log.figures.failed))
    }

    /// Gets the positions for a sequence that there was no memory for: without drafts, then from newer sequences, the
    /// newest first. If these have not enough, it steps back itself, unless it is the oldest.
    fn make_room(&mut self, world: &mut World<'_>, handle: Handle) -> Result<(), Failure> {
        loop {
            // It may have lost its memory to an older one meanwhile.
            let Some(at) = self
                .running
                .iter()
                .position(|running| running.handle == handle)
            else {
                return Ok(());
            };
            let lack = match self.memory.append(handle, self.running[at].grows)? {
                Ok(()) => return Ok(()),
                Err(lack) => lack,
            };
            if lack.is_quarantined {
                // The device is about to give them back: nobody loses memory for that.
                self.running[at].grows = 0;
                world.log.figures.waits_for_fences += 1;
                return Ok(());
            }
            let comes = self.awaits(lack.blocks);
            if comes {
                self.wait_for_swap(at);
                return Ok(());
            }
            if self.running[at].grows > 1 {
                self.running[at].grows = 1;
                continue;
            }
            let newer = self.running[at + 1..].iter().rev();
            let stays = |load| matches!(load, Load::Leaving | Load::SwapsIn);
            let newer = newer.filter(|running| !stays(running.load));
            self.scratch.order.clear();
            self.scratch
                .order
                .extend(newer.map(|running| running.handle));
            let (order, victims) = (&self.scratch.order, &mut self.scratch.victims);
            if self.memory.victims(order, lack, victims)? {
                for victim in core::mem::take(&mut self.scratch.victims) {
                    self.preempt(world, victim)?;
                }
            } else if self.memory.is_swapping() {
                self.wait_for_swap(at);
                return Ok(());
            } else if at > 0 {
                return self.preempt(world, handle);
            } else if !self.scratch.order.is_empty() {
                for newer in core::mem::take(&mut self.scratch.order) {
                    self.preempt(world, newer)?;
                }
            } else if !self.memory.wait()? {
                return self.starve(world, at);
            }
        }
    }

    /// A sequence is alone, with all the memory there is but for what moves hold; these come first.
    fn starve(&mut self, world: &mut World<'_>, at: usize) -> Result<(), Failure> {
        if world.moves_hold {
            self.running[at].grows = 0;
            self.in_straits = true;
            return Ok(());
        }
        self.fail(world, at)
    }

    /// Takes a running sequence's memory.
    fn preempt(&mut self, world: &mut World<'_>, handle: Handle) -> Result<(), Failure> {
        let Some(at) = self
            .running
            .iter()
            .position(|running| running.handle == handle)
        else {
            return Err(Failure::Defect(format!(
                "`select_victims` chose a sequence that does not run: {handle:?}"
            )));
        };
        let running = self.running.remove(at);
        self.lose(world, &running)
    }

    /// Ends the request of a sequence that cannot grow.
    fn fail(&mut self, world: &mut World<'_>, at: usize) -> Result<(), Failure> {
        let running = self.running[at];
        world.note_length(running.branch.request);
        self.cut_off(world, &running.branch, Ending::Failed)
    }

    /// Ends a request before its time, with all its branches here and before the router.
    pub(super) fn cut_off(
        &mut self,
        world: &mut World<'_>,
        branch: &Branch,
        ending: Ending,
    ) -> Result<(), Failure> {
        world.queue.remove_request(branch.seniority.arrived);
        self.drop_request(branch)?;
        if world.jobs[branch.request].branches > 1 {
            world.cut.push(*branch);
        }
        world.end(branch.request, ending);
        Ok(())
    }

    /// Lets go of all branches of a request that are here.
    pub(super) fn drop_request(&mut self, branch: &Branch) -> Result<(), Failure> {
        self.queue.remove_request(branch.seniority.arrived);
        for running in &self.running {
            if running.branch.request == branch.request && !running.ended {
                self.memory.release(running.handle)?;
            }
        }
        self.running
            .retain(|running| running.branch.request != branch.request);
        self.memory.forget_swapped(branch.seniority.arrived)
    }
}
