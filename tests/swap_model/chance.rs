//! Chance, what texts come to, and what has happened.

use std::collections::BTreeMap;

/// A small generator: the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
    /// Below `n`.
    pub(crate) fn token(&mut self, n: u32) -> u32 {
        u32::try_from(self.next() % u64::from(n)).unwrap()
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// What each position of a text comes to: it depends on all before it, as K/V does, and on the namespace.
pub(crate) fn contents(space: u64, tokens: &[u32]) -> impl Iterator<Item = u64> {
    tokens.iter().scan(1 + space, |before, &token| {
        *before = mix(*before ^ u64::from(token) << 20);
        Some(*before >> 1)
    })
}

/// How often each thing has happened.
#[derive(Default)]
pub(crate) struct Saw(BTreeMap<&'static str, u64>);

impl Saw {
    const WHAT: [&'static str; 24] = [
        "swapped out",
        "swapped in",
        "found and not copied",
        "a destination that is full",
        "a copy pending into it",
        "the same owner",
        "on its way already",
        "not copied yet",
        "aborted before the copy",
        "aborted amid the copy",
        "aborted after the copy",
        "dropped amid the copy",
        "source released",
        "destination released",
        "a namespace cleared",
        "a tier resized",
        "detached and attached",
        "duplicates adopted",
        "released after a fence",
        "answered for by somebody else",
        "content that turned out bad",
        "not finished, as content was bad",
        "renewed",
        "looked ahead",
    ];

    pub(crate) fn note(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
    pub(crate) fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Self::WHAT
            .map(|it| (it, self.0.get(it).copied().unwrap_or(0)))
            .into_iter()
    }
}
