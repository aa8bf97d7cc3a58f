//! The order of reclaim: a ring of tokens.
//!
//! A token is a block's place in the order. Flag *queued* of a block's state means that exactly one token of it exists, in the
//! ring or in a thread's hand; so there are at most as many tokens as blocks, the ring is never full, and a slot is written with a
//! plain store. A block that is hit keeps its token where it is: the flag *touched* gives it a second chance when that
//! comes up.
//!
//! ```text
//!  63                     32 31                      0
//! +-------------------------+-------------------------+
//! |           lap           |        block id         |      lap = position / slots + 1, so that 0 is "never written"
//! +-------------------------+-------------------------+
//! ```
//!
//! # Orderings
//! A slot's store is Release and its load Acquire, and so are the positions: what happened before a token was pushed happened
//! before it is popped. The state word decides, so Relaxed slots would do; the pair keeps the reasoning local. A popper reads
//! the slots before its CAS on `head` moves over them: a slot cannot be overwritten before that, as its next lap's push needs its
//! token to have been popped.
//!
//! # Complexity
//! One read-modify-write for a batch of tokens, whatever its size.

use alloc::boxed::Box;

use smallvec::SmallVec;

use crate::block::BlockId;
use crate::error::CreateError;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{AtomicU64, Padded};

/// Most tokens in one thread's hand.
pub(crate) const HAND: usize = 64;

/// Tokens on their way between the ring and a thread, in order: at most [`HAND`].
pub(crate) type Hand = SmallVec<[BlockId; HAND]>;

/// The tokens of one shard, oldest first.
#[derive(Debug)]
pub(crate) struct TokenRing {
    slots: Box<[AtomicU64]>,
    head: Padded<AtomicU64>,
    tail: Padded<AtomicU64>,
}

impl TokenRing {
    /// Room for one token of each of `blocks` blocks.
    pub(crate) fn new(blocks: usize) -> Result<Self, CreateError> {
        let slots = super::array(blocks.next_power_of_two(), |_| AtomicU64::new(0))?;
        Ok(Self {
            slots,
            head: Padded(AtomicU64::new(0)),
            tail: Padded(AtomicU64::new(0)),
        })
    }

    pub(crate) const fn bytes(&self) -> usize {
        size_of_val::<[AtomicU64]>(&self.slots)
    }

    /// The slot of a position, and what its upper half is in that lap.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "masked to the number of slots"
    )]
    fn slot(&self, position: u64) -> (&AtomicU64, u64) {
        let lap = (position >> self.slots.len().trailing_zeros()) + 1;
        (
            &self.slots[position as usize & (self.slots.len() - 1)],
            lap << 32,
        )
    }

    /// The token in a slot, if it is of this lap.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the id")]
    fn token(&self, position: u64) -> Option<BlockId> {
        let (slot, lap) = self.slot(position);
        let entry = slot.load(Acquire);
        (entry >> 32 << 32 == lap).then_some(BlockId::new(entry as u32))
    }

    /// Takes the next places and puts the tokens there, in order.
    #[inline]
    pub(crate) fn push(&self, tokens: &[BlockId]) {
        if tokens.is_empty() {
            return;
        }
        let first = self.tail.0.fetch_add(tokens.len() as u64, AcqRel);
        for (position, token) in (first..).zip(tokens) {
            let (slot, lap) = self.slot(position);
            slot.store(lap | u64::from(token.get()), Release);
        }
    }

    /// Takes up to `want` of the oldest tokens into the hand, in place of what it has. None: the ring is empty, or the thread that
    /// took the oldest place has not filled it yet.
    #[inline]
    pub(crate) fn pop(&self, want: usize, hand: &mut Hand) {
        let mut head = self.head.0.load(Acquire);
        loop {
            hand.clear();
            while hand.len() < want.min(HAND) {
                let Some(token) = self.token(head + hand.len() as u64) else {
                    break;
                };
                hand.push(token);
            }
            if hand.is_empty() {
                let now = self.head.0.load(Acquire);
                if now == head {
                    return;
                }
                head = now;
                continue;
            }
            match self
                .head
                .0
                .compare_exchange(head, head + hand.len() as u64, AcqRel, Acquire)
            {
                Ok(_) => return,
                // Another thread popped.
                Err(actual) => head = actual,
            }
        }
    }

    /// The token `ahead` places behind the oldest, if there is one, without taking it.
    #[inline]
    pub(crate) fn peek(&self, ahead: u64) -> Option<BlockId> {
        self.token(self.head.0.load(Acquire) + ahead)
    }

    /// Tokens and places of tokens in the ring.
    pub(crate) fn len(&self) -> usize {
        let head = self.head.0.load(Relaxed);
        usize::try_from(self.tail.0.load(Relaxed).saturating_sub(head)).unwrap_or(usize::MAX)
    }

    /// The tokens, oldest first, for an audit at rest.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = BlockId> + '_ {
        (self.head.0.load(Acquire)..self.tail.0.load(Acquire))
            .filter_map(|position| self.token(position))
    }

    /// Takes a place and leaves it empty, as a thread does that is stopped there.
    #[cfg(any(test, loom))]
    pub(crate) fn stall_a_push(&self) {
        self.tail.0.fetch_add(1, AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;

    #[test]
    fn tokens_come_out_in_the_order_they_went_in_over_many_laps() {
        let ring = TokenRing::new(5).unwrap();
        let mut outside: Vec<u32> = (0..5).collect();
        let mut inside = VecDeque::new();
        let mut hand = Hand::new();
        for round in 0..1000_usize {
            let n = round % 3 + 1;
            let pushed: Vec<BlockId> = outside
                .drain(..n.min(outside.len()))
                .map(BlockId::new)
                .collect();
            inside.extend(pushed.iter().map(|b| b.get()));
            ring.push(&pushed);
            ring.pop(round % 4, &mut hand);
            for token in &hand {
                assert_eq!(Some(token.get()), inside.pop_front());
                outside.push(token.get());
            }
            assert_eq!(ring.len(), inside.len());
            assert_eq!(ring.peek(0).map(BlockId::get), inside.front().copied());
        }
    }
}
