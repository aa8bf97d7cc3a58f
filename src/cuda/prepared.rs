//! Routes as the kernels read them.
//!
//! For each kernel and width of access that a route needs, the table of the planes that are copied so, in device memory. It is made once,
//! by the first plan of the route or before that by `CudaMover::prepare`, and kept.

use alloc::vec::Vec;
use core::mem::size_of;
use core::slice;

use super::buffer::{DeviceBuffer, PinnedBuffer};
use super::device::Current;
use super::driver::DevicePtr;
use super::error::CudaError;
use super::kernels::{CHUNK, Kind, Launch, PlaneCopy, PlanePermute, WIDTHS};
use super::lists::DeviceList;
use super::report::Report;
use super::stream::CudaStream;
use crate::copy::{CopyKind, CopyRoute, PlaneCopy as Part, PlaneSpan};
use crate::error::OutOfMemory;

/// One end of a route as a kernel sees it: as the route says, or shifted to the staging ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Ids below this exist.
    pub(super) blocks: u32,
    pub(super) shift: Option<Shift>,
}

/// Where the blocks of a host memory are in the staging ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    /// Where block 0 begins in the memory.
    pub(super) from: u64,
    /// Where it begins in the ring.
    pub(super) to: u64,
    /// Bytes from a block to the next.
    pub(super) block_stride: u64,
}

impl End {
    const fn place(&self, span: PlaneSpan) -> PlaneSpan {
        match self.shift {
            None => span,
            Some(shift) => PlaneSpan {
                base: shift.to + (span.base - shift.from),
                block_stride: shift.block_stride,
            },
        }
    }
}

/// Planes that one launch copies.
#[derive(Clone, Copy, Debug)]
struct Group {
    kind: Kind,
    /// Place in [`WIDTHS`].
    width: usize,
    planes: DevicePtr,
    plane_count: u32,
    chunks: u32,
}

#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) route: CopyRoute,
    groups: Vec<Group>,
    source_blocks: u32,
    destination_blocks: u32,
    /// What the groups point into.
    _tables: DeviceBuffer,
    /// What that is copied from.
    _written: PinnedBuffer,
}

impl Prepared {
    /// Makes the tables and puts their copy into a stream.
    pub(super) fn new(
        current: &Current<'_>,
        stream: &CudaStream,
        route: &CopyRoute,
        ends: (End, End),
    ) -> Result<Self, CudaError> {
        let (mut bytes, mut groups) = (Vec::new(), Vec::new());
        for kind in [Kind::Copy, Kind::Permute] {
            for (width, access) in WIDTHS.into_iter().enumerate() {
                let start = bytes.len() as u64;
                let taken =
                    |part: &&Part| Kind::of(&part.kind) == kind && part.access.bytes() == access;
                let parts = route.planes().iter().filter(taken);
                let (plane_count, chunks) = write_rows(&mut bytes, parts, ends)?;
                if plane_count > 0 {
                    groups.try_reserve(1).map_err(|_| OutOfMemory)?;
                    groups.push(Group {
                        kind,
                        width,
                        planes: start,
                        plane_count,
                        chunks,
                    });
                }
            }
        }
        let size = bytes.len() as u64;
        let written = PinnedBuffer::new(current, size)?;
        let tables = DeviceBuffer::new(current, size)?;
        let place = written.address().cast::<u8>().as_ptr();
        // SAFETY: the buffer has as many bytes, and nothing else knows it.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // SAFETY: both buffers have as many bytes and are kept here, until the mover has seen the stream end.
        unsafe {
            stream.copy_to_device(
                current,
                tables.address(),
                place.cast_const().cast(),
                bytes.len(),
            )
        }
        .map_err(|error| stream.settle(current, error))?;
        for group in &mut groups {
            group.planes += tables.address();
        }
        Ok(Self {
            route: route.clone(),
            groups,
            source_blocks: ends.0.blocks,
            destination_blocks: ends.1.blocks,
            _tables: tables,
            _written: written,
        })
    }
}

impl Prepared {
    /// Puts a launch for each group of planes into a stream, of no more than so many thread blocks unless that is 0.
    pub(super) fn launch(
        &self,
        current: &Current<'_>,
        stream: &CudaStream,
        list: &DeviceList,
        report: &Report,
        thread_blocks: u32,
    ) -> Result<(), CudaError> {
        let Some(kernels) = current.device().kernels() else {
            return Ok(());
        };
        for group in &self.groups {
            let units = u64::from(list.capacity) * u64::from(group.chunks);
            let resident = kernels.resident(group.kind, group.width);
            let most = match thread_blocks {
                0 => resident,
                cap => cap.min(resident),
            };
            let launch = Launch {
                kind: group.kind,
                width: group.width,
                planes: group.planes,
                plane_count: group.plane_count,
                chunks: group.chunks,
                source_blocks: self.source_blocks,
                destination_blocks: self.destination_blocks,
                pairs: list.pairs,
                count: list.count,
                capacity: list.capacity,
                report: report.address(),
                grid: u32::try_from(units).unwrap_or(u32::MAX).min(most).max(1),
            };
            kernels.launch(current, stream, &launch)?;
        }
        Ok(())
    }
}

/// Appends the rows of the planes that one kernel copies. Returns how many there are, and their chunks.
fn write_rows<'a>(
    bytes: &mut Vec<u8>,
    parts: impl Iterator<Item = &'a Part>,
    ends: (End, End),
) -> Result<(u32, u32), CudaError> {
    let (mut planes, mut chunks) = (0, 0_u32);
    for part in parts {
        let (source, destination) = (ends.0.place(part.source), ends.1.place(part.destination));
        let moved = part.bytes();
        let too_large = CudaError::BlockTooLarge { bytes: moved };
        match part.kind {
            CopyKind::Same { bytes: moved } => append(
                bytes,
                &PlaneCopy {
                    source_base: source.base,
                    source_stride: source.block_stride,
                    destination_base: destination.base,
                    destination_stride: destination.block_stride,
                    bytes: moved,
                    first: chunks.into(),
                },
            )?,
            CopyKind::Permute(it) => {
                // Words of a block are counted in 32 bits there.
                u32::try_from(moved / u64::from(part.access.bytes())).map_err(|_| too_large)?;
                append(
                    bytes,
                    &PlanePermute {
                        source_base: source.base,
                        source_stride: source.block_stride,
                        destination_base: destination.base,
                        destination_stride: destination.block_stride,
                        first: chunks.into(),
                        parts: it.parts,
                        positions: it.positions,
                        heads: it.heads,
                        head_bytes: it.head_bytes,
                        source_part: it.source.part,
                        source_position: it.source.position,
                        source_head: it.source.head,
                        destination_part: it.destination.part,
                        destination_position: it.destination.position,
                        destination_head: it.destination.head,
                    },
                )?;
            }
        }
        planes += 1;
        // Chunks, too.
        let more = u32::try_from(moved.div_ceil(CHUNK)).map_err(|_| too_large)?;
        chunks = chunks.checked_add(more).ok_or(too_large)?;
    }
    Ok((planes, chunks))
}

/// Appends a row of a table as it is in memory.
fn append<T: Copy>(bytes: &mut Vec<u8>, row: &T) -> Result<(), CudaError> {
    let size = size_of::<T>();
    bytes.try_reserve(size).map_err(|_| OutOfMemory)?;
    // SAFETY: the rows have no gaps, which `kernels.rs` asserts, so that each of their bytes is initialised.
    let row = unsafe { slice::from_raw_parts((&raw const *row).cast::<u8>(), size) };
    bytes.extend_from_slice(row);
    Ok(())
}
