//! The virtual clock and how long a step takes on it.

use alloc::format;
use alloc::string::String;

use crate::values::in_words;

/// Virtual time in nanoseconds, from the first arrival on.
pub(crate) type Nanos = u64;

/// A step's time: a part that is always there, one for each token that is computed, and one for each entry in the block
/// tables of the running sequences, whose K/V attention reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepTime {
    pub(crate) fixed: Nanos,
    pub(crate) per_token: Nanos,
    pub(crate) per_context_block: Nanos,
}

impl StepTime {
    pub(crate) const USUAL: Self = Self {
        fixed: 5_000_000,
        per_token: 20_000,
        per_context_block: 10,
    };

    /// How long a step over so many tokens and table entries takes.
    pub(crate) const fn of(self, tokens: u64, entries: u64) -> Nanos {
        self.fixed
            .saturating_add(self.per_token.saturating_mul(tokens))
            .saturating_add(self.per_context_block.saturating_mul(entries))
    }

    pub(crate) fn text(self) -> String {
        format!(
            "{},{},{}",
            in_words(self.fixed),
            in_words(self.per_token),
            in_words(self.per_context_block)
        )
    }
}

/// The virtual clock: it only moves forward, by jumps to the end of a step or to the next arrival.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    now: Nanos,
    /// What steps took of it, all engines' together.
    busy: Nanos,
}

impl Clock {
    pub(crate) const fn now(&self) -> Nanos {
        self.now
    }

    pub(crate) const fn busy(&self) -> Nanos {
        self.busy
    }

    /// A step takes this long; its end is still to come.
    pub(crate) const fn work(&mut self, took: Nanos) {
        self.busy = self.busy.saturating_add(took);
    }

    /// The next thing happens then.
    pub(crate) fn jump(&mut self, to: Nanos) {
        self.now = self.now.max(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_its_three_parts() {
        assert_eq!(StepTime::USUAL.of(0, 0), 5_000_000);
        assert_eq!(
            StepTime::USUAL.of(2_048, 8_192),
            5_000_000 + 40_960_000 + 81_920
        );
        assert_eq!(StepTime::USUAL.of(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(StepTime::USUAL.text(), "5ms,20us,10ns");
    }

    #[test]
    fn the_clock_never_goes_back() {
        let mut clock = Clock::default();
        clock.work(7);
        clock.jump(7);
        clock.jump(5);
        assert_eq!((clock.now(), clock.busy()), (7, 7));
        clock.jump(9);
        assert_eq!((clock.now(), clock.busy()), (9, 7));
    }
}
