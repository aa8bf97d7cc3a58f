//! Prompts to look up and contents to publish, cut into blocks.

use super::namespace::Namespace;
use super::sip::{Secret, Sip, halves};
use crate::error::{Field, LengthMismatch};

/// 128 bits that tell blocks of equal tokens apart: the engine's digest of what else decides their K/V, an image and its offset
/// in the block for instance. Compared exactly, like the tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtraKey(u128);

impl ExtraKey {
    /// Nothing but the tokens decides the block.
    pub const NONE: Self = Self(0);

    /// The key with these bits; zero is [`NONE`](Self::NONE).
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits.
    #[must_use]
    pub const fn get(self) -> u128 {
        self.0
    }

    pub(crate) const fn halves(self) -> [u64; 2] {
        halves(self.0)
    }

    pub(crate) const fn from_halves([low, high]: [u64; 2]) -> Self {
        Self(low as u128 | (high as u128) << 64)
    }
}

/// What a block keeps of its tokens, and so what a hit is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proof {
    /// The tokens themselves, 4 bytes a position: a hit is exact.
    #[default]
    Tokens,
    /// A keyed 128-bit digest of them (SipHash-2-4-128), 16 bytes a block: a hit is as certain as the digest. The caller's
    /// explicit choice, for large blocks or tokens that must not be kept.
    Digest,
}

/// A prompt to look up.
///
/// Whole blocks match; the rest of the prompt is the caller's. At least one position is left to compute, as an engine needs
/// the last one's logits, unless `full_hit` is set.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// Whose blocks may match.
    pub namespace: &'a Namespace,
    /// The tokens, a partial last block included.
    pub tokens: &'a [u32],
    /// One extra key for each whole block, or empty for none.
    pub extra: &'a [ExtraKey],
    /// The engine's own chain key for each whole block, or empty to hash here.
    pub keys: &'a [u64],
    /// Whether all whole blocks may match, even if nothing is left to compute then.
    pub full_hit: bool,
}

impl<'a> Prompt<'a> {
    /// A prompt without extra keys, hashed here, with at least one position left to compute.
    #[must_use]
    pub const fn new(namespace: &'a Namespace, tokens: &'a [u32]) -> Self {
        Self {
            namespace,
            tokens,
            extra: &[],
            keys: &[],
            full_hit: false,
        }
    }

    /// With one extra key for each whole block.
    #[must_use]
    pub const fn extra(mut self, extra: &'a [ExtraKey]) -> Self {
        self.extra = extra;
        self
    }

    /// With the engine's own chain key for each whole block.
    #[must_use]
    pub const fn keys(mut self, keys: &'a [u64]) -> Self {
        self.keys = keys;
        self
    }

    /// Whether all whole blocks may match.
    #[must_use]
    pub const fn full_hit(mut self, full_hit: bool) -> Self {
        self.full_hit = full_hit;
        self
    }

    /// Blocks that may match at most, after the lengths were checked.
    pub(crate) fn matchable(&self, block_size: usize) -> Result<usize, LengthMismatch> {
        let whole = self.tokens.len() / block_size;
        check_lengths(whole, self.extra, self.keys)?;
        Ok(if self.full_hit {
            whole
        } else {
            self.tokens.len().saturating_sub(1) / block_size
        })
    }

    pub(crate) const fn contents(&self) -> Contents<'a> {
        Contents {
            tokens: self.tokens,
            extra: self.extra,
            keys: self.keys,
        }
    }
}

/// What the next unpublished whole blocks of a chain contain, in order.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// `block_size` tokens for each block.
    pub tokens: &'a [u32],
    /// One extra key for each block, or empty for none.
    pub extra: &'a [ExtraKey],
    /// The engine's own chain key for each block, or empty to hash here.
    pub keys: &'a [u64],
}

impl<'a> Contents<'a> {
    /// Tokens without extra keys, hashed here.
    #[must_use]
    pub const fn new(tokens: &'a [u32]) -> Self {
        Self {
            tokens,
            extra: &[],
            keys: &[],
        }
    }

    /// With one extra key for each block.
    #[must_use]
    pub const fn extra(mut self, extra: &'a [ExtraKey]) -> Self {
        self.extra = extra;
        self
    }

    /// With the engine's own chain key for each block.
    #[must_use]
    pub const fn keys(mut self, keys: &'a [u64]) -> Self {
        self.keys = keys;
        self
    }

    /// How many blocks these are, at most `room`.
    pub(crate) fn blocks(&self, block_size: usize, room: usize) -> Result<usize, LengthMismatch> {
        let got = self.tokens.len();
        let whole = got / block_size;
        if whole * block_size != got || whole > room {
            return Err(LengthMismatch {
                what: Field::Tokens,
                expected: whole.min(room) * block_size,
                got,
            });
        }
        check_lengths(whole, self.extra, self.keys)?;
        Ok(whole)
    }

    #[inline]
    pub(crate) fn tokens_of(&self, i: usize, block_size: usize) -> &'a [u32] {
        &self.tokens[i * block_size..][..block_size]
    }

    #[inline]
    pub(crate) fn extra_of(&self, i: usize) -> ExtraKey {
        self.extra.get(i).copied().unwrap_or_default()
    }
}

fn check_lengths(whole: usize, extra: &[ExtraKey], keys: &[u64]) -> Result<(), LengthMismatch> {
    for (what, got) in [(Field::Extra, extra.len()), (Field::Keys, keys.len())] {
        if got != 0 && got != whole {
            return Err(LengthMismatch {
                what,
                expected: whole,
                got,
            });
        }
    }
    Ok(())
}

/// A namespace as one pool knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    digest: [u64; 2],
}

impl Space {
    pub(crate) fn new(namespace: &Namespace, secret: Secret) -> Self {
        Self {
            digest: namespace.digest(secret.for_purpose(2)),
        }
    }

    /// Bits by which `clear` knows a first block of this namespace again.
    pub(crate) const fn tag(self) -> u64 {
        self.digest[0]
    }

    /// The extra key of a first block: stands for the namespace and its own extra key.
    pub(crate) fn first(self, extra: ExtraKey, secret: Secret) -> ExtraKey {
        if extra == ExtraKey::NONE {
            return ExtraKey::from_halves(self.digest);
        }
        let mut sip = Sip::<2, 4>::new_128(secret.for_purpose(3));
        for word in self.digest.into_iter().chain(extra.halves()) {
            sip.word(word);
        }
        ExtraKey::from_halves(sip.finish_tokens_128(&[]))
    }
}

/// What one block is compared by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) extra: ExtraKey,
    pub(crate) evidence: Evidence<'a>,
}

/// Its tokens, or what stands for them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Evidence<'a> {
    /// For [`Proof::Tokens`].
    Tokens(&'a [u32]),
    /// For [`Proof::Digest`].
    Digest([u64; 2]),
}

impl<'a> Identity<'a> {
    #[inline]
    pub(crate) fn new(tokens: &'a [u32], extra: ExtraKey, proof: Proof, secret: Secret) -> Self {
        let evidence = match proof {
            Proof::Tokens => Evidence::Tokens(tokens),
            Proof::Digest => Evidence::Digest(digest(tokens, secret)),
        };
        Self { extra, evidence }
    }
}

#[inline(never)]
fn digest(tokens: &[u32], secret: Secret) -> [u64; 2] {
    Sip::<2, 4>::new_128(secret.for_purpose(4)).finish_tokens_128(tokens)
}
