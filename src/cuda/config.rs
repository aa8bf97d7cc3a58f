//! How a mover is made.

/// How a [`CudaMover`](super::CudaMover) is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MoverConfig {
    /// Pairs of blocks whose copies can be under way at once; 12 bytes of pinned and of device memory each.
    pub pairs: usize,
    /// Thread blocks that a copy takes at most: 0 for as many as the device has running at once. A copy beside decoding should leave most
    /// of the device to it; `gpu_check` shows what some numbers cost and give.
    pub thread_blocks: u32,
    /// Slots of the staging ring between device and host: two at least, so that one is filled while another is sent.
    pub staging_slots: usize,
    /// Bytes of a slot: one block at least. 0: no ring, and no copies between device and host. Larger slots make larger
    /// transfers.
    pub staging_slot_bytes: u64,
}

impl MoverConfig {
    /// For copies on the device alone: 65,536 pairs, every thread block.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pairs: 65_536,
            thread_blocks: 0,
            staging_slots: 2,
            staging_slot_bytes: 0,
        }
    }

    /// So many pairs under way.
    #[must_use]
    pub const fn pairs(mut self, pairs: usize) -> Self {
        self.pairs = pairs;
        self
    }

    /// No more thread blocks than this for a copy.
    #[must_use]
    pub const fn thread_blocks(mut self, blocks: u32) -> Self {
        self.thread_blocks = blocks;
        self
    }

    /// With a staging ring for copies between device and host.
    #[must_use]
    pub const fn staging(mut self, slots: usize, slot_bytes: u64) -> Self {
        self.staging_slots = slots;
        self.staging_slot_bytes = slot_bytes;
        self
    }
}

impl Default for MoverConfig {
    fn default() -> Self {
        Self::new()
    }
}
