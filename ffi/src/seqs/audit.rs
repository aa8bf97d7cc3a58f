//! Recounting everything.

use kvblock::{Inconsistency, InstanceInconsistency, SequencesInconsistency};

use super::kvb_seqs;
use crate::arg;
use crate::error::{self, Figures, Told, kvb_error, refused};
use crate::holder::{kvb_holder, with_holders};
use crate::status::{KVB_ERR_INCONSISTENT, KVB_ERR_NO_MEMORY, kvb_status};

impl Told for InstanceInconsistency {
    fn status(&self) -> kvb_status {
        match self {
            Self::Shard {
                found: SequencesInconsistency::Pool(Inconsistency::OutOfMemory),
                ..
            } => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_INCONSISTENT,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::Shard { shard, .. }
            | Self::Sequences { shard }
            | Self::Differs { shard, .. }
            | Self::Ranks { shard } => Figures::NONE.on(shard),
            _ => Figures::NONE,
        }
    }
}

/// Recounts every shard from its blocks and from the tables of its holders: this registry, and `others`, which must be all other holders
/// of its pools (other registries, lanes, leases, reservations, chains). `error->message` names the first thing that does not add up,
/// which is on `error->shard`. At rest only: no other thread may use the pools meanwhile.
///
/// Threads: see above. Passes over all blocks; allocates. Errors: `KVB_ERR_INCONSISTENT`, a bug of the library or a holder that was not
/// named; `KVB_ERR_NO_MEMORY`, nothing was found. NULL: no others, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_audit(
    seqs: *const kvb_seqs,
    others: *const kvb_holder,
    count: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, others) = unsafe { (arg::get(seqs)?, arg::slice(others, count)?) };
        let audit = |holders: &[&dyn kvblock::Holder]| seqs.inner.audit(holders);
        // SAFETY: as above.
        let audited = unsafe { with_holders(others, audit) }?;
        audited.map_err(refused::<InstanceInconsistency>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
