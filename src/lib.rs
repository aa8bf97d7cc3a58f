//! `kvblock` is the block allocator of a KV cache, as a library: it decides which fixed-size block of device memory holds which
//! token positions, shares equal prefixes, promises memory before it is needed, and proves where every block is.
//!
//! It runs inside someone else's inference engine: no threads of its own, no I/O, no clock, no global state, `no_std` + `alloc`.
//! Targets need 64-bit atomics.
//!
//! # A first look
//! A [`BlockPool`] is one shard. [`reserve`](BlockPool::reserve) promises blocks, [`find`](BlockPool::find) holds the part
//! of a prompt that is cached already, [`take`](Chain::take) gets blocks for the rest, [`publish`](Chain::publish) makes them
//! findable for others, [`release`](Chain::release) gives them back. See [`BlockPool`] for an example.
//!
//! # What concurrent callers may observe
//! * A refusal and a hit are true at one instant. A promise stays true.
//! * What is found stays as it is until the chain is released. A block found by one thread may be reclaimed for another only
//!   after its last owner released it.
//! * Two threads that publish one content at the same time may both store it; later lookups find one of the two.
//! * Figures count each block once, in the state in which it was seen; they add up exactly at rest.
//!
//! # Features
//! * `std`, `serde` (reports and events), `xxh3` (a faster hasher), `cli` (the program `kvblock` and the trace parsers): all off
//!   by default, all only add.
#![no_std]
#![deny(unsafe_code)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!("kvblock needs 64-bit atomics: a block's state is one 64-bit word");

extern crate alloc;
#[cfg(any(test, loom, feature = "std"))]
extern crate std;

/// The example in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

mod array;
mod block;
mod error;
mod event;
mod pool;
mod prefix;
mod report;
#[allow(unsafe_code)]
mod shared;
mod sync;
#[cfg(feature = "cli")]
pub mod trace;

pub use block::{BlockId, MAX_BLOCK_SIZE, MAX_BLOCKS, ShardId};
pub use error::{
    ClearError, CreateError, Exceeds, Field, FindError, ForkError, InvalidateError, LengthMismatch,
    PublishError, Refused, Returned, SplitError, TakeError, TooManyReferences, WrongPool,
};
pub use event::{Event, EventKind, EventReader, Findable, Snapshot};
pub use pool::{
    BlockPool, Blocks, Chain, Holder, Inconsistency, PoolConfig, Probe, Published, Reservation,
    Stopped, Worker,
};
#[cfg(feature = "xxh3")]
pub use prefix::Xxh3Hasher;
pub use prefix::{
    BlockHasher, ConstantHasher, Contents, ExtraKey, Namespace, Prompt, Proof, SipHasher13,
};
pub use report::PoolReport;

#[cfg(loom)]
#[doc(hidden)]
pub use pool::steps;
