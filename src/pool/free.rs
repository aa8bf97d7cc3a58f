//! Free blocks: a bitmap with summaries.
//!
//! Level 0 has a bit for each block, set while it is free. Each level above has a bit for each word below, set while that word
//! may have a bit set; the top is a single word, so that "nothing is free" is one load whatever the size of the pool.
//!
//! A summary bit is a hint. It is raised by whoever sets the first bit of a word, and lowered only by whoever came for a block
//! and found the word empty. That one lowers it, looks at the word again and raises it anew if something came in between; while
//! it is stopped in the middle, a free block can be out of sight. So whoever holds a credit and finds nothing looks at
//! level 0 itself ([`claim_any`](FreeMap::claim_any)).
//!
//! # Orderings
//! Setting a bit is Release, clearing it Acquire: what the last owner did with the block and its state word happens before
//! what the next does (model `free-then-take`). For the summaries, both sides do a read-modify-write on the summary
//! word: whichever is later sees the other side's write below (model `bitmap-retract-vs-set`).
//!
//! # Complexity
//! Up to 64 ids by one read-modify-write; at most one word a level is looked at on the way to a free one.

use alloc::boxed::Box;

use crate::block::BlockId;
use crate::error::CreateError;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};

/// Neighbours that were free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) first: BlockId,
    pub(crate) len: usize,
}

impl Run {
    #[inline]
    pub(crate) const fn one(block: BlockId) -> Self {
        Self {
            first: block,
            len: 1,
        }
    }

    #[inline]
    pub(crate) fn ids(self) -> impl Iterator<Item = BlockId> {
        let first = self.first.get();
        (first..).take(self.len).map(BlockId::new)
    }
}

/// Most levels: 64^5 is above the most blocks.
const MAX_LEVELS: usize = 5;

/// A set of free ids. `W` bits of each word are used: 64, fewer only to model the summaries.
#[derive(Debug)]
pub(crate) struct FreeMap<const W: usize = 64> {
    /// `levels[0]` are the blocks, the last used one is a single word.
    levels: [Box<[AtomicU64]>; MAX_LEVELS],
    height: usize,
}

impl<const W: usize> FreeMap<W> {
    /// Ids below `size` can be free; those below `free` are.
    pub(crate) fn new(size: usize, free: usize) -> Result<Self, CreateError> {
        let mut levels: [Box<[AtomicU64]>; MAX_LEVELS] = core::array::from_fn(|_| Box::default());
        let (mut size, mut set, mut height) = (size, free, 0);
        loop {
            let words = size.div_ceil(W);
            levels[height] = super::array(words, |w| {
                AtomicU64::new(ones(set.saturating_sub(w * W).min(W)))
            })?;
            height += 1;
            if words == 1 || height == MAX_LEVELS {
                return Ok(Self { levels, height });
            }
            (size, set) = (words, set.div_ceil(W));
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.levels
            .iter()
            .map(|level| size_of_val::<[AtomicU64]>(level))
            .sum()
    }

    /// Number of free ids.
    pub(crate) fn count(&self) -> usize {
        self.levels[0]
            .iter()
            .map(|word| word.load(Relaxed).count_ones() as usize)
            .sum()
    }

    pub(crate) fn contains(&self, block: BlockId) -> bool {
        self.levels[0][block.index() / W].load(Relaxed) >> (block.index() % W) & 1 == 1
    }

    /// The word of level 0 that has this block's bit, and the bit.
    #[inline]
    pub(crate) const fn place(block: BlockId) -> (usize, u64) {
        (block.index() / W, 1 << (block.index() % W))
    }

    /// The bits of a word of level 0 whose ids are below `id`.
    #[inline]
    pub(crate) fn below(word: usize, id: usize) -> u64 {
        ones(id.saturating_sub(word * W).min(W))
    }

    /// Whether all these blocks of a word of level 0 are below `id`; there is one.
    #[inline]
    pub(crate) const fn are_below(word: usize, bits: u64, id: usize) -> bool {
        word * W + 63 - (bits.leading_zeros() as usize) < id
    }

    /// The neighbours, in one word, with which a list begins; its first block is `first`.
    #[inline]
    pub(crate) fn run_at(first: BlockId, blocks: &[BlockId]) -> Run {
        let room = W - first.index() % W;
        let neighbours = blocks.iter().zip(first.get()..).take(room);
        let len = neighbours
            .take_while(|(block, id)| block.get() == *id)
            .count();
        Run { first, len }
    }

    /// The word of level 0 that has the bits of these neighbours, and the bits.
    #[inline]
    pub(crate) const fn place_of(run: Run) -> (usize, u64) {
        let (word, _) = Self::place(run.first);
        (word, ones(run.len) << (run.first.index() % W))
    }

    /// Frees the blocks of one word.
    #[inline]
    pub(crate) fn insert(&self, word: usize, bits: u64) {
        if self.levels[0][word].fetch_or(bits, AcqRel) == 0 {
            self.raise(1, word);
        }
    }

    /// Something came into this word of the level below `level`.
    fn raise(&self, mut level: usize, mut below: usize) {
        while level < self.height
            && self.levels[level][below / W].fetch_or(1 << (below % W), AcqRel) == 0
        {
            below /= W;
            level += 1;
        }
    }

    /// This word of the level below `level` was found empty: says so above, unless something came in.
    #[cold]
    fn lower(&self, level: usize, below: usize) {
        self.levels[level][below / W].fetch_and(!(1 << (below % W)), AcqRel);
        if !crate::sync::mutant("bitmap-no-second-look")
            && self.levels[level - 1][below].load(Acquire) != 0
        {
            self.raise(level, below);
        }
    }

    /// Takes up to `want` ids, lowest first: from word `hint` of level 0 upwards, then from the start. `hint` moves to the word
    /// of the last one.
    #[inline]
    pub(crate) fn claim(&self, hint: &mut usize, want: usize, mut give: impl FnMut(Run)) -> usize {
        let start = *hint;
        let mut got = self.claim_word(start, want, &mut give);
        let mut at = start + 1;
        let mut wrapped = false;
        if got < want && self.levels[self.height - 1][0].load(Acquire) == 0 {
            return got;
        }
        while got < want {
            match self.next_word(at) {
                Some(word) if !wrapped || word < start => {
                    let here = self.claim_word(word, want - got, &mut give);
                    if here > 0 {
                        *hint = word;
                    }
                    got += here;
                    at = word + 1;
                }
                None if !wrapped => (at, wrapped) = (0, true),
                _ => break,
            }
        }
        got
    }

    /// As [`claim`](Self::claim), but believes no summary.
    #[cold]
    pub(crate) fn claim_any(&self, want: usize, mut give: impl FnMut(Run)) -> usize {
        let mut got = 0;
        for word in 0..self.levels[0].len() {
            got += self.claim_word(word, want - got, &mut give);
            if got == want {
                break;
            }
        }
        got
    }

    /// Takes those of these ids of one word that are free, and returns them. Summaries stay: they are hints.
    pub(crate) fn claim_all(&self, word: usize, bits: u64) -> u64 {
        self.levels[0][word].fetch_and(!bits, Acquire) & bits
    }

    /// Takes up to `want` ids of one word.
    #[inline(always)]
    fn claim_word(&self, word: usize, want: usize, give: &mut impl FnMut(Run)) -> usize {
        let Some(cell) = self.levels[0].get(word) else {
            return 0;
        };
        let mut current = cell.load(Relaxed);
        let mut got = 0;
        while current != 0 && got < want {
            let wanted = lowest(current, want - got);
            // Others may have taken some of them meanwhile: what was still set is ours.
            let before = cell.fetch_and(!wanted, Acquire);
            let mut ours = before & wanted;
            while ours != 0 {
                let start = ours.trailing_zeros() as usize;
                let len = (!(ours >> start)).trailing_zeros() as usize;
                give(Run {
                    first: BlockId::from_index(word * W + start),
                    len,
                });
                got += len;
                ours &= !(ones(len) << start);
            }
            current = before & !wanted;
        }
        got
    }

    /// The first word of level 0, from `at` on, of which the summaries say that it has free ids. Corrects those that don't.
    fn next_word(&self, at: usize) -> Option<usize> {
        let mut at = at;
        'again: loop {
            // Up, until a word has a bit at or after the place; then down along the lowest bits.
            let (mut level, mut place) = (0, at);
            let mut bits = if at == 0 && self.height > 1 {
                // From the start: down from the top, which also corrects the first bit of each level.
                level = self.height - 1;
                let top = self.levels[level][0].load(Acquire);
                if top == 0 {
                    return None;
                }
                place = top.trailing_zeros() as usize;
                top
            } else if place < self.levels[0].len() {
                self.levels[0][place].load(Relaxed)
            } else {
                0
            };
            while bits == 0 {
                level += 1;
                if level == self.height {
                    return None;
                }
                let word = place / W;
                if word >= self.levels[level].len() {
                    return None;
                }
                bits = self.levels[level][word].load(Acquire) & !0 << (place % W);
                if bits == 0 {
                    // Nothing from `place` on in this word: on from the next one.
                    place = word + 1;
                } else {
                    place = word * W + bits.trailing_zeros() as usize;
                    break;
                }
            }
            while level > 0 {
                let below = self.levels[level - 1][place].load(Acquire);
                if below == 0 {
                    self.lower(level, place);
                    // The hint was wrong: on from behind the words it stood for.
                    at = (place + 1) * W.pow(u32::try_from(level - 1).unwrap_or(0));
                    continue 'again;
                }
                level -= 1;
                if level > 0 {
                    place = place * W + below.trailing_zeros() as usize;
                }
            }
            return Some(place);
        }
    }

    /// At rest: each non-empty word is announced above. `Err` names the word of level 0 that is not.
    pub(crate) fn audit(&self) -> Result<(), usize> {
        for level in 1..self.height {
            for (below, word) in self.levels[level - 1].iter().enumerate() {
                let announced = self.levels[level][below / W].load(Relaxed) >> (below % W) & 1 == 1;
                if word.load(Relaxed) != 0 && !announced {
                    return Err(below * W.pow(u32::try_from(level - 1).unwrap_or(0)));
                }
            }
        }
        Ok(())
    }
}

/// A word with the `n` lowest bits set.
pub(crate) const fn ones(n: usize) -> u64 {
    if n >= 64 { !0 } else { (1 << n) - 1 }
}

/// The `n` lowest of the set bits, `n >= 1`.
#[inline]
const fn lowest(bits: u64, n: usize) -> u64 {
    if n == 1 {
        return bits & bits.wrapping_neg();
    }
    if n >= bits.count_ones() as usize {
        return bits;
    }
    let mut rest = bits;
    let mut i = 0;
    while i < n {
        rest &= rest - 1;
        i += 1;
    }
    bits & !rest
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// `claim` as its documentation says, over a plain set of ids.
    fn expected(
        free: &mut BTreeSet<usize>,
        width: usize,
        hint: &mut usize,
        want: usize,
    ) -> Vec<usize> {
        let words = free.iter().map(|id| id / width).collect::<BTreeSet<_>>();
        let start = *hint;
        let order = words
            .range(start..)
            .chain(words.range(..start))
            .copied()
            .collect::<Vec<_>>();
        let mut got = Vec::new();
        for word in order {
            for id in word * width..(word + 1) * width {
                if got.len() < want && free.remove(&id) {
                    got.push(id);
                    *hint = word;
                }
            }
        }
        got
    }

    fn agrees<const W: usize>(size: usize, online: usize, calls: &[(u8, usize)]) {
        let map = FreeMap::<W>::new(size, online).unwrap();
        let mut free: BTreeSet<usize> = (0..online).collect();
        let mut taken = Vec::new();
        let (mut hint, mut their_hint) = (0, 0);
        for &(what, n) in calls {
            if what % 2 == 0 {
                let mut got = Vec::new();
                map.claim(&mut hint, n, |run| {
                    got.extend(run.ids().map(BlockId::index))
                });
                assert_eq!(got, expected(&mut free, W, &mut their_hint, n));
                assert_eq!(hint, their_hint);
                taken.extend(got);
            } else {
                for _ in 0..n {
                    if taken.is_empty() {
                        break;
                    }
                    let id = taken.swap_remove(n % taken.len());
                    let (word, bit) = FreeMap::<W>::place(BlockId::from_index(id));
                    map.insert(word, bit);
                    free.insert(id);
                }
            }
            assert_eq!(map.audit(), Ok(()));
            assert_eq!(map.count(), free.len());
        }
    }

    proptest! {
        #[test]
        fn claims_from_the_hint_upwards_then_from_the_start(
            size in 1_usize..600, online in 0_usize..600, calls in proptest::collection::vec((any::<u8>(), 0_usize..90), 0..40),
        ) {
            let online = online.min(size);
            agrees::<64>(size, online, &calls);
            agrees::<4>(size.min(1 << 10), online, &calls);
            agrees::<2>(size.min(1 << 5), online.min(1 << 5), &calls);
        }
    }
}
