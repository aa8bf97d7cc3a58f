//! The requests that wait: the oldest first, wherever they come from.

use alloc::collections::{BTreeMap, TryReserveError};
use alloc::vec::Vec;

use kvblock::trace::{Content, Request};

use super::job::Job;
use super::step_time::Nanos;

/// Who is older: by arrival, and branches of one request by their number. Memory is never taken from the older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seniority {
    pub(crate) arrived: u64,
    pub(crate) branch: u64,
}

/// One branch of a request; it keeps what it has generated when it loses its memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub(crate) seniority: Seniority,
    /// The request's place in the trace.
    pub(crate) request: usize,
    /// Tokens generated so far.
    pub(crate) generated: u64,
    pub(crate) last_token: Option<Nanos>,
    /// Whether the request was admitted before.
    pub(crate) returning: bool,
    /// Whether it could not be made by a fork, and is admitted for the first time.
    pub(crate) joins: bool,
    /// Positions that were computed when it lost its memory: those of them that are not found are computed again.
    pub(crate) lost: usize,
}

/// What a memory looked like to an admission: as long as neither count grows, it is refused again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prospects {
    pub(crate) engine: usize,
    pub(crate) changes: u64,
    pub(crate) available: usize,
}

/// What waits, and the prompt of the one that is next.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: BTreeMap<Seniority, Branch>,
    /// What the memories looked like that refused the head; empty if none did.
    pub(crate) refused_at: Vec<Prospects>,
    /// Whose prompt `prompt` is, and with how many generated tokens.
    prompt_of: Option<(Seniority, u64)>,
    prompt: Vec<u32>,
}

impl Queue {
    /// Lets a branch wait. One that lost its memory is older than all that never had any, and so comes first.
    pub(crate) fn push(&mut self, branch: Branch) {
        if self
            .head()
            .is_some_and(|head| branch.seniority < head.seniority)
        {
            self.refused_at.clear();
        }
        self.waiting.insert(branch.seniority, branch);
    }

    /// Whether these memories, all that there are, have refused the head, and would again.
    pub(crate) fn is_hopeless(&self, now: &[Prospects]) -> bool {
        let same = |(then, now): (&Prospects, &Prospects)| {
            then.engine == now.engine
                && then.changes == now.changes
                && now.available <= then.available
        };
        now.len() == self.refused_at.len() && self.refused_at.iter().zip(now).all(same)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn head(&self) -> Option<Branch> {
        self.waiting.first_key_value().map(|(_, branch)| *branch)
    }

    pub(crate) fn pop(&mut self) -> Option<Branch> {
        self.refused_at.clear();
        self.waiting.pop_first().map(|(_, branch)| branch)
    }

    /// Forgets all branches of a request.
    pub(crate) fn remove_request(&mut self, arrived: u64) {
        self.refused_at.clear();
        let branches = |branch| Seniority { arrived, branch };
        let found: Vec<_> = self
            .waiting
            .range(branches(0)..=branches(u64::MAX))
            .map(|(seniority, _)| *seniority)
            .collect();
        for seniority in found {
            self.waiting.remove(&seniority);
        }
    }

    /// The prompt of `branch`: that of its request and what it generated. It is made once, however often its admission is
    /// tried, and always in the same memory.
    pub(crate) fn prompt(
        &mut self,
        branch: &Branch,
        (request, job): (&Request, &Job),
        content: &Content,
    ) -> Result<&[u32], TryReserveError> {
        let wanted = (branch.seniority, branch.generated);
        if self.prompt_of != Some(wanted) {
            self.prompt_of = None;
            let index = branch.request as u64;
            content.fill(request, index, job.input, &mut self.prompt)?;
            let whose = (index, branch.seniority.branch);
            let generated = usize::try_from(branch.generated).unwrap_or(usize::MAX);
            content.answer(whose, 0, generated, &mut self.prompt)?;
            self.prompt_of = Some(wanted);
        }
        Ok(&self.prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Share;

    fn branch(arrived: u64, branch: u64) -> Branch {
        Branch {
            seniority: Seniority { arrived, branch },
            request: usize::try_from(arrived).expect("a small number"),
            generated: 0,
            last_token: None,
            returning: false,
            joins: false,
            lost: 0,
        }
    }

    #[test]
    fn the_oldest_is_first_wherever_it_comes_from() {
        let mut queue = Queue::default();
        for (arrived, number) in [(3, 0), (4, 0), (1, 1), (1, 0), (2, 0)] {
            queue.push(branch(arrived, number));
        }
        queue.remove_request(2);
        let order: Vec<_> = core::iter::from_fn(|| queue.pop())
            .map(|branch| (branch.seniority.arrived, branch.seniority.branch))
            .collect();
        assert_eq!(order, [(1, 0), (1, 1), (3, 0), (4, 0)]);
    }

    #[test]
    fn a_prompt_ends_with_what_was_generated() {
        let content = Content::new(0, 4, 1);
        let request = Request {
            input_length: 5,
            output_length: 9,
            ..Request::default()
        };
        let job = Job::new(&request, 0, 1, (0, Share::NONE));
        let mut queue = Queue::default();
        let mut waits = branch(0, 0);
        let first = queue
            .prompt(&waits, (&request, &job), &content)
            .expect("memory")
            .to_vec();
        assert_eq!(first.len(), 5);
        waits.generated = 2;
        let later = queue
            .prompt(&waits, (&request, &job), &content)
            .expect("memory");
        assert_eq!((later.len(), &later[..5]), (7, &first[..]));
    }
}
