//! Objects that C holds by pointer: made with an error instead of an abort where there is no memory, and given back once.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;

use crate::status::{KVB_ERR_NO_MEMORY, kvb_status};

/// Puts a value on the heap and its address into `out`, which is a valid place. The value comes back if there is no memory.
pub(crate) fn give<T>(value: T, out: &mut *mut T) -> Result<(), (T, kvb_status)> {
    const { assert!(size_of::<T>() > 0, "there is no memory of size zero") };
    // SAFETY: not of size zero.
    let memory = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
    if memory.is_null() {
        return Err((value, KVB_ERR_NO_MEMORY));
    }
    // SAFETY: fresh memory of this layout.
    unsafe { memory.write(value) };
    *out = memory;
    Ok(())
}

/// The value behind an address that [`give`] made; the memory is given back. `None` for null.
///
/// # Safety
/// * Null, or from [`give`] and not taken before.
pub(crate) unsafe fn take<T>(object: *mut T) -> Option<T> {
    if object.is_null() {
        return None;
    }
    // SAFETY: `give` allocated it as a box would have: with the global allocator, for the layout of `T`.
    let object = unsafe { Box::from_raw(object) };
    Some(*object)
}
