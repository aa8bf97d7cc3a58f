//! Bytes of the host's memory, by the addresses that layouts have for them.
//!
//! Invariant: from `start` on there are `bytes` bytes that can be read and written for as long as the value lives, and that nobody else
//! touches while it is borrowed. Every access is checked against them here.

use alloc::alloc::{alloc_zeroed, dealloc};
use core::alloc::Layout;
use core::ptr::{self, NonNull};

use crate::error::OutOfMemory;

/// Bytes of the host's memory, by the addresses that layouts have for them.
#[derive(Debug)]
pub struct HostMemory {
    /// The address of the first byte, as layouts have it.
    base: u64,
    start: NonNull<u8>,
    bytes: usize,
    /// How it is to be freed.
    owned: Option<Layout>,
}

// SAFETY: the bytes are reached through the value only, as through a `Box<[u8]>`; of memory of others, `from_raw` demands it.
unsafe impl Send for HostMemory {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Every pool starts at a multiple of this.
    const ALIGNMENT: usize = 64;

    /// Bytes that are all zero, at a multiple of 64. The addresses are the real ones.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// Allocates.
    pub fn new(bytes: usize) -> Result<Self, OutOfMemory> {
        let size = bytes.max(1);
        let layout = Layout::from_size_align(size, Self::ALIGNMENT).map_err(|_| OutOfMemory)?;
        // SAFETY: the size is above zero.
        let raw = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(raw).ok_or(OutOfMemory)?;
        Ok(Self {
            base: address(start),
            start,
            bytes,
            owned: Some(layout),
        })
    }

    /// A buffer that nobody else has any more. The addresses are the real ones.
    #[must_use]
    pub fn from_static(bytes: &'static mut [u8]) -> Self {
        let (start, bytes) = (NonNull::from(&mut *bytes).cast(), bytes.len());
        Self {
            base: address(start),
            start,
            bytes,
            owned: None,
        }
    }

    /// Memory of somebody else. The addresses are the real ones.
    ///
    /// # Safety
    /// * From `start` on there are `bytes` initialised bytes of one allocation that can be read and written, from any thread, for as long as
    ///   the returned value lives.
    /// * Whenever a method of the returned value, or of a mover that it was given to, runs, and as long as a slice that such a method
    ///   returned lives, nobody else writes to them; if it is a method that takes `&mut self`, nobody else reads them either.
    #[must_use]
    pub unsafe fn from_raw(start: NonNull<u8>, bytes: usize) -> Self {
        Self {
            base: address(start),
            start,
            bytes,
            owned: None,
        }
    }

    /// The same memory with other addresses: `base` is that of the first byte. With `at(0)` the planes of a layout are offsets.
    #[must_use]
    pub fn at(mut self, base: u64) -> Self {
        self.base = base;
        self
    }

    /// The address of the first byte.
    #[must_use]
    pub const fn base(&self) -> u64 {
        self.base
    }

    /// How many bytes there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The bytes.
    #[must_use]
    pub const fn as_slice(&self) -> &[u8] {
        // SAFETY: this file's invariant; a shared borrow of the value is one of the bytes.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The bytes, to be written.
    #[must_use]
    pub const fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: this file's invariant; a unique borrow of the value is one of the bytes.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Whether both have a real byte in common.
    pub(super) fn shares_bytes_with(&self, other: &Self) -> bool {
        let ends = |it: &Self| {
            let start = it.start.as_ptr().addr();
            // An allocation does not wrap around.
            (start, start.saturating_add(it.bytes))
        };
        meet(ends(self), ends(other))
    }

    /// Whether both have an address in common.
    pub(super) fn shares_addresses_with(&self, other: &Self) -> bool {
        let ends = |it: &Self| {
            let base = u128::from(it.base);
            (base, base + it.bytes as u128)
        };
        meet(ends(self), ends(other))
    }

    /// The place of `bytes` bytes from an address on, if all of them are here.
    pub(super) fn place(&self, address: u64, bytes: u64) -> Option<usize> {
        let at = usize::try_from(address.checked_sub(self.base)?).ok()?;
        let behind = at.checked_add(usize::try_from(bytes).ok()?)?;
        (behind <= self.bytes).then_some(at)
    }

    /// Copies bytes from an address of one memory to an address of another, or of the same, as if through a buffer. Whether all of them
    /// were there on both sides; if not, nothing is copied.
    pub(super) fn copy(
        memories: &mut [Self],
        (source, at): (usize, u64),
        (destination, to): (usize, u64),
        bytes: u64,
    ) -> bool {
        let place = |memory: usize, address| {
            let memory = memories.get(memory)?;
            Some((memory, memory.place(address, bytes)?))
        };
        let (Some(source), Some(destination)) = (place(source, at), place(destination, to)) else {
            return false;
        };
        let Ok(count) = usize::try_from(bytes) else {
            return false;
        };
        // SAFETY: `place` found the byte at this place within the memory's bytes, or just behind them.
        let read = unsafe { source.0.start.add(source.1) };
        // SAFETY: as above.
        let written = unsafe { destination.0.start.add(destination.1) };
        // SAFETY: `place` found `bytes` bytes from there on on both sides, and the memories are borrowed uniquely. `copy` takes ranges that
        // overlap.
        unsafe { ptr::copy(read.as_ptr(), written.as_ptr(), count) };
        true
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let Some(layout) = self.owned {
            // SAFETY: it came from the global allocator with this layout, and no slice of it is alive.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

/// The real address.
fn address(start: NonNull<u8>) -> u64 {
    start.as_ptr().addr() as u64
}

fn meet<T: PartialOrd>(one: (T, T), other: (T, T)) -> bool {
    one.0 < other.1 && other.0 < one.1
}
