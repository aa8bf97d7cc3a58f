//! What tests ask the stand-in: functions `standin_*`, found by `dlsym`. None of them lets anything run, but
//! `standin_run_all`.
//!
//! Texts are written into the caller's buffer, cut to its size and ended by a zero; the answer is the whole length.

use core::ffi::{CStr, c_char, c_int};

use crate::api::{reset, with_world};
use crate::error::{INVALID_VALUE, SUCCESS};
use crate::order::{Clock, Point, Record};
use crate::stream::HOST;
use crate::world::Live;

/// Forgets everything and begins anew; handles of before are stale. Memory of before is gone, also pinned memory.
#[unsafe(no_mangle)]
extern "C" fn standin_reset(seed: u64) {
    reset(seed);
}

/// Bytes of device memory (1 GiB after a reset).
#[unsafe(no_mangle)]
extern "C" fn standin_set_total_memory(bytes: usize) {
    with_world(|world| world.memory.set_total(bytes));
}

/// From now on memory of at least so many bytes is sparse: zero at first, and only pages that are written cost anything.
/// Which pages are written is remembered from now on, of all memory.
#[unsafe(no_mangle)]
extern "C" fn standin_set_sparse_from(bytes: usize) {
    with_world(|world| world.memory.set_sparse_from(bytes));
}

/// The page (of 4096 bytes) of an address, or the first behind it, that copies, kernels or `standin_poke` have written to;
/// 0 for none.
#[unsafe(no_mangle)]
extern "C" fn standin_next_written(address: u64) -> u64 {
    with_world(|world| world.memory.next_written(address).unwrap_or(0))
}

/// Instructions after which a launch ends with `CUDA_ERROR_LAUNCH_TIMEOUT` (2^30 after a reset).
#[unsafe(no_mangle)]
extern "C" fn standin_set_instruction_limit(instructions: u64) {
    with_world(|world| world.settings.instruction_limit = instructions.max(1));
}

/// Multiprocessors of the device (4 after a reset).
#[unsafe(no_mangle)]
extern "C" fn standin_set_multiprocessors(count: c_int) {
    with_world(|world| world.settings.multiprocessors = count);
}

/// The driver's version (12000 after a reset): PTX newer than it is refused.
#[unsafe(no_mangle)]
extern "C" fn standin_set_driver_version(version: c_int) {
    with_world(|world| world.settings.version = version);
}

/// Whether there is a device; without one `cuInit` answers `CUDA_ERROR_NO_DEVICE`.
#[unsafe(no_mangle)]
extern "C" fn standin_set_device(there: bool) {
    with_world(|world| world.settings.device = there);
}

/// Makes the `nth` call from now on (1: the next) of a function fail with `code`, without doing anything. Null stands for
/// any function. Codes that end a context end it.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_fail(function: *const c_char, nth: u64, code: c_int) {
    // SAFETY: null, or a text that the caller ended with a zero.
    let function = unsafe { text(function) };
    with_world(|world| world.calls.fail(function, nth, code));
}

/// Takes back what `standin_fail` asked for and has not happened.
#[unsafe(no_mangle)]
extern "C" fn standin_forget_failures() {
    with_world(|world| world.calls.forget_failures());
}

/// Failures that were asked for and have happened.
#[unsafe(no_mangle)]
extern "C" fn standin_failed() -> u64 {
    with_world(|world| world.calls.failed())
}

/// Calls of a function since the reset, or of all functions for null.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_calls(function: *const c_char) -> u64 {
    // SAFETY: null, or a text that the caller ended with a zero.
    let function = unsafe { text(function) };
    with_world(|world| {
        function.map_or(world.calls.log().len() as u64, |function| {
            world.calls.count(&function)
        })
    })
}

/// The name of the `nth` call since the reset (0: the first); empty past the last.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_call(nth: u64, to: *mut c_char, room: usize) -> usize {
    let name = with_world(|world| {
        usize::try_from(nth)
            .ok()
            .and_then(|nth| world.calls.log().get(nth).copied())
    });
    // SAFETY: the caller's buffer has `room` bytes.
    unsafe { answer(name.unwrap_or_default(), to, room) }
}

/// What is live.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_live(to: *mut Live) {
    let live = with_world(|world| world.live());
    // SAFETY: the caller's pointer can be written.
    unsafe { to.write(live) };
}

/// Races found since the reset.
#[unsafe(no_mangle)]
extern "C" fn standin_races() -> u64 {
    with_world(|world| world.findings.races())
}

/// The first race.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_first_race(to: *mut c_char, room: usize) -> usize {
    let found = with_world(|world| world.findings.first_race().to_owned());
    // SAFETY: the caller's buffer has `room` bytes.
    unsafe { answer(&found, to, room) }
}

/// Faults found since the reset: what kernels and copies did that they may not, and memory freed too early.
#[unsafe(no_mangle)]
extern "C" fn standin_faults() -> u64 {
    with_world(|world| world.findings.faults())
}

/// The first fault.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_first_fault(to: *mut c_char, room: usize) -> usize {
    let found = with_world(|world| world.findings.first_fault().to_owned());
    // SAFETY: the caller's buffer has `room` bytes.
    unsafe { answer(&found, to, room) }
}

/// What was wrong with the module that was loaded last; empty if nothing was.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_module_log(to: *mut c_char, room: usize) -> usize {
    let log = with_world(|world| world.module_log.clone());
    // SAFETY: the caller's buffer has `room` bytes.
    unsafe { answer(&log, to, room) }
}

/// Reads device memory as it is now, whatever is queued.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_peek(address: u64, to: *mut u8, bytes: usize) -> c_int {
    with_world(|world| match world.memory.device_pointer(address, bytes) {
        Ok(place) => {
            // SAFETY: the region has the bytes, and so has the caller's buffer.
            unsafe { core::ptr::copy_nonoverlapping(place, to, bytes) };
            SUCCESS
        }
        Err(_) => INVALID_VALUE,
    })
}

/// Writes device memory now, whatever is queued.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_poke(address: u64, from: *const u8, bytes: usize) -> c_int {
    with_world(|world| match world.memory.device_pointer(address, bytes) {
        Ok(place) => {
            // SAFETY: the region has the bytes, and so has the caller's buffer.
            unsafe { core::ptr::copy_nonoverlapping(from, place, bytes) };
            world.memory.note_written(address, address + bytes as u64);
            SUCCESS
        }
        Err(_) => INVALID_VALUE,
    })
}

/// Says that the host reads or writes pinned memory now: a race if something in flight touches it.
#[unsafe(no_mangle)]
extern "C" fn standin_host_access(address: usize, bytes: usize, write: bool) {
    with_world(|world| {
        let host = &mut world.streams.lanes[HOST];
        host.last += 1;
        host.done = host.last;
        let point = Point {
            lane: HOST,
            time: host.last,
        };
        host.clock.raise(point);
        let clock: Clock = host.clock.clone();
        let range = vec![(address as u64, (address + bytes) as u64)];
        let (reads, writes) = if write {
            (Vec::new(), range)
        } else {
            (range, Vec::new())
        };
        let label = if write {
            "a write by the host"
        } else {
            "a read by the host"
        };
        world.order.add(
            Record {
                point,
                label: label.into(),
                reads,
                writes,
            },
            &clock,
            &mut world.findings,
        );
    });
}

/// Runs everything that is queued, in an order drawn from the seed, without the host learning of it.
#[unsafe(no_mangle)]
extern "C" fn standin_run_all() -> c_int {
    with_world(|world| world.run_all().err().unwrap_or(SUCCESS))
}

/// Operations that are queued and have not run.
#[unsafe(no_mangle)]
extern "C" fn standin_queued() -> u64 {
    with_world(|world| {
        world
            .streams
            .lanes
            .iter()
            .map(|lane| lane.queue.len() as u64)
            .sum()
    })
}

/// # Safety
///
/// - `from` is null or ends with a zero.
unsafe fn text(from: *const c_char) -> Option<String> {
    if from.is_null() {
        return None;
    }
    // SAFETY: not null, and then as the caller says.
    Some(
        unsafe { CStr::from_ptr(from) }
            .to_string_lossy()
            .into_owned(),
    )
}

/// # Safety
///
/// - `to` is null or has `room` bytes.
unsafe fn answer(found: &str, to: *mut c_char, room: usize) -> usize {
    if to.is_null() || room == 0 {
        return found.len();
    }
    // SAFETY: not null, and then as long as the caller says.
    let to = unsafe { core::slice::from_raw_parts_mut(to.cast::<u8>(), room) };
    let length = found.len().min(room - 1);
    to[..length].copy_from_slice(&found.as_bytes()[..length]);
    to[length] = 0;
    found.len()
}
