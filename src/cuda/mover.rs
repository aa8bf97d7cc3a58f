//! Executes plans on a device.

use alloc::vec::Vec;
use core::fmt;

use super::config::MoverConfig;
use super::device::{CudaDevice, Current};
use super::error::CudaError;
use super::event::Event;
use super::host_pool::HostPool;
use super::lists::{Lists, Place};
use super::memories::{Memories, Pool};
use super::memory::DevicePool;
use super::path::{Path, Paths};
use super::report::Report;
use super::sending::Sending;
use super::staging::Staging;
use super::stream::CudaStream;
use super::timeline::CudaTimeline;
use crate::block::BlockId;
use crate::copy::{CopyPlan, CopyRoute, FenceError, FenceTable, Mover, TimelineId};
use crate::error::OutOfMemory;
use crate::pool::Fence;

/// Executes plans on a stream: on the device by a kernel, between device and host through a staging ring.
///
/// Plans are executed in the order in which they are given. Each waits, on the device, for what a [`FenceTable`] says that its blocks wait
/// for: other movers, and the engine's own kernels if it [tells](FenceTable::record_blocks) the table of them. The host never waits, but
/// where this is said.
///
/// Whatever a plan may still touch stays: a mover keeps the memories that it was told of, and its lists until their fence has passed.
/// Dropping it blocks until its stream is done.
///
/// Nothing here breaks off a capture that another thread has begun. In a capture of the mover's own stream use a
/// [`PairList`](super::PairList).
pub struct CudaMover {
    timeline: CudaTimeline,
    /// Timelines that blocks may have been used on.
    followed: Vec<CudaTimeline>,
    memories: Memories,
    paths: Paths,
    lists: Lists,
    report: Report,
    /// The tables of all paths are on the device.
    prepared: Event,
    staging: Option<Staging>,
    thread_blocks: u32,
    /// Pairs in the order of the host's blocks.
    sorted: Vec<(BlockId, BlockId)>,
}

impl CudaMover {
    /// A mover whose plans go into a stream.
    ///
    /// # Errors
    /// [`CudaError::Config`], [`CudaError::Fence`]: the table has as many timelines as it can. [`CudaError::StreamOfThread`],
    /// [`CudaError::Capturing`], [`CudaError::OutOfDeviceMemory`],
    /// [`CudaError::OutOfHostMemory`], [`CudaError::OutOfMemory`], [`CudaError::Driver`], [`CudaError::Poisoned`].
    pub fn new(
        stream: &CudaStream,
        fences: &mut FenceTable,
        config: &MoverConfig,
    ) -> Result<Self, CudaError> {
        if config.pairs == 0 || u32::try_from(config.pairs).is_err() {
            return Err(CudaError::Config {
                field: "pairs",
                value: config.pairs as u64,
            });
        }
        stream.check()?;
        let device = stream.device();
        let current = device.enter()?;
        if stream.is_capturing(&current)? {
            return Err(CudaError::Capturing);
        }
        let prepared = Event::new(&current)?;
        let lists = Lists::new(&current, config.pairs)?;
        let staging = Staging::new(device, config)?;
        let report = Report::new(&current, stream)?;
        let timeline =
            CudaTimeline::new(stream, fences).map_err(|error| stream.settle(&current, error))?;
        Ok(Self {
            timeline,
            followed: Vec::new(),
            memories: Memories::default(),
            paths: Paths::default(),
            lists,
            report,
            prepared,
            staging,
            thread_blocks: config.thread_blocks,
            sorted: Vec::new(),
        })
    }

    /// Makes a memory of the device known. The mover keeps it.
    ///
    /// # Errors
    /// [`CudaError::MemoryInUse`], [`CudaError::OtherDevice`], [`CudaError::OutOfMemory`].
    pub fn add_device(&mut self, pool: &DevicePool) -> Result<(), CudaError> {
        let device = self.timeline.device();
        self.memories.add(device, Pool::Device(pool.clone()))
    }

    /// Makes a memory of the host known. The mover keeps it.
    ///
    /// # Errors
    /// As of [`add_device`](Self::add_device).
    pub fn add_host(&mut self, pool: &HostPool) -> Result<(), CudaError> {
        let device = self.timeline.device();
        self.memories.add(device, Pool::Host(pool.clone()))
    }

    /// Plans can wait for fences of this timeline: of the engine's kernels, or of another mover.
    ///
    /// # Errors
    /// [`CudaError::OtherDevice`], [`CudaError::TimelineInUse`], [`CudaError::OutOfMemory`].
    pub fn follow(&mut self, timeline: &CudaTimeline) -> Result<(), CudaError> {
        if !timeline.device().is(self.timeline.device()) {
            return Err(CudaError::OtherDevice);
        }
        let mut known = core::iter::once(&self.timeline).chain(&self.followed);
        if let Some(known) = known.find(|known| known.id() == timeline.id()) {
            let in_use = CudaError::TimelineInUse {
                timeline: timeline.id(),
            };
            return if known.is(timeline) {
                Ok(())
            } else {
                Err(in_use)
            };
        }
        self.followed.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.followed.push(timeline.clone());
        Ok(())
    }

    /// Its own timeline, for others to follow.
    #[must_use]
    pub const fn own_timeline(&self) -> &CudaTimeline {
        &self.timeline
    }

    /// Makes ready for the plans of a route, which the first of them would do otherwise: it writes the tables that the kernels read, a few
    /// kilobytes of device memory that the mover keeps. A route made anew for the same two layouts finds them there.
    ///
    /// # Errors
    /// What is wrong with the route here: [`CudaError::UnknownMemory`], [`CudaError::OutsideMemory`], [`CudaError::NoSuchRoute`],
    /// [`CudaError::NotBlockFirst`], [`CudaError::PartOfBlock`], [`CudaError::NoStaging`], [`CudaError::StagingTooSmall`], [`CudaError::BlockTooLarge`]; [`CudaError::Capturing`]; and as of [`new`](Self::new).
    pub fn prepare(&mut self, route: &CopyRoute) -> Result<(), CudaError> {
        let device = self.timeline.device().clone();
        let current = device.enter()?;
        self.prepare_in(&current, route).map(drop)
    }

    /// Returns the place of the route's path.
    pub(super) fn prepare_in(
        &mut self,
        current: &Current<'_>,
        route: &CopyRoute,
    ) -> Result<usize, CudaError> {
        if let Some(at) = self.paths.find(route) {
            return Ok(at);
        }
        let stream = self.timeline.stream();
        if stream.is_capturing(current)? {
            return Err(CudaError::Capturing);
        }
        self.paths.make_room()?;
        let path = Path::new(
            current,
            stream,
            route,
            &self.memories,
            self.staging.as_ref(),
        )?;
        let recorded = self.prepared.record(current, stream);
        recorded.map_err(|error| stream.settle(current, error))?;
        Ok(self.paths.add(path))
    }

    pub(super) fn path(&self, at: usize) -> &Path {
        self.paths.at(at)
    }

    pub(super) const fn stream(&self) -> &CudaStream {
        self.timeline.stream()
    }

    pub(super) const fn thread_blocks(&self) -> u32 {
        self.thread_blocks
    }

    /// Puts a plan into the streams.
    fn send(
        &mut self,
        current: &Current<'_>,
        path: usize,
        plan: &CopyPlan,
        place: Place,
    ) -> Result<(), CudaError> {
        let mut sending = Sending {
            current,
            stream: self.timeline.stream(),
            lists: &mut self.lists,
            place,
            report: &self.report,
            thread_blocks: self.thread_blocks,
        };
        match (self.paths.at(path), &mut self.staging) {
            (Path::OnDevice(prepared), _) => sending.on_device(prepared, plan),
            (Path::Staged { prepared, host }, Some(staging)) => {
                // Between two memories the order of pairs is free.
                self.sorted.clear();
                let enough = self.sorted.try_reserve(plan.pairs());
                enough.map_err(|_| OutOfMemory)?;
                self.sorted.extend_from_slice(plan.as_slice());
                host.sort(&mut self.sorted);
                sending.over_the_bus(prepared, host, staging, &self.sorted)
            }
            (Path::Staged { .. }, None) => Err(CudaError::NoStaging),
        }
    }

    /// Some of a plan may be under way: waits for it, so that nothing of it is any more when the error is told.
    fn settle(&self, current: &Current<'_>, error: CudaError) -> CudaError {
        match self.finish(current) {
            Ok(()) => error,
            Err(poisoned) => poisoned,
        }
    }

    /// Blocks until its streams are done. If that cannot be known the device is not used any more.
    fn finish(&self, current: &Current<'_>) -> Result<(), CudaError> {
        self.stream().finish_surely(current)?;
        self.finish_transfers(current)
    }

    fn finish_transfers(&self, current: &Current<'_>) -> Result<(), CudaError> {
        match &self.staging {
            Some(staging) => staging.transfers().finish_surely(current),
            None => Ok(()),
        }
    }

    /// The same for a stream that is being captured: it cannot be waited for, but what was put into it before can.
    fn finish_before_capture(&self, current: &Current<'_>) -> Result<(), CudaError> {
        self.report.cleared.wait_surely(current)?;
        self.prepared.wait_surely(current)?;
        self.timeline.finish_surely(current)?;
        self.finish_transfers(current)
    }

    /// The path of a route that was prepared.
    pub(super) fn find(&self, route: &CopyRoute) -> Option<&Path> {
        self.paths.find(route).map(|at| self.paths.at(at))
    }

    fn device(&self) -> &CudaDevice {
        self.timeline.device()
    }
}

impl Mover for CudaMover {
    type Error = CudaError;

    fn timeline(&self) -> TimelineId {
        self.timeline.id()
    }

    /// Puts the copies of a plan into the stream. The fence of an empty plan passes with what is in the stream before it.
    ///
    /// # Errors
    /// What [`prepare`](CudaMover::prepare) answers. [`CudaError::Capturing`]; [`CudaError::TooManyPairs`]; [`CudaError::Busy`]: try again when
    /// more is completed; [`CudaError::UnknownTimeline`]; [`CudaError::Fence`]: nothing has happened.
    /// [`CudaError::Driver`]: it was broken off; nothing of it is under way any more (the call has waited), sources are as they were,
    /// destinations may have anything in them. [`CudaError::Poisoned`].
    ///
    /// One transfer of the list, and a launch for each wave, or each slot of the staging ring, and width of access. No allocation in
    /// steady state.
    fn copy(&mut self, plan: &CopyPlan, fences: &mut FenceTable) -> Result<Fence, CudaError> {
        let device = self.device().clone();
        let current = device.enter()?;
        if self.stream().is_capturing(&current)? {
            return Err(CudaError::Capturing);
        }
        if plan.is_empty() {
            return self.timeline.mark_in(&current);
        }
        let own = self.timeline.id();
        let waits = fences.waits_for(plan, own)?;
        // What is under way has to be recorded afterwards.
        let (fence, last) = (Fence(self.timeline.marked().0 + 1), fences.last(own)?);
        if fence < last {
            let timeline = own;
            return Err(FenceError::NotLater {
                timeline,
                fence,
                last,
            }
            .into());
        }
        self.timeline.check_waits(&waits, &self.followed)?;
        let path = self.prepare_in(&current, plan.route())?;
        let counts = match self.paths.at(path) {
            Path::OnDevice(_) => plan.waves().len(),
            Path::Staged { host, .. } => plan.pairs().div_ceil(host.slot_blocks),
        };
        let place = match self.lists.find(counts, plan.pairs(), self.timeline.known()) {
            // What has passed since it was last looked at is free, too.
            Err(CudaError::Busy { .. }) => {
                self.lists
                    .find(counts, plan.pairs(), self.timeline.completed()?)?
            }
            found => found?,
        };
        self.timeline.wait_in(&current, &waits, &self.followed)?;
        let sent = self.send(&current, path, plan, place);
        let fence = sent
            .and_then(|()| self.timeline.mark_in(&current))
            .map_err(|error| self.settle(&current, error))?;
        self.lists.keep(place, fence);
        // Both were looked at above.
        fences.record(plan, own, fence)?;
        Ok(fence)
    }

    fn completed(&mut self) -> Result<Fence, CudaError> {
        self.timeline.completed()
    }

    fn wait(&mut self, fence: Fence) -> Result<(), CudaError> {
        self.timeline.wait(fence)
    }
}

impl Drop for CudaMover {
    fn drop(&mut self) {
        // If that fails the device is not used any more, and what it may still touch is not given back.
        let Ok(current) = self.device().enter_surely() else {
            return;
        };
        let _ = if self.stream().is_surely_capturing(&current) {
            self.finish_before_capture(&current)
        } else {
            self.finish(&current)
        };
    }
}

impl fmt::Debug for CudaMover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaMover")
            .field("timeline", &self.timeline)
            .field("memories", &self.memories)
            .finish_non_exhaustive()
    }
}
