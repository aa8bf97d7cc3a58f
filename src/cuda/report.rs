//! What kernels tell of lists that they could not copy.

use std::sync::{Mutex, PoisonError};

use super::buffer::{DeviceBuffer, PinnedBuffer};
use super::device::Current;
use super::driver::DevicePtr;
use super::error::CudaError;
use super::event::Event;
use super::stream::CudaStream;

/// No pair was bad.
const NONE: u32 = u32::MAX;

/// Two words: the first bad pair, and a count that was too large.
#[derive(Debug)]
pub(super) struct Report {
    device: DeviceBuffer,
    /// Where the words are read, by one thread at a time.
    host: Mutex<Host>,
    /// It was empty.
    pub(super) cleared: Event,
}

#[derive(Debug)]
struct Host {
    buffer: PinnedBuffer,
    /// What was read and has not been told.
    found: [u32; 2],
}

impl Report {
    /// A report that is empty from this point of the stream on.
    pub(super) fn new(current: &Current<'_>, stream: &CudaStream) -> Result<Self, CudaError> {
        let report = Self {
            device: DeviceBuffer::new(current, 8)?,
            host: Mutex::new(Host {
                buffer: PinnedBuffer::new(current, 8)?,
                found: [NONE, 0],
            }),
            cleared: Event::new(current)?,
        };
        match report.clear(current, stream) {
            Ok(()) => Ok(report),
            Err(error) => Err(stream.settle(current, error)),
        }
    }

    pub(super) fn address(&self) -> DevicePtr {
        self.device.address()
    }

    fn clear(&self, current: &Current<'_>, stream: &CudaStream) -> Result<(), CudaError> {
        // SAFETY: the buffer has two words, and stays until the stream is done: who has a report sees to that.
        unsafe { stream.fill(current, self.address(), NONE, 1) }?;
        // SAFETY: as above.
        unsafe { stream.fill(current, self.address() + 4, 0, 1) }?;
        self.cleared.record(current, stream)
    }

    /// What kernels told up to here, and begins anew: the first bad pair, and a count that was too large. Blocks until the stream is done.
    pub(super) fn take(
        &self,
        current: &Current<'_>,
        stream: &CudaStream,
    ) -> Result<(Option<u32>, Option<u32>), CudaError> {
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let place = host.buffer.address();
        // SAFETY: both have 8 bytes, and stay: it is waited for below.
        let sent = unsafe { stream.copy_to_host(current, place.as_ptr(), self.address(), 8) };
        let cleared = sent.and_then(|()| self.clear(current, stream));
        stream.finish_surely(current)?;
        if sent.is_ok() {
            // SAFETY: the copy into it is done, and there is no other: the lock is held.
            let [pair, count] = unsafe { place.cast::<[u32; 2]>().read() };
            // Half of it may be cleared, so it is told by the next call that succeeds.
            host.found = [host.found[0].min(pair), host.found[1].max(count)];
        }
        cleared?;
        let [pair, count] = core::mem::replace(&mut host.found, [NONE, 0]);
        Ok((
            (pair != NONE).then_some(pair),
            (count != 0).then_some(count),
        ))
    }
}
