//! Events.

use core::ffi::{c_int, c_uint};

use super::{call, check_out, put};
use crate::error::{INVALID_HANDLE, INVALID_VALUE};
use crate::event::Event;
use crate::world::handle;

const BLOCKING_SYNC: c_uint = 1;
const DISABLE_TIMING: c_uint = 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(to: *mut usize, flags: c_uint) -> c_int {
    call("cuEventCreate", |world| {
        check_out(to)?;
        if flags & !(BLOCKING_SYNC | DISABLE_TIMING) != 0 {
            return Err(INVALID_VALUE);
        }
        let event = handle();
        world.events.insert(
            event,
            Event {
                timing: flags & DISABLE_TIMING == 0,
                ..Event::default()
            },
        );
        // SAFETY: the caller's pointer is not null, and then can be written.
        unsafe { put(to, event) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: usize, stream: usize) -> c_int {
    call("cuEventRecord", |world| world.record_event(event, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: usize) -> c_int {
    call("cuEventQuery", |world| world.query_event(event))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: usize) -> c_int {
    call("cuEventSynchronize", |world| world.synchronize_event(event))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime(to: *mut f32, start: usize, end: usize) -> c_int {
    call("cuEventElapsedTime", |world| {
        let elapsed = world.elapsed(start, end)?;
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(to, elapsed) }
    })
}

/// Streams that wait for it still do.
#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: usize) -> c_int {
    call("cuEventDestroy_v2", |world| {
        world.events.remove(&event).map(drop).ok_or(INVALID_HANDLE)
    })
}
