//! What all engines share: the requests and what became of them, the queue before the router, chance, and the book.

use alloc::format;
use alloc::vec::Vec;

use kvblock::Namespace;
use kvblock::trace::{Content, Request};

use super::fetch::Fate;
use super::job::{Ending, Job};
use super::log::Log;
use super::queue::{Branch, Queue, Seniority};
use super::schedule::Schedule;
use super::settings::Settings;
use crate::failure::Failure;

/// The requests of a trace on their way.
pub(crate) struct World<'t> {
    pub(super) settings: &'t Settings,
    pub(super) requests: &'t [Request],
    /// Cut into single tokens.
    pub(super) content: Content,
    pub(super) namespace: Namespace,
    pub(super) jobs: Vec<Job>,
    pub(super) schedule: Schedule,
    /// Requests that no engine has taken.
    pub(super) queue: Queue,
    pub(super) log: Log,
    on_end: &'t mut dyn FnMut(),
}

impl<'t> World<'t> {
    /// `on_end` is called whenever a request has ended.
    pub(super) fn new(
        settings: &'t Settings,
        requests: &'t [Request],
        id_tokens: usize,
        schedule: Schedule,
        on_end: &'t mut dyn FnMut(),
    ) -> Self {
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
        Self {
            settings,
            requests,
            content: Content::new(settings.seed, id_tokens, 1),
            namespace: Namespace::default(),
            jobs,
            schedule,
            queue: Queue::default(),
            log: Log::new(settings),
            on_end,
        }
    }

    /// Lets those wait that have arrived by now.
    pub(super) fn arrive(&mut self) {
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

    /// A request has ended; none of its branches has memory or waits.
    pub(super) fn end(&mut self, request: usize, ending: Ending) {
        let job = &mut self.jobs[request];
        job.ending = Some(ending);
        self.log.figures.end(job, ending, self.settings.slo);
        self.schedule.ended(request, self.log.now());
        (self.on_end)();
    }

    /// Tokens that a branch comes back with: of its prompt and of its answer up to now.
    pub(super) fn length(&self, branch: &Branch) -> usize {
        let generated = usize::try_from(branch.generated).unwrap_or(usize::MAX);
        self.jobs[branch.request].input.saturating_add(generated)
    }

    /// Tokens that a branch still gets.
    pub(super) fn left(&self, branch: &Branch) -> usize {
        let left = self.jobs[branch.request].output - branch.generated;
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// There is no memory now for a branch that could be computed.
    pub(super) fn note_wait(&mut self, head: &Branch) {
        self.log.figures.short_steps += 1;
        let job = &mut self.jobs[head.request];
        if !head.returning && !job.waited {
            job.waited = true;
            self.log.figures.refused_shortfall += 1;
        }
    }

    /// All positions that the request comes to count, whatever it had when it was lost.
    pub(super) fn note_length(&mut self, request: usize) {
        let job = &self.jobs[request];
        let longest = &mut self.log.figures.longest_refused;
        *longest = (*longest).max((job.input as u64).saturating_add(job.output));
    }

    pub(super) fn check_ended(&self) -> Result<(), Failure> {
        let (ended, all) = (self.log.figures.ended(), self.requests.len() as u64);
        if self.log.figures.inconsistency.is_none() && ended != all {
            return Err(Failure::Defect(format!("{ended} of {all} requests ended")));
        }
        Ok(())
    }
}
