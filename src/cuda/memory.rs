//! Device memory for blocks.

use alloc::sync::Arc;

use super::buffer::DeviceBuffer;
use super::device::CudaDevice;
use super::error::CudaError;
use crate::copy::BlockLayout;

/// The blocks of a device: where they are, and the memory if it is this pool's.
///
/// Which of them holds what is for a [`BlockPool`](crate::BlockPool) of as many blocks to say.
///
/// A handle: clones are handles of the same memory, which goes back to the device with the last of them. A
/// [`CudaMover`](super::CudaMover) that knows it has one.
#[derive(Clone, Debug)]
pub struct DevicePool {
    device: CudaDevice,
    layout: BlockLayout,
    _memory: Option<Arc<DeviceBuffer>>,
}

impl DevicePool {
    /// Device memory for a layout whose addresses are offsets into it: they begin near 0, and the memory is as long as the layout needs.
    /// [`layout`](Self::layout) has the addresses then.
    ///
    /// # Errors
    /// [`CudaError::OutOfDeviceMemory`] says what was asked for and what is there. [`CudaError::Layout`], [`CudaError::Driver`],
    /// [`CudaError::Poisoned`].
    ///
    /// One allocation of the driver's, at a multiple of 256 bytes; it may wait for the device.
    pub fn allocate(device: &CudaDevice, offsets: &BlockLayout) -> Result<Self, CudaError> {
        let current = device.enter()?;
        let memory = DeviceBuffer::new(&current, end(offsets))?;
        let layout = offsets.moved(memory.address())?;
        Ok(Self {
            device: device.clone(),
            layout,
            _memory: Some(Arc::new(memory)),
        })
    }

    /// Memory that the engine has: the layout's addresses are device pointers.
    ///
    /// # Safety
    /// All of the layout's blocks are there, in memory that the device's context can read and write, and stay while this handle, or a
    /// mover that knows it, is used. What lies between the blocks of a plane is the pool's, too: another layout of the same memory
    /// may have its blocks there, and no other memory may.
    #[must_use]
    pub unsafe fn adopt(device: &CudaDevice, layout: BlockLayout) -> Self {
        Self {
            device: device.clone(),
            layout,
            _memory: None,
        }
    }

    /// Its device.
    #[must_use]
    pub const fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Where the blocks are.
    #[must_use]
    pub const fn layout(&self) -> &BlockLayout {
        &self.layout
    }
}

/// The address behind a layout's last byte.
pub(super) fn end(layout: &BlockLayout) -> u64 {
    layout.extents().map(|extent| extent.1).max().unwrap_or(0)
}
