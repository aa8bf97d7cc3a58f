//! Whether two rows of byte ranges at regular distances have a byte in common: exactly, and without looking at each range.
//!
//! Range `i` of the first row begins at `a + i*s` and has `p` bytes, range `j` of the second at `b + j*t` with `q` bytes. They have a byte
//! in common if and only if `j*t` lies in the window from `a - b - q + 1 + i*s` to `a - b + p - 1 + i*s`. So the question is whether any
//! of the windows, which move by `s`, holds one of the multiples `0, t, ..., (m-1)*t`.
//! * Windows that lie before 0 or behind `(m-1)*t` hold none: what is left is a stretch of `i`.
//! * Of those left, one that holds any multiple of `t` holds one of the `m`: if it reaches to a multiple below 0 it also holds 0 itself,
//!   and at the other end in the same way.
//! * Multiples of `t` up to `x` are counted by `floor(x / t)`, and the sum of `floor((x + i*s) / t)` over a stretch of `i` is known to be
//!   found as greatest common divisors are.
//!
//! # Complexity
//! O(log(stride)). No allocation.

/// `count` ranges of `bytes` bytes: at `base`, `base + stride`, and so on. There is at least one, none is empty, and the last one ends
/// within 64 bits. The stride of a single one says nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranges {
    pub(super) base: u64,
    pub(super) stride: u64,
    pub(super) bytes: u64,
    pub(super) count: u64,
}

impl Ranges {
    /// The distance from a range to the next, or anything above 0 if there is no next.
    fn step(&self) -> i128 {
        let step = if self.count > 1 {
            self.stride
        } else {
            self.bytes
        };
        step.max(1).into()
    }

    fn first(&self) -> i128 {
        self.base.into()
    }

    fn end(&self) -> i128 {
        self.first() + i128::from(self.count - 1) * self.step() + i128::from(self.bytes)
    }
}

/// Whether a byte is in a range of both.
pub(super) fn touch(one: &Ranges, other: &Ranges) -> bool {
    if one.end() <= other.first() || other.end() <= one.first() {
        return false;
    }
    let (step, period) = (one.step(), other.step());
    let between = one.first() - other.first();
    // The window of range 0: both ends are in it.
    let low = between - i128::from(other.bytes) + 1;
    let high = between + i128::from(one.bytes) - 1;
    let last_multiple = i128::from(other.count - 1) * period;
    // From the first window that reaches 0 to the last that begins before the last multiple.
    let from = (-high).max(0).div_euclid(step) + i128::from((-high).max(0).rem_euclid(step) > 0);
    let to = (last_multiple - low)
        .div_euclid(step)
        .min(i128::from(one.count - 1));
    if from > to {
        return false;
    }
    // Moved up by whole periods, so that no number is below 0.
    let below = low - 1 + from * step;
    let up = (-below).max(0).div_euclid(period) * period + period;
    let windows = to - from + 1;
    let multiples_to = |end: i128| sum_of_floors(windows, step, end + up, period);
    multiples_to(high + from * step) > multiples_to(below)
}

/// The sum of `floor((start + i*step) / period)` for `i` below `n`. No number is below 0, and the period is above.
///
/// With `n` below 2^25 and the others below 2^67, as here, no number on the way reaches 2^127.
fn sum_of_floors(mut n: i128, mut step: i128, mut start: i128, mut period: i128) -> i128 {
    let mut sum = 0;
    loop {
        sum += n * (n - 1) / 2 * (step / period) + n * (start / period);
        step %= period;
        start %= period;
        let end = step * n + start;
        if end < period {
            return sum;
        }
        // What is left are the points below a line: counted along the other axis.
        n = end / period;
        start = end % period;
        (step, period) = (period, step);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges() -> impl Strategy<Value = Ranges> {
        (0_u64..60, 0_u64..14, 1_u64..8, 1_u64..9).prop_map(|(base, gap, bytes, count)| Ranges {
            base,
            stride: bytes + gap,
            bytes,
            count,
        })
    }

    /// Each range with each.
    fn touch_by_looking(one: &Ranges, other: &Ranges) -> bool {
        let starts = |it: &Ranges| {
            let it = *it;
            (0..it.count).map(move |at| it.base + at * it.stride)
        };
        starts(one).any(|a| {
            let mut others = starts(other);
            others.any(|b| a < b + other.bytes && b < a + one.bytes)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

        #[test]
        fn what_touches_is_found_and_nothing_else(one in ranges(), other in ranges()) {
            let touches = touch_by_looking(&one, &other);
            prop_assert_eq!(touch(&one, &other), touches);
            prop_assert_eq!(touch(&other, &one), touches);
        }

        #[test]
        fn the_sum_is_that_of_each(
            n in 0_i128..40, step in 0_i128..50, start in 0_i128..90, period in 1_i128..40,
        ) {
            let each: i128 = (0..n).map(|i| (start + i * step) / period).sum();
            prop_assert_eq!(sum_of_floors(n, step, start, period), each);
        }
    }

    #[test]
    fn rows_at_the_ends_of_64_bits_are_compared() {
        let count = (1 << 25) - 1;
        let stride = u64::MAX / count;
        let row = |base, bytes, stride| Ranges {
            base,
            stride,
            bytes,
            count,
        };
        let wide = row(0, stride / 2, stride);
        assert!(touch(&wide, &row(1, 1, stride)));
        assert!(!touch(&wide, &row(stride / 2, 1, stride)));
        let one = Ranges {
            base: u64::MAX - 1,
            stride: 0,
            bytes: 1,
            count: 1,
        };
        assert!(touch(&one, &one));
        assert!(!touch(&wide, &one));
    }
}
