//! What the library does not do for an engine: reading and writing device memory, timing, captured graphs. By cudarc.

use alloc::boxed::Box;
use core::error::Error;
use core::ptr::{NonNull, null_mut};

use cudarc::driver::result::{self, event, graph, stream};
use cudarc::driver::sys;
use kvblock::cuda::CudaStream;

pub(crate) type Trouble = Box<dyn Error>;

/// The device's primary context, which the library uses too, made current on this thread for as long as the program runs.
pub(crate) fn bind(ordinal: u32) -> Result<(), Trouble> {
    let device = result::device::get(i32::try_from(ordinal)?)?;
    // SAFETY: the driver has named the device.
    let context = unsafe { result::primary_ctx::retain(device) }?;
    // SAFETY: it was just retained, and is not released before the process ends.
    Ok(unsafe { result::ctx::set_current(context) }?)
}

/// Gives the context back.
pub(crate) fn unbind(ordinal: u32) -> Result<(), Trouble> {
    let device = result::device::get(i32::try_from(ordinal)?)?;
    // SAFETY: no context is always a context.
    unsafe { result::ctx::set_current(null_mut()) }?;
    // SAFETY: it was retained by `bind`, and nothing of this module outlives the sections.
    Ok(unsafe { result::primary_ctx::release(device) }?)
}

/// Writes device memory that nothing else uses.
pub(crate) fn write(address: u64, bytes: &[u8]) -> Result<(), Trouble> {
    // SAFETY: callers name memory of a pool that they have.
    unsafe { result::memcpy_htod_sync(address, bytes) }?;
    // From memory that is not pinned the last part may be under way yet, and other streams do not wait for it.
    Ok(result::ctx::synchronize()?)
}

/// Reads device memory that nothing else writes.
pub(crate) fn read(address: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
    // SAFETY: as above.
    Ok(unsafe { result::memcpy_dtoh_sync(bytes, address) }?)
}

/// Puts the driver's own copy into a stream.
pub(crate) fn copy(
    stream: &CudaStream,
    destination: u64,
    source: u64,
    bytes: u64,
) -> Result<(), Trouble> {
    // SAFETY: as above.
    Ok(unsafe {
        result::memcpy_dtod_async(
            destination,
            source,
            usize::try_from(bytes)?,
            stream.raw().cast(),
        )
    }?)
}

/// Puts the driver's own transfer from pinned memory into a stream.
pub(crate) fn to_device(
    stream: &CudaStream,
    destination: u64,
    source: u64,
    bytes: u64,
) -> Result<(), Trouble> {
    let bytes = usize::try_from(bytes)?;
    // SAFETY: callers name pinned memory and memory of a pool that they have, and wait for the stream.
    Ok(unsafe {
        sys::cuMemcpyHtoDAsync_v2(destination, source as *const _, bytes, stream.raw().cast())
    }
    .result()?)
}

/// Puts the driver's own transfer to pinned memory into a stream.
pub(crate) fn to_host(
    stream: &CudaStream,
    destination: u64,
    source: u64,
    bytes: u64,
) -> Result<(), Trouble> {
    let bytes = usize::try_from(bytes)?;
    // SAFETY: as above.
    Ok(unsafe {
        sys::cuMemcpyDtoHAsync_v2(destination as *mut _, source, bytes, stream.raw().cast())
    }
    .result()?)
}

/// The device's time between two points of a stream.
pub(crate) struct Stopwatch {
    start: sys::CUevent,
    end: sys::CUevent,
}

impl Stopwatch {
    pub(crate) fn new() -> Result<Self, Trouble> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        Ok(Self {
            start: event::create(flags)?,
            end: event::create(flags)?,
        })
    }

    pub(crate) fn start(&self, stream: &CudaStream) -> Result<(), Trouble> {
        // SAFETY: both live.
        Ok(unsafe { event::record(self.start, stream.raw().cast()) }?)
    }

    /// Microseconds since the start. Blocks until the stream has come here.
    pub(crate) fn stop(&self, stream: &CudaStream) -> Result<f64, Trouble> {
        // SAFETY: both live.
        unsafe { event::record(self.end, stream.raw().cast()) }?;
        // SAFETY: the event lives.
        unsafe { event::synchronize(self.end) }?;
        // SAFETY: both were recorded on one stream, and have passed.
        Ok(f64::from(unsafe { event::elapsed(self.start, self.end) }?) * 1000.0)
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        for event in [self.start, self.end] {
            // SAFETY: it lives, and is not used any more.
            let _ = unsafe { event::destroy(event) };
        }
    }
}

/// A captured graph, to be launched.
pub(crate) struct Graph {
    graph: sys::CUgraph,
    ready: sys::CUgraphExec,
}

impl Graph {
    /// Captures what `body` puts into a stream.
    pub(crate) fn capture(
        stream: &CudaStream,
        body: impl FnOnce() -> Result<(), Trouble>,
    ) -> Result<Self, Trouble> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        // SAFETY: the stream lives.
        unsafe { stream::begin_capture(stream.raw().cast(), mode) }?;
        let put = body();
        // SAFETY: its capture was begun above.
        let graph = unsafe { stream::end_capture(stream.raw().cast()) }?;
        put?;
        let mut ready = null_mut();
        // SAFETY: there is place for it, and the graph was just captured.
        unsafe { sys::cuGraphInstantiateWithFlags(&raw mut ready, graph, 0) }.result()?;
        Ok(Self { graph, ready })
    }

    pub(crate) fn launch(&self, stream: &CudaStream) -> Result<(), Trouble> {
        // SAFETY: both live, and so does what the graph's nodes use: callers keep it.
        Ok(unsafe { graph::launch(self.ready, stream.raw().cast()) }?)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it is not used any more.
        let _ = unsafe { graph::exec_destroy(self.ready) };
        // SAFETY: as above.
        let _ = unsafe { graph::destroy(self.graph) };
    }
}

/// Writes pinned memory that nothing else uses.
pub(crate) fn fill(base: NonNull<u8>, bytes: &[u8]) {
    // SAFETY: callers name memory of a pool of at least as many bytes, which they have, and no copy is under way.
    unsafe {
        base.as_ptr()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
    };
}

/// Reads pinned memory that nothing else writes.
pub(crate) fn look(address: u64, bytes: &mut [u8]) {
    let from = address as *const u8;
    // SAFETY: as above.
    unsafe {
        bytes
            .as_mut_ptr()
            .copy_from_nonoverlapping(from, bytes.len())
    };
}
