//! What can be wrong with a call to the mover over plain memory.

use core::error::Error;
use core::fmt;

use crate::copy::fence_error::FenceError;
use crate::copy::layout_error::OutsideMemory;
use crate::copy::memory::MemoryId;
use crate::copy::waits::TimelineId;
use crate::pool::Fence;

/// What can be wrong with a call to a [`HostMover`](crate::HostMover). After each of these no byte has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostMoverError {
    /// Nothing of this memory is registered.
    Unregistered {
        /// The one named.
        memory: MemoryId,
    },
    /// A plane is not within one piece of its memory.
    Outside {
        /// The memory.
        memory: MemoryId,
        /// The plane and the piece in which it begins, or the first one.
        outside: OutsideMemory,
    },
    /// No piece of a memory has all of these bytes.
    NoSuchBytes {
        /// The memory.
        memory: MemoryId,
        /// Address of the first byte asked for.
        address: u64,
        /// How many were asked for.
        bytes: u64,
    },
    /// Bytes are registered already, or addresses of this memory are.
    Registered {
        /// In which memory they are.
        memory: MemoryId,
        /// Where the piece begins that has them.
        base: u64,
    },
    /// What the copy has to wait for has not passed: this mover copies at once.
    NotPassed {
        /// On which timeline.
        timeline: TimelineId,
        /// What has to pass.
        fence: Fence,
    },
    /// The mover has not given this fence.
    NoSuchFence {
        /// The fence named.
        fence: Fence,
        /// The last one it gave.
        last: Fence,
    },
    /// The fence table refuses.
    Fences(FenceError),
    /// The host's allocator had no memory.
    OutOfMemory,
}

impl From<FenceError> for HostMoverError {
    fn from(error: FenceError) -> Self {
        Self::Fences(error)
    }
}

impl fmt::Display for HostMoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unregistered { memory } => write!(f, "memory {memory} is not registered"),
            Self::Outside { memory, outside } => write!(f, "memory {memory}: {outside}"),
            Self::NoSuchBytes {
                memory,
                address,
                bytes,
            } => write!(
                f,
                "memory {memory} has no piece with the {bytes} bytes from {address} on"
            ),
            Self::Registered { memory, base } => {
                write!(f, "memory {memory} has some of this at {base} already")
            }
            Self::NotPassed { timeline, fence } => {
                write!(f, "fence {} of timeline {timeline} has not passed", fence.0)
            }
            Self::NoSuchFence { fence, last } => write!(
                f,
                "fence {} was never given: the last one is {}",
                fence.0, last.0
            ),
            Self::Fences(error) => error.fmt(f),
            Self::OutOfMemory => f.write_str("no memory"),
        }
    }
}

impl Error for HostMoverError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Outside { outside, .. } => Some(outside),
            Self::Fences(error) => Some(error),
            _ => None,
        }
    }
}
