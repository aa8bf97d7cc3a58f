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
use crate::values::GrowthArg;

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
    /// Requests of several branches that ended before their time in one engine; the others may have some.
    pub(super) cut: Vec<Branch>,
    /// Whether blocks are held for moves, somewhere.
    pub(super) moves_hold: bool,
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
            cut: Vec::new(),
            moves_hold: false,
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
                lost: 0,
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

    /// The first `positions` tokens of a branch: its prompt, and what it has generated.
    pub(super) fn text(&self, branch: &Branch, positions: usize) -> Result<Vec<u32>, Failure> {
        let (index, input) = (branch.request as u64, self.jobs[branch.request].input);
        let mut tokens = Vec::new();
        let whose = (index, branch.seniority.branch);
        let filled = self
            .content
            .fill(&self.requests[branch.request], index, input, &mut tokens)
            .and_then(|()| {
                let generated = positions.saturating_sub(input);
                self.content.answer(whose, 0, generated, &mut tokens)
            });
        filled.map_err(|error| Failure::Input(format!("the tokens of a move: {error}")))?;
        Ok(tokens)
    }

    /// Tokens that a branch still gets.
    pub(super) fn left(&self, branch: &Branch) -> usize {
        let left = self.jobs[branch.request].output - branch.generated;
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Blocks of what a branch comes back with.
    pub(super) fn blocks_at_least(&self, branch: &Branch) -> usize {
        self.length(branch).div_ceil(self.settings.block_size)
    }

    /// The same with what is promised to it.
    pub(super) fn blocks_promised(&self, branch: &Branch) -> usize {
        let (length, left) = (self.length(branch), self.left(branch));
        match self.settings.growth {
            GrowthArg::Cap => length
                .saturating_add(left)
                .div_ceil(self.settings.block_size),
            GrowthArg::Ahead(blocks) => self.blocks_at_least(branch).saturating_add(blocks),
            GrowthArg::OnDemand => self.blocks_at_least(branch),
        }
    }

    /// There is no memory now for a branch that could be computed; true if it waits for the first time.
    pub(super) fn note_wait(&mut self, head: &Branch) -> bool {
        let job = &mut self.jobs[head.request];
        let is_first = !head.returning && !job.waited;
        if is_first {
            job.waited = true;
            self.log.figures.refused_shortfall += 1;
        }
        is_first
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
