//! One request of a trace: its time, its lengths and the ids that say which content it shares with others.
//!
//! Ids are kept as runs of consecutive numbers, so that a request takes memory in proportion to its text in the trace,
//! whatever counts that text claims.

use alloc::vec::Vec;
use core::time::Duration;

use super::error::Reason;

/// One request of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// When it arrived, from the trace's own zero (in Azure traces: 1970), or from the start of its session.
    pub timestamp: Duration,
    /// Its prompt, in tokens.
    pub input_length: u64,
    /// Its answer, in tokens.
    pub output_length: u64,
    /// The ids of its prompt, in order: equal ids stand for equal content with equal content before it.
    pub ids: Ids,
    /// How the row gives its content.
    pub listing: Listing,
    /// Its place in an agent session, where the format has sessions.
    pub turn: Option<Turn>,
}

/// What a row says of the session that its request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    /// The session's number. Nothing says when a session begins: they are independent of each other.
    pub session: u32,
    /// 0 for the session's main agent, other numbers for its sub-agents.
    pub agent: u32,
    /// Why the answer ended; `None` if that was not recorded.
    pub stop: Option<Stop>,
    /// How long the answer took, or until its first token where only that is known; `None` if neither was recorded.
    pub api_time: Option<Duration>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stop {
    /// A tool is called; the next request brings its result.
    ToolUse,
    /// The answer is complete; the next request brings the user's next message.
    EndTurn,
}

/// How a row says what its prompt consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Listing {
    /// A list of ids, one by one (`hash_ids`).
    HashIds,
    /// Runs of consecutive ids (`runs`).
    Runs,
    /// Runs of consecutive ids that are local to a session. The session is part of a request's ids.
    SessionRuns,
    /// Not at all: nothing is known of the prompt but its length.
    #[default]
    Missing,
    /// The format has no ids: each prompt has a content that no other has.
    Own,
}

impl Listing {
    /// How many tokens one id stands for where the user names no number: 512 for `hash_ids`, 16 for `runs` and for
    /// contents of their own, 64 for the runs of sessions, and `None` where the row does not tell.
    #[must_use]
    pub const fn usual_id_tokens(self) -> Option<usize> {
        match self {
            Self::HashIds => Some(512),
            Self::Runs | Self::Own => Some(16),
            Self::SessionRuns => Some(64),
            Self::Missing => None,
        }
    }
}

/// The ids `first`, `first + 1`, and so on, `count` of them; never empty, and the last one is a `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    first: u64,
    count: usize,
}

impl Run {
    /// The first id.
    #[must_use]
    pub const fn first(self) -> u64 {
        self.first
    }

    /// How many ids, at least 1.
    #[must_use]
    pub const fn count(self) -> usize {
        self.count
    }

    /// The last id.
    #[must_use]
    pub const fn last(self) -> u64 {
        self.first + (self.count as u64 - 1)
    }
}

/// A list of ids, stored as runs. At most [`Ids::MAX`] of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    runs: Vec<Run>,
    len: usize,
}

impl Ids {
    /// The largest number of ids in one request: 2^22.
    pub const MAX: usize = 1 << 22;

    /// No ids. Allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            runs: Vec::new(),
            len: 0,
        }
    }

    /// How many ids.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The runs, in order; two neighbours never continue each other.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The ids one by one, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| run.first..=run.last())
    }

    /// Appends `count` consecutive ids from `first` on. None is fine and changes nothing.
    ///
    /// # Errors
    /// [`Reason::RunOverflows`] if the last id would not be a `u64`; [`Reason::TooManyIds`] past [`Ids::MAX`].
    /// The list is then unchanged.
    pub fn push_run(&mut self, first: u64, count: u64) -> Result<(), Reason> {
        let Some(steps) = count.checked_sub(1) else {
            return Ok(());
        };
        if first.checked_add(steps).is_none() {
            return Err(Reason::RunOverflows { first, count });
        }
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count <= Self::MAX - self.len)
            .ok_or(Reason::TooManyIds { max: Self::MAX })?;
        match self.runs.last_mut() {
            Some(last) if last.last().checked_add(1) == Some(first) => last.count += count,
            _ => self.runs.push(Run { first, count }),
        }
        self.len += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn consecutive_ids_become_one_run() {
        let mut ids = Ids::new();
        for id in [7, 8, 9, 3, 4, 9] {
            ids.push_run(id, 1).unwrap();
        }
        assert_eq!(ids.len(), 6);
        assert_eq!(ids.runs().len(), 3);
        assert_eq!(ids.iter().collect::<Vec<_>>(), vec![7, 8, 9, 3, 4, 9]);
    }

    #[test]
    fn a_run_past_the_largest_id_is_refused_and_changes_nothing() {
        let mut ids = Ids::new();
        ids.push_run(u64::MAX - 1, 2).unwrap();
        assert_eq!(
            ids.push_run(u64::MAX, 2),
            Err(Reason::RunOverflows {
                first: u64::MAX,
                count: 2
            })
        );
        assert_eq!(
            ids.push_run(5, u64::MAX),
            Err(Reason::RunOverflows {
                first: 5,
                count: u64::MAX
            })
        );
        assert_eq!(
            ids.push_run(0, u64::MAX),
            Err(Reason::TooManyIds { max: Ids::MAX })
        );
        assert_eq!(ids.iter().collect::<Vec<_>>(), vec![u64::MAX - 1, u64::MAX]);
    }

    #[test]
    fn the_cap_on_ids_holds_over_several_runs() {
        let mut ids = Ids::new();
        ids.push_run(0, Ids::MAX as u64).unwrap();
        ids.push_run(9, 0).unwrap();
        assert_eq!(
            ids.push_run(9, 1),
            Err(Reason::TooManyIds { max: Ids::MAX })
        );
        assert_eq!(ids.len(), Ids::MAX);
    }
}
