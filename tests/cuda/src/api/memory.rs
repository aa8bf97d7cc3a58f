//! Device memory and pinned host memory.

use core::ffi::{c_int, c_uint, c_void};

use super::{call, check_out, put};
use crate::error::{INVALID_VALUE, Outcome};
use crate::region::Kind;
use crate::stream::HOST;
use crate::world::World;

impl World {
    /// Nothing that has run may still be in flight for who frees, and nothing that is queued may come.
    fn check_free(&mut self, what: &str, range: (u64, u64)) {
        let clock = &self.streams.lanes[HOST].clock;
        if let Some(label) = self.order.in_flight(clock, range) {
            let text = format!(
                "{what} at {:#x} was freed while {label} may be in flight",
                range.0
            );
            self.findings.fault(text);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(to: *mut u64, bytes: usize) -> c_int {
    call("cuMemAlloc_v2", |world| {
        world.check_uncaptured()?;
        check_out(to)?;
        let address = world.memory.allocate(bytes)?;
        // SAFETY: the caller's pointer is not null, and then can be written.
        unsafe { put(to, address) }
    })
}

/// Unlike what a real driver may do, it does not wait for anything: operations that still touch the memory are a fault.
#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    call("cuMemFree_v2", |world| {
        if address == 0 {
            return Ok(());
        }
        world.check_uncaptured()?;
        let range = world.memory.free(address)?;
        world.check_free("device memory", range);
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    call("cuMemGetInfo_v2", |world| {
        // SAFETY: the caller's pointer is null or can be written.
        unsafe { put(free, world.memory.free_bytes()) }?;
        // SAFETY: as above.
        unsafe { put(total, world.memory.total()) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int {
    call("cuMemHostAlloc", |world| {
        world.check_uncaptured()?;
        check_out(to)?;
        // Portable, mapped, write-combined.
        if flags & !7 != 0 {
            return Err(INVALID_VALUE);
        }
        let address = world.memory.allocate_host(bytes)?;
        // SAFETY: the caller's pointer is not null, and then can be written.
        unsafe { put(to, address as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(address: usize) -> c_int {
    call("cuMemFreeHost", |world| {
        world.check_uncaptured()?;
        let range = world.memory.free_host(address as u64)?;
        world.check_free("pinned memory", range);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostRegister_v2(address: usize, bytes: usize, flags: c_uint) -> c_int {
    call("cuMemHostRegister_v2", |world| {
        world.check_uncaptured()?;
        // Portable, mapped, not I/O memory, read-only.
        if flags & !0b1011 != 0 {
            return Err(INVALID_VALUE);
        }
        world.memory.register(address, bytes)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostUnregister(address: usize) -> c_int {
    call("cuMemHostUnregister", |world| {
        world.check_uncaptured()?;
        let range = world.memory.unregister(address)?;
        world.check_free("registered memory", range);
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuPointerGetAttribute(
    to: *mut c_void,
    attribute: c_uint,
    address: u64,
) -> c_int {
    call("cuPointerGetAttribute", |world| {
        let context = world.current();
        let region = world.memory.holder(address).ok_or(INVALID_VALUE)?;
        let device = region.kind == Kind::Device;
        // SAFETY: the caller's pointer is null or can take the attribute.
        unsafe {
            match attribute {
                // Context; host or device memory; its address on either side.
                1 => put(to.cast(), context),
                2 => put(to.cast::<c_uint>(), if device { 2 } else { 1 }),
                3 => put(to.cast(), address),
                4 if !device => put(to.cast(), address),
                6 | 8 => put(to.cast::<c_uint>(), 0),
                7 => put(to.cast(), region.id),
                9 => put(to.cast::<c_int>(), 0),
                // The allocation.
                11 => put(to.cast(), region.base),
                12 => put(to.cast(), region.bytes),
                _ => refused(),
            }
        }
    })
}

fn refused() -> Outcome {
    Err(INVALID_VALUE)
}
