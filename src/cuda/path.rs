//! Which way the blocks of a route go.

use alloc::vec::Vec;

use super::device::Current;
use super::error::CudaError;
use super::host_pool::HostPool;
use super::kernels::Pair;
use super::memories::{Memories, Pool};
use super::prepared::{End, Prepared, Shift};
use super::staging::Staging;
use super::stream::CudaStream;
use crate::block::BlockId;
use crate::copy::{BlockLayout, CopyRoute};
use crate::error::OutOfMemory;

#[derive(Debug)]
pub(super) enum Path {
    /// By a kernel.
    OnDevice(Prepared),
    /// By a kernel and transfers: a table for each slot of the staging ring.
    Staged {
        prepared: Vec<Prepared>,
        host: HostSide,
    },
}

impl Path {
    pub(super) fn new(
        current: &Current<'_>,
        stream: &CudaStream,
        route: &CopyRoute,
        memories: &Memories,
        staging: Option<&Staging>,
    ) -> Result<Self, CudaError> {
        let (source, destination) = (route.source(), route.destination());
        let (host, pool) = match (memories.of(source)?, memories.of(destination)?) {
            (Pool::Device(_), Pool::Device(_)) => {
                let ends = (end(source)?, end(destination)?);
                return Ok(Self::OnDevice(Prepared::new(current, stream, route, ends)?));
            }
            (Pool::Device(_), Pool::Host(pool)) => (destination, pool),
            (Pool::Host(pool), Pool::Device(_)) => (source, pool),
            (Pool::Host(_), Pool::Host(_)) => {
                return Err(CudaError::NoSuchRoute {
                    source: source.memory(),
                    destination: destination.memory(),
                });
            }
        };
        let to_host = core::ptr::eq(host, destination);
        let memory = host.memory();
        let staging = staging.ok_or(CudaError::NoStaging)?;
        let host = HostSide::new(host, pool, to_host, staging)?;
        // What lies between heads or planes would be overwritten with what the slot had there.
        if to_host && route.block_bytes() != host.block_span {
            return Err(CudaError::PartOfBlock { memory });
        }
        let mut prepared = Vec::new();
        prepared
            .try_reserve_exact(staging.slots())
            .map_err(|_| OutOfMemory)?;
        for slot in 0..staging.slots() {
            let slot = End {
                blocks: u32::try_from(host.slot_blocks).unwrap_or(u32::MAX),
                shift: Some(Shift {
                    from: host.start,
                    to: staging.base(slot, host.start),
                    block_stride: host.block_stride,
                }),
            };
            let ends = if to_host {
                (end(source)?, slot)
            } else {
                (slot, end(destination)?)
            };
            // Those before it may be on their way yet.
            let table = Prepared::new(current, stream, route, ends)
                .map_err(|error| stream.settle(current, error));
            prepared.push(table?);
        }
        Ok(Self::Staged { prepared, host })
    }

    fn route(&self) -> Option<&CopyRoute> {
        match self {
            Self::OnDevice(prepared) => Some(&prepared.route),
            Self::Staged { prepared, .. } => prepared.first().map(|prepared| &prepared.route),
        }
    }
}

/// The end that a layout says.
fn end(layout: &BlockLayout) -> Result<End, CudaError> {
    let blocks = u32::try_from(layout.blocks()).map_err(|_| OutOfMemory)?;
    Ok(End {
        blocks,
        shift: None,
    })
}

/// The host's side of a staged path.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostSide {
    pub(super) to_host: bool,
    /// Address of block 0.
    pub(super) start: u64,
    /// Bytes from a block to the next.
    block_stride: u64,
    /// Bytes from the first of a block to its last.
    block_span: u64,
    pub(super) slot_blocks: usize,
    /// Where no transfer may go across: multiples of so many bytes, from the address beside it on.
    pieces: Option<(u64, u64)>,
}

/// A transfer between a slot and the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    /// From the slot's first block.
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

impl HostSide {
    fn new(
        layout: &BlockLayout,
        pool: &HostPool,
        to_host: bool,
        staging: &Staging,
    ) -> Result<Self, CudaError> {
        let memory = layout.memory();
        let start = layout
            .planes()
            .iter()
            .map(|plane| plane.base)
            .min()
            .unwrap_or(0);
        let end = layout
            .planes()
            .iter()
            .map(|plane| plane.base + plane.block_bytes)
            .max();
        let block_span = end.unwrap_or(0) - start;
        // The stride of a single block says nothing. It may be in a slot many times, at distances that suit every access.
        let single = block_span.next_multiple_of(16);
        let stride = |plane: &crate::copy::Plane| {
            if layout.blocks() > 1 {
                plane.block_stride
            } else {
                single
            }
        };
        let block_stride = layout.planes().first().map_or(0, stride);
        if block_span > block_stride
            || layout
                .planes()
                .iter()
                .any(|plane| stride(plane) != block_stride)
        {
            return Err(CudaError::NotBlockFirst { memory });
        }
        Ok(Self {
            to_host,
            start,
            block_stride,
            block_span,
            slot_blocks: staging.blocks_of_slot(block_stride)? as usize,
            pieces: pool.pieces(),
        })
    }

    const fn on_host(&self, &(source, destination): &(BlockId, BlockId)) -> BlockId {
        if self.to_host { destination } else { source }
    }

    /// Puts pairs in the order of the host's blocks, so that neighbours there are one transfer.
    pub(super) fn sort(&self, pairs: &mut [(BlockId, BlockId)]) {
        pairs.sort_unstable_by_key(|pair| self.on_host(pair));
    }

    /// What the kernel copies of what a slot has: the blocks of the slot are numbered from 0 on.
    pub(super) fn pairs(
        &self,
        batch: &[(BlockId, BlockId)],
    ) -> impl ExactSizeIterator<Item = Pair> {
        batch
            .iter()
            .enumerate()
            .map(|(at, &(source, destination))| {
                let in_slot = u32::try_from(at).unwrap_or(u32::MAX);
                let (source, destination) = match self.to_host {
                    true => (source.get(), in_slot),
                    false => (in_slot, destination.get()),
                };
                Pair {
                    source,
                    destination,
                }
            })
    }

    /// What is transferred of what a slot has.
    pub(super) fn transfers(&self, batch: &[(BlockId, BlockId)]) -> impl Iterator<Item = Transfer> {
        let dense = self.block_span == self.block_stride;
        let joins = move |one: &(BlockId, BlockId), next: &(BlockId, BlockId)| {
            dense && self.on_host(one).get().checked_add(1) == Some(self.on_host(next).get())
        };
        let mut offset = 0;
        batch.chunk_by(joins).flat_map(move |run| {
            let blocks = run.len() as u64;
            let first = run.first().map_or(0, |pair| self.on_host(pair).get());
            let whole = Transfer {
                offset,
                address: self.start + u64::from(first) * self.block_stride,
                bytes: (blocks - 1) * self.block_stride + self.block_span,
            };
            offset += blocks * self.block_stride;
            self.cut(whole)
        })
    }

    /// Cuts a transfer where the host's memory was pinned in pieces.
    fn cut(&self, whole: Transfer) -> impl Iterator<Item = Transfer> {
        let pieces = self.pieces;
        let mut left = whole;
        core::iter::from_fn(move || {
            if left.bytes == 0 {
                return None;
            }
            let to_end = match pieces {
                Some((piece, base)) => piece - (left.address - base) % piece,
                None => left.bytes,
            };
            let bytes = left.bytes.min(to_end);
            let first = Transfer { bytes, ..left };
            left = Transfer {
                offset: left.offset + bytes,
                address: left.address + bytes,
                bytes: left.bytes - bytes,
            };
            Some(first)
        })
    }
}

/// The paths of the routes that were used: a few.
#[derive(Debug, Default)]
pub(super) struct Paths {
    list: Vec<Path>,
}

impl Paths {
    pub(super) fn find(&self, route: &CopyRoute) -> Option<usize> {
        let known = || self.list.iter().map(Path::route);
        let is_same = |known: Option<&CopyRoute>| known.is_some_and(|known| known.is_same(route));
        // A route may be made anew for the same two layouts.
        let is_alike = |known: Option<&CopyRoute>| {
            known.is_some_and(|known| {
                known.source() == route.source()
                    && known.destination() == route.destination()
                    && known.planes() == route.planes()
            })
        };
        known()
            .position(is_same)
            .or_else(|| known().position(is_alike))
    }

    /// Room for one more.
    pub(super) fn make_room(&mut self) -> Result<(), OutOfMemory> {
        self.list.try_reserve(1).map_err(|_| OutOfMemory)
    }

    /// Keeps a path, for which there is [room](Self::make_room). Returns its place.
    pub(super) fn add(&mut self, path: Path) -> usize {
        self.list.push(path);
        self.list.len() - 1
    }

    pub(super) fn at(&self, at: usize) -> &Path {
        &self.list[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(block_stride: u64, block_span: u64, pieces: Option<(u64, u64)>) -> HostSide {
        HostSide {
            to_host: true,
            start: 1000,
            block_stride,
            block_span,
            slot_blocks: 8,
            pieces,
        }
    }

    fn transfers(side: &HostSide, host: &[u32]) -> Vec<(u64, u64, u64)> {
        let pairs: Vec<_> = host
            .iter()
            .map(|&it| (BlockId::new(0), BlockId::new(it)))
            .collect();
        side.transfers(&pairs)
            .map(|it| (it.offset, it.address, it.bytes))
            .collect()
    }

    #[test]
    fn neighbours_on_the_host_are_one_transfer_unless_there_is_a_gap() {
        let host = [2, 3, 4, 7];
        assert_eq!(
            transfers(&side(100, 100, None), &host),
            [(0, 1200, 300), (300, 1700, 100)]
        );
        let apart = [
            (0, 1200, 90),
            (100, 1300, 90),
            (200, 1400, 90),
            (300, 1700, 90),
        ];
        assert_eq!(transfers(&side(100, 90, None), &host), apart);
    }

    #[test]
    fn a_transfer_and_what_is_before_it_may_be_larger_than_4_gib() {
        const GIB: u64 = 1 << 30;
        let whole = [
            (0, 1000 + 5 * GIB, 6 * GIB),
            (6 * GIB, 1000 + 70 * GIB, GIB),
        ];
        let host = [5, 6, 7, 8, 9, 10, 70];
        assert_eq!(transfers(&side(GIB, GIB, None), &host), whole);
        let pieces = Some((5 * GIB, 1000));
        let cut = [
            (0, 1000 + 5 * GIB, 5 * GIB),
            (5 * GIB, 1000 + 10 * GIB, GIB),
            (6 * GIB, 1000 + 70 * GIB, GIB),
        ];
        assert_eq!(transfers(&side(GIB, GIB, pieces), &host), cut);
    }

    #[test]
    fn no_transfer_goes_across_pieces_that_were_pinned_apart() {
        let pieces = Some((256, 1000));
        let cut = [
            (0, 1200, 56),
            (56, 1256, 244),
            (300, 1700, 68),
            (368, 1768, 32),
        ];
        assert_eq!(transfers(&side(100, 100, pieces), &[2, 3, 4, 7]), cut);
    }
}
