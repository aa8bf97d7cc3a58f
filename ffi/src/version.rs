//! Which header a library fits.

use core::ffi::{CStr, c_char};

/// The version of the binary interface. Programs that were built with another number must not use the library.
pub const KVB_ABI_VERSION: u32 = 0;

/// The version of the library that the header came with.
pub const KVB_VERSION: &CStr = c"0.1.0";

/// The library's `KVB_ABI_VERSION`, to be compared with the header's: see `kvb_abi_matches`.
///
/// Threads: any. O(1).
#[unsafe(no_mangle)]
pub extern "C" fn kvb_abi_version() -> u32 {
    KVB_ABI_VERSION
}

/// The library's version, as `KVB_VERSION`.
///
/// Ownership: static. Threads: any. O(1). Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kvb_version() -> *const c_char {
    KVB_VERSION.as_ptr()
}
