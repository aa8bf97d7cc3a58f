//! Registries of sequences: what a scheduler talks to.

// In the order of the header.

mod handle;

mod create;

mod admit;

mod step;

mod marks;

mod read;

mod branch;

mod victims;

mod end;

mod renew;

mod elastic;

mod report;

mod audit;

pub use self::admit::*;
pub use self::audit::*;
pub use self::branch::*;
pub use self::create::*;
pub use self::elastic::*;
pub use self::end::*;
pub use self::handle::*;
pub use self::marks::*;
pub use self::read::*;
pub use self::renew::*;
pub use self::report::*;
pub use self::step::*;
pub use self::victims::*;

use kvblock::{Instance, Sequences};

use crate::arg::Argument;
use crate::status::KVB_ERR_OUT_OF_RANGE;

/// A registry of sequences over one pool, or over all shards that must hold a sequence for it to run: what is done on one of them is done
/// on all or on none, and one handle names a sequence on all. One thread at a time may use it, also for calls with a `const` pointer; many
/// registries may share pools.
// `repr(C)` by a way round, so that the header does not show the field.
#[cfg_attr(all(), repr(C))]
#[derive(Debug)]
pub struct kvb_seqs {
    pub(crate) inner: Instance,
}

impl kvb_seqs {
    /// The instance of a fleet, as C knows it.
    pub(crate) const fn of_mut(instance: &mut Instance) -> &mut Self {
        let instance: *mut Instance = instance;
        // SAFETY: a `repr(C)` struct of one field is laid out as the field.
        unsafe { &mut *instance.cast::<Self>() }
    }

    /// The registry of one shard.
    pub(crate) fn shard(&self, shard: usize) -> Result<&Sequences, Argument> {
        let shards = self.inner.shards();
        shards.get(shard).ok_or(Argument(KVB_ERR_OUT_OF_RANGE))
    }
}
