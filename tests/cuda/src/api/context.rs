//! The primary context and the calling thread's.

use core::ffi::c_int;

use super::device::check_device;
use super::{call, call_without_context, check_out, put};
use crate::error::INVALID_CONTEXT;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(to: *mut usize, device: c_int) -> c_int {
    call_without_context("cuDevicePrimaryCtxRetain", |world| {
        check_device(device)?;
        check_out(to)?;
        let context = world.retain();
        // SAFETY: the caller's pointer is not null, and then can be written.
        unsafe { put(to, context) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int {
    call_without_context("cuDevicePrimaryCtxRelease_v2", |world| {
        check_device(device)?;
        world.release()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(to: *mut usize) -> c_int {
    // SAFETY: the caller's pointer is null or can be written.
    call_without_context("cuCtxGetCurrent", |world| unsafe {
        put(to, world.current())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: usize) -> c_int {
    call_without_context("cuCtxSetCurrent", |world| world.make_current(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetDevice(to: *mut c_int) -> c_int {
    call_without_context("cuCtxGetDevice", |world| {
        if world.current() == 0 {
            return Err(INVALID_CONTEXT);
        }
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> c_int {
    call("cuCtxSynchronize", |world| {
        world.check_uncaptured()?;
        world.synchronize_all()
    })
}
