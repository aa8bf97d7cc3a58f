//! The ring between the planes of a device and the blocks of the host.
//!
//! A block is many small pieces on the device and one on the host. A kernel gathers blocks into a slot of device memory, laid out as the
//! host has them, from which they go over the bus in few large transfers; or comes after those and scatters. Kernels are on the mover's
//! stream, transfers on one of the ring's own, and the two wait for each other slot by slot:
//!
//! * a transfer waits for the last kernel that used its slot: the gather that filled it, or the scatter before that read it;
//! * a kernel waits for the last transfer of its slot: the one that filled it, or the one before that read it.
//!
//! Kernels among each other are in the order of their stream, and so are transfers.

use alloc::vec::Vec;

use super::buffer::DeviceBuffer;
use super::config::MoverConfig;
use super::device::{CudaDevice, Current};
use super::driver::DevicePtr;
use super::error::CudaError;
use super::event::Event;
use super::stream::CudaStream;
use crate::error::OutOfMemory;

#[derive(Debug)]
pub(super) struct Staging {
    memory: DeviceBuffer,
    slot_bytes: u64,
    slots: Vec<Slot>,
    next: usize,
    /// Where transfers are put.
    transfers: CudaStream,
    /// The end of the mover's stream before a copy, for transfers to wait for.
    begin: Event,
}

#[derive(Debug)]
struct Slot {
    /// After the last kernel that used it.
    kernel: Event,
    /// After the last transfer that used it.
    transfer: Event,
}

impl Staging {
    /// `None` if the configuration has no ring.
    pub(super) fn new(
        device: &CudaDevice,
        config: &MoverConfig,
    ) -> Result<Option<Self>, CudaError> {
        if config.staging_slot_bytes == 0 {
            return Ok(None);
        }
        if config.staging_slots < 2 {
            return Err(CudaError::Config {
                field: "staging_slots",
                value: config.staging_slots as u64,
            });
        }
        let too_large = CudaError::Config {
            field: "staging_slot_bytes",
            value: config.staging_slot_bytes,
        };
        // Every slot begins at a multiple of the widest access, and can be shifted by less than that.
        let slot_bytes = config
            .staging_slot_bytes
            .checked_next_multiple_of(16)
            .ok_or(too_large)?;
        let bytes = slot_bytes.checked_add(16).ok_or(too_large)?;
        let bytes = bytes
            .checked_mul(config.staging_slots as u64)
            .ok_or(too_large)?;
        let current = device.enter()?;
        let mut slots = Vec::new();
        slots
            .try_reserve_exact(config.staging_slots)
            .map_err(|_| OutOfMemory)?;
        for _ in 0..config.staging_slots {
            slots.push(Slot {
                kernel: Event::new(&current)?,
                transfer: Event::new(&current)?,
            });
        }
        Ok(Some(Self {
            memory: DeviceBuffer::new(&current, bytes)?,
            slot_bytes,
            slots,
            next: 0,
            transfers: CudaStream::new(device)?,
            begin: Event::new(&current)?,
        }))
    }

    /// Where the first block of a slot is, for blocks that begin at `start` on the host: accesses that are aligned there are aligned here.
    pub(super) fn base(&self, slot: usize, start: u64) -> DevicePtr {
        self.memory.address() + slot as u64 * (self.slot_bytes + 16) + start % 16
    }

    /// Blocks that a slot has room for.
    pub(super) fn blocks_of_slot(&self, block_stride: u64) -> Result<u32, CudaError> {
        let blocks = self.slot_bytes / block_stride.max(1);
        if blocks == 0 {
            return Err(CudaError::StagingTooSmall {
                block_bytes: block_stride,
                slot_bytes: self.slot_bytes,
            });
        }
        Ok(u32::try_from(blocks).unwrap_or(u32::MAX))
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The slot to be used next.
    pub(super) fn take_slot(&mut self) -> usize {
        let slot = self.next;
        self.next = (slot + 1) % self.slots.len();
        slot
    }

    pub(super) const fn transfers(&self) -> &CudaStream {
        &self.transfers
    }

    /// Transfers that are put into the ring from now on wait for all that is in the mover's stream now.
    pub(super) fn transfers_after(
        &self,
        current: &Current<'_>,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        self.begin.record(current, stream)?;
        self.transfers.wait_for(current, &self.begin)
    }

    /// The next transfer of a slot waits for its last kernel.
    pub(super) fn transfer_waits(
        &self,
        current: &Current<'_>,
        slot: usize,
    ) -> Result<(), CudaError> {
        self.transfers.wait_for(current, &self.slots[slot].kernel)
    }

    /// The last transfer of a slot is in the stream.
    pub(super) fn transferred(&self, current: &Current<'_>, slot: usize) -> Result<(), CudaError> {
        self.slots[slot].transfer.record(current, &self.transfers)
    }

    /// What is put into the mover's stream from now on waits for the last transfer of a slot.
    pub(super) fn kernel_waits(
        &self,
        current: &Current<'_>,
        stream: &CudaStream,
        slot: usize,
    ) -> Result<(), CudaError> {
        stream.wait_for(current, &self.slots[slot].transfer)
    }

    /// The last kernel of a slot is in the mover's stream.
    pub(super) fn used(
        &self,
        current: &Current<'_>,
        stream: &CudaStream,
        slot: usize,
    ) -> Result<(), CudaError> {
        self.slots[slot].kernel.record(current, stream)
    }
}
