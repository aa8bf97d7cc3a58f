//! Pinned host memory for blocks.

use alloc::alloc::{alloc, dealloc};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ffi::c_void;
use core::ptr::NonNull;

use super::buffer::{PinnedBuffer, Registration};
use super::device::CudaDevice;
use super::error::CudaError;
use super::memory::end;
use crate::copy::{BlockLayout, MemoryId};
use crate::error::OutOfMemory;

/// A page of the host. Where it has larger ones, pieces are to be a multiple of those.
const PAGE: usize = 4096;
/// A page of hosts with large ones.
const LARGE_PAGE: usize = 65_536;

/// The blocks of a host tier: block-first, so that a block is one piece and neighbours are copied at once, in pinned memory.
///
/// A handle: clones are handles of the same memory, which goes back with the last of them. A [`CudaMover`](super::CudaMover) that knows it
/// has one.
#[derive(Clone, Debug)]
pub struct HostPool {
    device: CudaDevice,
    layout: BlockLayout,
    base: NonNull<u8>,
    pinned: Arc<Pinned>,
}

// SAFETY: `base` is the address of memory that `pinned` keeps, or that the caller promised to.
unsafe impl Send for HostPool {}
// SAFETY: as above; it is only read through `unsafe`.
unsafe impl Sync for HostPool {}

#[derive(Debug)]
enum Pinned {
    /// The driver's.
    Whole { _buffer: PinnedBuffer },
    /// Pinned piece by piece. The pieces go before the memory.
    Pieces {
        _pieces: Vec<Registration>,
        piece_bytes: usize,
        _memory: Option<Pages>,
    },
    /// The caller has pinned it.
    Callers,
}

impl HostPool {
    /// Pinned memory for `blocks` blocks with the planes of `like`, in one piece.
    ///
    /// # Errors
    /// [`CudaError::OutOfHostMemory`], [`CudaError::Layout`], [`CudaError::Driver`], [`CudaError::Poisoned`].
    ///
    /// One allocation of the driver's, which pins every page: O(bytes).
    pub fn allocate(
        device: &CudaDevice,
        memory: MemoryId,
        like: &BlockLayout,
        blocks: usize,
    ) -> Result<Self, CudaError> {
        let offsets = BlockLayout::like(like, 0, blocks)?.in_memory(memory);
        let current = device.enter()?;
        let buffer = PinnedBuffer::new(&current, end(&offsets))?;
        let base = buffer.address().cast();
        Ok(Self {
            device: device.clone(),
            layout: offsets.moved(base.addr().get() as u64)?,
            base,
            pinned: Arc::new(Pinned::Whole { _buffer: buffer }),
        })
    }

    /// The same, pinned in pieces of at most `piece_bytes` bytes, a multiple of 4096 and of the host's page, where that is larger: the
    /// driver may refuse to pin hundreds of gigabytes at once, and holds up others while it does.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate); [`CudaError::Config`]. Nothing stays pinned then.
    pub fn allocate_in_pieces(
        device: &CudaDevice,
        memory: MemoryId,
        like: &BlockLayout,
        blocks: usize,
        piece_bytes: usize,
    ) -> Result<Self, CudaError> {
        let offsets = BlockLayout::like(like, 0, blocks)?.in_memory(memory);
        let pages = Pages::new(device, end(&offsets))?;
        let base = pages.address;
        // SAFETY: the pages are kept beside the registrations, and go after them.
        unsafe { Self::pin(device, &offsets, base, piece_bytes, Some(pages)) }
    }

    /// Memory of the caller's, pinned here, in pieces of at most `piece_bytes` bytes, until this pool is gone: [`bytes`](Self::bytes) of it
    /// from `base` on. Pieces end at pages, so that none is pinned twice.
    ///
    /// # Errors
    /// As [`allocate_in_pieces`](Self::allocate_in_pieces). Memory on a page that is pinned already is refused by the driver.
    ///
    /// # Safety
    /// There is as much memory, and it stays while this handle, or a mover that knows it, is used.
    pub unsafe fn register(
        device: &CudaDevice,
        memory: MemoryId,
        like: &BlockLayout,
        blocks: usize,
        base: NonNull<u8>,
        piece_bytes: usize,
    ) -> Result<Self, CudaError> {
        let offsets = BlockLayout::like(like, 0, blocks)?.in_memory(memory);
        // SAFETY: the caller's word.
        unsafe { Self::pin(device, &offsets, base, piece_bytes, None) }
    }

    /// Memory that the caller has pinned.
    ///
    /// # Errors
    /// [`CudaError::Layout`].
    ///
    /// # Safety
    /// As for [`register`](Self::register); and it is pinned in one piece, for the device's context or for all.
    pub unsafe fn adopt(
        device: &CudaDevice,
        memory: MemoryId,
        like: &BlockLayout,
        blocks: usize,
        base: NonNull<u8>,
    ) -> Result<Self, CudaError> {
        let offsets = BlockLayout::like(like, 0, blocks)?.in_memory(memory);
        Ok(Self {
            device: device.clone(),
            layout: offsets.moved(base.addr().get() as u64)?,
            base,
            pinned: Arc::new(Pinned::Callers),
        })
    }

    /// Bytes that [`register`](Self::register) and [`adopt`](Self::adopt) need for `blocks` blocks with the planes of `like`.
    ///
    /// # Errors
    /// [`CudaError::Layout`].
    pub fn bytes(like: &BlockLayout, blocks: usize) -> Result<u64, CudaError> {
        Ok(end(&BlockLayout::like(like, 0, blocks)?))
    }

    /// # Safety
    /// There are the layout's bytes at `base`, and they stay.
    unsafe fn pin(
        device: &CudaDevice,
        offsets: &BlockLayout,
        base: NonNull<u8>,
        piece_bytes: usize,
        memory: Option<Pages>,
    ) -> Result<Self, CudaError> {
        if piece_bytes == 0 || piece_bytes % PAGE != 0 {
            return Err(CudaError::Config {
                field: "piece_bytes",
                value: piece_bytes as u64,
            });
        }
        let refused = CudaError::OutOfHostMemory {
            asked: end(offsets),
        };
        let bytes = usize::try_from(end(offsets)).map_err(|_| refused)?;
        let layout = offsets.moved(base.addr().get() as u64)?;
        let current = device.enter()?;
        let mut pieces = Vec::new();
        pieces
            .try_reserve_exact(bytes.div_ceil(piece_bytes).saturating_add(1))
            .map_err(|_| OutOfMemory)?;
        let (mut start, before) = (0, base.addr().get() % PAGE);
        while start < bytes {
            let to_end = piece_bytes - (before + start) % piece_bytes;
            let length = to_end.min(bytes - start);
            // SAFETY: the start is within the memory.
            let address = unsafe { base.add(start) }.cast::<c_void>();
            // SAFETY: the caller's word; the piece ends within the memory.
            let piece = unsafe { Registration::new(&current, address, length) };
            pieces.push(piece?);
            start += length;
        }
        Ok(Self {
            device: device.clone(),
            layout,
            base,
            pinned: Arc::new(Pinned::Pieces {
                _pieces: pieces,
                piece_bytes,
                _memory: memory,
            }),
        })
    }

    /// Its device.
    #[must_use]
    pub const fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Where the blocks are; addresses are those of the process.
    #[must_use]
    pub const fn layout(&self) -> &BlockLayout {
        &self.layout
    }

    /// The bytes of block 0, and behind them those of the others, as the layout says. Whoever reads or writes them sees to it that no copy
    /// is under way there.
    #[must_use]
    pub const fn as_ptr(&self) -> NonNull<u8> {
        self.base
    }

    /// No copy may go across multiples of so many bytes, from the address beside it on.
    pub(super) fn pieces(&self) -> Option<(u64, u64)> {
        let base = self.base.addr().get();
        match *self.pinned {
            Pinned::Pieces { piece_bytes, .. } => {
                Some((piece_bytes as u64, (base - base % PAGE) as u64))
            }
            Pinned::Whole { .. } | Pinned::Callers => None,
        }
    }
}

/// Memory of the process at a page.
#[derive(Debug)]
struct Pages {
    device: CudaDevice,
    address: NonNull<u8>,
    layout: Layout,
}

// SAFETY: memory that this owns, and that nothing but raw pointers goes to.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    fn new(device: &CudaDevice, bytes: u64) -> Result<Self, CudaError> {
        let refused = CudaError::OutOfHostMemory { asked: bytes };
        let size = usize::try_from(bytes).map_err(|_| refused)?;
        let layout = Layout::from_size_align(size, LARGE_PAGE).map_err(|_| refused)?;
        if size == 0 {
            return Err(refused);
        }
        // SAFETY: the size is not zero.
        let address = NonNull::new(unsafe { alloc(layout) }).ok_or(refused)?;
        Ok(Self {
            device: device.clone(),
            address,
            layout,
        })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let (device, start) = (&self.device, self.address.addr().get());
        let range = start..start + self.layout.size();
        // What could not be unpinned is tried again.
        let entered = device.enter();
        let _ = entered
            .and_then(|current| current.relaxed(|| device.leftovers().give_back(device.driver())));
        // A poisoned device may still touch it, and what is still pinned must not become somebody else's.
        if device.check_alive().is_ok() && !device.leftovers().pins(&range) {
            // SAFETY: it was allocated with this layout, once.
            unsafe { dealloc(self.address.as_ptr(), self.layout) };
        }
    }
}
