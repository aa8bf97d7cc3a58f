//! SipHash over words, with 64 and 128 bits of result.
//!
//! Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012); the 128-bit form is that of the authors' reference
//! implementation. `C` rounds a word, `D` rounds at the end: 1-3 for chain keys, 2-4 for digests that stand for content.

/// A key of 128 bits, as two little-endian words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) [u64; 2]);

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let all = u128::from_le_bytes(bytes);
        Self(halves(all))
    }

    /// A key for another purpose, so that equal inputs of two purposes never give equal outputs by construction.
    pub(crate) const fn for_purpose(self, purpose: u64) -> Self {
        Self([self.0[0] ^ purpose, self.0[1] ^ purpose.rotate_left(32)])
    }
}

/// Low and high half.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the two halves are what is asked for"
)]
pub(crate) const fn halves(value: u128) -> [u64; 2] {
    [value as u64, (value >> 64) as u64]
}

/// The word of a pair of tokens, little-endian.
#[inline]
pub(crate) const fn two_tokens(first: u32, second: u32) -> u64 {
    first as u64 | (second as u64) << 32
}

/// The state of a hash in progress.
pub(crate) struct Sip<const C: usize, const D: usize> {
    v: [u64; 4],
    bytes: u64,
}

impl<const C: usize, const D: usize> Sip<C, D> {
    #[inline]
    pub(crate) const fn new(Secret([k0, k1]): Secret) -> Self {
        Self {
            v: [
                k0 ^ 0x736f_6d65_7073_6575,
                k1 ^ 0x646f_7261_6e64_6f6d,
                k0 ^ 0x6c79_6765_6e65_7261,
                k1 ^ 0x7465_6462_7974_6573,
            ],
            bytes: 0,
        }
    }

    /// A hash that ends in one of the `finish_.._128`.
    #[inline]
    pub(crate) const fn new_128(secret: Secret) -> Self {
        let mut sip = Self::new(secret);
        sip.v[1] ^= 0xee;
        sip
    }

    #[inline(always)]
    const fn rounds(&mut self, n: usize) {
        let [mut a, mut b, mut c, mut d] = self.v;
        let mut i = 0;
        while i < n {
            a = a.wrapping_add(b);
            c = c.wrapping_add(d);
            b = b.rotate_left(13) ^ a;
            d = d.rotate_left(16) ^ c;
            a = a.rotate_left(32);
            c = c.wrapping_add(b);
            a = a.wrapping_add(d);
            b = b.rotate_left(17) ^ c;
            d = d.rotate_left(21) ^ a;
            c = c.rotate_left(32);
            i += 1;
        }
        self.v = [a, b, c, d];
    }

    #[inline(always)]
    const fn compress(&mut self, word: u64) {
        self.v[3] ^= word;
        self.rounds(C);
        self.v[0] ^= word;
    }

    /// Eight more bytes, little-endian. Only before any partial word.
    #[inline]
    pub(crate) const fn word(&mut self, word: u64) {
        self.compress(word);
        self.bytes = self.bytes.wrapping_add(8);
    }

    /// The last, partial word: up to 7 bytes, little-endian in `tail`, and the length of everything.
    #[inline]
    const fn last(&mut self, tail: u64, tail_bytes: u64) {
        let total = self.bytes.wrapping_add(tail_bytes);
        self.compress(tail | total << 56);
    }

    /// All tokens as little-endian `u32`s; whatever is left over goes into the last word.
    #[inline]
    fn tokens(&mut self, tokens: &[u32]) -> (u64, u64) {
        let mut rest = tokens;
        // In straight-line code as far as that goes.
        while let Some(([a, b, c, d, e, f, g, h], others)) = rest.split_first_chunk() {
            for (first, second) in [(a, b), (c, d), (e, f), (g, h)] {
                self.word(two_tokens(*first, *second));
            }
            rest = others;
        }
        let mut pairs = rest.chunks_exact(2);
        for pair in &mut pairs {
            self.word(two_tokens(pair[0], pair[1]));
        }
        match pairs.remainder() {
            [token] => (u64::from(*token), 4),
            _ => (0, 0),
        }
    }

    #[inline]
    pub(crate) fn finish_tokens(mut self, tokens: &[u32]) -> u64 {
        let (tail, bytes) = self.tokens(tokens);
        self.last(tail, bytes);
        self.end_64()
    }

    #[inline]
    pub(crate) fn finish_tokens_128(mut self, tokens: &[u32]) -> [u64; 2] {
        let (tail, bytes) = self.tokens(tokens);
        self.last(tail, bytes);
        self.end_128()
    }

    pub(crate) fn finish_bytes_128(mut self, bytes: &[u8]) -> [u64; 2] {
        let little_endian = |part: &[u8]| {
            part.iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.word(little_endian(word));
        }
        let rest = words.remainder();
        self.last(little_endian(rest), rest.len() as u64);
        self.end_128()
    }

    #[inline]
    const fn end_64(mut self) -> u64 {
        self.v[2] ^= 0xff;
        self.rounds(D);
        self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3]
    }

    #[inline]
    const fn end_128(mut self) -> [u64; 2] {
        self.v[2] ^= 0xee;
        self.rounds(D);
        let low = self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3];
        self.v[1] ^= 0xdd;
        self.rounds(D);
        [low, self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3]]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn reference_key() -> Secret {
        Secret::from_bytes(core::array::from_fn(|i| u8::try_from(i).unwrap()))
    }

    #[test]
    fn siphash_2_4_gives_the_published_vector() {
        // Appendix A of the paper: 15 bytes 00..0e under the key 00..0f.
        let mut sip = Sip::<2, 4>::new(reference_key());
        sip.word(u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]));
        sip.last(u64::from_le_bytes([8, 9, 10, 11, 12, 13, 14, 0]), 7);
        assert_eq!(sip.end_64(), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn siphash_2_4_128_gives_the_vectors_of_the_reference_implementation() {
        let bytes = |hash: [u64; 2]| hash.map(u64::to_le_bytes).concat();
        let empty = Sip::<2, 4>::new_128(reference_key()).finish_bytes_128(&[]);
        assert_eq!(
            bytes(empty),
            [
                0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55,
                0x02, 0x93
            ]
        );
        let one = Sip::<2, 4>::new_128(reference_key()).finish_bytes_128(&[0]);
        assert_eq!(
            bytes(one),
            [
                0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22,
                0xfc, 0x45
            ]
        );
    }

    #[test]
    fn siphash_1_3_agrees_with_the_standard_library() {
        use core::hash::Hasher;
        for n in 0..27_u32 {
            let tokens: alloc::vec::Vec<u32> = (0..n).map(|t| t * 0x0101_0103).collect();
            let mut theirs = std::hash::DefaultHasher::new();
            for token in &tokens {
                theirs.write(&token.to_le_bytes());
            }
            assert_eq!(
                Sip::<1, 3>::new(Secret([0, 0])).finish_tokens(&tokens),
                theirs.finish(),
                "{n} tokens"
            );
        }
    }
}
