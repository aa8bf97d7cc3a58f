//! Puts a plan into the streams.
//!
//! First the lists of pairs, all of them at once, then a launch for each wave; or, between device and host, a launch and some transfers for
//! each slot of the staging ring.

use core::ffi::c_void;

use super::device::Current;
use super::error::CudaError;
use super::kernels::Pair;
use super::lists::{DeviceList, Lists, Place};
use super::path::HostSide;
use super::prepared::Prepared;
use super::report::Report;
use super::staging::Staging;
use super::stream::CudaStream;
use crate::block::BlockId;
use crate::copy::CopyPlan;

pub(super) struct Sending<'a> {
    pub(super) current: &'a Current<'a>,
    /// The mover's.
    pub(super) stream: &'a CudaStream,
    pub(super) lists: &'a mut Lists,
    /// Where the plan's lists go.
    pub(super) place: Place,
    pub(super) report: &'a Report,
    pub(super) thread_blocks: u32,
}

impl Sending<'_> {
    /// A list for each wave.
    pub(super) fn on_device(
        &mut self,
        prepared: &Prepared,
        plan: &CopyPlan,
    ) -> Result<(), CudaError> {
        let mut first = 0;
        for (count, wave) in plan.waves().enumerate() {
            self.lists
                .write(self.place, count, first, wave.iter().map(pair));
            first += wave.len();
        }
        self.lists.send(self.current, self.stream, self.place)?;
        let mut first = 0;
        for (count, wave) in plan.waves().enumerate() {
            let list = self.lists.on_device(self.place, count, first, wave.len());
            self.launch(prepared, &list)?;
            first += wave.len();
        }
        Ok(())
    }

    /// A list for each slot that is filled. `prepared` has the tables of each slot; `pairs` are in the order of the host's blocks.
    pub(super) fn over_the_bus(
        &mut self,
        prepared: &[Prepared],
        host: &HostSide,
        staging: &mut Staging,
        pairs: &[(BlockId, BlockId)],
    ) -> Result<(), CudaError> {
        for (count, batch) in pairs.chunks(host.slot_blocks).enumerate() {
            let first = count * host.slot_blocks;
            self.lists
                .write(self.place, count, first, host.pairs(batch));
        }
        self.lists.send(self.current, self.stream, self.place)?;
        if !host.to_host {
            staging.transfers_after(self.current, self.stream)?;
        }
        let mut last = 0;
        for (count, batch) in pairs.chunks(host.slot_blocks).enumerate() {
            last = staging.take_slot();
            let first = count * host.slot_blocks;
            let list = self.lists.on_device(self.place, count, first, batch.len());
            if host.to_host {
                self.launch_in(&prepared[last], &list, staging, last)?;
                self.transfer(host, batch, staging, last)?;
            } else {
                self.transfer(host, batch, staging, last)?;
                self.launch_in(&prepared[last], &list, staging, last)?;
            }
        }
        if host.to_host {
            // What comes behind the plan is behind its last transfer.
            staging.kernel_waits(self.current, self.stream, last)?;
        }
        Ok(())
    }

    fn launch(&self, prepared: &Prepared, list: &DeviceList) -> Result<(), CudaError> {
        prepared.launch(
            self.current,
            self.stream,
            list,
            self.report,
            self.thread_blocks,
        )
    }

    /// The kernel between the device's blocks and a slot.
    fn launch_in(
        &self,
        prepared: &Prepared,
        list: &DeviceList,
        staging: &Staging,
        slot: usize,
    ) -> Result<(), CudaError> {
        staging.kernel_waits(self.current, self.stream, slot)?;
        self.launch(prepared, list)?;
        staging.used(self.current, self.stream, slot)
    }

    /// The transfers between a slot and the host's blocks.
    fn transfer(
        &self,
        host: &HostSide,
        batch: &[(BlockId, BlockId)],
        staging: &Staging,
        slot: usize,
    ) -> Result<(), CudaError> {
        let (base, transfers) = (staging.base(slot, host.start), staging.transfers());
        staging.transfer_waits(self.current, slot)?;
        for piece in host.transfers(batch) {
            let on_device = base + piece.offset;
            let on_host = piece.address as *mut c_void;
            let too_large = CudaError::BlockTooLarge { bytes: piece.bytes };
            let bytes = usize::try_from(piece.bytes).map_err(|_| too_large)?;
            if host.to_host {
                // SAFETY: the plan's blocks are within the host memory, which is pinned and kept by the mover, and within the slot.
                unsafe { transfers.copy_to_host(self.current, on_host, on_device, bytes) }?;
            } else {
                // SAFETY: as above.
                unsafe { transfers.copy_to_device(self.current, on_device, on_host, bytes) }?;
            }
        }
        staging.transferred(self.current, slot)
    }
}

fn pair(&(source, destination): &(BlockId, BlockId)) -> Pair {
    Pair {
        source: source.get(),
        destination: destination.get(),
    }
}
