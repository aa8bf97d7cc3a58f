//! The leases over one pool.

use alloc::vec::Vec;
use core::fmt;

use hashbrown::HashMap;

use super::account::Account;
use super::error::LeaseError;
use super::handle::{Found, Lease, is_over};
use super::owner::Owner;
use crate::block::BlockId;
use crate::error::{CreateError, Returned};
use crate::pool::{BlockPool, Chain, Core, Holder, Holds, RawChain, address};
use crate::shared::Shared;

/// Places made at first.
const FEWEST_PLACES: usize = 8;

/// Leases over the blocks of one pool: who has one, until when, and what all of them may hold together.
///
/// A table has one owner; several may share a pool. It keeps a handle of each live [`Lease`], so that a lease needs no other; dropping
/// the table drops these handles, and leases of which there are others live on.
///
/// ```
/// # use kvblock::{BlockPool, Contents, Lease, Leases, Namespace, Owner, PoolConfig};
/// # let pool = BlockPool::new(&PoolConfig::new(8, 4))?;
/// # let mut worker = pool.worker()?;
/// let mut leases = Leases::new(&pool, 6)?;
/// let mut chain = pool.chain(&Namespace::new());
/// chain.take(&mut worker, &mut pool.reserve(2)?, 2)?;
/// let published = chain.publish(&mut worker, &Contents::new(&[1, 2, 3, 4, 5, 6, 7, 8]), None)?;
/// assert_eq!(published.stored, 2);
///
/// // Somebody reads these blocks until time 100 at most.
/// let lease = leases.grant(Owner::new(7), 100, &chain)?;
/// drop(chain);
/// assert_eq!((pool.report().held, leases.used()), (2, 2));
///
/// leases.tick(99);
/// lease.check(99)?;
/// leases.tick(100);
/// assert!(lease.check(100).is_err());
/// assert_eq!((pool.report().idle, leases.used()), (2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Leases {
    account: Shared<Account>,
    budget: usize,
    now: u64,
    /// No deadline is before it.
    earliest: u64,
    /// In the order granted. Some may be over.
    granted: Vec<Lease>,
    /// The latest place of each owner.
    places: HashMap<Owner, usize>,
}

impl Leases {
    /// A table whose live leases hold at most `budget` references together, at time 0.
    ///
    /// # Errors
    /// [`CreateError::OutOfMemory`].
    pub fn new(pool: &BlockPool, budget: usize) -> Result<Self, CreateError> {
        let account = Shared::try_new(Account::new(pool.core.clone()))
            .map_err(|(_, bytes)| CreateError::OutOfMemory { bytes })?;
        Ok(Self {
            account,
            budget,
            now: 0,
            earliest: Lease::NO_DEADLINE,
            granted: Vec::new(),
            places: HashMap::new(),
        })
    }

    /// References that its live leases may hold together.
    #[must_use]
    pub const fn budget(&self) -> usize {
        self.budget
    }

    /// References that its live leases hold. One load.
    #[must_use]
    pub fn used(&self) -> usize {
        usize::try_from(self.account.used()).unwrap_or(usize::MAX)
    }

    /// The latest time that it was told.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Live leases. Looks at each.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The live lease of an owner.
    #[must_use]
    pub fn get(&self, owner: Owner) -> Option<&Lease> {
        let &place = self.places.get(&owner)?;
        self.granted.get(place).filter(|lease| lease.is_live())
    }

    /// The live leases in the order in which they were granted.
    pub fn iter(&self) -> impl Iterator<Item = &Lease> {
        self.granted.iter().filter(|lease| lease.is_live())
    }

    /// Leases the blocks of a chain, with references of its own beside the chain's.
    ///
    /// The lease is over at `deadline`, or when it is [ended](Lease::end) if that is [`Lease::NO_DEADLINE`].
    ///
    /// # Errors
    /// [`LeaseError::WrongPool`], [`LeaseError::OwnerTaken`], [`LeaseError::AlreadyOver`], [`LeaseError::OverBudget`],
    /// [`LeaseError::OutOfMemory`], [`LeaseError::TooManyReferences`].
    ///
    /// One read-modify-write a reference. Allocates.
    pub fn grant(
        &mut self,
        owner: Owner,
        deadline: u64,
        chain: &Chain<'_>,
    ) -> Result<Lease, LeaseError> {
        let raw = chain.raw();
        self.grant_raw(owner, deadline, chain.core(), raw, raw.ids.len())
    }

    /// The same for the first `blocks` of a chain, or all if it has fewer.
    pub(crate) fn grant_raw(
        &mut self,
        owner: Owner,
        deadline: u64,
        core: &Core,
        chain: &RawChain,
        blocks: usize,
    ) -> Result<Lease, LeaseError> {
        let blocks = blocks.min(chain.ids.len());
        let references = chain.references(blocks);
        self.admit(owner, deadline, core, references)?;
        let copy = chain.try_copy(blocks).ok_or(LeaseError::OutOfMemory)?;
        let lease = Lease::vacant(&self.account, owner, references, copy)
            .map_err(|_| LeaseError::OutOfMemory)?;
        chain.hold_for(core, blocks, 1)?;
        self.enter(lease.clone(), deadline);
        Ok(lease)
    }

    /// Makes a chain a lease: its references become the lease's.
    ///
    /// # Errors
    /// The chain comes back, as it was, with a [`LeaseError`] as of [`grant`](Self::grant); there never are too many references.
    ///
    /// No look at the blocks, but for duplicates. Allocates.
    #[expect(
        clippy::result_large_err,
        reason = "the error has the chain itself; boxing it would allocate"
    )]
    pub fn keep<'p>(
        &mut self,
        owner: Owner,
        deadline: u64,
        chain: Chain<'p>,
    ) -> Result<Lease, Returned<Chain<'p>, LeaseError>> {
        let core = chain.core();
        let references = chain.raw().references(chain.raw().ids.len());
        if let Err(error) = self.admit(owner, deadline, core, references) {
            return Err(Returned {
                error,
                value: chain,
            });
        }
        match Lease::vacant(&self.account, owner, references, chain.into_raw()) {
            Ok(lease) => {
                self.enter(lease.clone(), deadline);
                Ok(lease)
            }
            Err(raw) => Err(Returned {
                error: LeaseError::OutOfMemory,
                value: Chain::new(core, raw),
            }),
        }
    }

    /// Tells the time, and ends the leases that are over. Returns how many. Time does not go back: a smaller `now` changes nothing.
    ///
    /// O(1) when none can be over; otherwise looks at every lease, and gives back what the ended ones held. No allocation.
    pub fn tick(&mut self, now: u64) -> usize {
        if now <= self.now {
            return 0;
        }
        self.now = now;
        if !is_over(self.earliest, now) {
            return 0;
        }
        let (mut ended, mut earliest) = (0, Lease::NO_DEADLINE);
        for lease in &self.granted {
            match lease.expire(now) {
                Found::Live { deadline } => earliest = earliest.min(deadline),
                Found::Ends => ended += 1,
                Found::Ended => {}
            }
        }
        // Extensions only make deadlines later.
        self.earliest = earliest;
        self.forget_ended();
        ended
    }

    /// Everything that speaks against a lease but the blocks' own counts; and makes its place.
    pub(crate) fn admit(
        &mut self,
        owner: Owner,
        deadline: u64,
        core: &Core,
        needed: usize,
    ) -> Result<(), LeaseError> {
        if !core::ptr::eq(core, self.core()) {
            return Err(LeaseError::WrongPool);
        }
        if self.get(owner).is_some() {
            return Err(LeaseError::OwnerTaken { owner });
        }
        if is_over(deadline, self.now) {
            let now = self.now;
            return Err(LeaseError::AlreadyOver { deadline, now });
        }
        let left = self.budget.saturating_sub(self.used());
        if needed > left {
            return Err(LeaseError::OverBudget { needed, left });
        }
        self.make_room()
    }

    fn has_room(&self) -> bool {
        self.granted.len() < self.granted.capacity().min(self.places.capacity())
    }

    /// A place for one more lease.
    fn make_room(&mut self) -> Result<(), LeaseError> {
        if self.has_room() {
            return Ok(());
        }
        self.forget_ended();
        // At most half of the places are used then, so the next look at all of them is as many grants away.
        let live = self.granted.len();
        let wanted = (2 * live).max(FEWEST_PLACES);
        let grown = self
            .places
            .try_reserve(wanted.saturating_sub(self.places.len()))
            .is_ok()
            && self
                .granted
                .try_reserve_exact(wanted.saturating_sub(live))
                .is_ok();
        if grown || self.has_room() {
            Ok(())
        } else {
            Err(LeaseError::OutOfMemory)
        }
    }

    /// Drops the handles of leases that are over.
    fn forget_ended(&mut self) {
        self.granted.retain(Lease::is_live);
        self.places.clear();
        for (place, lease) in self.granted.iter().enumerate() {
            self.places.insert(lease.owner(), place);
        }
    }

    /// Starts a lease whose blocks are held. There is a place for it.
    fn enter(&mut self, lease: Lease, deadline: u64) {
        lease.start(deadline);
        self.earliest = self.earliest.min(deadline);
        self.places.insert(lease.owner(), self.granted.len());
        self.granted.push(lease);
    }

    pub(crate) fn core(&self) -> &Core {
        &self.account.core
    }

    /// Every reference of the live leases.
    pub(crate) fn held(&self) -> impl Iterator<Item = BlockId> {
        self.iter().flat_map(Lease::held)
    }

    /// Leases whose end was noticed when it had come.
    pub(crate) fn expired(&self) -> u64 {
        self.account.expired()
    }
}

/// For an audit when its table is gone: while that lives, it accounts for its leases itself.
impl Holder for Lease {}

impl Holds for Lease {
    fn pool(&self) -> *const () {
        address(self.core())
    }
    fn references(&self, visit: &mut dyn FnMut(BlockId)) {
        if self.is_live() {
            self.held().for_each(visit);
        }
    }
}

impl Holder for Leases {}

impl Holds for Leases {
    fn pool(&self) -> *const () {
        address(self.core())
    }
    fn references(&self, visit: &mut dyn FnMut(BlockId)) {
        self.held().for_each(visit);
    }
}

impl fmt::Debug for Leases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leases")
            .field("budget", &self.budget)
            .field("used", &self.used())
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Contents, Namespace, PoolConfig};

    #[test]
    fn the_first_blocks_of_a_chain_are_leased_with_what_they_duplicate() {
        let pool = BlockPool::new(&PoolConfig::new(16, 1)).unwrap();
        let mut worker = pool.worker().unwrap();
        let mut leases = Leases::new(&pool, 16).unwrap();
        let mut chain = |tokens: &[u32]| {
            let mut promise = pool.reserve(4).unwrap();
            let mut chain = pool.chain(&Namespace::new());
            chain.take(&mut worker, &mut promise, 4).unwrap();
            let published = chain.publish(&mut worker, &Contents::new(tokens), None);
            assert_eq!(published.unwrap().stopped, None);
            chain
        };
        let first = chain(&[1, 2, 3]);
        // Two duplicates, one block of its own, and a private one.
        let second = chain(&[1, 2, 9]);
        let table = second.ids().to_vec();
        for (blocks, references) in [(0, 0), (1, 2), (2, 4), (3, 5), (4, 6), (9, 6)] {
            let owner = Owner::new(1);
            let raw = second.raw();
            let lease = leases
                .grant_raw(owner, 9, second.core(), raw, blocks)
                .unwrap();
            assert_eq!(lease.ids(), &table[..blocks.min(4)]);
            assert_eq!(
                (lease.references(), leases.used()),
                (references, references)
            );
            assert_eq!(pool.audit(&[&first, &second, &leases]), Ok(()));
            lease.end().unwrap();
            assert_eq!(pool.audit(&[&first, &second]), Ok(()));
        }
        let lease = leases.grant_raw(Owner::new(1), 9, second.core(), second.raw(), 2);
        drop((first, second, lease));
        let report = pool.report();
        assert_eq!((report.free, report.idle, report.held), (10, 2, 4));
        assert_eq!((leases.tick(9), leases.used()), (1, 0));
        let report = pool.report();
        assert_eq!((report.free, report.idle, report.held), (12, 4, 0));
    }
}
