//! Who holds blocks, for audits.

use alloc::vec::Vec;
use core::ffi::c_void;

use kvblock::Holder;

use crate::arg::{self, Argument};
use crate::lanes::kvb_lanes;
use crate::leases::{kvb_lease, kvb_leases};
use crate::pool::{kvb_blocks, kvb_chain, kvb_reservation};
use crate::seqs::{kvb_detached, kvb_seqs};
use crate::status::{KVB_ERR_INVALID, KVB_ERR_NO_MEMORY};
use crate::transfer::kvb_import;

/// A `kvb_seqs`.
pub const KVB_HOLDER_SEQS: u32 = 0;
/// A `kvb_lanes`.
pub const KVB_HOLDER_LANES: u32 = 1;
/// A `kvb_detached`.
pub const KVB_HOLDER_DETACHED: u32 = 2;
/// A `kvb_leases`: all of its live leases.
pub const KVB_HOLDER_LEASES: u32 = 3;
/// A `kvb_lease` whose table is gone. While that lives it accounts for its leases itself.
pub const KVB_HOLDER_LEASE: u32 = 4;
/// A `kvb_reservation`.
pub const KVB_HOLDER_RESERVATION: u32 = 5;
/// A `kvb_blocks`.
pub const KVB_HOLDER_BLOCKS: u32 = 6;
/// A `kvb_chain`.
pub const KVB_HOLDER_CHAIN: u32 = 7;
/// A `kvb_import` whose registry is gone. While that lives it accounts for its imports itself.
pub const KVB_HOLDER_IMPORT: u32 = 8;

/// Somebody who holds blocks or credits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_holder {
    /// `KVB_HOLDER_*`.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// The object.
    pub object: *const c_void,
}

/// Calls `audit` with all that these hold.
///
/// # Safety
/// * Each object is of its kind and lives.
pub(crate) unsafe fn with_holders<R>(
    holders: &[kvb_holder],
    audit: impl FnOnce(&[&dyn Holder]) -> R,
) -> Result<R, Argument> {
    let mut all: Vec<&dyn Holder> = Vec::new();
    for holder in holders {
        arg::unused(holder.reserved)?;
        let object = holder.object;
        // SAFETY: this function's contract, for each kind.
        unsafe {
            match holder.kind {
                KVB_HOLDER_SEQS => {
                    let seqs = arg::get(object.cast::<kvb_seqs>())?;
                    extend(&mut all, seqs.inner.shards())?;
                }
                KVB_HOLDER_LANES => {
                    let lanes = arg::get(object.cast::<kvb_lanes>())?;
                    extend(&mut all, &lanes.inner)?;
                }
                KVB_HOLDER_DETACHED => {
                    let detached = arg::get(object.cast::<kvb_detached>())?;
                    extend(&mut all, detached.inner.shards())?;
                }
                KVB_HOLDER_LEASES => {
                    let leases = arg::get(object.cast::<kvb_leases>())?;
                    extend(&mut all, &leases.inner)?;
                }
                KVB_HOLDER_LEASE => {
                    let lease = arg::get(object.cast::<kvb_lease>())?;
                    extend(&mut all, &lease.inner)?;
                }
                KVB_HOLDER_RESERVATION => {
                    let reservation = arg::get(object.cast::<kvb_reservation>())?;
                    extend(&mut all, core::slice::from_ref(reservation.inner.get()))?;
                }
                KVB_HOLDER_BLOCKS => {
                    let blocks = arg::get(object.cast::<kvb_blocks>())?;
                    extend(&mut all, core::slice::from_ref(blocks.inner.get()))?;
                }
                KVB_HOLDER_CHAIN => {
                    let chain = arg::get(object.cast::<kvb_chain>())?;
                    extend(&mut all, core::slice::from_ref(chain.inner.get()))?;
                }
                KVB_HOLDER_IMPORT => {
                    let import = arg::get(object.cast::<kvb_import>())?;
                    extend(&mut all, &import.inner)?;
                }
                _ => return Err(Argument(KVB_ERR_INVALID)),
            }
        }
    }
    Ok(audit(&all))
}

fn extend<'a, H: Holder>(all: &mut Vec<&'a dyn Holder>, holders: &'a [H]) -> Result<(), Argument> {
    let enough = all.try_reserve(holders.len());
    enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
    all.extend(holders.iter().map(|it| it as &dyn Holder));
    Ok(())
}
