//! Deterministic mixing of numbers: everything that is made from a seed comes from here.

/// The finaliser of `SplitMix64`, a bijection of 64-bit numbers that keeps 0 (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, OOPSLA 2014).
pub(super) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A bijection of 32-bit numbers that keeps 0 (C. Wellons, hash prospector, "lowbias32").
pub(super) const fn mix_32(value: u32) -> u32 {
    let value = (value ^ (value >> 16)).wrapping_mul(0x7feb_352d);
    let value = (value ^ (value >> 15)).wrapping_mul(0x846c_a68b);
    value ^ (value >> 16)
}

/// A stream of random numbers (`SplitMix64`): the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, any of 64 bits.
    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..bound`; `bound` is at most 2^32 (0 gives 0).
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.word() >> 32) * bound) >> 32
    }

    /// A number with the mean `mean`, most of them small and some several times larger: the product of two uniform
    /// numbers, each with a mean of 1.
    pub const fn skewed(&mut self, mean: u64) -> u64 {
        let (first, second) = (self.below(2048), self.below(2048));
        (first * second * mean) >> 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skewed_numbers_have_their_mean_and_a_tail() {
        let mut random = Random::new(1);
        let (mut sum, mut largest) = (0, 0);
        for _ in 0..100_000 {
            let value = random.skewed(200);
            sum += value;
            largest = largest.max(value);
        }
        assert!(
            (190..210).contains(&(sum / 100_000)),
            "mean {}",
            sum / 100_000
        );
        assert!((700..=800).contains(&largest), "largest {largest}");
    }
}
