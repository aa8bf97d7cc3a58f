//! Recounting a pool.

use kvblock::{Holder, Inconsistency};

use super::kvb_pool;
use crate::arg;
use crate::error::{self, Told, kvb_error, refused};
use crate::holder::{kvb_holder, with_holders};
use crate::status::{KVB_ERR_INCONSISTENT, KVB_ERR_NO_MEMORY, kvb_status};

impl Told for Inconsistency {
    fn status(&self) -> kvb_status {
        match self {
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_INCONSISTENT,
        }
    }
}

/// Recounts a pool from its blocks and from the tables of all who hold some of it. `error->message` names the first thing that does not add
/// up. At rest only: no other thread may use the pool meanwhile.
///
/// Threads: see above. Passes over all blocks; allocates. Errors: `KVB_ERR_INCONSISTENT`, a bug of the library or a holder that was not
/// named, or is another pool's; `KVB_ERR_INVALID`, no such kind of holder; `KVB_ERR_NO_MEMORY`, nothing was found.
/// NULL: no holders, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_audit(
    pool: *const kvb_pool,
    holders: *const kvb_holder,
    count: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (pool, holders) = unsafe { (arg::get(pool)?, arg::slice(holders, count)?) };
        let audit = |holders: &[&dyn Holder]| pool.inner.audit(holders);
        // SAFETY: as above.
        let audited = unsafe { with_holders(holders, audit) }?;
        audited.map_err(refused::<Inconsistency>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
