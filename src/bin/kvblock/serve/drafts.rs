//! Drafts: how many of the positions that were appended on a guess are accepted.

use super::draw::{Purpose, draw};
use crate::values::Share;

/// A draft model that guesses this many tokens a step, each right with this probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drafts {
    pub(crate) per_step: usize,
    pub(crate) accept: Share,
    pub(crate) seed: u64,
}

impl Drafts {
    /// How many drafts are worth a try with so many tokens left: the step gives one token without any.
    pub(crate) fn wanted(&self, left: u64) -> usize {
        let useful = usize::try_from(left.saturating_sub(1)).unwrap_or(usize::MAX);
        self.per_step.min(useful)
    }

    /// How many of `tried` drafts are accepted: all before the first that is wrong. `generated` tokens came before them.
    pub(crate) fn accepted(
        &self,
        (request, branch): (u64, u64),
        generated: u64,
        tried: usize,
    ) -> usize {
        (generated..)
            .take(tried)
            .take_while(|at| {
                let word = draw(self.seed, Purpose::Accept, [request, branch, *at]);
                self.accept.contains(word)
            })
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drafts(accept: &str) -> Drafts {
        Drafts {
            per_step: 4,
            accept: accept.parse().expect("a share"),
            seed: 0,
        }
    }

    #[test]
    fn drafts_past_the_last_token_are_not_tried() {
        let drafts = drafts("1");
        assert_eq!([0, 1, 2, 9].map(|left| drafts.wanted(left)), [0, 0, 1, 4]);
    }

    #[test]
    fn all_before_the_first_wrong_one_are_accepted() {
        assert_eq!(drafts("1").accepted((0, 0), 0, 4), 4);
        assert_eq!(drafts("0").accepted((0, 0), 0, 4), 0);
        let mean: usize = (0..1_000)
            .map(|request| drafts("70%").accepted((request, 0), 0, 4))
            .sum();
        // 0.7 + 0.49 + 0.343 + 0.2401
        assert!((1_700..1_850).contains(&mean), "{mean} of 1,000");
    }
}
