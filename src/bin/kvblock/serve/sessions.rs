//! Whole sessions: some run at a time, each with its own pace.
//!
//! A session's requests come at their own times, counted from its start, but none before the one before it of the same agent
//! has ended. The next session starts when one has ended.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::draw::{Purpose, between, draw};
use super::step_time::Nanos;

/// The first sessions start within this time.
const STAGGER: Nanos = 60_000_000_000;

/// A request's place in its session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) session: u64,
    pub(crate) agent: u64,
    /// When it comes, from the start of the session.
    pub(crate) at: Nanos,
}

/// The sessions of a trace, in the order of their first requests.
#[derive(Debug)]
pub(crate) struct Sessions {
    sessions: Vec<Session>,
    /// For each request: its session, and the next request of the same agent.
    requests: Vec<(usize, Option<usize>)>,
    times: Vec<Nanos>,
    /// The session that starts next.
    next: usize,
    at_once: usize,
    seed: u64,
}

#[derive(Debug, Default)]
struct Session {
    /// Each agent's first request.
    firsts: Vec<usize>,
    /// Requests that have not ended.
    left: usize,
    start: Nanos,
}

impl Sessions {
    /// `at_once` sessions run at a time, and the first ones start at moments that the seed gives.
    pub(crate) fn new(places: &[Place], at_once: usize, seed: u64) -> Self {
        let mut sessions: Vec<Session> = Vec::new();
        let mut numbers = BTreeMap::new();
        let mut last_of = BTreeMap::new();
        let mut requests: Vec<(usize, Option<usize>)> = Vec::with_capacity(places.len());
        for (index, place) in places.iter().enumerate() {
            let number = *numbers.entry(place.session).or_insert_with(|| {
                sessions.push(Session::default());
                sessions.len() - 1
            });
            sessions[number].left += 1;
            match last_of.insert((place.session, place.agent), index) {
                None => sessions[number].firsts.push(index),
                Some(before) => requests[before].1 = Some(index),
            }
            requests.push((number, None));
        }
        Self {
            sessions,
            requests,
            times: places.iter().map(|place| place.at).collect(),
            next: 0,
            at_once,
            seed,
        }
    }

    /// Starts the first sessions.
    pub(crate) fn begin(&mut self, arrive: &mut dyn FnMut(Nanos, usize)) {
        for number in 0..self.at_once.min(self.sessions.len()) {
            let word = draw(self.seed, Purpose::Start, [number as u64, 0, 0]);
            self.start(between(word, 0, STAGGER), arrive);
        }
    }

    /// A request ended: the agent's next one may come, or the next session may start.
    pub(crate) fn ended(
        &mut self,
        request: usize,
        now: Nanos,
        arrive: &mut dyn FnMut(Nanos, usize),
    ) {
        let (number, next) = self.requests[request];
        let session = &mut self.sessions[number];
        session.left -= 1;
        if let Some(next) = next {
            arrive(
                session.start.saturating_add(self.times[next]).max(now),
                next,
            );
        }
        if session.left == 0 {
            self.start(now, arrive);
        }
    }

    /// The next request of the same agent.
    pub(crate) fn next_turn(&self, request: usize) -> Option<usize> {
        self.requests[request].1
    }

    fn start(&mut self, now: Nanos, arrive: &mut dyn FnMut(Nanos, usize)) {
        let Some(session) = self.sessions.get_mut(self.next) else {
            return;
        };
        self.next += 1;
        session.start = now;
        for first in &session.firsts {
            arrive(now.saturating_add(self.times[*first]), *first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(session: u64, agent: u64, at: Nanos) -> Place {
        Place { session, agent, at }
    }

    #[test]
    fn a_request_waits_for_its_time_and_for_the_one_before_it() {
        let places = [
            place(7, 0, 0),
            place(7, 0, 10),
            place(7, 1, 5),
            place(9, 0, 3),
            place(7, 1, 90),
        ];
        let mut sessions = Sessions::new(&places, 1, 0);
        let mut arrivals = Vec::new();
        sessions.begin(&mut |at, request| arrivals.push((at, request)));
        let start = arrivals[0].0;
        assert_eq!(arrivals, [(start, 0), (start + 5, 2)], "both agents");

        let mut end = |request, now| {
            let mut arrivals = Vec::new();
            sessions.ended(request, start + now, &mut |at, request| {
                arrivals.push((at - start, request));
            });
            arrivals
        };
        assert_eq!(end(0, 50), [(50, 1)], "late: at once");
        assert_eq!(end(2, 60), [(90, 4)], "early: at its time");
        assert_eq!(end(1, 70), []);
        assert_eq!(end(4, 100), [(103, 3)], "the next session");
        assert_eq!(end(3, 110), []);
    }
}
