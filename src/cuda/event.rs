//! Events: points on streams that others can wait for.

use core::ptr::null_mut;

use super::buffer::give_back;
use super::device::{CudaDevice, Current};
use super::driver::{NOT_READY, Raw, SUCCESS, call};
use super::error::CudaError;
use super::leftovers::Leftover;
use super::stream::CudaStream;

/// `CU_EVENT_DISABLE_TIMING`.
const WITHOUT_TIME: u32 = 2;

#[derive(Debug)]
pub(super) struct Event {
    device: CudaDevice,
    event: Raw,
}

// SAFETY: the driver lets any thread use an event.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that has passed.
    pub(super) fn new(current: &Current<'_>) -> Result<Self, CudaError> {
        let (device, mut event) = (current.device(), null_mut());
        // SAFETY: there is place for an event, and the context is current.
        let create = || unsafe { call!(device.event_create(&raw mut event, WITHOUT_TIME)) };
        current.relaxed(create)??;
        Ok(Self {
            device: device.clone(),
            event,
        })
    }

    pub(super) fn raw(&self) -> Raw {
        self.event
    }

    /// From now on it is the present end of a stream.
    pub(super) fn record(
        &self,
        current: &Current<'_>,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        let device = current.device();
        // SAFETY: both live.
        unsafe { call!(device.event_record(self.event, stream.raw())) }
    }

    pub(super) fn has_passed(&self, current: &Current<'_>) -> Result<bool, CudaError> {
        let device = current.device();
        let query = &device.driver().event_query;
        // SAFETY: the event lives.
        match current.relaxed(|| unsafe { (query.call)(self.event) })? {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => device.check(query.name, code).map(|()| false),
        }
    }

    /// Blocks until it has passed.
    pub(super) fn wait(&self, current: &Current<'_>) -> Result<(), CudaError> {
        let device = current.device();
        // SAFETY: the event lives.
        current.relaxed(|| unsafe { call!(device.event_synchronize(self.event)) })?
    }

    /// Blocks until it has passed, and if that cannot be known, the device is not used any more.
    pub(super) fn wait_surely(&self, current: &Current<'_>) -> Result<(), CudaError> {
        current.device().surely(|| self.wait(current))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        give_back(&self.device, Leftover::Event(self.event));
    }
}
