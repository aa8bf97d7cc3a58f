//! A request on its way: what it asks for, what fate the seed has for it, and what it has reached.

use kvblock::trace::Request;

use super::draw::{Purpose, between, draw};
use super::fetch::Fate;
use super::step_time::Nanos;
use crate::values::Share;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Completed,
    Cancelled,
    /// Could never be admitted.
    RefusedNever,
    /// Could not grow although it was alone, or could not return because it had grown too long.
    Failed,
}

/// The point at which a request is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancel {
    /// In its first prefill, once this many positions of the prompt are computed.
    Prefill(usize),
    /// Once one of its branches has generated this many tokens.
    Decode(u64),
}

/// One request of the trace.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Tokens of the prompt; an engine has at least one to start from.
    pub(crate) input: usize,
    /// Tokens of the answer; each branch generates that many.
    pub(crate) output: u64,
    pub(crate) cancel: Option<Cancel>,
    /// What becomes of its transfer, if its prompt is fetched.
    pub(crate) fetch: Option<Fate>,
    /// Whether it goes on from an earlier turn of a session.
    pub(crate) is_later_turn: bool,
    /// Branches that it has, and those of them that have not ended.
    pub(crate) branches: u64,
    pub(crate) branches_left: u64,
    pub(crate) arrival: Nanos,
    /// When its first token was known.
    pub(crate) first_token: Option<Nanos>,
    /// The gaps between its tokens: their sum, and how many there are.
    pub(crate) gaps: (Nanos, u64),
    /// Whether it was ever refused for now.
    pub(crate) waited: bool,
    /// Whether its first prefill was done.
    pub(crate) prefilled: bool,
    pub(crate) ending: Option<Ending>,
}

impl Job {
    /// The request at `index` of the trace, cancelled with the probability `cancel`.
    pub(crate) fn new(
        request: &Request,
        index: usize,
        branches: u64,
        (seed, cancel): (u64, Share),
    ) -> Self {
        let input = usize::try_from(request.input_length)
            .unwrap_or(usize::MAX)
            .max(1);
        let output = request.output_length;
        let branches = if output == 0 { 1 } else { branches };
        Self {
            input,
            output,
            cancel: fate(seed, index as u64, cancel, (input, output)),
            fetch: None,
            is_later_turn: false,
            branches,
            branches_left: branches,
            arrival: 0,
            first_token: None,
            gaps: (0, 0),
            waited: false,
            prefilled: false,
            ending: None,
        }
    }

    /// Tokens of the prompt and of all answers.
    pub(crate) const fn asked(&self) -> u64 {
        let answers = self.output.saturating_mul(self.branches);
        (self.input as u64).saturating_add(answers)
    }

    /// From its arrival to its first token, or to the end of time if it has none.
    pub(crate) fn time_to_first_token(&self) -> Nanos {
        self.first_token
            .map_or(Nanos::MAX, |at| at.saturating_sub(self.arrival))
    }

    /// Whether the cancellation finds it now, with so much of the prompt computed and so many tokens generated.
    pub(crate) fn is_cancelled_at(&self, computed: usize, generated: u64) -> bool {
        match self.cancel {
            Some(Cancel::Prefill(point)) => computed >= point,
            Some(Cancel::Decode(point)) => generated >= point,
            None => false,
        }
    }

    /// The mean gap between its tokens, 0 if it has less than two of them.
    pub(crate) const fn mean_gap(&self) -> Nanos {
        match self.gaps {
            (_, 0) => 0,
            (sum, count) => sum / count,
        }
    }
}

/// Half of those that are cancelled are so in their prefill, and half in their decoding; where the answer is too short for
/// that, in the prefill, too.
fn fate(seed: u64, index: u64, share: Share, (input, output): (usize, u64)) -> Option<Cancel> {
    let word = |purpose| draw(seed, purpose, [index, 0, 0]);
    if !share.contains(word(Purpose::Cancel)) {
        return None;
    }
    let point = word(Purpose::CancelPoint);
    Some(if output >= 2 && word(Purpose::CancelPhase) & 1 == 1 {
        Cancel::Decode(between(point, 1, output))
    } else {
        // At most `input`.
        Cancel::Prefill(usize::try_from(between(point, 1, input as u64)).unwrap_or(input))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(cancel: &str) -> impl Iterator<Item = Job> {
        let share = cancel.parse().expect("a share");
        let request = Request {
            input_length: 100,
            output_length: 10,
            ..Request::default()
        };
        (0..1_000).map(move |index| Job::new(&request, index, 1, (0, share)))
    }

    #[test]
    fn half_of_the_cancelled_are_cancelled_in_each_phase() {
        let (mut prefill, mut decode) = (0, 0);
        for job in jobs("50%") {
            match job.cancel {
                Some(Cancel::Prefill(point)) if (1..100).contains(&point) => prefill += 1,
                Some(Cancel::Decode(point)) if (1..10).contains(&point) => decode += 1,
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
        assert!(
            (200..300).contains(&prefill) && (200..300).contains(&decode),
            "{prefill}, {decode}"
        );
        assert!(jobs("0").all(|job| job.cancel.is_none()));
    }

    #[test]
    fn an_empty_prompt_has_one_token() {
        let job = Job::new(&Request::default(), 0, 4, (0, Share::NONE));
        assert_eq!((job.input, job.output, job.branches), (1, 0, 1));
        assert_eq!(job.mean_gap(), 0);
    }
}
