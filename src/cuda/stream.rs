//! Streams: where work is put, in order.

use alloc::sync::Arc;
use core::ffi::{c_int, c_void};
use core::fmt;
use core::ptr::null_mut;

use super::buffer::give_back;
use super::device::{CudaDevice, Current};
use super::driver::{Code, DevicePtr, Raw, call, twice};
use super::error::CudaError;
use super::event::Event;
use super::leftovers::Leftover;

/// `CU_STREAM_NON_BLOCKING`: it does not wait for the legacy default stream.
const NON_BLOCKING: u32 = 1;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`: it is the legacy default stream, and a stream that does wait for it is captured.
const IMPLICIT: Code = 906;
/// `CU_STREAM_PER_THREAD`: on each thread it means another stream.
const PER_THREAD: usize = 2;

/// A stream of a device.
///
/// A handle: clones are handles of the same stream.
#[derive(Clone)]
pub struct CudaStream {
    inner: Arc<Inner>,
}

struct Inner {
    device: CudaDevice,
    stream: Raw,
    owned: bool,
}

// SAFETY: the driver lets any thread put work into a stream.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl CudaStream {
    /// A new stream, which waits for no other by itself.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Poisoned`].
    pub fn new(device: &CudaDevice) -> Result<Self, CudaError> {
        let (current, mut stream) = (device.enter()?, null_mut());
        // SAFETY: there is place for a stream, and the context is current.
        let create = || unsafe { call!(device.stream_create(&raw mut stream, NON_BLOCKING)) };
        current.relaxed(create)??;
        Ok(Self::with(device, stream, true))
    }

    /// A stream of the caller's: a `CUstream`, such as cudarc's `CudaStream::cu_stream` gives. Null is the legacy default stream, which the
    /// driver refuses while a stream that waits for it is captured. `CU_STREAM_PER_THREAD` is refused wherever the stream is used.
    ///
    /// # Safety
    /// It is a stream of the device's context, and stays one while this handle, or anything made from it, is used.
    #[must_use]
    pub unsafe fn from_raw(device: &CudaDevice, stream: *mut c_void) -> Self {
        Self::with(device, stream, false)
    }

    fn with(device: &CudaDevice, stream: Raw, owned: bool) -> Self {
        Self {
            inner: Arc::new(Inner {
                device: device.clone(),
                stream,
                owned,
            }),
        }
    }

    /// Its device.
    #[must_use]
    pub fn device(&self) -> &CudaDevice {
        &self.inner.device
    }

    /// The driver's handle of it, a `CUstream`.
    #[must_use]
    pub fn raw(&self) -> *mut c_void {
        self.inner.stream
    }

    /// Blocks until everything in it is done.
    ///
    /// # Errors
    /// [`CudaError::Capturing`], [`CudaError::Driver`], [`CudaError::Poisoned`].
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.check()?;
        let current = self.device().enter()?;
        if self.is_capturing(&current)? {
            return Err(CudaError::Capturing);
        }
        self.finish(&current)
    }

    /// Whether it is one stream.
    pub(super) fn check(&self) -> Result<(), CudaError> {
        if self.raw().addr() == PER_THREAD {
            return Err(CudaError::StreamOfThread);
        }
        Ok(())
    }

    pub(super) fn finish(&self, current: &Current<'_>) -> Result<(), CudaError> {
        let device = current.device();
        // SAFETY: the stream lives.
        let waited = || unsafe { call!(device.stream_synchronize(self.raw())) };
        // Else another thread's capture would be broken off.
        current.relaxed(waited)?
    }

    /// Blocks until everything in it is done, and if that cannot be known, the device is not used any more.
    pub(super) fn finish_surely(&self, current: &Current<'_>) -> Result<(), CudaError> {
        current.device().surely(|| self.finish(current))
    }

    /// Some of what was put into it before this error may be under way. Blocks until it is not.
    pub(super) fn settle(&self, current: &Current<'_>, error: CudaError) -> CudaError {
        match self.finish_surely(current) {
            Ok(()) => error,
            Err(poisoned) => poisoned,
        }
    }

    /// Whether what is put into it becomes part of a graph.
    pub(super) fn is_capturing(&self, current: &Current<'_>) -> Result<bool, CudaError> {
        let (device, mut status) = (current.device(), 0 as c_int);
        // SAFETY: there is place for a status, and the stream lives.
        unsafe { call!(device.stream_is_capturing(self.raw(), &raw mut status)) }?;
        Ok(status != 0)
    }

    /// The same in `Drop`, where nobody is there to be told: what cannot be known is taken for no capture. A legacy default stream that cannot be waited for without breaking a capture off counts as
    /// captured.
    pub(super) fn is_surely_capturing(&self, current: &Current<'_>) -> bool {
        let capturing = || match self.is_capturing(current) {
            Err(CudaError::Driver { code: IMPLICIT, .. }) => Ok(true),
            other => other,
        };
        twice(capturing) == Ok(true)
    }

    /// What is put into it from now on waits for an event.
    pub(super) fn wait_for(&self, current: &Current<'_>, event: &Event) -> Result<(), CudaError> {
        let device = current.device();
        // SAFETY: both live; the driver notes the event's present state, so that it may be recorded anew or destroyed afterwards.
        unsafe { call!(device.stream_wait_event(self.raw(), event.raw(), 0)) }
    }

    /// Puts a copy into it.
    ///
    /// # Safety
    /// There are `bytes` bytes at both, the host's are pinned, and both stay until the stream has passed this point.
    pub(super) unsafe fn copy_to_device(
        &self,
        current: &Current<'_>,
        destination: DevicePtr,
        source: *const c_void,
        bytes: usize,
    ) -> Result<(), CudaError> {
        let device = current.device();
        // SAFETY: the caller's word.
        unsafe { call!(device.copy_to_device(destination, source, bytes, self.raw())) }
    }

    /// Puts a copy into it.
    ///
    /// # Safety
    /// As for [`copy_to_device`](Self::copy_to_device).
    pub(super) unsafe fn copy_to_host(
        &self,
        current: &Current<'_>,
        destination: *mut c_void,
        source: DevicePtr,
        bytes: usize,
    ) -> Result<(), CudaError> {
        let device = current.device();
        // SAFETY: the caller's word.
        unsafe { call!(device.copy_to_host(destination, source, bytes, self.raw())) }
    }

    /// Puts a fill of `words` 32-bit words into it.
    ///
    /// # Safety
    /// There are so many, and they stay until the stream has passed this point.
    pub(super) unsafe fn fill(
        &self,
        current: &Current<'_>,
        destination: DevicePtr,
        word: u32,
        words: usize,
    ) -> Result<(), CudaError> {
        let device = current.device();
        // SAFETY: the caller's word.
        unsafe { call!(device.fill(destination, word, words, self.raw())) }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.owned {
            give_back(&self.device, Leftover::Stream(self.stream));
        }
    }
}

impl fmt::Debug for CudaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaStream")
            .field("stream", &self.inner.stream)
            .field("owned", &self.inner.owned)
            .finish_non_exhaustive()
    }
}
