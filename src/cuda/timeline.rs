//! Fences on a stream.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::device::{CudaDevice, Current};
use super::error::CudaError;
use super::event::Event;
use super::stream::CudaStream;
use crate::copy::{FenceTable, TimelineId, Waits};
use crate::error::OutOfMemory;
use crate::pool::Fence;

/// The fences of a stream: 1, 2, 3, ..., each at the end of what was in the stream when it was [marked](Self::mark). `Fence(0)` has always
/// passed.
///
/// A mover has one for its copies. An engine makes one for the stream of its kernels, so that copies wait for them and they for copies.
///
/// A handle: clones are handles of the same timeline.
#[derive(Clone)]
pub struct CudaTimeline {
    stream: CudaStream,
    id: TimelineId,
    state: Arc<Mutex<State>>,
}

struct State {
    marked: u64,
    completed: u64,
    /// Fences that had not passed when they were last looked at, in order.
    pending: VecDeque<(u64, Arc<Event>)>,
    /// Those that somebody still waits for are shared.
    spare: Vec<Arc<Event>>,
}

impl CudaTimeline {
    /// A timeline for a stream, known to a table of fences.
    ///
    /// # Errors
    /// [`CudaError::Fence`]: the table has as many timelines as it can. [`CudaError::StreamOfThread`].
    pub fn new(stream: &CudaStream, fences: &mut FenceTable) -> Result<Self, CudaError> {
        stream.check()?;
        Ok(Self {
            stream: stream.clone(),
            id: fences.add_timeline()?,
            state: Arc::new(Mutex::new(State {
                marked: 0,
                completed: 0,
                pending: VecDeque::new(),
                spare: Vec::new(),
            })),
        })
    }

    /// What a [`FenceTable`] calls it.
    #[must_use]
    pub const fn id(&self) -> TimelineId {
        self.id
    }

    /// Its stream.
    #[must_use]
    pub const fn stream(&self) -> &CudaStream {
        &self.stream
    }

    /// The next fence, which passes when all is done that is in the stream now.
    ///
    /// # Errors
    /// [`CudaError::Capturing`], [`CudaError::Driver`], [`CudaError::Poisoned`], [`CudaError::OutOfMemory`].
    ///
    /// Records an event; looks at those before if all are in use. In steady state nothing is allocated.
    pub fn mark(&self) -> Result<Fence, CudaError> {
        let current = self.device().enter()?;
        if self.stream.is_capturing(&current)? {
            return Err(CudaError::Capturing);
        }
        self.mark_in(&current)
    }

    /// The same for a stream that is not captured.
    pub(super) fn mark_in(&self, current: &Current<'_>) -> Result<Fence, CudaError> {
        let mut state = self.lock();
        state.pending.try_reserve(1).map_err(|_| OutOfMemory)?;
        let pending = state.pending.len();
        state
            .spare
            .try_reserve(pending + 1)
            .map_err(|_| OutOfMemory)?;
        let event = match state.take_spare() {
            Some(event) => event,
            None => {
                // Nobody may have asked for a long time.
                state.look(current)?;
                let event = state.take_spare();
                event.map_or_else(|| Event::new(current).map(Arc::new), Ok)?
            }
        };
        if let Err(error) = event.record(current, &self.stream) {
            state.spare.push(event);
            return Err(error);
        }
        state.marked += 1;
        let fence = state.marked;
        state.pending.push_back((fence, event));
        Ok(Fence(fence))
    }

    /// The last fence that has passed.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Poisoned`]: then no fence passes any more.
    ///
    /// A look at each fence that passed since the last call, and at one more.
    pub fn completed(&self) -> Result<Fence, CudaError> {
        let device = self.device();
        device.check_alive()?;
        let mut state = self.lock();
        if state.pending.is_empty() {
            return Ok(Fence(state.completed));
        }
        let current = device.enter()?;
        state.look(&current)?;
        Ok(Fence(state.completed))
    }

    /// Blocks until a fence has passed.
    ///
    /// # Errors
    /// [`CudaError::NoSuchFence`], [`CudaError::Driver`], [`CudaError::Poisoned`].
    pub fn wait(&self, fence: Fence) -> Result<(), CudaError> {
        let current = self.device().enter()?;
        if let Some((at, event)) = self.event_at(fence)? {
            // Others may use the timeline in the meantime.
            event.wait(&current)?;
            drop(event);
            self.lock().pass(at);
        }
        Ok(())
    }

    /// Blocks until the last fence has passed, and if that cannot be known, the device is not used any more.
    pub(super) fn finish_surely(&self, current: &Current<'_>) -> Result<(), CudaError> {
        match self.event_at(self.marked())? {
            Some((_, event)) => event.wait_surely(current),
            None => Ok(()),
        }
    }

    /// What has to pass for a fence, if it may not have.
    fn event_at(&self, fence: Fence) -> Result<Option<(u64, Arc<Event>)>, CudaError> {
        let state = self.lock();
        state.check(fence)?;
        Ok(state.at(fence).cloned())
    }

    /// What is put into its stream from now on waits for these fences, as a [`FenceTable`] answered them. `others` are the timelines that
    /// they may be on.
    ///
    /// # Errors
    /// [`CudaError::UnknownTimeline`], [`CudaError::OtherDevice`], [`CudaError::NoSuchFence`], [`CudaError::Capturing`]: nothing waits.
    /// [`CudaError::Driver`], [`CudaError::Poisoned`]: some may.
    pub fn wait_for<'a>(
        &self,
        waits: &Waits,
        others: impl IntoIterator<Item = &'a Self> + Clone,
    ) -> Result<(), CudaError> {
        let current = self.device().enter()?;
        self.check_waits(waits, others.clone())?;
        // What is not in a capture cannot be waited for in it.
        if self.stream.is_capturing(&current)? {
            return Err(CudaError::Capturing);
        }
        self.wait_in(&current, waits, others)
    }

    /// Whether all of these can be waited for.
    pub(super) fn check_waits<'a>(
        &self,
        waits: &Waits,
        others: impl IntoIterator<Item = &'a Self> + Clone,
    ) -> Result<(), CudaError> {
        for (timeline, fence) in waits.iter() {
            let other = others
                .clone()
                .into_iter()
                .find(|other| other.id == timeline);
            let other = other.ok_or(CudaError::UnknownTimeline { timeline })?;
            if !other.device().is(self.device()) {
                return Err(CudaError::OtherDevice);
            }
            other.lock().check(fence)?;
        }
        Ok(())
    }

    pub(super) fn wait_in<'a>(
        &self,
        current: &Current<'_>,
        waits: &Waits,
        others: impl IntoIterator<Item = &'a Self> + Clone,
    ) -> Result<(), CudaError> {
        for (timeline, fence) in waits.iter() {
            let other = others
                .clone()
                .into_iter()
                .find(|other| other.id == timeline);
            let Some(other) = other else { continue };
            let state = other.lock();
            if let Some((_, event)) = state.at(fence) {
                self.stream.wait_for(current, event)?;
            }
        }
        Ok(())
    }

    /// The last one marked.
    pub(super) fn marked(&self) -> Fence {
        Fence(self.lock().marked)
    }

    /// Whether the other is this timeline or a clone of it.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// The last one that is known to have passed.
    pub(super) fn known(&self) -> Fence {
        Fence(self.lock().completed)
    }

    pub(super) fn device(&self) -> &CudaDevice {
        self.stream.device()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check(&self, fence: Fence) -> Result<(), CudaError> {
        if fence.0 > self.marked {
            return Err(CudaError::NoSuchFence {
                fence,
                last: Fence(self.marked),
            });
        }
        Ok(())
    }

    /// The first fence from this one on that may not have passed: none if it has.
    fn at(&self, fence: Fence) -> Option<&(u64, Arc<Event>)> {
        if fence.0 <= self.completed {
            return None;
        }
        self.pending.iter().find(|(at, _)| *at >= fence.0)
    }

    /// An event that nobody waits for any more.
    fn take_spare(&mut self) -> Option<Arc<Event>> {
        let unused = |event: &mut Arc<Event>| Arc::get_mut(event).is_some();
        let at = self.spare.iter_mut().rposition(unused)?;
        Some(self.spare.swap_remove(at))
    }

    fn look(&mut self, current: &Current<'_>) -> Result<(), CudaError> {
        while let Some((fence, event)) = self.pending.front() {
            let fence = *fence;
            if !event.has_passed(current)? {
                break;
            }
            self.pass(fence);
        }
        Ok(())
    }

    /// A fence has passed, and with it every earlier one.
    fn pass(&mut self, fence: u64) {
        while self.pending.front().is_some_and(|(at, _)| *at <= fence) {
            // There is room: `mark_in` made it.
            self.spare
                .extend(self.pending.pop_front().map(|(_, event)| event));
        }
        self.completed = self.completed.max(fence);
    }
}

impl fmt::Debug for CudaTimeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("CudaTimeline")
            .field("id", &self.id)
            .field("marked", &state.marked)
            .field("completed", &state.completed)
            .finish_non_exhaustive()
    }
}
