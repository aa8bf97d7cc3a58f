//! One lease.
//!
//! A word holds the deadline while the lease lives and [`ENDED`] from then on. It ends once: whoever moves the word to `ENDED` is
//! the one who gives the blocks back. An extension moves the same word, so that it is either seen by the one who would end the
//! lease, or refused.
//!
//! # Orderings
//! Release in `extend` pairs with Acquire in `end_if`: what a holder did with the blocks before it extended the lease happens before
//! they are given back (model `lease::extension_vs_next_use`). Loads are Relaxed: the word alone decides, and the list of blocks was
//! there before the handle. That of the blocks' return is `release`'s own.

use core::fmt;

use super::account::Account;
use super::error::LeaseEnded;
use super::owner::Owner;
use crate::block::BlockId;
use crate::pool::{Core, RawChain};
use crate::shared::Shared;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicU64, mutant};

/// The word of a lease that is over. No deadline: such a lease would be over at any time.
const ENDED: u64 = 0;

/// References on a chain's blocks, down from the root, for an owner and until a deadline.
///
/// A handle: clones are handles of the same lease, and any thread may use them. The lease lives until somebody [ends](Self::end) it,
/// until its end has come and somebody notices ([`Leases::tick`](crate::Leases::tick), [`check`](Self::check)), or until the last handle
/// is dropped; the table that granted it has one.
///
/// While it lives its blocks stay as they are. A holder that is done with them says so by `end`: dropping one of several handles
/// tells nobody.
///
/// Times are the caller's: any count that does not go back.
#[derive(Clone)]
pub struct Lease {
    cell: Shared<Cell>,
}

/// What the handles of a lease share.
struct Cell {
    account: Shared<Account>,
    owner: Owner,
    /// The deadline, or `ENDED`. Any handle moves it.
    word: AtomicU64,
    references: u64,
    chain: RawChain,
}

/// What was found of a lease that was to be ended.
pub(super) enum Found {
    Live {
        deadline: u64,
    },
    /// It lived until this call.
    Ends,
    Ended,
}

pub(super) const fn is_over(deadline: u64, now: u64) -> bool {
    now >= deadline && deadline != Lease::NO_DEADLINE
}

impl Cell {
    /// Ends it where `over` says so of its deadline.
    fn end_if(&self, over: impl Fn(u64) -> bool) -> Found {
        let mut current = self.word.load(Relaxed);
        loop {
            if current == ENDED {
                return Found::Ended;
            }
            if !over(current) {
                return Found::Live { deadline: current };
            }
            if mutant("lease-ends-twice") {
                self.word.store(ENDED, Relaxed);
                break;
            }
            match self.word.compare_exchange(current, ENDED, Acquire, Relaxed) {
                Ok(_) => break,
                // It was extended, or ended by somebody else.
                Err(actual) => current = actual,
            }
        }
        if mutant("lease-budget-early") {
            self.account.give_back(self.references);
            self.chain.release(&self.account.core);
            return Found::Ends;
        }
        self.chain.release(&self.account.core);
        self.account.give_back(self.references);
        Found::Ends
    }

    fn ended(&self) -> LeaseEnded {
        LeaseEnded { owner: self.owner }
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.end_if(|_| true);
    }
}

impl Lease {
    /// The deadline of a lease that only ends when somebody ends it.
    pub const NO_DEADLINE: u64 = u64::MAX;

    /// A lease that does not live yet: what it lists is held only from its [start](Self::start) on. The list comes back if there is
    /// no memory.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the list itself; boxing it would allocate"
    )]
    pub(super) fn vacant(
        account: &Shared<Account>,
        owner: Owner,
        references: usize,
        chain: RawChain,
    ) -> Result<Self, RawChain> {
        let cell = Cell {
            account: account.clone(),
            owner,
            word: AtomicU64::new(ENDED),
            references: references as u64,
            chain,
        };
        match Shared::try_new(cell) {
            Ok(cell) => Ok(Self { cell }),
            Err((mut cell, _)) => {
                let nothing = RawChain::vacant(&cell.account.core);
                Err(core::mem::replace(&mut cell.chain, nothing))
            }
        }
    }

    /// It lives from now on. What it lists is held, and charged.
    pub(super) fn start(&self, deadline: u64) {
        self.cell.account.charge(self.cell.references);
        self.cell.word.store(deadline, Relaxed);
    }

    /// Whose it is.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.cell.owner
    }

    /// When it will be over, at this instant; `None` if it is.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        Some(self.cell.word.load(Relaxed)).filter(|&deadline| deadline != ENDED)
    }

    /// Whether it lives, at this instant. Its end may have come unnoticed: see [`check`](Self::check).
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.deadline().is_some()
    }

    /// Its blocks in the order of the chain's table. They are its own while it lives; later these are only numbers.
    #[must_use]
    pub fn ids(&self) -> &[BlockId] {
        self.cell.chain.table()
    }

    /// References that it holds while it lives, and takes of the budget: on the blocks of the table, on the findable block of each
    /// duplicate, and on the head that the chain was split from.
    #[must_use]
    pub fn references(&self) -> usize {
        usize::try_from(self.cell.references).unwrap_or(usize::MAX)
    }

    pub(crate) fn core(&self) -> &Core {
        &self.cell.account.core
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = BlockId> + Clone {
        self.cell.chain.held()
    }

    /// Lets it live until a later time. If it would live longer anyway it stays as it is.
    ///
    /// A lease whose end has come lives until that is noticed, and can be extended until then.
    ///
    /// # Errors
    /// [`LeaseEnded`]: too late.
    ///
    /// One read-modify-write. No allocation.
    pub fn extend(&self, deadline: u64) -> Result<(), LeaseEnded> {
        let word = &self.cell.word;
        let ordering = if mutant("lease-extend-relaxed") {
            Relaxed
        } else {
            Release
        };
        let mut current = word.load(Relaxed);
        loop {
            if current == ENDED {
                return Err(self.cell.ended());
            }
            if deadline <= current {
                return Ok(());
            }
            if mutant("lease-extends-by-store") {
                word.store(deadline, Release);
                return Ok(());
            }
            match word.compare_exchange(current, deadline, ordering, Relaxed) {
                Ok(_) => return Ok(()),
                // It was extended by somebody else, or ended.
                Err(actual) => current = actual,
            }
        }
    }

    /// Ends it now and gives its blocks back, the tail first.
    ///
    /// # Errors
    /// [`LeaseEnded`]: it was over before. Nothing is given back twice.
    ///
    /// One read-modify-write, and one a reference. No allocation.
    pub fn end(&self) -> Result<(), LeaseEnded> {
        match self.cell.end_if(|_| true) {
            Found::Ends => Ok(()),
            Found::Live { .. } | Found::Ended => Err(self.cell.ended()),
        }
    }

    /// Asks before a use whether it lives at `now`. If its end has come and nobody has noticed it is ended here.
    ///
    /// # Errors
    /// [`LeaseEnded`].
    ///
    /// One load while it lives. No allocation.
    pub fn check(&self, now: u64) -> Result<(), LeaseEnded> {
        match self.expire(now) {
            Found::Live { .. } => Ok(()),
            Found::Ends | Found::Ended => Err(self.cell.ended()),
        }
    }

    /// Ends it if its end has come.
    pub(super) fn expire(&self, now: u64) -> Found {
        let found = self.cell.end_if(|deadline| is_over(deadline, now));
        if matches!(found, Found::Ends) {
            self.cell.account.count_expired();
        }
        found
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("owner", &self.owner())
            .field("deadline", &self.deadline())
            .field("ids", &self.ids())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Lease>();
};
