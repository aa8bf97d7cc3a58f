//! Copies and fills.

use core::ffi::{c_int, c_uchar, c_uint};
use std::sync::Arc;

use super::call;
use crate::error::{INVALID_VALUE, Outcome};
use crate::stream::LEGACY;
use crate::work::{End, Work};
use crate::world::World;

/// The legacy default stream.
const DEFAULT: usize = 0;

impl World {
    fn copy_in(&mut self, to: u64, from: usize, bytes: usize, stream: usize) -> Outcome {
        if bytes == 0 {
            return self.streams.lane(stream).map(drop);
        }
        self.memory.check_device(to, bytes)?;
        let lane = self.streams.lane(stream)?;
        let from = match self.memory.pinned_at(from as u64, bytes)? {
            Some(region) => End::Pinned {
                address: from as u64,
                region,
            },
            None if self.captured(lane)?.is_some() => End::Pageable(from as u64),
            // Pageable memory is read before the call returns.
            None => {
                // SAFETY: the caller vouches for `bytes` bytes there during the call.
                End::Staged(Arc::from(unsafe {
                    core::slice::from_raw_parts(from as *const u8, bytes)
                }))
            }
        };
        self.submit(
            stream,
            Work::Copy {
                to: End::Device(to),
                from,
                bytes,
            },
        )
        .map(drop)
    }

    fn copy_out(&mut self, to: usize, from: u64, bytes: usize, stream: usize) -> Outcome {
        if bytes == 0 {
            return self.streams.lane(stream).map(drop);
        }
        self.memory.check_device(from, bytes)?;
        let pinned = self.memory.pinned_at(to as u64, bytes)?;
        let to = pinned.map_or(End::Pageable(to as u64), |region| End::Pinned {
            address: to as u64,
            region,
        });
        let lane = self.streams.lane(stream)?;
        let queued = self.submit(
            stream,
            Work::Copy {
                to,
                from: End::Device(from),
                bytes,
            },
        )?;
        // A copy to pageable memory is over when the call returns.
        if pinned.is_none() && queued.is_some() {
            self.synchronize_lane(lane)
        } else {
            Ok(())
        }
    }

    fn copy_within(&mut self, to: u64, from: u64, bytes: usize, stream: usize) -> Outcome {
        if bytes == 0 {
            return self.streams.lane(stream).map(drop);
        }
        self.memory.check_device(to, bytes)?;
        self.memory.check_device(from, bytes)?;
        if to.abs_diff(from) < bytes as u64 {
            self.findings.fault(format!(
                "a copy of {bytes} bytes from {from:#x} to {to:#x}, which overlap"
            ));
        }
        self.submit(
            stream,
            Work::Copy {
                to: End::Device(to),
                from: End::Device(from),
                bytes,
            },
        )
        .map(drop)
    }

    fn fill(&mut self, to: u64, value: u32, width: usize, count: usize, stream: usize) -> Outcome {
        if count == 0 {
            return self.streams.lane(stream).map(drop);
        }
        if to % width as u64 != 0 {
            return Err(INVALID_VALUE);
        }
        self.memory
            .check_device(to, count.checked_mul(width).ok_or(INVALID_VALUE)?)?;
        self.submit(
            stream,
            Work::Fill {
                to,
                value,
                width,
                count,
            },
        )
        .map(drop)
    }

    fn check_synchronous(&mut self) -> Outcome {
        self.check_uncaptured()?;
        self.check_legacy(LEGACY)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: usize, bytes: usize, stream: usize) -> c_int {
    call("cuMemcpyHtoDAsync_v2", |world| {
        world.copy_in(to, from, bytes, stream)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoHAsync_v2(to: usize, from: u64, bytes: usize, stream: usize) -> c_int {
    call("cuMemcpyDtoHAsync_v2", |world| {
        world.copy_out(to, from, bytes, stream)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) -> c_int {
    call("cuMemcpyDtoDAsync_v2", |world| {
        world.copy_within(to, from, bytes, stream)
    })
}

/// From pageable memory it may return before the last part is on the device; from pinned memory it does not.
#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoD_v2(to: u64, from: usize, bytes: usize) -> c_int {
    call("cuMemcpyHtoD_v2", |world| {
        world.check_synchronous()?;
        let pinned = bytes > 0 && world.memory.pinned_at(from as u64, bytes)?.is_some();
        world.copy_in(to, from, bytes, DEFAULT)?;
        if pinned {
            world.synchronize_lane(LEGACY)
        } else {
            Ok(())
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoH_v2(to: usize, from: u64, bytes: usize) -> c_int {
    call("cuMemcpyDtoH_v2", |world| {
        world.check_synchronous()?;
        world.copy_out(to, from, bytes, DEFAULT)?;
        world.synchronize_lane(LEGACY)
    })
}

/// Nobody waits for it.
#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) -> c_int {
    call("cuMemcpyDtoD_v2", |world| {
        world.check_synchronous()?;
        world.copy_within(to, from, bytes, DEFAULT)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(to: u64, value: c_uchar, count: usize, stream: usize) -> c_int {
    call("cuMemsetD8Async", |world| {
        world.fill(to, u32::from(value), 1, count, stream)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD32Async(to: u64, value: c_uint, count: usize, stream: usize) -> c_int {
    call("cuMemsetD32Async", |world| {
        world.fill(to, value, 4, count, stream)
    })
}
