//! Memory that the driver gave: of the device, and of the host for the device to reach.

use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};

use super::device::{CudaDevice, Current};
use super::driver::{DevicePtr, OUT_OF_MEMORY, call};
use super::error::CudaError;
use super::leftovers::Leftover;

/// `CU_MEMHOSTALLOC_PORTABLE`, `CU_MEMHOSTREGISTER_PORTABLE`: pinned for every context. Nothing else: write-combined memory is slow to read,
/// and device to host is half of what it is for.
const PORTABLE: u32 = 1;

/// Device memory.
#[derive(Debug)]
pub(super) struct DeviceBuffer {
    device: CudaDevice,
    address: DevicePtr,
}

impl DeviceBuffer {
    pub(super) fn new(current: &Current<'_>, bytes: u64) -> Result<Self, CudaError> {
        let (device, mut address) = (current.device(), 0);
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        let allocated = current.relaxed(|| {
            device.leftovers().give_back(device.driver());
            // SAFETY: there is place for an address, and the context is current.
            unsafe { call!(device.memory_alloc(&raw mut address, size)) }
        })?;
        match allocated {
            Ok(()) => Ok(Self {
                device: device.clone(),
                address,
            }),
            Err(CudaError::Driver {
                code: OUT_OF_MEMORY,
                ..
            }) => {
                let (free, total) = current.memory()?;
                Err(CudaError::OutOfDeviceMemory {
                    asked: bytes,
                    free,
                    total,
                })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn address(&self) -> DevicePtr {
        self.address
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        give_back(&self.device, Leftover::Memory(self.address));
    }
}

/// Pinned memory of the host.
#[derive(Debug)]
pub(super) struct PinnedBuffer {
    device: CudaDevice,
    address: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: memory that this owns, and that nothing but raw pointers goes to.
unsafe impl Send for PinnedBuffer {}
// SAFETY: as above.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    pub(super) fn new(current: &Current<'_>, bytes: u64) -> Result<Self, CudaError> {
        let (device, mut address) = (current.device(), null_mut());
        let refused = CudaError::OutOfHostMemory { asked: bytes };
        let bytes = usize::try_from(bytes).map_err(|_| refused)?;
        let allocated = current.relaxed(|| {
            device.leftovers().give_back(device.driver());
            // SAFETY: there is place for an address, and the context is current.
            unsafe { call!(device.host_alloc(&raw mut address, bytes, PORTABLE)) }
        })?;
        allocated.map_err(|error| out_of_host_memory(error, refused))?;
        let address = NonNull::new(address).ok_or(refused)?;
        Ok(Self {
            device: device.clone(),
            address,
            bytes,
        })
    }

    pub(super) fn address(&self) -> NonNull<c_void> {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        give_back(&self.device, Leftover::HostMemory(self.address.as_ptr()));
    }
}

/// Memory of the host that was pinned where it is.
#[derive(Debug)]
pub(super) struct Registration {
    device: CudaDevice,
    address: NonNull<c_void>,
}

// SAFETY: an address that is only given to the driver.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

impl Registration {
    /// Pins `bytes` bytes.
    ///
    /// # Safety
    /// They are there, and stay until this is dropped.
    pub(super) unsafe fn new(
        current: &Current<'_>,
        address: NonNull<c_void>,
        bytes: usize,
    ) -> Result<Self, CudaError> {
        let device = current.device();
        let registered = current.relaxed(|| {
            device.leftovers().give_back(device.driver());
            // SAFETY: the caller's word; the context is current.
            unsafe { call!(device.host_register(address.as_ptr(), bytes, PORTABLE)) }
        })?;
        let refused = CudaError::OutOfHostMemory {
            asked: bytes as u64,
        };
        registered.map_err(|error| out_of_host_memory(error, refused))?;
        Ok(Self {
            device: device.clone(),
            address,
        })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        give_back(&self.device, Leftover::Registration(self.address.as_ptr()));
    }
}

fn out_of_host_memory(error: CudaError, refused: CudaError) -> CudaError {
    match error {
        CudaError::Driver {
            code: OUT_OF_MEMORY,
            ..
        } => refused,
        other => other,
    }
}

/// Gives something back to the driver, which does not touch it any more: unless the device is poisoned, for then nobody knows.
pub(super) fn give_back(device: &CudaDevice, it: Leftover) {
    let given = device.enter().and_then(|current| {
        // Else another thread's capture would be broken off.
        current.relaxed(|| device.leftovers().take(device.driver(), it))
    });
    if given.is_err() {
        device.leftovers().keep(it);
    }
}
