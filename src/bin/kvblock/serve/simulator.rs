//! Continuous batching on a virtual clock.
//!
//! ```text
//! each step:  arrivals -> queue; the pool's size, if it is time                                resize.rs
//!             decoding sequences get a position (or some, with drafts), the oldest first        plan.rs
//!               no memory: the newest sequences lose theirs, and wait again, ahead of the queue
//!             prefills get what is left of the token budget, then the queue's head is admitted
//!             the clock moves by the step's time
//!             tokens, watermarks, publication, forks, ends, transfers, cancellations            settle.rs
//! ```
//!
//! Memory moves only from newer to older, and who else holds some gives it back, so the oldest sequence always gets on, and the run
//! ends.

use alloc::format;
use alloc::vec::Vec;

use kvblock::trace::{Content, Request};
use kvblock::{Handle, Namespace, Victim};

use super::fetch::{Fate, News};
use super::figures::Outcome;
use super::job::{Ending, Job};
use super::log::Log;
use super::memory::Memory;
use super::queue::{Branch, Queue, Seniority};
use super::resize::Resizer;
use super::running::Running;
use super::schedule::Schedule;
use super::settings::Settings;
use crate::failure::Failure;

/// An engine that serves the requests of a trace.
pub(crate) struct Simulator<'t> {
    pub(super) settings: &'t Settings,
    pub(super) requests: &'t [Request],
    /// Cut into single tokens.
    pub(super) content: Content,
    pub(super) namespace: Namespace,
    pub(super) jobs: Vec<Job>,
    pub(super) schedule: Schedule,
    pub(super) queue: Queue,
    /// The oldest first.
    pub(super) running: Vec<Running>,
    pub(super) memory: Memory,
    pub(super) resizer: Resizer,
    pub(super) log: Log,
    pub(super) scratch: Scratch,
    pub(super) on_end: &'t mut dyn FnMut(),
}

/// Buffers that every step uses anew.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) batch: Vec<(Handle, usize)>,
    pub(super) short: Vec<Handle>,
    pub(super) order: Vec<Handle>,
    pub(super) victims: Vec<Victim>,
    pub(super) tokens: Vec<u32>,
    pub(super) born: Vec<Running>,
    pub(super) news: Vec<News>,
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
        let fate = (settings.seed, settings.cancel);
        let branches = settings.branches as u64;
        let mut jobs: Vec<_> = requests
            .iter()
            .enumerate()
            .map(|(index, request)| Job::new(request, index, branches, fate))
            .collect();
        for (index, job) in jobs.iter_mut().enumerate() {
            job.fetch = Fate::of(&settings.fetch, settings.seed, index as u64);
        }
        for index in 0..jobs.len() {
            if let Some(next) = schedule.next_turn(index) {
                jobs[next].is_later_turn = true;
            }
        }
        let memory = Memory::new(settings)?;
        let resizer = Resizer::new(memory.pool(), &settings.resizes)?;
        Ok(Self {
            resizer,
            settings,
            requests,
            content: Content::new(settings.seed, id_tokens, 1),
            namespace: Namespace::default(),
            jobs,
            schedule,
            queue: Queue::default(),
            running: Vec::new(),
            memory,
            log: Log::new(settings),
            scratch: Scratch::default(),
            on_end,
        })
    }

    /// Serves until nothing is left, or until an audit fails.
    pub(crate) fn run(mut self) -> Result<Outcome, Failure> {
        loop {
            self.arrive();
            self.memory.tick(self.log.now());
            self.resize()?;
            if self.running.is_empty() && self.queue.is_empty() {
                // The device gets done before the next request comes.
                self.memory.idle()?;
                self.resize()?;
                let Some(next) = self.schedule.next_at() else {
                    break;
                };
                let next = self.resizer.next_at().map_or(next, |at| at.min(next));
                self.log.jump(next);
                continue;
            }
            self.step()?;
            if !self.log.audit_if_due(&self.memory) {
                break;
            }
        }
        self.finish()
    }

    fn resize(&mut self) -> Result<(), Failure> {
        if self.resizer.act(self.memory.pool(), self.log.now())? {
            self.memory.resized();
        }
        Ok(())
    }

    fn arrive(&mut self) {
        while let Some((at, request)) = self.schedule.pop(self.log.now()) {
            let seniority = Seniority {
                arrived: self.log.figures.arrived,
                branch: 0,
            };
            let job = &mut self.jobs[request];
            job.arrival = at;
            self.log.figures.arrive(job);
            self.queue.push(Branch {
                seniority,
                request,
                generated: 0,
                last_token: None,
                returning: false,
                joins: false,
            });
        }
    }

    fn step(&mut self) -> Result<(), Failure> {
        let mut budget = self.settings.token_budget;
        let preempted = self.grow(&mut budget)?;
        for running in &mut self.running {
            running.plan_chunk(&mut budget);
        }
        if !preempted {
            self.admit(&mut budget)?;
        }
        let computed = self.settings.token_budget - budget;
        if computed == 0 && preempted {
            // Who lost memory is admitted from the next step on.
            return Ok(());
        }
        if computed == 0 {
            if !self.memory.fetches.is_under_way() {
                return self.unblock();
            }
            self.memory.fetches.figures.load_steps += 1;
        }
        self.memory.launch();
        let handles = self.running.iter().map(|running| running.handle);
        self.log.figures.full_steps += u64::from(budget == 0);
        self.log
            .step(&self.memory, handles, self.queue.len(), computed)?;
        self.settle()?;
        self.memory.end_step()
    }

    /// Nothing can be computed: that is so if all has just ended, or if copies under way, the device's last step, or pins hold the last
    /// blocks.
    fn unblock(&mut self) -> Result<(), Failure> {
        let all_ended = self.running.is_empty() && self.queue.is_empty();
        if all_ended || self.memory.wait()? || !self.running.is_empty() {
            return Ok(());
        }
        Err(Failure::Defect(format!(
            "{} requests wait for memory that nobody holds:\n{}",
            self.queue.len(),
            self.memory.pool().report()
        )))
    }

    /// A request has ended; none of its branches has memory or waits.
    pub(super) fn end(&mut self, request: usize, ending: Ending) {
        let job = &mut self.jobs[request];
        job.ending = Some(ending);
        self.log.figures.end(job, ending, self.settings.slo);
        self.schedule.ended(request, self.log.now());
        (self.on_end)();
    }

    fn finish(self) -> Result<Outcome, Failure> {
        let (ended, all) = (self.log.figures.ended(), self.requests.len() as u64);
        if self.log.figures.inconsistency.is_none() && ended != all {
            return Err(Failure::Defect(format!("{ended} of {all} requests ended")));
        }
        let resized = self.resizer.finish(self.memory.pool(), self.log.now())?;
        self.log.finish(self.memory, resized)
    }
}
