//! Recounting every instance of a fleet.

use kvblock::{FleetInconsistency, Holder};

use super::kvb_fleet;
use crate::arg;
use crate::error::{self, Figures, Told, kvb_error, refused};
use crate::holder::{kvb_holder, with_holders};
use crate::status::kvb_status;

impl Told for FleetInconsistency {
    fn status(&self) -> kvb_status {
        self.found.status()
    }
    fn figures(&self) -> Figures {
        self.found.figures().at(self.instance)
    }
}

/// Recounts every instance from its blocks and from the tables of its holders: its registry, the leases that the fleet has given on it, and
/// `others`, which must be all other holders of its pools. As `kvb_seqs_audit` for each. `error->instance` is the first that does not add up.
///
/// Threads: none may use the pools meanwhile. Passes over all blocks; allocates. Errors: `KVB_ERR_INCONSISTENT`, `KVB_ERR_NO_MEMORY`.
/// NULL: no others, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_audit(
    fleet: *const kvb_fleet,
    others: *const kvb_holder,
    count: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, others) = unsafe { (arg::get(fleet)?, arg::slice(others, count)?) };
        let audit = |holders: &[&dyn Holder]| fleet.inner.audit(holders);
        // SAFETY: as above.
        let audited = unsafe { with_holders(others, audit) }?;
        audited.map_err(refused::<FleetInconsistency>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
