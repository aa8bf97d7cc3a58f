//! Chain keys: they choose where the index looks, and are never trusted.

use alloc::sync::Arc;
use core::fmt::Debug;

use super::content::ExtraKey;
use super::sip::{Secret, Sip, halves};

/// Makes a block's chain key from the key of the block before it, its tokens and its extra key.
///
/// A key chooses the bucket of the index and nothing else: what is found there is compared token by token. A poor hasher makes
/// lookups slower, and publishing is declined when too many blocks of one depth have one key; it never makes a wrong hit.
/// It must give equal keys for equal arguments, on every rank that is to act alike.
pub trait BlockHasher: Send + Sync + Debug {
    /// The key of a block. `parent` is `None` for the first block of a prompt, whose `extra` already stands for the namespace.
    fn key(&self, parent: Option<u64>, tokens: &[u32], extra: ExtraKey) -> u64;
}

/// Keyed SipHash-1-3, the default: who doesn't know the key cannot make keys collide.
///
/// Each block is hashed by itself, then joined to its parent's key by a keyed multiplication (both halves of the product, xored, as
/// wyhash does). So the hashes of successive blocks do not wait for each other: about half the time of hashing the parent's key
/// in, measured over 128 blocks. Joining needs no more strength than that: what it joins are pseudo-random already.
#[derive(Clone, Copy, Debug)]
pub struct SipHasher13 {
    blocks: Secret,
    join: Secret,
}

impl SipHasher13 {
    /// A hasher with this key.
    #[must_use]
    pub fn new(key: [u8; 16]) -> Self {
        let secret = Secret::from_bytes(key);
        // Two numbers that are as secret as the key.
        let join = Sip::<2, 4>::new_128(secret.for_purpose(1)).finish_bytes_128(b"join");
        Self {
            blocks: secret,
            join: Secret(join),
        }
    }
}

impl BlockHasher for SipHasher13 {
    #[inline]
    fn key(&self, parent: Option<u64>, tokens: &[u32], extra: ExtraKey) -> u64 {
        let mut sip = Sip::<1, 3>::new(self.blocks);
        if extra != ExtraKey::NONE {
            let [low, high] = extra.halves();
            sip.word(low);
            sip.word(high);
        }
        let block = sip.finish_tokens(tokens);
        let Secret([a, b]) = self.join;
        match parent {
            None => block,
            Some(parent) => {
                let [low, high] = halves(u128::from(block ^ a) * u128::from(parent ^ b));
                low ^ high
            }
        }
    }
}

/// The hasher of a pool: those of this crate need no allocation and no indirect call.
#[derive(Clone, Debug)]
pub(crate) enum Hasher {
    Sip(SipHasher13),
    #[cfg(feature = "xxh3")]
    Xxh3(Xxh3Hasher),
    Given(Arc<dyn BlockHasher>),
}

impl Hasher {
    #[inline]
    pub(crate) fn key(&self, parent: Option<u64>, tokens: &[u32], extra: ExtraKey) -> u64 {
        match self {
            Self::Sip(hasher) => hasher.key(parent, tokens, extra),
            #[cfg(feature = "xxh3")]
            Self::Xxh3(hasher) => hasher.key(parent, tokens, extra),
            Self::Given(hasher) => hasher.key(parent, tokens, extra),
        }
    }
}

/// Gives every block the same key, for tests: correctness must not depend on the hasher.
#[derive(Clone, Copy, Debug)]
pub struct ConstantHasher(
    /// The key of every block.
    pub u64,
);

impl BlockHasher for ConstantHasher {
    fn key(&self, _parent: Option<u64>, _tokens: &[u32], _extra: ExtraKey) -> u64 {
        self.0
    }
}

/// XXH3-64, about four times as fast as the default: for one trusted tenant, since its collisions can be computed.
#[cfg(feature = "xxh3")]
#[derive(Clone, Copy, Debug)]
pub struct Xxh3Hasher {
    seed: u64,
}

#[cfg(feature = "xxh3")]
impl Xxh3Hasher {
    /// A hasher with this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }
}

#[cfg(feature = "xxh3")]
impl BlockHasher for Xxh3Hasher {
    fn key(&self, parent: Option<u64>, tokens: &[u32], extra: ExtraKey) -> u64 {
        use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};
        const CHUNK: usize = 64;
        let [low, high] = extra.halves();
        // A first block and a later one whose parent's key is 0 start differently.
        let seed = match parent {
            None => self.seed,
            Some(parent) => {
                self.seed
                    ^ parent
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                        .wrapping_add(0x2545_f491_4f6c_dd1d)
            }
        } ^ low
            ^ high.rotate_left(17);
        let mut bytes = [[0; 4]; CHUNK];
        let mut fill = |tokens: &[u32]| {
            for (to, token) in bytes.iter_mut().zip(tokens) {
                *to = token.to_le_bytes();
            }
            bytes
        };
        if tokens.len() <= CHUNK {
            return xxh3_64_with_seed(&fill(tokens).as_flattened()[..tokens.len() * 4], seed);
        }
        let mut hash = Xxh3::with_seed(seed);
        for chunk in tokens.chunks(CHUNK) {
            hash.update(&fill(chunk).as_flattened()[..chunk.len() * 4]);
        }
        hash.digest()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn every_argument_counts(hasher: &dyn BlockHasher) {
        let key = |parent, tokens: &[u32], extra| hasher.key(parent, tokens, ExtraKey::new(extra));
        let keys = [
            key(None, &[1, 2, 3], 0),
            key(Some(0), &[1, 2, 3], 0),
            key(Some(1), &[1, 2, 3], 0),
            key(None, &[1, 2, 4], 0),
            key(None, &[2, 1, 3], 0),
            key(None, &[1, 2, 3], 1),
            key(None, &[1, 2, 3], 1 << 64),
        ];
        for (i, a) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(a), "key {i} of {hasher:?}");
        }
        assert_eq!(key(Some(7), &[1, 2, 3], 9), key(Some(7), &[1, 2, 3], 9));
    }

    #[test]
    fn every_argument_of_siphash_counts() {
        every_argument_counts(&SipHasher13::new([7; 16]));
    }

    #[cfg(feature = "xxh3")]
    #[test]
    fn every_argument_of_xxh3_counts() {
        every_argument_counts(&Xxh3Hasher::new(7));
        let long: alloc::vec::Vec<u32> = (0..200).collect();
        let mut other = long.clone();
        other[199] = 7;
        let hasher = Xxh3Hasher::new(7);
        assert_ne!(
            hasher.key(None, &long, ExtraKey::NONE),
            hasher.key(None, &other, ExtraKey::NONE)
        );
    }
}
