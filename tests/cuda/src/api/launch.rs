//! Kernel launches.

use core::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::call;
use crate::error::{INVALID_HANDLE, INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES};
use crate::work::{Launch, Work};

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: usize,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> c_int {
    call("cuLaunchKernel", |world| {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let function = world.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let kernel = function.kernel.clone();
        let most = [i32::MAX as u32, 65535, 65535];
        if !extra.is_null()
            || grid
                .iter()
                .zip(most)
                .any(|(count, most)| *count == 0 || *count > most)
        {
            return Err(INVALID_VALUE);
        }
        if block.contains(&0) || !kernel.allows(block) {
            return Err(INVALID_VALUE);
        }
        if shared_bytes as usize + kernel.shared_bytes > 49152 {
            return Err(LAUNCH_OUT_OF_RESOURCES);
        }
        if parameters.is_null() && !kernel.parameters.is_empty() {
            return Err(INVALID_VALUE);
        }
        let mut arguments = vec![0; kernel.parameter_bytes];
        for (at, (offset, bytes)) in kernel.parameters.iter().enumerate() {
            // SAFETY: the caller passes a pointer for each parameter of the function.
            let value = unsafe { parameters.add(at).read() };
            if value.is_null() {
                return Err(INVALID_VALUE);
            }
            // SAFETY: each points to a value of its parameter's size.
            let value = unsafe { core::slice::from_raw_parts(value.cast::<u8>(), *bytes) };
            arguments[*offset..][..*bytes].copy_from_slice(value);
        }
        let launch = Launch {
            kernel,
            module: function.module,
            grid,
            block,
            shared_bytes,
            arguments,
        };
        world
            .submit(stream, Work::Kernel(Arc::new(launch)))
            .map(drop)
    })
}
