//! Modules and functions.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::{call, check_out, put};
use crate::error::{INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, Outcome};
use crate::world::World;

/// Numbers of options of `cuModuleLoadDataEx`.
const ERROR_LOG: c_uint = 5;
const ERROR_LOG_BYTES: c_uint = 6;
const LAST_OPTION: c_uint = 30;

unsafe fn load(world: &mut World, to: *mut usize, image: *const c_void) -> (Outcome, String) {
    if to.is_null() || image.is_null() {
        return (Err(INVALID_VALUE), String::new());
    }
    // SAFETY: an image is not null and is readable for at least four bytes.
    let start = unsafe { image.cast::<[u8; 4]>().read() };
    // Machine code: an ELF file, or several of them with a header.
    if start == *b"\x7fELF" || start == [0x50, 0xed, 0x55, 0xba] {
        return (
            Err(INVALID_IMAGE),
            "machine code cannot be executed here".into(),
        );
    }
    // SAFETY: PTX text ends with a zero, as the driver demands.
    let text = unsafe { CStr::from_ptr(image.cast()) };
    let (module, log) = world.load_module(text);
    // SAFETY: the caller's pointer is not null, and then can be written.
    (module.and_then(|module| unsafe { put(to, module) }), log)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(to: *mut usize, image: *const c_void) -> c_int {
    call("cuModuleLoadData", |world| {
        world.check_uncaptured()?;
        // SAFETY: the pointers are the caller's.
        let (outcome, log) = unsafe { load(world, to, image) };
        world.module_log = log;
        outcome
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    to: *mut usize,
    image: *const c_void,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> c_int {
    call("cuModuleLoadDataEx", |world| {
        world.check_uncaptured()?;
        if count > 0 && (options.is_null() || values.is_null()) {
            return Err(INVALID_VALUE);
        }
        let (mut place, mut room) = (core::ptr::null_mut::<u8>(), 0);
        for at in 0..count as usize {
            // SAFETY: both lists are `count` long.
            let option = unsafe { options.add(at).read() };
            // SAFETY: as above.
            let value = unsafe { values.add(at).read() };
            match option {
                ERROR_LOG => place = value.cast(),
                ERROR_LOG_BYTES => room = value as usize & 0xffff_ffff,
                0..=LAST_OPTION => {}
                _ => return Err(INVALID_VALUE),
            }
        }
        // SAFETY: the pointers are the caller's.
        let (outcome, log) = unsafe { load(world, to, image) };
        if !place.is_null() && room > 0 {
            let length = log.len().min(room - 1);
            // SAFETY: the caller's buffer has `room` bytes.
            let buffer = unsafe { core::slice::from_raw_parts_mut(place, room) };
            buffer[..length].copy_from_slice(&log.as_bytes()[..length]);
            buffer[length] = 0;
        }
        world.module_log = log;
        outcome
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    to: *mut usize,
    module: usize,
    name: *const c_char,
) -> c_int {
    call("cuModuleGetFunction", |world| {
        check_out(to)?;
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's name is not null, and then ends with a zero.
        let name = unsafe { CStr::from_ptr(name) };
        let function = world.function(module, name)?;
        // SAFETY: the caller's pointer is not null, and then can be written.
        unsafe { put(to, function) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: usize) -> c_int {
    call("cuModuleUnload", |world| {
        world.check_uncaptured()?;
        world.unload(module)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(
    to: *mut c_int,
    attribute: c_uint,
    function: usize,
) -> c_int {
    call("cuFuncGetAttribute", |world| {
        let kernel = &world.functions.get(&function).ok_or(INVALID_HANDLE)?.kernel;
        let value = match attribute {
            0 => kernel.thread_limit(),
            1 => kernel.shared_bytes as u32,
            2 => 0,
            3 => kernel.local_bytes as u32,
            // What an assembler would need is not known: the declared ones are more.
            4 => (kernel.registers as u32).min(255),
            5 => 78,
            6 => 80,
            _ => return Err(INVALID_VALUE),
        };
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(to, value as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    to: *mut c_int,
    function: usize,
    threads: c_int,
    shared_bytes: usize,
) -> c_int {
    call("cuOccupancyMaxActiveBlocksPerMultiprocessor", |world| {
        let kernel = &world.functions.get(&function).ok_or(INVALID_HANDLE)?.kernel;
        let threads = u32::try_from(threads)
            .ok()
            .filter(|threads| *threads > 0)
            .ok_or(INVALID_VALUE)?;
        let fits = threads <= kernel.thread_limit() && shared_bytes + kernel.shared_bytes <= 49152;
        let blocks = if fits { (2048 / threads).min(16) } else { 0 };
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(to, blocks as c_int) }
    })
}
