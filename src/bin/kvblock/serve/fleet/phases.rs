//! Workloads of phases, made from the seed.
//!
//! Long survivors: long requests come first, and some of them are still there when the last of many short ones ends. Where a pool needs
//! contiguous room, what these leave between the survivors is of no use to others; here it must be.

use alloc::vec::Vec;
use core::time::Duration;

use clap::ValueEnum;
use kvblock::trace::{Ids, Listing, Random, Request};

/// Long requests, one in this many of which survives, and what they come to.
const LONG: u64 = 24;
const SURVIVES: u64 = 6;
const LONG_EVERY_MS: u64 = 250;
const LONG_PROMPT: u64 = 3_000;
const LONG_ANSWER: u64 = 400;
const SURVIVORS_ANSWER: u64 = 14_000;
/// Short requests: when they begin to come, how many there are, and what they come to on average.
const SHORT_FROM_MS: u64 = 15_000;
const SHORT: u64 = 3_000;
const SHORT_EVERY_MS: u64 = 25;
const SHORT_PROMPT: u64 = 300;
const SHORT_ANSWER: u64 = 60;

/// A workload of phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phases {
    /// Long requests, some of which stay to the end, then many short ones
    LongSurvivors,
}

impl Phases {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::LongSurvivors => "long survivors",
        }
    }

    /// The requests, by arrival. The same seed gives the same ones on every machine.
    pub(crate) fn requests(self, seed: u64) -> Vec<Request> {
        let mut random = Random::new(seed);
        // From half of it to one and a half.
        let mut about = |mean: u64| mean / 2 + random.below(mean);
        let long = (0..LONG).map(|number| {
            let answer = if number % SURVIVES == 0 {
                SURVIVORS_ANSWER
            } else {
                LONG_ANSWER
            };
            (number * LONG_EVERY_MS, LONG_PROMPT, answer)
        });
        let short = (0..SHORT).map(|number| {
            let at = SHORT_FROM_MS + number * SHORT_EVERY_MS;
            (at, SHORT_PROMPT, SHORT_ANSWER)
        });
        let requests = long.chain(short).map(|(at, prompt, answer)| Request {
            timestamp: Duration::from_millis(at),
            input_length: about(prompt),
            output_length: if answer == SURVIVORS_ANSWER {
                answer
            } else {
                about(answer)
            },
            ids: Ids::new(),
            listing: Listing::Own,
            turn: None,
        });
        requests.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_long_requests_outlast_the_short_ones() {
        let requests = Phases::LongSurvivors.requests(7);
        assert_eq!(requests, Phases::LongSurvivors.requests(7));
        assert_ne!(requests, Phases::LongSurvivors.requests(8));
        assert!(requests.is_sorted_by_key(|request| request.timestamp));
        let survive = |request: &&Request| request.output_length == SURVIVORS_ANSWER;
        assert_eq!(requests.iter().filter(survive).count(), 4);
        assert_eq!(requests.len(), 3_024);
    }
}
