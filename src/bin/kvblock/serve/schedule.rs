//! When requests arrive: at the times of the trace, or when the request before them in their session allows it.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use kvblock::trace::Request;

use super::sessions::Sessions;
use super::step_time::Nanos;

/// The arrivals to come. Those of one instant come in the order of the trace.
#[derive(Debug)]
pub(crate) struct Schedule {
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
    sessions: Option<Sessions>,
}

impl Schedule {
    /// Every request at its time stamp, counted from the first one.
    pub(crate) fn by_timestamp(requests: &[Request]) -> Self {
        let first = requests
            .iter()
            .map(|request| request.timestamp)
            .min()
            .unwrap_or_default();
        let due = (0..).zip(requests).map(|(index, request)| {
            Reverse((nanos(request.timestamp.saturating_sub(first)), index))
        });
        Self {
            due: due.collect(),
            sessions: None,
        }
    }

    /// Whole sessions, some at a time.
    pub(crate) fn by_session(sessions: Sessions) -> Self {
        let mut schedule = Self {
            due: BinaryHeap::new(),
            sessions: Some(sessions),
        };
        schedule.with_sessions(Sessions::begin);
        schedule
    }

    /// The time of the next arrival that is known.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The next request that has arrived by now, and when it did.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<(Nanos, usize)> {
        self.next_at().filter(|at| *at <= now)?;
        self.due.pop().map(|Reverse(arrival)| arrival)
    }

    /// The turn that goes on from a request, if it is one of a session.
    pub(crate) fn next_turn(&self, request: usize) -> Option<usize> {
        self.sessions.as_ref()?.next_turn(request)
    }

    /// A request ended, however it did; what waited for it may arrive.
    pub(crate) fn ended(&mut self, request: usize, now: Nanos) {
        self.with_sessions(|sessions, arrive| sessions.ended(request, now, arrive));
    }

    fn with_sessions(&mut self, act: impl FnOnce(&mut Sessions, &mut dyn FnMut(Nanos, usize))) {
        if let Some(sessions) = &mut self.sessions {
            let due = &mut self.due;
            act(sessions, &mut |at, request| {
                due.push(Reverse((at, request)))
            });
        }
    }
}

pub(crate) fn nanos(duration: core::time::Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn arrivals_come_by_time_and_then_by_place() {
        let requests: alloc::vec::Vec<_> = [30, 10, 20, 10]
            .map(|ms| Request {
                timestamp: Duration::from_millis(ms),
                ..Request::default()
            })
            .into();
        let mut schedule = Schedule::by_timestamp(&requests);
        assert_eq!(schedule.next_at(), Some(0));
        assert_eq!(schedule.pop(0), Some((0, 1)));
        assert_eq!(schedule.pop(0), Some((0, 3)));
        assert_eq!(schedule.pop(9_999_999), None);
        assert_eq!(schedule.pop(u64::MAX), Some((10_000_000, 2)));
        assert_eq!(schedule.pop(u64::MAX), Some((20_000_000, 0)));
        assert_eq!(schedule.next_at(), None);
    }
}
