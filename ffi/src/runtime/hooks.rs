//! The caller's functions for memory and for the end of the process.

use core::ffi::{c_char, c_void};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicUsize};

use crate::arg::{self, Argument, Versioned};
use crate::status::{KVB_ERR_IN_USE, KVB_ERR_INVALID, KVB_OK, kvb_status};

/// Functions of the caller's that the library uses instead of its own. What is NULL stays the library's own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_hooks {
    /// `sizeof(kvb_hooks)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Gives `size` bytes aligned to `align` (a power of two), or NULL. Any thread may call it at any time. Set with `free`.
    pub alloc:
        Option<unsafe extern "C" fn(size: usize, align: usize, user: *mut c_void) -> *mut c_void>,
    /// Takes back what `alloc` gave for this size and alignment.
    pub free: Option<
        unsafe extern "C" fn(memory: *mut c_void, size: usize, align: usize, user: *mut c_void),
    >,
    /// Told once, by the thread that found it, that the library has a bug, before the process is aborted. `message` has `length` bytes
    /// of UTF-8 and no zero at its end. It must not call the library.
    pub panic:
        Option<unsafe extern "C" fn(message: *const c_char, length: usize, user: *mut c_void)>,
    /// Passed to each of them.
    pub user: *mut c_void,
}

// SAFETY: integers, optional functions and a pointer: all zero is valid.
unsafe impl Versioned for kvb_hooks {}

/// No hooks.
const NONE: kvb_hooks = kvb_hooks {
    struct_size: 0,
    reserved: 0,
    alloc: None,
    free: None,
    panic: None,
    user: core::ptr::null_mut(),
};

/// Where `kvb_set_hooks` keeps its copy. Written while nothing of the library lives and no other call runs, as its contract demands;
/// read through `CURRENT`.
struct Kept(core::cell::UnsafeCell<kvb_hooks>);

// SAFETY: see above: nobody reads while somebody writes.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept(core::cell::UnsafeCell::new(NONE));

/// Null, or the copy. Release in `kvb_set_hooks` pairs with Acquire in `current`: who sees the pointer sees the functions.
static CURRENT: AtomicPtr<kvb_hooks> = AtomicPtr::new(core::ptr::null_mut());

/// Pieces of memory that live. A mismatch of `alloc` and `free` is refused by it; nothing is ordered by it.
static LIVE: AtomicUsize = AtomicUsize::new(0);

pub(super) fn current() -> Option<&'static kvb_hooks> {
    let current = CURRENT.load(Acquire);
    // SAFETY: null, or the address of a static that is not written to while anybody may read it.
    unsafe { current.as_ref() }
}

pub(super) fn count_allocated() {
    LIVE.fetch_add(1, Relaxed);
}

pub(super) fn count_freed() {
    LIVE.fetch_sub(1, Relaxed);
}

/// Sets the functions that the library uses for memory and panics, for the whole process; NULL sets its own again (`malloc` and `free`,
/// a line on standard error). To be called before anything is created.
///
/// Ownership: the struct is copied; the functions and `user` must stay. Threads: no other call may run meanwhile. O(1).
/// Errors: `KVB_ERR_IN_USE` if an object of the library lives; `KVB_ERR_INVALID` if only one of `alloc` and `free` is given;
/// `KVB_ERR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_set_hooks(hooks: *const kvb_hooks) -> kvb_status {
    if LIVE.load(Relaxed) != 0 {
        return KVB_ERR_IN_USE;
    }
    if hooks.is_null() {
        CURRENT.store(core::ptr::null_mut(), Release);
        return KVB_OK;
    }
    // SAFETY: not null; the caller's duty is that it points to a `kvb_hooks` of the size that it says.
    let hooks = match unsafe { arg::versioned(hooks) } {
        Ok(hooks) => hooks,
        Err(Argument(status)) => return status,
    };
    if let Err(Argument(status)) = arg::unused(hooks.reserved) {
        return status;
    }
    if hooks.alloc.is_some() != hooks.free.is_some() {
        return KVB_ERR_INVALID;
    }
    CURRENT.store(core::ptr::null_mut(), Release);
    // SAFETY: no other call runs, by this function's contract, so nobody reads it.
    unsafe { *KEPT.0.get() = hooks };
    CURRENT.store(KEPT.0.get(), Release);
    KVB_OK
}
