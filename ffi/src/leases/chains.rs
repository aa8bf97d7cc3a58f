//! Leases of chains.
#![expect(
    clippy::result_large_err,
    reason = "the error has the chain itself; boxing it would allocate"
)]

use alloc::vec::Vec;

use kvblock::{LeaseError, Leases, Owner};

use super::lease::kvb_lease;
use super::table::kvb_leases;
use crate::arg::{self, Argument};
use crate::error::{self, kvb_error, refused};
use crate::object;
use crate::pool::kvb_chain;
use crate::status::{KVB_ERR_NO_MEMORY, KVB_ERR_WRONG_POOL, kvb_status};

impl kvb_leases {
    /// The one table of one shard.
    fn only(&mut self) -> Result<&mut Leases, Argument> {
        match self.inner.as_mut_slice() {
            [table] => Ok(table),
            _ => Err(Argument(KVB_ERR_WRONG_POOL)),
        }
    }
}

/// Room for the lease of one shard, to be had before the lease is.
fn one() -> Result<Vec<kvblock::Lease>, Argument> {
    let mut inner = Vec::new();
    let enough = inner.try_reserve_exact(1);
    enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
    Ok(inner)
}

/// Leases the blocks of a chain, with references of its own beside the chain's. `KVB_NO_DEADLINE` is never over by itself.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`; with NULL only the table keeps the lease. Threads: the table's and
/// the chain's. O(references); allocates. Errors: `KVB_ERR_OWNER_TAKEN`, `KVB_ERR_ALREADY_OVER`, `KVB_ERR_OVER_BUDGET`,
/// `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_WRONG_POOL` (a table of another pool or of several), `KVB_ERR_NO_MEMORY`.
/// NULL: `out`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_leases_grant(
    leases: *mut kvb_leases,
    chain: *const kvb_chain,
    owner: u64,
    deadline: u64,
    out: *mut *mut kvb_lease,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (leases, chain) = unsafe { (arg::get_mut(leases)?, arg::get(chain)?) };
        let table = leases.only()?;
        let (room, mut inner) = (object::room::<kvb_lease>()?, one()?);
        let granted = table.grant(Owner::new(owner), deadline, chain.inner.get());
        inner.push(granted.map_err(refused::<LeaseError>)?);
        // SAFETY: as above.
        if let Ok(out) = unsafe { arg::place(out) } {
            out.write(room.fill(kvb_lease { inner }));
        }
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Makes a chain a lease: its references become the lease's.
///
/// Ownership: on success `chain` is gone; otherwise it is as it was. As `kvb_leases_grant`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_leases_keep(
    leases: *mut kvb_leases,
    chain: *mut kvb_chain,
    owner: u64,
    deadline: u64,
    out: *mut *mut kvb_lease,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let chain = arg::not_null(chain)?;
        // SAFETY: the head of the header says what pointers must be.
        let leases = unsafe { arg::get_mut(leases) }?;
        let table = leases.only()?;
        let (room, mut inner) = (object::room::<kvb_lease>()?, one()?);
        let owner = Owner::new(owner);
        let keep = |chain: kvb_chain| {
            let kept = chain
                .inner
                .consume(|chain, _| table.keep(owner, deadline, chain));
            kept.map_err(|back| object::returned(back, |inner| kvb_chain { inner }))
        };
        // SAFETY: made by a function of this library, and not given away before.
        let kept = unsafe { object::consume(chain, keep) };
        inner.push(kept.map_err(refused::<LeaseError>)?);
        // SAFETY: as above.
        if let Ok(out) = unsafe { arg::place(out) } {
            out.write(room.fill(kvb_lease { inner }));
        }
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
