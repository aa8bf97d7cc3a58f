//! The end of the process when the library finds a bug of its own: the hook is told, then it aborts. Nothing unwinds into C.

use core::ffi::{c_int, c_void};
use core::fmt::Write;

use super::hooks::current;
use crate::text::Text;

unsafe extern "C" {
    fn abort() -> !;
    fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
}

/// Standard error.
const STDERR: c_int = 2;

// Rust's own libraries name this function in tables for unwinding, which no panic of this one does. It is only there to be linked: weak,
// so that another Rust library's is used where there is one, and hidden, so that nobody gets this one.
core::arch::global_asm!(
    ".weak rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
);
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
core::arch::global_asm!("ud2");
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!("brk #1");
#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
core::arch::global_asm!(".long 0");

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let mut message = Text::<512>::new();
    // Cut off where it is too long.
    let _ = write!(message, "kvblock: {info}");
    let message = message.as_bytes();
    if let Some((hook, user)) = current().and_then(|hooks| Some((hooks.panic?, hooks.user))) {
        // SAFETY: the caller gave this function for this purpose; the message lives until it returns.
        unsafe { hook(message.as_ptr().cast(), message.len(), user) };
    } else {
        // SAFETY: the message has as many bytes. Whether it could be written changes nothing.
        let _ = unsafe { write(STDERR, message.as_ptr().cast(), message.len()) };
    }
    // SAFETY: takes nothing and does not return.
    unsafe { abort() }
}
