//! Pairs of blocks for captured graphs.

use super::buffer::{DeviceBuffer, PinnedBuffer};
use super::device::Current;
use super::error::CudaError;
use super::kernels::Pair;
use super::lists::DeviceList;
use super::mover::CudaMover;
use super::path::Path;
use super::report::Report;
use super::timeline::CudaTimeline;
use crate::copy::{CopyPlan, CopyRoute};
use crate::pool::Fence;

/// Bytes before the pairs: the count, and nothing.
const HEAD: usize = 8;

/// A list of pairs in memory that does not move, for copies inside a graph.
///
/// [`enqueue`](Self::enqueue) puts nodes into a stream: one brings the list to the device, then one for each width of access copies the
/// blocks on it, as many as the list has then. Captured once, each replay copies what was [set](Self::set) before it.
///
/// A graph that has it must not be launched any more once it or its mover is dropped, which waits for what is under way.
///
/// A graph waits for nothing by itself. Whoever launches it sees to it that its stream waits for what a
/// [`FenceTable`](crate::FenceTable) says, and [tells](crate::FenceTable::record) the table of the fence that is marked behind it. If
/// that is not the mover's stream, then the mover's has to wait for it before the fence is [marked](Self::mark): else the list
/// could be [set](Self::set) while it is read.
#[derive(Debug)]
pub struct PairList {
    route: CopyRoute,
    capacity: u32,
    host: PinnedBuffer,
    device: DeviceBuffer,
    report: Report,
    /// The list is read until this has passed.
    used_until: Fence,
    timeline: CudaTimeline,
}

impl PairList {
    /// Room for `capacity` pairs of a route between memories of the device; empty.
    ///
    /// # Errors
    /// [`CudaError::Config`], [`CudaError::Capturing`], [`CudaError::NoSuchRoute`] for a route from or to the host, and what
    /// [`prepare`](CudaMover::prepare) answers.
    ///
    /// Blocks until the mover's stream is done, so that what a graph needs is on the device, whichever stream it is launched in.
    pub fn new(
        mover: &mut CudaMover,
        route: &CopyRoute,
        capacity: usize,
    ) -> Result<Self, CudaError> {
        let config = CudaError::Config {
            field: "capacity",
            value: capacity as u64,
        };
        let pairs = u32::try_from(capacity)
            .ok()
            .filter(|&pairs| pairs > 0)
            .ok_or(config)?;
        let device = mover.stream().device().clone();
        let current = device.enter()?;
        if mover.stream().is_capturing(&current)? {
            return Err(CudaError::Capturing);
        }
        let path = mover.prepare_in(&current, route)?;
        if !matches!(mover.path(path), Path::OnDevice(_)) {
            return Err(CudaError::NoSuchRoute {
                source: route.source().memory(),
                destination: route.destination().memory(),
            });
        }
        let bytes = (HEAD + capacity * size_of::<Pair>()) as u64;
        let list = Self {
            route: route.clone(),
            capacity: pairs,
            host: PinnedBuffer::new(&current, bytes)?,
            device: DeviceBuffer::new(&current, bytes)?,
            report: Report::new(&current, mover.stream())?,
            used_until: Fence(0),
            timeline: mover.own_timeline().clone(),
        };
        // SAFETY: the buffer has at least as many bytes, and nothing else knows it.
        unsafe {
            list.host
                .address()
                .cast::<u8>()
                .write_bytes(0, list.host.bytes())
        };
        // The route's tables are before it in the stream.
        list.report.cleared.wait(&current)?;
        Ok(list)
    }

    /// What is copied from now on: a plan of the list's route, in one wave.
    ///
    /// # Errors
    /// [`CudaError::OtherRoute`], [`CudaError::Waves`], [`CudaError::TooManyPairs`]; [`CudaError::ListInUse`]: the last replay may not have read it
    /// yet. [`CudaError::Driver`], [`CudaError::Poisoned`]. The list is as it was.
    pub fn set(&mut self, plan: &CopyPlan, mover: &CudaMover) -> Result<(), CudaError> {
        self.check_mover(mover)?;
        if !plan.route().is_same(&self.route) {
            return Err(CudaError::OtherRoute);
        }
        let waves = plan.waves().len();
        if waves > 1 {
            return Err(CudaError::Waves { waves });
        }
        if plan.pairs() > self.capacity as usize {
            return Err(CudaError::TooManyPairs {
                pairs: plan.pairs(),
                capacity: self.capacity as usize,
            });
        }
        let completed = mover.own_timeline().completed()?;
        if completed < self.used_until {
            return Err(CudaError::ListInUse {
                until: self.used_until,
            });
        }
        let count = u32::try_from(plan.pairs()).unwrap_or(u32::MAX);
        let head = self.host.address().cast::<u32>();
        // SAFETY: the buffer begins with the count, and no copy from it is under way.
        unsafe { head.write(count) };
        let entries = head.cast::<u8>().as_ptr().wrapping_add(HEAD).cast::<Pair>();
        for (at, &(source, destination)) in plan.as_slice().iter().enumerate() {
            let pair = Pair {
                source: source.get(),
                destination: destination.get(),
            };
            // SAFETY: there are no more pairs than the buffer has room for.
            unsafe { entries.wrapping_add(at).write(pair) };
        }
        Ok(())
    }

    /// Puts the nodes into the mover's stream, captured or not. If it is not, the list cannot be set before that has passed.
    ///
    /// # Errors
    /// [`CudaError::OtherMover`]; [`CudaError::Driver`], [`CudaError::Poisoned`]: what a capture has then is for its owner to throw away, and
    /// without one nothing of it is under way any more.
    pub fn enqueue(&mut self, mover: &CudaMover) -> Result<(), CudaError> {
        self.put(mover, |list, current| {
            list.send(current, mover)?;
            list.copy(current, mover)
        })
    }

    /// The same without the node that brings the list: what is at [`device_address`](Self::device_address) then is copied. A kernel of the
    /// engine's before it in the stream has written it.
    ///
    /// # Errors
    /// As of [`enqueue`](Self::enqueue).
    pub fn enqueue_copies(&mut self, mover: &CudaMover) -> Result<(), CudaError> {
        self.put(mover, |list, current| list.copy(current, mover))
    }

    fn put(
        &mut self,
        mover: &CudaMover,
        nodes: impl FnOnce(&Self, &Current<'_>) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        self.check_mover(mover)?;
        let (device, stream) = (mover.stream().device(), mover.stream());
        let current = device.enter()?;
        if stream.is_capturing(&current)? {
            return nodes(self, &current);
        }
        let marked = nodes(self, &current).and_then(|()| self.timeline.mark_in(&current));
        self.used_until = marked.map_err(|error| stream.settle(&current, error))?;
        Ok(())
    }

    fn send(&self, current: &Current<'_>, mover: &CudaMover) -> Result<(), CudaError> {
        let bytes = self.host.bytes();
        let from = self.host.address().as_ptr().cast_const();
        // SAFETY: both buffers have as many bytes, and the list is kept while a graph with this node is launched: its docs say so.
        unsafe {
            mover
                .stream()
                .copy_to_device(current, self.device.address(), from, bytes)
        }
    }

    fn copy(&self, current: &Current<'_>, mover: &CudaMover) -> Result<(), CudaError> {
        let Some(Path::OnDevice(prepared)) = mover.find(&self.route) else {
            return Err(CudaError::OtherRoute);
        };
        let list = DeviceList {
            pairs: self.device.address() + HEAD as u64,
            count: self.device.address(),
            capacity: self.capacity,
        };
        let (stream, most) = (mover.stream(), mover.thread_blocks());
        prepared.launch(current, stream, &list, &self.report, most)
    }

    /// Marks the end of what was put into the mover's stream, a launched graph with this list, say. The list cannot be set before that fence
    /// has passed.
    ///
    /// # Errors
    /// As of [`CudaTimeline::mark`](super::CudaTimeline::mark).
    pub fn mark(&mut self, mover: &CudaMover) -> Result<Fence, CudaError> {
        self.check_mover(mover)?;
        let fence = mover.own_timeline().mark()?;
        self.used_until = fence;
        Ok(fence)
    }

    /// Where the list is on the device: a 32-bit count, 4 bytes, then pairs of 32-bit ids. A kernel of the engine's can write it there, for
    /// [`enqueue_copies`](Self::enqueue_copies).
    #[must_use]
    pub fn device_address(&self) -> u64 {
        self.device.address()
    }

    /// Whether all lists since the last call could be copied. Blocks until the mover's stream is done.
    ///
    /// # Errors
    /// [`CudaError::BadPair`], [`CudaError::BadCount`], [`CudaError::OtherMover`], [`CudaError::Capturing`], [`CudaError::Driver`],
    /// [`CudaError::Poisoned`].
    pub fn check(&self, mover: &CudaMover) -> Result<(), CudaError> {
        self.check_mover(mover)?;
        let device = mover.stream().device();
        let current = device.enter()?;
        if mover.stream().is_capturing(&current)? {
            return Err(CudaError::Capturing);
        }
        match self.report.take(&current, mover.stream())? {
            (_, Some(count)) => Err(CudaError::BadCount {
                count,
                capacity: self.capacity,
            }),
            (Some(pair), None) => Err(CudaError::BadPair {
                pair: pair as usize,
            }),
            (None, None) => Ok(()),
        }
    }

    fn check_mover(&self, mover: &CudaMover) -> Result<(), CudaError> {
        if mover.own_timeline().is(&self.timeline) {
            Ok(())
        } else {
            Err(CudaError::OtherMover)
        }
    }
}

impl Drop for PairList {
    fn drop(&mut self) {
        let stream = self.timeline.stream();
        let Ok(current) = stream.device().enter_surely() else {
            return;
        };
        let _ = if stream.is_surely_capturing(&current) {
            // What a capture has is not under way; what came before it may be.
            let cleared = self.report.cleared.wait_surely(&current);
            cleared.and_then(|()| self.timeline.finish_surely(&current))
        } else {
            stream.finish_surely(&current)
        };
    }
}
