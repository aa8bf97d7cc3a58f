//! The driver, its one device, and names of errors.

use core::ffi::{c_char, c_int, c_uint};
use core::ptr::null;

use super::{call_at_any_time, call_without_context, put};
use crate::error::{INVALID_DEVICE, INVALID_VALUE, NO_DEVICE, Outcome, name};
use crate::world::World;

pub(super) fn check_device(device: c_int) -> Outcome {
    if device == 0 {
        Ok(())
    } else {
        Err(INVALID_DEVICE)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: c_uint) -> c_int {
    call_at_any_time("cuInit", |world| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if !world.settings.device {
            return Err(NO_DEVICE);
        }
        world.initialized = true;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer is null or can be written.
    call_at_any_time("cuDriverGetVersion", |world| unsafe {
        put(version, world.settings.version)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer is null or can be written.
    call_without_context("cuDeviceGetCount", |_| unsafe { put(count, 1) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    call_without_context("cuDeviceGet", |_| {
        check_device(ordinal)?;
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(device, ordinal) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(to: *mut c_char, bytes: c_int, device: c_int) -> c_int {
    call_without_context("cuDeviceGetName", |_| {
        check_device(device)?;
        let room = usize::try_from(bytes)
            .ok()
            .filter(|room| *room > 0 && !to.is_null())
            .ok_or(INVALID_VALUE)?;
        // SAFETY: the caller's pointer is not null, and then has room for `bytes` bytes.
        let to = unsafe { core::slice::from_raw_parts_mut(to.cast::<u8>(), room) };
        let name = b"stand-in (CPU)";
        let length = name.len().min(room - 1);
        to[..length].copy_from_slice(&name[..length]);
        to[length] = 0;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(
    to: *mut c_int,
    attribute: c_uint,
    device: c_int,
) -> c_int {
    call_without_context("cuDeviceGetAttribute", |world| {
        check_device(device)?;
        let value = attribute_of(world, attribute).ok_or(INVALID_VALUE)?;
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(to, value) }
    })
}

/// The attributes that make sense here, by their numbers in `cuda.h`.
fn attribute_of(world: &World, attribute: c_uint) -> Option<c_int> {
    Some(match attribute {
        // Threads of a block, in all and by direction; blocks by direction.
        1..=3 => 1024,
        4 => 64,
        5 => c_int::MAX,
        6 | 7 => 65535,
        // Shared memory of a block, then of a multiprocessor, then what a block may ask for.
        8 => 49152,
        81 => 102_400,
        97 => 101_376,
        // Lanes of a warp; kHz; multiprocessors.
        10 => 32,
        13 | 36 => 1_000_000,
        16 => world.settings.multiprocessors,
        // Mapped host memory, concurrent kernels, copy engines, one address space, registered host memory.
        19 | 31 | 41 | 99 => 1,
        40 => 2,
        // Bits of the memory bus, bytes of the level 2 cache.
        37 => 64,
        38 => 1 << 20,
        39 => 2048,
        106 => 16,
        // Compute capability 8.0.
        75 => 8,
        76 => 0,
        // Integrated, ECC, PCI numbers, managed memory, memory pools.
        18 | 32 | 33 | 34 | 50 | 83 | 89 | 115 => 0,
        _ => return None,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> c_int {
    call_without_context("cuDeviceTotalMem_v2", |world| {
        check_device(device)?;
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(bytes, world.memory.total()) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: c_int, to: *mut *const c_char) -> c_int {
    call_at_any_time("cuGetErrorName", |_| put_name(error, to))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: c_int, to: *mut *const c_char) -> c_int {
    call_at_any_time("cuGetErrorString", |_| put_name(error, to))
}

/// Both kinds of text are the name; null for a number that means nothing.
fn put_name(error: c_int, to: *mut *const c_char) -> Outcome {
    let found = name(error);
    // SAFETY: the caller's pointer is null or can be written.
    unsafe { put(to, found.map_or(null(), |name| name.as_ptr())) }?;
    found.map(drop).ok_or(INVALID_VALUE)
}
