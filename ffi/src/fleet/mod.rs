//! Several instances, each with memory of its own: where a request goes, moves between them, memory that one lends to another.

mod member;

mod placement;

mod moves;

mod loans;

mod report;

mod audit;

pub use self::audit::*;
pub use self::loans::*;
pub use self::member::*;
pub use self::moves::*;
pub use self::placement::*;
pub use self::report::*;

use core::mem::MaybeUninit;

use kvblock::Fleet;

use crate::arg;
use crate::error::plain;
use crate::object;
use crate::status::kvb_status;

/// The instances of one scheduler: replicas of a model, or instances of several. A request names its model and goes to one instance as a
/// whole; its sequence's further calls go to that instance. One thread at a time may use a fleet and its instances, also for calls with a
/// `const` pointer.
#[derive(Debug)]
pub struct kvb_fleet {
    pub(crate) inner: Fleet,
}

/// Makes a fleet without instances.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_fleet_destroy`. Threads: any. O(1). Errors: `KVB_ERR_NO_MEMORY`.
/// NULL: `KVB_ERR_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_create(out: *mut *mut kvb_fleet) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let out = unsafe { arg::place(out) }?;
        let inner = Fleet::new();
        object::give(kvb_fleet { inner }, out)
    })
}

/// Ends the fleet with all of its instances, as `kvb_seqs_destroy` does each.
///
/// Threads: no other call may use it meanwhile, nor one of its instances. O(blocks held). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_destroy(fleet: *mut kvb_fleet) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(fleet) });
}

/// Writes as many as there is room for, and counts all.
fn list<T>(out: &mut [MaybeUninit<T>], items: impl Iterator<Item = T>) -> usize {
    let mut places = out.iter_mut();
    let write = |item| {
        if let Some(place) = places.next() {
            place.write(item);
        }
    };
    items.map(write).count()
}
