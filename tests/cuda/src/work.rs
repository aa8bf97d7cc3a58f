//! What an operation does when its turn comes.

use std::sync::Arc;

use crate::memory::{Fault, Memory};
use crate::order::Ranges;
use crate::ptx::Kernel;

/// One end of a copy.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Device(u64),
    /// Pinned host memory and its region: read or written when the copy runs.
    Pinned {
        address: u64,
        region: u64,
    },
    /// Pageable host memory; a call waits for the copy, or a graph reads it at its turn.
    Pageable(u64),
    /// Pageable host memory as it was at the call.
    Staged(Arc<[u8]>),
}

/// A kernel launch with its arguments.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) module: usize,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) arguments: Vec<u8>,
}

/// What an operation does.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// A place in the order, or a wait.
    Nothing,
    /// An event that passes.
    Mark {
        event: usize,
    },
    Copy {
        to: End,
        from: End,
        bytes: usize,
    },
    /// `count` times the first `width` bytes of `value`.
    Fill {
        to: u64,
        value: u32,
        width: usize,
        count: usize,
    },
    Kernel(Arc<Launch>),
}

impl Work {
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Nothing | Self::Mark { .. } => "a mark".into(),
            Self::Copy { to, from, bytes } => format!(
                "a copy of {bytes} bytes from {} to {}",
                place(from),
                place(to)
            ),
            Self::Fill {
                to, width, count, ..
            } => format!("a fill of {} bytes at {to:#x}", width * count),
            Self::Kernel(launch) => format!("kernel {}", launch.kernel.name),
        }
    }
}

fn place(end: &End) -> String {
    match end {
        End::Device(address) => format!("device {address:#x}"),
        End::Pinned { address, .. } => format!("pinned {address:#x}"),
        End::Pageable(address) => format!("host {address:#x}"),
        End::Staged(_) => "host".into(),
    }
}

fn pointer(memory: &Memory, end: &End, bytes: usize) -> Result<*mut u8, Fault> {
    match end {
        End::Device(address) => memory.device_pointer(*address, bytes),
        End::Pinned { address, region } => memory.pinned_pointer(*region, *address),
        End::Pageable(address) => Ok(*address as *mut u8),
        End::Staged(bytes) => Ok(bytes.as_ptr().cast_mut()),
    }
}

fn note(end: &End, bytes: usize, ranges: &mut Ranges) {
    if let End::Device(address) | End::Pinned { address, .. } = end {
        ranges.push((*address, address + bytes as u64));
    }
}

/// Copies, and says what was read and written.
pub(crate) fn copy(
    memory: &Memory,
    to: &End,
    from: &End,
    bytes: usize,
    reads: &mut Ranges,
    writes: &mut Ranges,
) -> Result<(), Fault> {
    let source = pointer(memory, from, bytes)?;
    let destination = pointer(memory, to, bytes)?;
    note(from, bytes, reads);
    note(to, bytes, writes);
    // SAFETY: both ends are `bytes` long: regions were checked just now, pageable memory is vouched for by who called the
    // driver, staged bytes are only ever a source. `copy` allows an overlap.
    unsafe { core::ptr::copy(source, destination, bytes) };
    Ok(())
}

/// Fills device memory.
pub(crate) fn fill(
    memory: &Memory,
    to: u64,
    value: u32,
    width: usize,
    count: usize,
    writes: &mut Ranges,
) -> Result<(), Fault> {
    let bytes = width * count;
    let start = memory.device_pointer(to, bytes)?;
    writes.push((to, to + bytes as u64));
    // SAFETY: the region was checked to have `bytes` bytes here, and nothing else refers to it during the call.
    let place = unsafe { core::slice::from_raw_parts_mut(start, bytes) };
    for item in place.chunks_exact_mut(width) {
        item.copy_from_slice(&value.to_le_bytes()[..width]);
    }
    Ok(())
}
