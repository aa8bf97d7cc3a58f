//! Streams.

use core::ffi::{c_int, c_uint};

use super::{call, check_out, put};
use crate::capture::exchange_mode;
use crate::error::{INVALID_HANDLE, INVALID_VALUE, NOT_READY, Outcome};
use crate::stream::LEGACY;
use crate::world::{World, handle};

const NON_BLOCKING: c_uint = 1;

unsafe fn create(world: &mut World, to: *mut usize, flags: c_uint) -> Outcome {
    check_out(to)?;
    if flags & !NON_BLOCKING != 0 {
        return Err(INVALID_VALUE);
    }
    let stream = handle();
    world.streams.open(stream, flags & NON_BLOCKING == 0);
    // SAFETY: the caller's pointer is not null, and then can be written.
    unsafe { put(to, stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(to: *mut usize, flags: c_uint) -> c_int {
    // SAFETY: the pointer is the caller's.
    call("cuStreamCreate", |world| unsafe {
        create(world, to, flags)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreateWithPriority(
    to: *mut usize,
    flags: c_uint,
    _priority: c_int,
) -> c_int {
    // SAFETY: the pointer is the caller's.
    call("cuStreamCreateWithPriority", |world| unsafe {
        create(world, to, flags)
    })
}

/// What is queued still runs.
#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: usize) -> c_int {
    call("cuStreamDestroy_v2", |world| {
        let lane = world.streams.lane(stream)?;
        if lane == LEGACY {
            return Err(INVALID_HANDLE);
        }
        world.check_not_capturing(lane)?;
        world.streams.close(stream);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: usize, event: usize, flags: c_uint) -> c_int {
    call("cuStreamWaitEvent", |world| {
        if flags == 0 {
            world.wait_event(stream, event)
        } else {
            Err(INVALID_VALUE)
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: usize) -> c_int {
    call("cuStreamSynchronize", |world| {
        let lane = world.streams.lane(stream)?;
        world.check_not_capturing(lane)?;
        world.check_uncaptured()?;
        world.check_legacy(lane)?;
        world.synchronize_lane(lane)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(stream: usize) -> c_int {
    call("cuStreamQuery", |world| {
        let lane = world.streams.lane(stream)?;
        world.check_not_capturing(lane)?;
        world.check_uncaptured()?;
        world.check_legacy(lane)?;
        let end = world.streams.end_of(lane);
        if !world.streams.is_done(end) {
            world.run_some()?;
        }
        if !world.streams.is_done(end) {
            return Err(NOT_READY);
        }
        world.synchronize_lane(lane)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamIsCapturing(stream: usize, to: *mut c_uint) -> c_int {
    call("cuStreamIsCapturing", |world| {
        let status = world.capture_status(stream)?;
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(to, status) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(stream: usize, mode: c_uint) -> c_int {
    call("cuStreamBeginCapture_v2", |world| {
        world.begin_capture(stream, mode)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamEndCapture(stream: usize, to: *mut usize) -> c_int {
    call("cuStreamEndCapture", |world| {
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(to, 0) }?;
        let graph = world.end_capture(stream)?;
        let number = handle();
        world.graphs.insert(number, graph);
        // SAFETY: as above.
        unsafe { put(to, number) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint) -> c_int {
    call("cuThreadExchangeStreamCaptureMode", |_| {
        check_out(mode)?;
        // SAFETY: the caller's pointer is not null, and then can be read.
        let wanted = unsafe { mode.read() };
        let before = exchange_mode(wanted)?;
        // SAFETY: and written.
        unsafe { put(mode, before) }
    })
}
