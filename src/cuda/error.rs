//! What can go wrong with a device.

use core::error::Error;
use core::fmt;

use crate::copy::{FenceError, LayoutError, MemoryId, TimelineId};
use crate::error::OutOfMemory;
use crate::pool::Fence;

/// Why a device did not do what it was asked for. Nothing was changed then, unless the variant says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CudaError {
    /// There is no driver library on this machine.
    DriverNotFound,
    /// The driver is too old: it lacks an entry point.
    MissingSymbol {
        /// Its name.
        name: &'static str,
    },
    /// There are fewer devices.
    NoSuchDevice {
        /// The device asked for, from 0.
        asked: u32,
        /// How many there are.
        devices: u32,
    },
    /// The device does not have that much memory left.
    OutOfDeviceMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that the driver says are free; memory in pieces may be.
        free: u64,
        /// Bytes of the device.
        total: u64,
    },
    /// The host does not have that much memory left, or none that may be pinned.
    OutOfHostMemory {
        /// Bytes asked for.
        asked: u64,
    },
    /// The driver does not take the kernels.
    BadPtx {
        /// Its result.
        code: u32,
    },
    /// Any other refusal of the driver.
    Driver {
        /// The call.
        call: &'static str,
        /// Its result; [`code_name`] says what it is called.
        code: u32,
    },
    /// The device failed in a way that no later call recovers from: nothing is known of what was under way, so no fence passes any
    /// more and nothing may be used again. A new process is needed.
    Poisoned {
        /// The call that told.
        call: &'static str,
        /// Its result.
        code: u32,
    },
    /// Lists of pairs have room for so many under way; entries are pairs, or two counts of a list. Ask for what is [completed](crate::Mover::completed), and
    /// try again.
    Busy {
        /// Entries of copies that are under way.
        under_way: usize,
        /// Entries that fit.
        capacity: usize,
    },
    /// A plan has more pairs than [fit](super::MoverConfig::pairs); or, captured, more than its list.
    TooManyPairs {
        /// Pairs of the plan.
        pairs: usize,
        /// Pairs that fit.
        capacity: usize,
    },
    /// The stream is being captured: a graph would copy this plan's pairs for ever. Use a [`PairList`](super::PairList).
    Capturing,
    /// A plan in several waves cannot be put into one list.
    Waves {
        /// Its waves.
        waves: usize,
    },
    /// The route of a plan is not the one that the list was made for.
    OtherRoute,
    /// A handle of another device.
    OtherDevice,
    /// The list was made for another mover.
    OtherMover,
    /// The mover does not know a memory.
    UnknownMemory {
        /// The memory.
        memory: MemoryId,
    },
    /// The mover knows a memory of this name, or one over the same bytes.
    MemoryInUse {
        /// The memory that it knows.
        memory: MemoryId,
    },
    /// A layout is not within the memory of its name.
    OutsideMemory {
        /// The memory.
        memory: MemoryId,
        /// The first plane outside.
        plane: usize,
    },
    /// Nothing here copies from this memory to that one: from host to host, and with a list of pairs from or to the host.
    NoSuchRoute {
        /// From here.
        source: MemoryId,
        /// To there.
        destination: MemoryId,
    },
    /// A block of a host memory is not in one piece, all planes one behind the other.
    NotBlockFirst {
        /// The memory.
        memory: MemoryId,
    },
    /// A route copies only some heads or planes of a block to the host; a transfer is of whole blocks.
    PartOfBlock {
        /// The host memory.
        memory: MemoryId,
    },
    /// The mover has no staging ring, which copies between device and host need.
    NoStaging,
    /// The last replay of a list may not have read it yet.
    ListInUse {
        /// After this fence it has.
        until: Fence,
    },
    /// A block does not fit into a slot of the staging ring.
    StagingTooSmall {
        /// Bytes of a block.
        block_bytes: u64,
        /// Bytes of a slot.
        slot_bytes: u64,
    },
    /// A plane has more bytes of a block than the kernels count.
    BlockTooLarge {
        /// The bytes.
        bytes: u64,
    },
    /// A configuration makes no sense.
    Config {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// A fence that the timeline has not come to.
    NoSuchFence {
        /// The fence.
        fence: Fence,
        /// The last one that there is.
        last: Fence,
    },
    /// The mover does not follow a timeline that a block was last used on.
    UnknownTimeline {
        /// The timeline.
        timeline: TimelineId,
    },
    /// The mover follows another timeline of this name, or has one itself: they are of different tables.
    TimelineInUse {
        /// The timeline.
        timeline: TimelineId,
    },
    /// `CU_STREAM_PER_THREAD` is another stream on each thread; nothing would be in order.
    StreamOfThread,
    /// A list that a device made names a block that does not exist. That pair was not copied, the others were.
    BadPair {
        /// The first such pair of the list.
        pair: usize,
    },
    /// A list that a device made is longer than its memory. Nothing was copied.
    BadCount {
        /// Its count.
        count: u32,
        /// Pairs that fit.
        capacity: u32,
    },
    /// The layout is none.
    Layout(LayoutError),
    /// The table of fences does not take it.
    Fence(FenceError),
    /// The host's allocator had no memory.
    OutOfMemory,
}

/// What the driver calls a result, for those that are met here.
#[must_use]
pub const fn code_name(code: u32) -> &'static str {
    match code {
        0 => "CUDA_SUCCESS",
        1 => "CUDA_ERROR_INVALID_VALUE",
        2 => "CUDA_ERROR_OUT_OF_MEMORY",
        3 => "CUDA_ERROR_NOT_INITIALIZED",
        4 => "CUDA_ERROR_DEINITIALIZED",
        34 => "CUDA_ERROR_STUB_LIBRARY",
        100 => "CUDA_ERROR_NO_DEVICE",
        101 => "CUDA_ERROR_INVALID_DEVICE",
        200 => "CUDA_ERROR_INVALID_IMAGE",
        201 => "CUDA_ERROR_INVALID_CONTEXT",
        209 => "CUDA_ERROR_NO_BINARY_FOR_GPU",
        214 => "CUDA_ERROR_ECC_UNCORRECTABLE",
        218 => "CUDA_ERROR_INVALID_PTX",
        220 => "CUDA_ERROR_NVLINK_UNCORRECTABLE",
        222 => "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        226 => "CUDA_ERROR_CONTAINED",
        400 => "CUDA_ERROR_INVALID_HANDLE",
        500 => "CUDA_ERROR_NOT_FOUND",
        600 => "CUDA_ERROR_NOT_READY",
        700 => "CUDA_ERROR_ILLEGAL_ADDRESS",
        701 => "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        702 => "CUDA_ERROR_LAUNCH_TIMEOUT",
        709 => "CUDA_ERROR_CONTEXT_IS_DESTROYED",
        710 => "CUDA_ERROR_ASSERT",
        712 => "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        713 => "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
        714 => "CUDA_ERROR_HARDWARE_STACK_ERROR",
        715 => "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        716 => "CUDA_ERROR_MISALIGNED_ADDRESS",
        717 => "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        718 => "CUDA_ERROR_INVALID_PC",
        719 => "CUDA_ERROR_LAUNCH_FAILED",
        721 => "CUDA_ERROR_TENSOR_MEMORY_LEAK",
        800 => "CUDA_ERROR_NOT_PERMITTED",
        801 => "CUDA_ERROR_NOT_SUPPORTED",
        803 => "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        810 => "CUDA_ERROR_MPS_CLIENT_TERMINATED",
        900 => "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        901 => "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        905 => "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        906 => "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        907 => "CUDA_ERROR_CAPTURED_EVENT",
        911 => "CUDA_ERROR_EXTERNAL_DEVICE",
        999 => "CUDA_ERROR_UNKNOWN",
        _ => "a result of the driver",
    }
}

/// Whether a context that answered this answers nothing else any more.
pub(super) const fn is_sticky(code: u32) -> bool {
    matches!(
        code,
        4 | 201 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 810 | 911 | 999
    )
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::DriverNotFound => f.write_str(
                "no CUDA driver on this machine (libcuda.so.1); install the driver, or leave the device out",
            ),
            Self::MissingSymbol { name } => write!(
                f,
                "the driver has no {name}; version 520 (CUDA 11.8) and later ones do"
            ),
            Self::NoSuchDevice { asked, devices } => {
                write!(f, "device {asked} is not one of {devices}")
            }
            Self::OutOfDeviceMemory { asked, free, total } => write!(
                f,
                "no {asked} bytes of device memory: {free} of {total} are free"
            ),
            Self::OutOfHostMemory { asked } => {
                write!(f, "no {asked} bytes of host memory that can be pinned")
            }
            Self::BadPtx { code } => write!(
                f,
                "the driver does not take the kernels: {} ({code})",
                code_name(code)
            ),
            Self::Driver { call, code } => write!(f, "{call}: {} ({code})", code_name(code)),
            Self::Poisoned { call, code } => write!(
                f,
                "the device failed for good at {call}: {} ({code}); nothing of it may be used again in this process",
                code_name(code)
            ),
            Self::Busy {
                under_way,
                capacity,
            } => write!(
                f,
                "lists of {under_way} entries are under way, of {capacity} that fit; ask for what is completed and try again"
            ),
            Self::TooManyPairs { pairs, capacity } => {
                write!(f, "{pairs} pairs are more than the {capacity} that fit")
            }
            Self::Capturing => {
                f.write_str("the stream is being captured; use a list of pairs for that")
            }
            Self::Waves { waves } => write!(f, "{waves} waves do not go into one list"),
            Self::OtherRoute => f.write_str("the list was made for another route"),
            Self::OtherMover => f.write_str("the list was made for another mover"),
            Self::OtherDevice => f.write_str("it belongs to another device"),
            Self::UnknownMemory { memory } => write!(f, "memory {memory} is not known to the mover"),
            Self::MemoryInUse { memory } => write!(f, "memory {memory} is known to the mover already"),
            Self::OutsideMemory { memory, plane } => {
                write!(f, "plane {plane} is not within memory {memory}")
            }
            Self::NoSuchRoute {
                source,
                destination,
            } => write!(
                f,
                "this does not copy from memory {source} to memory {destination}: one of them at least must be the device's, and both for a list of pairs"
            ),
            Self::NotBlockFirst { memory } => write!(
                f,
                "memory {memory}: a block of the host must be in one piece, its planes one behind the other"
            ),
            Self::PartOfBlock { memory } => {
                write!(f, "memory {memory}: some heads or planes of a block cannot be sent to the host, only whole blocks")
            }
            Self::NoStaging => f.write_str("the mover has no staging ring: give its configuration one"),
            Self::ListInUse { until } => {
                write!(f, "the list is in use until fence {}", until.0)
            }
            Self::StagingTooSmall {
                block_bytes,
                slot_bytes,
            } => write!(
                f,
                "a block of {block_bytes} bytes does not fit into a staging slot of {slot_bytes}"
            ),
            Self::BlockTooLarge { bytes } => write!(
                f,
                "{bytes} bytes of a block in a plane are more than the kernels count"
            ),
            Self::Config { field, value } => write!(f, "{field} cannot be {value}"),
            Self::UnknownTimeline { timeline } => {
                write!(f, "{timeline} is not followed by the mover")
            }
            Self::TimelineInUse { timeline } => {
                write!(f, "{timeline} is another one for the mover; both must be of one table of fences")
            }
            Self::StreamOfThread => f.write_str(
                "the stream that each thread has for itself (CU_STREAM_PER_THREAD) has no order; name another one",
            ),
            Self::NoSuchFence { fence, last } => {
                write!(f, "fence {} is beyond the last one, {}", fence.0, last.0)
            }
            Self::BadPair { pair } => write!(f, "pair {pair} of the list names no block"),
            Self::BadCount { count, capacity } => {
                write!(f, "a list of {count} pairs in memory for {capacity}")
            }
            Self::Layout(error) => error.fmt(f),
            Self::Fence(error) => error.fmt(f),
            Self::OutOfMemory => OutOfMemory.fmt(f),
        }
    }
}

impl Error for CudaError {}

impl From<OutOfMemory> for CudaError {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

impl From<LayoutError> for CudaError {
    fn from(error: LayoutError) -> Self {
        match error {
            LayoutError::OutOfMemory => Self::OutOfMemory,
            other => Self::Layout(other),
        }
    }
}

impl From<FenceError> for CudaError {
    fn from(error: FenceError) -> Self {
        Self::Fence(error)
    }
}
