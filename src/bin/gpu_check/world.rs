//! Memories on the device with twins in plain memory, in which the reference does the same.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use kvblock::cuda::{CudaDevice, CudaMover, CudaStream, DevicePool, HostPool, MoverConfig};
use kvblock::{
    BlockId, BlockLayout, CopyRoute, FenceTable, HostMemory, HostMover, MemoryId, Mover,
};

use crate::raw::{self, Trouble};

/// A mover and its reference, with the memories that both know.
pub(crate) struct World {
    device: CudaDevice,
    pub(crate) fences: FenceTable,
    pub(crate) mover: CudaMover,
    twin_fences: FenceTable,
    twin: HostMover,
    memories: Vec<Memory>,
    /// Of the bytes that memories begin with.
    seed: u64,
}

struct Memory {
    id: MemoryId,
    start: u64,
    bytes: u64,
    /// Otherwise of the host.
    on_device: bool,
    _host: Option<HostPool>,
}

impl World {
    pub(crate) fn new(device: &CudaDevice, config: &MoverConfig) -> Result<Self, Trouble> {
        let (mut fences, mut twin_fences) = (FenceTable::new(), FenceTable::new());
        let mover = CudaMover::new(&CudaStream::new(device)?, &mut fences, config)?;
        let twin = HostMover::new(twin_fences.add_timeline()?);
        Ok(Self {
            device: device.clone(),
            fences,
            mover,
            twin_fences,
            twin,
            memories: Vec::new(),
            seed: 0x9e37_79b9_7f4a_7c15,
        })
    }

    /// Device memory for a layout of offsets, filled with noise. Returns where its blocks are.
    pub(crate) fn device_memory(&mut self, offsets: &BlockLayout) -> Result<BlockLayout, Trouble> {
        let id = MemoryId::new(u32::try_from(self.memories.len())?);
        let pool = DevicePool::allocate(&self.device, &offsets.clone().in_memory(id))?;
        self.mover.add_device(&pool)?;
        let layout = pool.layout().clone();
        let content = self.remember(&layout, true, None)?;
        raw::write(self.memories.last().map_or(0, |it| it.start), &content)?;
        Ok(layout)
    }

    /// Host memory for as many blocks of a layout's kind, filled with noise.
    pub(crate) fn host_memory(
        &mut self,
        like: &BlockLayout,
        blocks: usize,
    ) -> Result<BlockLayout, Trouble> {
        let id = MemoryId::new(u32::try_from(self.memories.len())?);
        let pool = HostPool::allocate(&self.device, id, like, blocks)?;
        self.mover.add_host(&pool)?;
        let layout = pool.layout().clone();
        let base = pool.as_ptr();
        let content = self.remember(&layout, false, Some(pool))?;
        raw::fill(base, &content);
        Ok(layout)
    }

    /// Makes the twin of a memory. Returns the bytes that it has.
    fn remember(
        &mut self,
        layout: &BlockLayout,
        on_device: bool,
        host: Option<HostPool>,
    ) -> Result<Vec<u8>, Trouble> {
        let (id, blocks) = (layout.memory(), layout.blocks());
        let (start, end) = span(layout);
        self.fences.track(id, blocks)?;
        self.twin_fences.track(id, blocks)?;
        let bytes = end - start;
        let content = self.noise(usize::try_from(bytes)?);
        self.twin
            .register(id, HostMemory::new(content.len())?.at(start))?;
        self.twin
            .bytes_mut(id, start, bytes)?
            .copy_from_slice(&content);
        self.memories.push(Memory {
            id,
            start,
            bytes,
            on_device,
            _host: host,
        });
        Ok(content)
    }

    /// Bytes that look like nothing else (xorshift).
    fn noise(&mut self, bytes: usize) -> Vec<u8> {
        let mut content = Vec::with_capacity(bytes + 8);
        while content.len() < bytes {
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            content.extend_from_slice(&self.seed.to_le_bytes());
        }
        content.truncate(bytes);
        content
    }

    /// Copies on the device and in the twin.
    pub(crate) fn copy(&mut self, route: &CopyRoute, pairs: &[(u32, u32)]) -> Result<(), Trouble> {
        let plan = route.plan(&ids(pairs))?;
        self.mover.copy(&plan, &mut self.fences)?;
        self.copy_twin(route, pairs)
    }

    /// Copies in the twin alone.
    pub(crate) fn copy_twin(
        &mut self,
        route: &CopyRoute,
        pairs: &[(u32, u32)],
    ) -> Result<(), Trouble> {
        let plan = route.plan(&ids(pairs))?;
        self.twin.copy(&plan, &mut self.twin_fences)?;
        Ok(())
    }

    /// Whether every byte of every memory, also of those that nothing was copied to, is as in the twin.
    pub(crate) fn compare(&self) -> Result<(), Trouble> {
        self.mover.own_timeline().stream().synchronize()?;
        for memory in &self.memories {
            let mut found = vec![0; usize::try_from(memory.bytes)?];
            if memory.on_device {
                raw::read(memory.start, &mut found)?;
            } else {
                raw::look(memory.start, &mut found);
            }
            let right = self.twin.bytes(memory.id, memory.start, memory.bytes)?;
            if let Some(at) = (0..found.len()).find(|&at| found[at] != right[at]) {
                let wrong = (at..found.len())
                    .filter(|&at| found[at] != right[at])
                    .count();
                return Err(difference(memory, at, wrong, found[at], right[at]).into());
            }
        }
        Ok(())
    }
}

fn difference(memory: &Memory, at: usize, wrong: usize, found: u8, right: u8) -> String {
    let place = if memory.on_device { "device" } else { "host" };
    format!(
        "{place} memory {}: {wrong} bytes are wrong, the first at offset {at}: {found:#04x} instead of {right:#04x}",
        memory.id
    )
}

pub(crate) fn ids(pairs: &[(u32, u32)]) -> Vec<(BlockId, BlockId)> {
    pairs
        .iter()
        .map(|&(from, to)| (BlockId::new(from), BlockId::new(to)))
        .collect()
}

/// From where to where a layout's memory is.
pub(crate) fn span(layout: &BlockLayout) -> (u64, u64) {
    let fold =
        |(start, end): (u64, u64), extent: (u64, u64)| (start.min(extent.0), end.max(extent.1));
    layout.extents().fold((u64::MAX, 0), fold)
}
