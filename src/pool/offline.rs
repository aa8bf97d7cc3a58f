//! Blocks that are offline: a bitmap.
//!
//! A set bit says that the block is not in service: nobody holds it, it is not published, not in the bitmap of free blocks, and no
//! credit stands for it. So a block is in service exactly if its bit is off. Who turns a bit off has the block alone, and brings it
//! into service; as it is one read-modify-write that shows which bits it turned off, that happens once (`elastic.rs` says who).
//!
//! # Orderings
//! Setting a bit is Release, clearing it Acquire: what the last owner did with the block and its state word happens before
//! what the next does (models `grow_vs_retire`, `shrink_vs_release`). Each is both, so that of two threads the later one also sees
//! what the other stored before: `elastic.rs` relies on that for the limit.
//!
//! # Complexity
//! Up to 64 ids by one read-modify-write.

use alloc::boxed::Box;

use super::free::ones;
use crate::block::BlockId;
use crate::error::CreateError;
use crate::sync::Ordering::{self, AcqRel, Relaxed};
use crate::sync::{AtomicU64, mutant};

/// The blocks of one shard that are not in service.
#[derive(Debug)]
pub(crate) struct Offline(Box<[AtomicU64]>);

impl Offline {
    /// Of `size` ids, those from `online` on.
    pub(crate) fn new(size: usize, online: usize) -> Result<Self, CreateError> {
        super::array(size.div_ceil(64), |word| {
            let within = |n: usize| ones(n.saturating_sub(word * 64).min(64));
            AtomicU64::new(within(size) & !within(online))
        })
        .map(Self)
    }

    pub(crate) const fn bytes(&self) -> usize {
        size_of_val::<[AtomicU64]>(&self.0)
    }

    pub(crate) fn contains(&self, block: BlockId) -> bool {
        self.0[block.index() / 64].load(Relaxed) >> (block.index() % 64) & 1 == 1
    }

    /// The blocks of ids from `first` to `size` that are in service.
    pub(crate) fn in_service(
        &self,
        first: usize,
        size: usize,
    ) -> impl Iterator<Item = BlockId> + '_ {
        let words = (first / 64)..size.div_ceil(64);
        words.flat_map(move |word| {
            let within = |n: usize| ones(n.saturating_sub(word * 64).min(64));
            let mut bits = !self.0[word].load(Relaxed) & within(size) & !within(first);
            core::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(BlockId::from_index(word * 64 + bit))
            })
        })
    }

    /// How many of `size` ids are in service.
    pub(crate) fn in_service_count(&self, size: usize) -> usize {
        let offline = |word: &AtomicU64| word.load(Relaxed).count_ones() as usize;
        size - self.0.iter().map(offline).sum::<usize>()
    }

    /// Takes the blocks of one word out of service. The caller has them alone.
    pub(crate) fn insert(&self, word: usize, bits: u64) {
        self.0[word].fetch_or(bits, order());
    }

    /// Takes the blocks of one word for service: returns those that were offline, which are the caller's now.
    pub(crate) fn remove(&self, word: usize, bits: u64) -> u64 {
        self.0[word].fetch_and(!bits, order()) & bits
    }
}

fn order() -> Ordering {
    if mutant("offline-relaxed") {
        Relaxed
    } else {
        AcqRel
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_id_from_the_limit_on_is_offline_and_comes_back_once() {
        for (size, online) in [(1, 1), (70, 0), (70, 64), (128, 63), (200, 130), (200, 200)] {
            let offline = Offline::new(size, online).unwrap();
            let is = |id| offline.contains(BlockId::from_index(id));
            assert!((0..size).all(|id| is(id) == (id >= online)));
            assert_eq!(offline.in_service(0, size).count(), online);
            let from = online / 2;
            let ids: alloc::vec::Vec<_> =
                offline.in_service(from, size).map(BlockId::index).collect();
            assert!(ids.into_iter().eq(from..online));
            let words = size.div_ceil(64);
            let back: u32 = (0..words).map(|w| offline.remove(w, !0).count_ones()).sum();
            assert_eq!(back as usize, size - online);
            assert!((0..words).all(|w| offline.remove(w, !0) == 0));
            offline.insert(0, 1);
            assert!(is(0));
        }
    }
}
