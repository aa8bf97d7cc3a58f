//! Samples of a quantity and their percentiles.

use std::collections::HashMap;

use alloc::vec::Vec;

use serde::Serialize;

/// Samples, counted by value: all sequences of a step see the same gap, so there are few values for many samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    counts: HashMap<u64, u64>,
    len: u64,
}

impl Samples {
    pub(crate) fn add(&mut self, value: u64) {
        *self.counts.entry(value).or_default() += 1;
        self.len += 1;
    }

    /// The values that 50, 95 and 99 of a hundred samples do not exceed, and the largest; 0 if there are none.
    pub(crate) fn percentiles(&self) -> Percentiles<u64> {
        let mut sorted: Vec<_> = self.counts.iter().map(|(value, n)| (*value, *n)).collect();
        sorted.sort_unstable();
        let at = |percent: u64| {
            // The smallest value with at least this share of the samples up to it.
            let rank = (self.len * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let found = sorted.iter().find(|(_, n)| {
                seen += n;
                seen >= rank
            });
            found.map_or(0, |(value, _)| *value)
        };
        Percentiles {
            p50: at(50),
            p95: at(95),
            p99: at(99),
            max: sorted.last().map_or(0, |(value, _)| *value),
        }
    }
}

/// Percentiles of some samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Percentiles<T> {
    pub(crate) p50: T,
    pub(crate) p95: T,
    pub(crate) p99: T,
    pub(crate) max: T,
}

impl Percentiles<u64> {
    /// Nanoseconds as milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub(crate) fn in_ms(self) -> Percentiles<f64> {
        let ms = |nanos: u64| nanos as f64 / 1e6;
        Percentiles {
            p50: ms(self.p50),
            p95: ms(self.p95),
            p99: ms(self.p99),
            max: ms(self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let mut samples = Samples::default();
        for value in (1..=200).rev() {
            samples.add(value);
        }
        let found = samples.percentiles();
        assert_eq!(
            (found.p50, found.p95, found.p99, found.max),
            (100, 190, 198, 200)
        );
    }

    #[test]
    fn few_samples_and_none() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentiles().max, 0);
        samples.add(7);
        let found = samples.percentiles();
        assert_eq!((found.p50, found.p99, found.max), (7, 7, 7));
    }
}
