//! Chance that depends on the seed and on what is decided, never on when: the same request meets the same fate under every
//! growth policy.

use kvblock::trace::Random;

/// What a draw decides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Whether a request is cancelled.
    Cancel = 1,
    /// Whether that happens in its prefill.
    CancelPhase = 2,
    /// At which point.
    CancelPoint = 3,
    /// Whether a draft is accepted.
    Accept = 4,
    /// When a session starts.
    Start = 5,
    /// Whether a prompt is fetched.
    Fetch = 6,
    /// Whether its transfer is aborted, and how.
    Abort = 7,
    AbortKind = 8,
    /// In which order its parts arrive.
    ArrivalOrder = 9,
    /// When writers answer of what nobody wants.
    Late = 10,
    /// Whether a move is aborted.
    AbortMove = 11,
}

/// A number that this seed gives to this decision on this thing.
pub(crate) fn draw(seed: u64, purpose: Purpose, thing: [u64; 3]) -> u64 {
    thing.into_iter().fold(
        Random::new(seed ^ ((purpose as u64) << 56)).word(),
        |key, part| Random::new(key ^ part).word(),
    )
}

/// A number in `low..high`, or `low` if that is empty.
pub(crate) fn between(word: u64, low: u64, high: u64) -> u64 {
    let span = u128::from(high.saturating_sub(low));
    // Below `span`.
    low + u64::try_from((u128::from(word) * span) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_decision_counts() {
        let one = draw(0, Purpose::Accept, [1, 2, 3]);
        assert_eq!(one, draw(0, Purpose::Accept, [1, 2, 3]));
        for other in [
            draw(1, Purpose::Accept, [1, 2, 3]),
            draw(0, Purpose::Cancel, [1, 2, 3]),
            draw(0, Purpose::Accept, [2, 2, 3]),
            draw(0, Purpose::Accept, [1, 3, 3]),
            draw(0, Purpose::Accept, [1, 2, 4]),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn numbers_between_stay_between() {
        assert_eq!(between(0, 3, 9), 3);
        assert_eq!(between(u64::MAX, 3, 9), 8);
        assert_eq!(between(u64::MAX, 3, 3), 3);
        assert_eq!(between(7, 9, 3), 9);
    }
}
