//! `kvblock` is the block allocator of a KV cache, as a library: it decides which fixed-size block of device memory holds which
//! token positions, shares equal prefixes, promises memory before it is needed, and proves where every block is.
//!
//! It runs inside someone else's inference engine: no threads of its own, no I/O, no clock, no global state, `no_std` + `alloc`.
//! Targets need 64-bit atomics.
//!
//! # A first look
//! A scheduler talks to [`Sequences`]: it admits requests, appends positions step by step, and says what was computed.
//!
//! ```
//! use kvblock::{Admit, BlockPool, Contents, Growth, Namespace, PoolConfig, Prompt, Sequences, SequencesConfig, Step};
//!
//! // 64 blocks of 4 positions; at most 8 sequences at once.
//! let pool = BlockPool::new(&PoolConfig::new(64, 4))?;
//! let mut sequences = Sequences::new(pool, &SequencesConfig::new(8))?;
//! let (space, prompt) = (Namespace::new(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
//!
//! // Admitted with all that it may ever need: 3 blocks for the prompt, 1 more for at most 6 new positions.
//! let request = Admit::new(Prompt::new(&space, &prompt), Growth::Cap(6)).label(17);
//! let first = sequences.admit(&request)?;
//! assert_eq!((first.hit, first.fresh), (0, 3));
//! // The engine computes the prompt into the blocks of the table. The two full ones can be shared from now on.
//! sequences.computed(first.handle, 9)?;
//!
//! let second = sequences.admit(&request)?;
//! assert_eq!((second.hit, second.fresh), (8, 1));
//! sequences.computed(second.handle, 9)?;
//!
//! // One step of decoding for both: where the next position goes, then what it is.
//! let mut step = Step::new();
//! sequences.step(&[(first.handle, 1), (second.handle, 1)], &mut step);
//! assert!(step.failures().is_empty());
//! assert_eq!(step.slots().len(), 2);
//! for handle in [first.handle, second.handle] {
//!     sequences.tokens(handle, 9, &Contents::new(&[42]))?;
//!     sequences.computed(handle, 10)?;
//!     sequences.release(handle)?;
//! }
//! assert_eq!(sequences.audit(&[]), Ok(()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Below it a [`BlockPool`] is one shard. [`reserve`](BlockPool::reserve) promises blocks, [`find`](BlockPool::find) holds the
//! part of a prompt that is cached already, [`take`](Chain::take) gets blocks for the rest, [`publish`](Chain::publish) makes
//! them findable for others, [`release`](Chain::release) gives them back. Engines with a scheduler of their own can use it alone.
//!
//! # Several shards
//! An [`Instance`] is a registry over all shards that must hold a sequence for it to run: ranks in lockstep, or the stages of a
//! pipeline. Each call is done on all of them or on none. A [`CapacityPlan`] says how many blocks fit a rank.
//!
//! A [`Fleet`] has several instances. A request goes to one of them as a whole: what is free in sum may fit nowhere. It places and
//! refuses, moves sequences from one instance to another, and lends memory between models on the same devices.
//!
//! # How long blocks are bound
//! * What a device may still touch is released [after a fence](Sequences::release_after), and waits in a [`Lane`].
//! * [`Leases`] hold blocks for who is no sequence, until a deadline: a transfer, a [pin](Sequences::pin).
//! * A sequence may come from elsewhere: [`Sequences::import`] takes its blocks, writers fill them and answer through the
//!   [`Import`], whatever becomes of the sequence. [`Sequences::export`] offers one to be read, or to be moved.
//! * Who loses its memory may go to another tier, and come back instead of being computed again: [`Sequences::swap_to`].
//! * Content that turned out bad is [taken back](Sequences::invalidate) from all who have it, who then compute it anew in
//!   [blocks of their own](Sequences::renew).
//! * A pool [grows](BlockPool::grow) and [shrinks](BlockPool::shrink) while it serves.
//!
//! # Copies
//! A branch that writes, a swap, and a transfer copy blocks. A [`BlockLayout`] says where blocks are, a [`CopyRoute`] what is copied
//! from one layout to another, a [`CopyPlan`] which blocks and in which order, a [`FenceTable`] what has to pass before. A [`Mover`]
//! does it: a [`HostMover`] in plain memory, with the feature `cuda` one on a device's stream.
//!
//! # What concurrent callers may observe
//! * A refusal and a hit are true at one instant. A promise stays true.
//! * What is found stays as it is until the chain is released. A block found by one thread may be reclaimed for another only
//!   after its last owner released it.
//! * Two threads that publish one content at the same time may both store it; later lookups find one of the two.
//! * Figures count each block once, in the state in which it was seen; they add up exactly at rest.
//!
//! # Features
//! * `std`, `serde` (reports and events), `xxh3` (a faster hasher), `cli` (the program `kvblock` and the trace parsers), `cuda` (the module `cuda`: memory and copies
//!   on NVIDIA devices): all off by default, all only add.
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
mod copy;
#[cfg(feature = "cuda")]
#[allow(unsafe_code)]
pub mod cuda;
mod error;
mod event;
mod fleet;
mod instance;
mod lease;
mod pool;
mod prefix;
mod report;
mod sequence;
#[allow(unsafe_code)]
mod shared;
mod sync;
mod text;
#[cfg(feature = "cli")]
pub mod trace;
mod transfer;

pub use block::{BlockId, MAX_BLOCK_SIZE, MAX_BLOCKS, ShardId};
pub use copy::{
    Access, AccessWidth, BlockLayout, CopyEnd, CopyKind, CopyPlan, CopyPlanError, CopyQueue,
    CopyQueueError, CopyRoute, CopyRouteError, FenceError, FenceTable, HeadSlice, HostMemory,
    HostMover, HostMoverError, Inner, KvTensor, LayoutError, MAX_TIMELINES, MemoryId, Misaligned,
    Mover, Order, OutsideMemory, PairRun, Permutation, Plane, PlaneCopy, PlaneField, PlaneSpan,
    Run, RunsError, Tile, TileStrides, TimelineId, Waits, WaitsIter, Wave, pair_runs,
};
pub use error::{
    ClearError, CreateError, Exceeds, Field, FindError, ForkError, InvalidateError, JoinError,
    LengthMismatch, OutOfMemory, PublishError, Refused, ReleaseAfterError, ResizeError, Returned,
    SplitError, TakeError, TooManyReferences, WrongPool,
};
pub use event::{Event, EventKind, EventReader, Findable, Snapshot};
pub use fleet::{
    AbortError, AddError, Candidate, FinishError, Fleet, FleetInconsistency, FleetStatistics,
    InstanceId, InstanceState, Largest, LendError, Loan, LoanError, LoanStage, LoanState, Member,
    Move, MoveError, MoveOver, MoveTerms, NoPlace, NoService, NoSuchInstance, NoSuchLoan, NotEmpty,
    Placed, Placement, Portion, RemoveError, SameInstance, SettleError, Share, SharedName,
    SharedPool,
};
pub use instance::{
    CapacityPlan, Costs, DetachedInstance, Instance, InstanceError, InstanceExport,
    InstanceImported, InstanceIncoming, InstanceInconsistency, InstancePlan, InstancePlanError,
    InstanceResizeError, InstanceStep, InstanceSwap, KvShape, MAX_SHARDS, Margin, PlanError,
    PlanInput, PlanStep, PlanTerm, Rank, RankMemory,
};
pub use lease::{Lease, LeaseEnded, LeaseError, Leases, Owner};
pub use pool::{
    BlockPool, Blocks, Chain, Fence, Grown, Holder, Inconsistency, Lane, PoolConfig, Probe,
    Published, Reservation, Shrunk, Stopped, Worker,
};
#[cfg(feature = "xxh3")]
pub use prefix::Xxh3Hasher;
pub use prefix::{
    BlockHasher, ConstantHasher, Contents, ExtraKey, Namespace, Prompt, Proof, SipHasher13,
};
pub use report::{
    FleetReport, InstanceReport, LeasesReport, MemberReport, Metrics, MetricsError, ModelReport,
    PoolReport, RankReport, SequencesReport,
};
pub use sequence::{
    Admit, AdmitError, Admitted, AlreadyCopied, AppendError, AttachError, Beyond, BranchError,
    Budget, CapReached, CommitError, ComputedError, CopyPending, CopyTicket, Cost, DetachError,
    Detached, EndAfterError, ExportError, Failure, Growth, Handle, HitStatistics, ImportError,
    Imported, InTransit, Incoming, Loading, MoveAborted, NoSuchShard, NotArrived, NotCopied,
    NotNext, OtherNamespace, PinError, ReadError, SequenceState, Sequences, SequencesConfig,
    SequencesInconsistency, SourceTaken, Stale, Step, Swap, SwapAbortError, SwapCopyError,
    SwapError, SwapFinishError, SwapOver, TableChange, Terms, TokensError, TooManySequences,
    TooManyWriters, TooShort, TruncateAfterError, TruncateError, UnknownFormat, Victim,
    VictimsError,
};
pub use transfer::{
    Answer, AnswerError, ElementType, Export, Flights, Handover, Import, Incompatible, KvFormat,
    MAX_WRITERS, NotOpen, Phase, TooManyBytes,
};

#[cfg(loom)]
#[doc(hidden)]
pub use pool::steps;
