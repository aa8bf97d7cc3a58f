//! The state word of a block: the truth about it.
//!
//! ```text
//!  63                                   25 24            20 19                  0
//! +---------------------------------------+----------------+---------------------+
//! |              generation               |     flags      |     references      |
//! +---------------------------------------+----------------+---------------------+
//!                                           | | | | published
//!                                           | | | touched
//!                                           | | queued
//!                                           | cut
//!                                           fenced
//! ```
//! * `references`: sequences, leases, tickets that hold the block.
//! * *published*: findable by its prefix (unless *cut*). Set by the publisher, ends with the generation.
//! * *touched*: hit since it was last queued: a second chance.
//! * *queued*: exactly one token of the block exists, in the ring or in a thread's hand.
//! * *cut*: no longer findable, never to be again at this generation. Cut with no references is frozen: only its token's
//!   holder may change a flag of it, or a reclaimer take it.
//! * *fenced*: some of the references are fences'; `quarantine` knows how many.
//! * `generation`: one more with each claim, so that what was compared at one generation cannot be taken for the next.
//!
//! Whose word it is: an unpublished block with one reference belongs to its owner, who stores plainly; everybody else leaves it
//! alone. All other changes are compare-and-swap.

use super::packed::{Atomic, Packed, packed};

/// One block's [`State`], shared.
pub(crate) type StateWord = Atomic<State>;

/// Most references that can be counted.
pub(crate) const MAX_REFERENCES: u64 = (1 << REFERENCE_BITS) - 1;

const REFERENCE_BITS: u32 = 20;
const FLAG_BITS: u32 = 5;
const PUBLISHED: u64 = 1 << REFERENCE_BITS;
const TOUCHED: u64 = PUBLISHED << 1;
const QUEUED: u64 = PUBLISHED << 2;
const CUT: u64 = PUBLISHED << 3;
const FENCED: u64 = PUBLISHED << 4;
const GENERATION_SHIFT: u32 = REFERENCE_BITS + FLAG_BITS;
const ONE_GENERATION: u64 = 1 << GENERATION_SHIFT;

/// Bits of a generation wherever one is stored.
pub(crate) const GENERATION_BITS: u32 = u64::BITS - GENERATION_SHIFT;

/// The state of a block at one instant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

packed!(State);

impl State {
    /// A block that nobody has used yet.
    pub(crate) const FREE: Self = Self(ONE_GENERATION);

    #[inline]
    pub(crate) const fn references(self) -> u64 {
        self.0 & MAX_REFERENCES
    }
    #[inline]
    pub(crate) const fn generation(self) -> u64 {
        self.0 >> GENERATION_SHIFT
    }
    #[inline]
    pub(crate) const fn is_published(self) -> bool {
        self.0 & PUBLISHED != 0
    }
    #[inline]
    pub(crate) const fn is_touched(self) -> bool {
        self.0 & TOUCHED != 0
    }
    #[inline]
    pub(crate) const fn is_queued(self) -> bool {
        self.0 & QUEUED != 0
    }
    #[inline]
    pub(crate) const fn is_cut(self) -> bool {
        self.0 & CUT != 0
    }
    #[inline]
    pub(crate) const fn is_fenced(self) -> bool {
        self.0 & FENCED != 0
    }
    /// Published and not cut.
    #[inline]
    pub(crate) const fn is_findable(self) -> bool {
        self.0 & (PUBLISHED | CUT) == PUBLISHED
    }
    /// Published and not held.
    #[inline]
    pub(crate) const fn is_idle(self) -> bool {
        self.is_published() && self.references() == 0
    }
    /// Held by one owner who alone may write this word.
    #[inline]
    pub(crate) const fn is_private_alone(self) -> bool {
        self.0 & (MAX_REFERENCES | PUBLISHED) == 1
    }

    /// One owner more. The count must be below [`MAX_REFERENCES`].
    #[inline]
    pub(crate) const fn held_once_more(self) -> Self {
        debug_assert!(self.references() < MAX_REFERENCES);
        Self(self.0 + 1)
    }
    /// So many owners more. The sum must not exceed [`MAX_REFERENCES`].
    #[inline]
    pub(crate) const fn held_by_more(self, owners: u32) -> Self {
        debug_assert!(self.references() + owners as u64 <= MAX_REFERENCES);
        Self(self.0 + owners as u64)
    }
    /// One owner less. There must be one.
    #[inline]
    pub(crate) const fn held_once_less(self) -> Self {
        debug_assert!(self.references() > 0);
        Self(self.0 - 1)
    }
    #[inline]
    pub(crate) const fn with_touched(self, on: bool) -> Self {
        Self(if on {
            self.0 | TOUCHED
        } else {
            self.0 & !TOUCHED
        })
    }
    #[inline]
    pub(crate) const fn with_queued(self, on: bool) -> Self {
        Self(if on {
            self.0 | QUEUED
        } else {
            self.0 & !QUEUED
        })
    }
    #[inline]
    pub(crate) const fn with_cut(self) -> Self {
        Self(self.0 | CUT)
    }
    #[inline]
    pub(crate) const fn with_fenced(self, on: bool) -> Self {
        Self(if on {
            self.0 | FENCED
        } else {
            self.0 & !FENCED
        })
    }
    /// Never part of the protocol: a mutant takes a cut back.
    pub(crate) const fn uncut(self) -> Self {
        Self(self.0 & !CUT)
    }
    /// Published. A block whose old token is still about gets a second chance when that comes up, as its place is none that
    /// this content obtained.
    #[inline]
    pub(crate) const fn published(self) -> Self {
        Self(self.0 | PUBLISHED).with_touched(self.is_queued())
    }
    /// The next generation: no identity, no owner yet. Only *queued* can stay, as the token of a block claimed without it is
    /// still about.
    #[inline]
    pub(crate) const fn claimed(self, queued: bool) -> Self {
        Self((self.0 & !(ONE_GENERATION - 1)).wrapping_add(ONE_GENERATION)).with_queued(queued)
    }
}

impl core::fmt::Debug for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{} references, generation {}",
            self.references(),
            self.generation()
        )?;
        for (name, on) in [
            ("published", self.is_published()),
            ("touched", self.is_touched()),
            ("queued", self.is_queued()),
            ("cut", self.is_cut()),
            ("fenced", self.is_fenced()),
        ] {
            if on {
                write!(f, ", {name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_do_not_touch_each_other(bits: u64) {
            let s = State::from_bits(bits);
            prop_assert_eq!(s.to_bits(), bits);
            let parts = |s: State| (s.references(), s.generation(), s.is_published(), s.is_touched(), s.is_queued(), s.is_cut(), s.is_fenced());
            let (references, generation, published, _, queued, cut, fenced) = parts(s);
            for on in [false, true] {
                prop_assert_eq!(parts(s.with_touched(on)), (references, generation, published, on, queued, cut, fenced));
            }
            prop_assert_eq!(parts(s.published()), (references, generation, true, queued, queued, cut, fenced));
            for on in [false, true] {
                prop_assert_eq!(parts(s.with_fenced(on)), (references, generation, published, s.is_touched(), queued, cut, on));
            }
            prop_assert_eq!(parts(s.with_cut()), (references, generation, published, s.is_touched(), queued, true, fenced));
            let next = (generation + 1) % (1 << GENERATION_BITS);
            prop_assert_eq!(parts(s.claimed(true)), (0, next, false, false, true, false, false));
            prop_assert_eq!(parts(s.claimed(false)), (0, next, false, false, false, false, false));
            if references < MAX_REFERENCES {
                prop_assert_eq!(s.held_once_more().references(), references + 1);
                prop_assert_eq!(s.held_once_more().held_once_less(), s);
            }
        }
    }
}
