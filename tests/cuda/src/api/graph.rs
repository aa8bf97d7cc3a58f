//! Graphs.

use core::ffi::{c_int, c_ulonglong};

use super::{call, check_out, put};
use crate::error::INVALID_VALUE;
use crate::world::handle;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphInstantiateWithFlags(
    to: *mut usize,
    graph: usize,
    flags: c_ulonglong,
) -> c_int {
    call("cuGraphInstantiateWithFlags", |world| {
        check_out(to)?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let executable = world.instantiate(graph)?;
        let number = handle();
        world.executables.insert(number, executable);
        // SAFETY: the caller's pointer is not null, and then can be written.
        unsafe { put(to, number) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(executable: usize, stream: usize) -> c_int {
    call("cuGraphLaunch", |world| {
        world.launch_graph(executable, stream)
    })
}

/// A launch that is queued still runs.
#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(executable: usize) -> c_int {
    call("cuGraphExecDestroy", |world| {
        world
            .executables
            .remove(&executable)
            .map(drop)
            .ok_or(INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(graph: usize) -> c_int {
    call("cuGraphDestroy", |world| {
        world.graphs.remove(&graph).map(drop).ok_or(INVALID_VALUE)
    })
}
