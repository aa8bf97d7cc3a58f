//! The driver's functions, with the signatures of `cuda.h`. Handles are numbers that look like pointers.
//!
//! Every call takes one lock, is noted, may be made to fail, and looks at the context before it does anything.

mod context;
mod copy;
mod device;
mod event;
mod graph;
mod launch;
mod memory;
mod module;
mod stream;

use core::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Code, INVALID_VALUE, NOT_INITIALIZED, Outcome, SUCCESS};
use crate::world::World;

static WORLD: Mutex<Option<World>> = Mutex::new(None);

/// Replaces the world by a new one. `cuInit` is for the process: who has called it does not do so again.
pub(crate) fn reset(seed: u64) {
    let mut world = lock();
    let initialized = world.as_ref().is_some_and(|before| before.initialized);
    *world = Some(World {
        initialized,
        ..World::new(seed)
    });
}

fn lock() -> MutexGuard<'static, Option<World>> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at the world, for control functions.
pub(crate) fn with_world<R>(work: impl FnOnce(&mut World) -> R) -> R {
    work(lock().get_or_insert_with(|| World::new(0)))
}

/// A call that needs the calling thread's context, which must be sound.
fn call(name: &'static str, work: impl FnOnce(&mut World) -> Outcome) -> c_int {
    entered(name, World::check_context, work)
}

/// A call that needs `cuInit`.
fn call_without_context(name: &'static str, work: impl FnOnce(&mut World) -> Outcome) -> c_int {
    entered(
        name,
        |world| {
            if world.initialized {
                Ok(())
            } else {
                Err(NOT_INITIALIZED)
            }
        },
        work,
    )
}

/// A call that needs nothing.
fn call_at_any_time(name: &'static str, work: impl FnOnce(&mut World) -> Outcome) -> c_int {
    entered(name, |_| Ok(()), work)
}

fn entered(
    name: &'static str,
    check: impl FnOnce(&World) -> Outcome,
    work: impl FnOnce(&mut World) -> Outcome,
) -> Code {
    with_world(|world| {
        if let Some(code) = world.calls.enter(name) {
            world.stick(code);
            return code;
        }
        match check(world).and_then(|()| work(world)) {
            Ok(()) => SUCCESS,
            Err(code) => code,
        }
    })
}

/// Writes an answer.
///
/// # Safety
///
/// - `to` is null or valid for a write of a `T`.
unsafe fn put<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and then valid as the caller says.
    unsafe { to.write(value) };
    Ok(())
}

/// Refuses to make what could not be handed out.
fn check_out<T>(to: *mut T) -> Outcome {
    if to.is_null() {
        Err(INVALID_VALUE)
    } else {
        Ok(())
    }
}
