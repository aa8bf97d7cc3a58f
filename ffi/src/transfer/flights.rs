//! A cap on the bytes that are under way.

use kvblock::{CreateError, Flights};

use crate::arg;
use crate::error::{self, Problem, refused};
use crate::object;
use crate::status::kvb_status;

/// The most bytes that transfers may have under way together. Any thread may use it.
#[derive(Debug)]
pub struct kvb_flights {
    pub(crate) inner: Flights,
}

/// Makes a cap, with nothing under way.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_flights_destroy`; transfers under way keep the cap. Threads: any. O(1).
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: `KVB_ERR_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_flights_create(
    max_bytes: u64,
    out: *mut *mut kvb_flights,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let out = unsafe { arg::place(out) }?;
        let inner = Flights::new(max_bytes).map_err(refused)?;
        Ok::<_, Problem<CreateError>>(object::give(kvb_flights { inner }, out)?)
    };
    // SAFETY: null.
    unsafe { error::call(core::ptr::null_mut(), body) }
}

/// The cap, in bytes.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_flights_max(flights: *const kvb_flights) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { flights.as_ref() }.map_or(0, |flights| flights.inner.max())
}

/// Bytes under way, at this instant.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_flights_in_flight(flights: *const kvb_flights) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { flights.as_ref() }.map_or(0, |flights| flights.inner.in_flight())
}

/// Lets go of a cap.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_flights_destroy(flights: *mut kvb_flights) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(flights) });
}
