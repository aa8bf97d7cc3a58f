//! The ends of sequences, of steps, and of the run: what is given back, and who is waited for before it is.

use kvblock::Handle;

use super::Memory;
use crate::failure::{Failure, cannot_fail};
use crate::serve::pins::Pins;

impl Memory {
    pub(crate) fn release(&mut self, handle: Handle) -> Result<(), Failure> {
        self.changes += 1;
        self.fetches.give_up(handle);
        self.moves.give_up(handle);
        if self.give_up_swap_in(handle)? {
            return Ok(());
        }
        if let Some((lanes, fence)) = self.overlap.fenced() {
            let released = self.instance.release_after(handle, lanes, fence);
            return released.map_err(cannot_fail("release_after"));
        }
        self.instance
            .release(handle)
            .map_err(cannot_fail("release"))
    }

    pub(crate) fn preempt(&mut self, handle: Handle) -> Result<(), Failure> {
        self.changes += 1;
        self.fetches.give_up(handle);
        self.moves.give_up(handle);
        if let Some((lanes, fence)) = self.overlap.fenced() {
            let preempted = self.instance.preempt_after(handle, lanes, fence);
            return preempted.map_err(cannot_fail("preempt_after"));
        }
        self.instance
            .preempt(handle)
            .map_err(cannot_fail("preempt"))
    }

    /// One more step is on its way.
    pub(crate) const fn launch(&mut self) {
        self.overlap.launch();
    }

    /// The device has done the step before, and its copies.
    pub(crate) fn end_step(&mut self) -> Result<(), Failure> {
        self.changes += u64::from(self.overlap.end_step() > 0);
        self.end_copies()
    }

    fn end_copies(&mut self) -> Result<(), Failure> {
        self.changes += u64::from(!self.under_way.is_empty());
        for (shard, ticket) in self.under_way.drain(..) {
            self.instance
                .copied(shard, ticket)
                .map_err(cannot_fail("copied"))?;
        }
        core::mem::swap(&mut self.asked, &mut self.under_way);
        Ok(())
    }

    /// Waits for the device, or else for late writers, or else gives a pin up; false if there was nothing of that.
    pub(crate) fn wait(&mut self) -> Result<bool, Failure> {
        let waited = self.wait_for_device()?
            || self.fetches.wait_for_late()?
            || self.moves.wait_for_late()?
            || self.pins.as_mut().is_some_and(Pins::give_up_one);
        self.changes += u64::from(waited);
        Ok(waited)
    }

    fn wait_for_device(&mut self) -> Result<bool, Failure> {
        let copies = !self.asked.is_empty() || !self.under_way.is_empty();
        self.end_copies()?;
        self.end_copies()?;
        Ok(self.overlap.wait() || copies)
    }

    /// Nothing happens for a while: who is late answers, and the device is done.
    pub(crate) fn idle(&mut self) -> Result<(), Failure> {
        self.overlap.wait();
        self.wait_for_swaps()?;
        self.moves.wait_for_late()?;
        self.fetches.wait_for_late().map(drop)
    }

    /// The run is over: waits for everybody, and ends the pins.
    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        self.wait_for_device()?;
        self.wait_for_swaps()?;
        self.fetches.wait_for_late()?;
        self.moves.wait_for_late()?;
        if let Some(pins) = &mut self.pins {
            pins.end_all();
        }
        Ok(())
    }
}
