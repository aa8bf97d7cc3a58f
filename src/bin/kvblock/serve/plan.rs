//! Who gets what in a step: positions for those who decode, room for them if there is none, and admissions.

use kvblock::{Admit, Handle, Prompt, Refused};

use alloc::format;

use super::job::Ending;
use super::queue::Branch;
use super::running::{Load, Running};
use super::simulator::Simulator;
use crate::failure::Failure;

/// What became of the queue's head.
enum Head {
    /// It runs now, at this place.
    Admitted(usize),
    /// There is no memory for it now.
    Waits,
    /// There never will be.
    Dropped,
}

impl Simulator<'_> {
    /// Appends positions to all that decode, the oldest first, as far as the budget goes. Gives whether anyone lost memory
    /// for that.
    pub(super) fn grow(&mut self, budget: &mut usize) -> Result<bool, Failure> {
        self.scratch.batch.clear();
        self.scratch.short.clear();
        for running in &mut self.running {
            running.grows = 0;
            running.chunk = 0;
            if running.prefill_left() > 0 || *budget == 0 {
                continue;
            }
            let output = self.jobs[running.branch.request].output;
            let drafts = self
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
        let before = (self.log.figures.preemptions, self.log.figures.failed);
        for handle in core::mem::take(&mut self.scratch.short) {
            self.make_room(handle)?;
        }
        let used: usize = self.running.iter().map(|running| running.grows).sum();
        *budget = self.settings.token_budget - used;
        Ok(before != (self.log.figures.preemptions, self.log.figures.failed))
    }

    /// Gets the positions for a sequence that there was no memory for: without drafts, then from newer sequences, the
    /// newest first. If these have not enough, it steps back itself, unless it is the oldest.
    fn make_room(&mut self, handle: Handle) -> Result<(), Failure> {
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
                self.log.figures.waits_for_fences += 1;
                return Ok(());
            }
            if self.running[at].grows > 1 {
                self.running[at].grows = 1;
                continue;
            }
            let newer = self.running[at + 1..].iter().rev();
            self.scratch.order.clear();
            self.scratch
                .order
                .extend(newer.map(|running| running.handle));
            let (order, victims) = (&self.scratch.order, &mut self.scratch.victims);
            let freed = self.memory.victims(order, lack.blocks, victims)?;
            if freed >= lack.blocks {
                for victim in core::mem::take(&mut self.scratch.victims) {
                    self.preempt(victim.handle)?;
                }
            } else if at > 0 {
                return self.preempt(handle);
            } else if !self.scratch.order.is_empty() {
                for newer in core::mem::take(&mut self.scratch.order) {
                    self.preempt(newer)?;
                }
            } else if !self.memory.wait()? {
                // Alone, with all the memory there is.
                return self.fail(at);
            }
        }
    }

    /// Takes a sequence's memory. What it has generated is kept, and it waits ahead of all that are newer.
    fn preempt(&mut self, handle: Handle) -> Result<(), Failure> {
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
        self.memory.preempt(handle)?;
        self.log.figures.preemptions += 1;
        self.queue.push(Branch {
            returning: true,
            joins: false,
            ..running.branch
        });
        Ok(())
    }

    /// Ends the request of a sequence that cannot grow.
    fn fail(&mut self, at: usize) -> Result<(), Failure> {
        let running = self.running[at];
        self.note_length(running.branch.request);
        self.cut_off(&running.branch, Ending::Failed)
    }

    /// Admits from the queue's head on, while there is budget to compute with.
    pub(super) fn admit(&mut self, budget: &mut usize) -> Result<(), Failure> {
        while *budget > 0 && self.running.len() < self.settings.max_sequences {
            let Some(head) = self.queue.head() else {
                break;
            };
            let (changes, available) = self.memory.prospects();
            let hopeless = |(before, then)| changes == before && available <= then;
            if self.queue.refused_at.is_some_and(hopeless) {
                self.log.figures.short_steps += 1;
                break;
            }
            match self.admit_head(&head)? {
                Head::Admitted(at) => self.running[at].plan_chunk(budget),
                Head::Waits => {
                    self.queue.refused_at = Some((changes, available));
                    self.log.figures.short_steps += 1;
                    break;
                }
                Head::Dropped => {}
            }
        }
        Ok(())
    }

    fn admit_head(&mut self, head: &Branch) -> Result<Head, Failure> {
        let job = &mut self.jobs[head.request];
        let left = usize::try_from(job.output - head.generated).unwrap_or(usize::MAX);
        let generated = usize::try_from(head.generated).unwrap_or(usize::MAX);
        let length = job.input.saturating_add(generated);
        let pool = self.memory.pool();
        // Not worth making its tokens.
        if length.div_ceil(pool.block_size()) > pool.capacity() {
            return self.never(head);
        }
        let request = &self.requests[head.request];
        let tokens = self
            .queue
            .prompt(head, (request, job), &self.content)
            .map_err(|error| {
                Failure::Input(format!(
                    "request {} of the trace: {error}",
                    head.request + 1
                ))
            })?;
        let prompt = Prompt::new(&self.namespace, tokens);
        let admit = Admit::new(prompt, self.settings.growth.of(left))
            .budget(self.settings.budget.into())
            .returning(head.returning)
            .label(head.request as u64);
        let fate = job.fetch.filter(|_| !head.returning);
        let entered = match fate {
            Some(fate) => self.memory.import(&admit, head.request as u64, fate)?,
            None => self.memory.admit(&admit)?,
        };
        match entered {
            Ok(admitted) => {
                self.queue.pop();
                if job.is_later_turn && !head.returning {
                    self.log.figures.later_turns.add(length, admitted.hit);
                    self.memory.unpin(head.request as u64);
                }
                if head.joins {
                    self.log.figures.joined.add(length, admitted.hit);
                }
                let mut running = Running::new(*head, admitted.handle, length, admitted.hit);
                if admitted.loads {
                    running.load = Load::UnderWay;
                }
                let at = self
                    .running
                    .partition_point(|other| other.branch.seniority < head.seniority);
                self.running.insert(at, running);
                Ok(Head::Admitted(at))
            }
            Err(Refused::NeverFits { .. }) => self.never(head),
            Err(_) => {
                if !head.returning && !job.waited {
                    job.waited = true;
                    self.log.figures.refused_shortfall += 1;
                }
                Ok(Head::Waits)
            }
        }
    }

    /// The queue's head asks for more than there is.
    fn never(&mut self, head: &Branch) -> Result<Head, Failure> {
        self.note_length(head.request);
        let ending = if head.returning {
            Ending::Failed
        } else {
            Ending::RefusedNever
        };
        self.cut_off(head, ending)?;
        Ok(Head::Dropped)
    }

    /// All positions that the request comes to count, whatever it had when it was lost.
    fn note_length(&mut self, request: usize) {
        let job = &self.jobs[request];
        let longest = &mut self.log.figures.longest_refused;
        *longest = (*longest).max((job.input as u64).saturating_add(job.output));
    }

    /// Ends a request before its time, with all its branches, wherever they are.
    pub(super) fn cut_off(&mut self, branch: &Branch, ending: Ending) -> Result<(), Failure> {
        self.queue.remove_request(branch.seniority.arrived);
        for running in &self.running {
            if running.branch.request == branch.request && !running.ended {
                self.memory.release(running.handle)?;
            }
        }
        self.running
            .retain(|running| running.branch.request != branch.request);
        self.end(branch.request, ending);
        Ok(())
    }
}
