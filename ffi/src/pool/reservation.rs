//! Promises of blocks.

use kvblock::{Exceeds, Refused, Reservation};

use super::kvb_pool;
use crate::arg;
use crate::error::{self, kvb_error, refused};
use crate::held::Held;
use crate::object;
use crate::status::kvb_status;

/// The right to so many blocks: taking within it never fails for want of blocks, whatever others do. It names no ids, so idle blocks stay
/// findable until they are needed.
#[derive(Debug)]
pub struct kvb_reservation {
    pub(crate) inner: Held<Reservation<'static>>,
}

/// Promises blocks.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_reservation_destroy`. Threads: any. O(1).
/// Errors: `KVB_ERR_NEVER_FITS`, `KVB_ERR_SHORTFALL`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_reserve(
    pool: *const kvb_pool,
    blocks: usize,
    out: *mut *mut kvb_reservation,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (pool, out) = unsafe { (arg::get(pool)?, arg::place(out)?) };
        let room = object::room::<kvb_reservation>()?;
        let inner = Held::make(&pool.inner, |pool| pool.reserve(blocks));
        let inner = inner.map_err(refused::<Refused>)?;
        out.write(room.fill(kvb_reservation { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives back what is left of a promise.
///
/// Threads: no other call may use it meanwhile. O(1). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_reservation_destroy(reservation: *mut kvb_reservation) {
    // SAFETY: the head of the header: made by a function of this library, and not destroyed before.
    drop(unsafe { object::take(reservation) });
}

/// Blocks that are still promised.
///
/// Threads: the reservation's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_reservation_blocks(reservation: *const kvb_reservation) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    let reservation = unsafe { reservation.as_ref() };
    reservation.map_or(0, |reservation| reservation.inner.get().len())
}

/// Promises `blocks` more.
///
/// Threads: the reservation's. O(1). Errors: `KVB_ERR_NEVER_FITS` (all of it would be larger than the pool), `KVB_ERR_SHORTFALL`.
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_reservation_grow(
    reservation: *mut kvb_reservation,
    blocks: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |reservation: &mut kvb_reservation| reservation.inner.change(|it| it.grow(blocks));
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(reservation, error, change) }
}

/// Gives `blocks` of the promise back.
///
/// Threads: the reservation's. O(1). Errors: `KVB_ERR_EXCEEDS`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_reservation_shrink(
    reservation: *mut kvb_reservation,
    blocks: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let change =
        |reservation: &mut kvb_reservation| reservation.inner.change(|it| it.shrink(blocks));
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(reservation, error, change) }
}

/// Splits `blocks` of the promise off as a promise of its own.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_reservation_destroy`. Threads: the reservation's. O(1).
/// Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_reservation_split(
    reservation: *mut kvb_reservation,
    blocks: usize,
    out: *mut *mut kvb_reservation,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (reservation, out) = unsafe { (arg::get_mut(reservation)?, arg::place(out)?) };
        let room = object::room::<kvb_reservation>()?;
        let inner = reservation.inner.split(|it, _| it.split(blocks));
        let inner = inner.map_err(refused::<Exceeds>)?;
        out.write(room.fill(kvb_reservation { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
