//! What a step has brought: tokens and watermarks, forks, ends and cancellations.

use alloc::vec;

use super::engine::Engine;
use super::fetch::News;
use super::job::Ending;
use super::memory::Fork;
use super::queue::{Branch, Seniority};
use super::running::{Load, Running};
use super::world::World;
use crate::failure::Failure;

impl Engine {
    /// Books the step for all that took part in it.
    pub(super) fn settle(&mut self, world: &mut World<'_>) -> Result<(), Failure> {
        for at in 0..self.running.len() {
            let mut running = self.running[at];
            if running.grows > 0 {
                self.decoded(world, &mut running)?;
            } else if running.chunk > 0 {
                self.prefilled(world, &mut running)?;
            }
            self.running[at] = running;
        }
        if !self.scratch.born.is_empty() {
            self.running.append(&mut self.scratch.born);
            self.running
                .sort_unstable_by_key(|running| running.branch.seniority);
        }
        self.load(world)?;
        self.cancel(world)?;
        self.running.retain(|running| !running.ended);
        Ok(())
    }

    /// Books what writers have brought, and lets who was let down compute it, as soon as there is memory for that.
    fn load(&mut self, world: &mut World<'_>) -> Result<(), Failure> {
        let mut news = core::mem::take(&mut self.scratch.news);
        self.memory.load(&mut news)?;
        for new in &news {
            let (News::Complete(handle) | News::Cancel(handle) | News::Fallback(handle)) = *new;
            let those = |running: &&mut Running| running.handle == handle && !running.ended;
            let Some(running) = self.running.iter_mut().find(those) else {
                continue;
            };
            match new {
                News::Complete(_) => {
                    let arrived = self.memory.arrived(handle)?;
                    running.load = Load::None;
                    self.memory.fetches.figures.loaded_tokens +=
                        (arrived - running.computed) as u64;
                    running.computed = arrived;
                }
                News::Fallback(_) => running.load = Load::Failed,
                News::Cancel(_) => {
                    let branch = running.branch;
                    self.cut_off(world, &branch, Ending::Cancelled)?;
                }
            }
        }
        self.scratch.news = news;
        for running in &mut self.running {
            if running.load != Load::Failed || running.ended {
                continue;
            }
            if let Some(arrived) = self.memory.fall_back(running.handle)? {
                running.load = Load::None;
                self.memory.fetches.figures.loaded_tokens += (arrived - running.computed) as u64;
                running.computed = arrived;
            } else {
                self.memory.fetches.figures.renewals_refused += 1;
            }
        }
        Ok(())
    }

    /// Part of a prompt was computed, the last one gives a token.
    fn prefilled(&mut self, world: &mut World<'_>, running: &mut Running) -> Result<(), Failure> {
        let before = running.computed;
        running.computed += running.chunk;
        world.log.figures.computed += running.chunk as u64;
        let lost = running.branch.lost;
        world.log.figures.recomputed += (running.computed.min(lost) - before.min(lost)) as u64;
        self.figures.computed_tokens += running.chunk as u64;
        self.memory
            .computed_prompt(running.handle, running.computed)?;
        let job = &mut world.jobs[running.branch.request];
        let is_first = !job.prefilled;
        if running.prefill_left() > 0 || (is_first && job.is_cancelled_at(running.computed, 0)) {
            return Ok(());
        }
        job.prefilled = true;
        self.memory.adopt_duplicates(running.handle)?;
        if job.output == 0 {
            job.first_token = Some(world.log.now());
            return self.complete(world, running);
        }
        if is_first && job.branches > 1 {
            self.branch_out(world, running)?;
        }
        self.gain(world, running, 1)
    }

    /// A decoding sequence has verified its drafts and knows the tokens of its new positions: those that it generated
    /// last, as the newest one is only computed in the next step.
    fn decoded(&mut self, world: &mut World<'_>, running: &mut Running) -> Result<(), Failure> {
        let Branch {
            request,
            generated,
            seniority,
            ..
        } = running.branch;
        let whose = (request as u64, seniority.branch);
        let drafts = running.grows - 1;
        let accepted = world.settings.drafts.accepted(whose, generated, drafts);
        let before = running.positions;
        running.positions += 1 + accepted;
        if accepted < drafts {
            self.memory.truncate(running.handle, running.positions)?;
        }
        let tokens = &mut self.scratch.tokens;
        tokens.clear();
        let from = (before - world.jobs[request].input) as u64;
        world
            .content
            .answer(whose, from, 1 + accepted, tokens)
            .map_err(|error| Failure::Input(format!("the tokens of an answer: {error}")))?;
        self.memory.tokens(running.handle, before, tokens)?;
        running.computed = running.positions;
        self.memory.computed(running.handle, running.computed)?;

        world.log.figures.computed += (1 + accepted) as u64;
        self.figures.computed_tokens += (1 + accepted) as u64;
        world.log.figures.drafts += drafts as u64;
        world.log.figures.rejected_drafts += (drafts - accepted) as u64;
        self.gain(world, running, 1 + accepted)
    }

    /// The branch has this many new tokens.
    fn gain(
        &mut self,
        world: &mut World<'_>,
        running: &mut Running,
        tokens: usize,
    ) -> Result<(), Failure> {
        let now = world.log.now();
        let job = &mut world.jobs[running.branch.request];
        let branch = &mut running.branch;
        if job.first_token.is_none() {
            job.first_token = Some(now);
            world.log.figures.ttft.add(now.saturating_sub(job.arrival));
        }
        for _ in 0..tokens {
            if let Some(last) = branch.last_token.replace(now) {
                let gap = now - last;
                world.log.figures.gaps.add(gap);
                job.gaps = (job.gaps.0.saturating_add(gap), job.gaps.1 + 1);
            }
        }
        branch.generated += tokens as u64;
        world.log.figures.generated += tokens as u64;
        self.figures.generated_tokens += tokens as u64;
        if branch.generated >= job.output {
            self.complete(world, running)?;
        }
        Ok(())
    }

    /// A branch is at its end, and the request is if that was the last one.
    fn complete(&mut self, world: &mut World<'_>, running: &mut Running) -> Result<(), Failure> {
        let request = running.branch.request;
        if running.branch.seniority.branch == 0 {
            // The pin is the next turn's; the engine does not know whether there will be one.
            let turn = world.schedule.next_turn(request);
            let turn = turn.unwrap_or(world.jobs.len() + request) as u64;
            self.memory.pin(running.handle, turn, world.log.now())?;
        }
        self.memory.release(running.handle)?;
        running.ended = true;
        let job = &mut world.jobs[running.branch.request];
        job.branches_left -= 1;
        if job.branches_left == 0 {
            world.end(running.branch.request, Ending::Completed);
        }
        Ok(())
    }

    /// Makes the other branches of a request whose prompt is computed. If there is no memory for that, they wait, and find
    /// the prompt's blocks when they come.
    fn branch_out(&mut self, world: &mut World<'_>, parent: &Running) -> Result<(), Failure> {
        let others = world.settings.branches - 1;
        let mut handles = vec![parent.handle; others];
        let fork = self.memory.fork(parent.handle, &mut handles)?;
        let forked = matches!(fork, Fork::Made);
        for (number, handle) in (1..).zip(handles) {
            let branch = Branch {
                seniority: Seniority {
                    branch: number,
                    ..parent.branch.seniority
                },
                returning: true,
                joins: !forked,
                lost: 0,
                ..parent.branch
            };
            if forked {
                let mut child = Running {
                    branch,
                    handle,
                    grows: 0,
                    chunk: 0,
                    ..*parent
                };
                self.gain(world, &mut child, 1)?;
                self.scratch.born.push(child);
            } else {
                self.wait(world, branch);
            }
        }
        let figures = &mut world.log.figures;
        *match fork {
            Fork::Made => &mut figures.forks,
            Fork::NoMemory => &mut figures.branches_queued,
            Fork::NoSlot => &mut figures.branches_without_slot,
        } += others as u64;
        Ok(())
    }

    /// Cuts off the requests whose cancellation has come.
    fn cancel(&mut self, world: &mut World<'_>) -> Result<(), Failure> {
        for at in (0..self.running.len()).rev() {
            let Some(running) = self.running.get(at).copied() else {
                continue;
            };
            let job = &world.jobs[running.branch.request];
            let computed = if job.prefilled { 0 } else { running.computed };
            if !running.ended && job.is_cancelled_at(computed, running.branch.generated) {
                self.cut_off(world, &running.branch, Ending::Cancelled)?;
            }
        }
        Ok(())
    }
}
