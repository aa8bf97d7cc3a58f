//! The memories that a mover knows.

use alloc::vec::Vec;

use super::device::CudaDevice;
use super::error::CudaError;
use super::host_pool::HostPool;
use super::memory::DevicePool;
use crate::copy::BlockLayout;
use crate::error::OutOfMemory;

#[derive(Clone, Debug)]
pub(super) enum Pool {
    Device(DevicePool),
    Host(HostPool),
}

impl Pool {
    pub(super) const fn layout(&self) -> &BlockLayout {
        match self {
            Self::Device(pool) => pool.layout(),
            Self::Host(pool) => pool.layout(),
        }
    }

    const fn device(&self) -> &CudaDevice {
        match self {
            Self::Device(pool) => pool.device(),
            Self::Host(pool) => pool.device(),
        }
    }
}

#[derive(Debug)]
struct Memory {
    pool: Pool,
    /// From where to where there is memory, in order, none of them touching another.
    extents: Vec<(u64, u64)>,
}

#[derive(Debug, Default)]
pub(super) struct Memories {
    list: Vec<Memory>,
}

impl Memories {
    pub(super) fn add(&mut self, device: &CudaDevice, pool: Pool) -> Result<(), CudaError> {
        if !pool.device().is(device) {
            return Err(CudaError::OtherDevice);
        }
        let extents = extents(pool.layout())?;
        let taken = |known: &&Memory| {
            known.pool.layout().memory() == pool.layout().memory()
                || known.extents.iter().any(|one| {
                    extents
                        .iter()
                        .any(|other| one.0 < other.1 && other.0 < one.1)
                })
        };
        if let Some(known) = self.list.iter().find(taken) {
            return Err(CudaError::MemoryInUse {
                memory: known.pool.layout().memory(),
            });
        }
        self.list.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.list.push(Memory { pool, extents });
        Ok(())
    }

    /// The memory of a layout, which is within it.
    pub(super) fn of(&self, layout: &BlockLayout) -> Result<&Pool, CudaError> {
        let memory = layout.memory();
        let known = self
            .list
            .iter()
            .find(|it| it.pool.layout().memory() == memory);
        let known = known.ok_or(CudaError::UnknownMemory { memory })?;
        let inside =
            |(start, end): (u64, u64)| known.extents.iter().any(|it| it.0 <= start && end <= it.1);
        match layout.extents().position(|it| !inside(it)) {
            Some(plane) => Err(CudaError::OutsideMemory { memory, plane }),
            None => Ok(&known.pool),
        }
    }
}

/// The extents of a layout's planes, those that touch as one.
fn extents(layout: &BlockLayout) -> Result<Vec<(u64, u64)>, CudaError> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    all.try_reserve_exact(layout.planes().len())
        .map_err(|_| OutOfMemory)?;
    all.extend(layout.extents());
    all.sort_unstable();
    all.dedup_by(|next, one| {
        let joined = next.0 <= one.1;
        if joined {
            one.1 = one.1.max(next.1);
        }
        joined
    });
    Ok(all)
}
