//! What is moved when blocks are copied: where they are, what of them is copied, in which order, and behind what.
//!
//! | file | what is there |
//! |---|---|
//! | `memory.rs` | [`MemoryId`]: which bytes a layout is over |
//! | `tile.rs` | [`Tile`], [`Order`]: K and V inside a block |
//! | `plane.rs` | [`Plane`]: a part of every block, at regular distances |
//! | `overlap.rs` | whether two rows of byte ranges touch, exactly |
//! | `layout.rs` | [`BlockLayout`]: a part of each block in each of its planes; bounds and alignment |
//! | `tensors.rs` | layouts of the tensors that engines make, and of host pools |
//! | `runs.rs` | [`Run`], [`PairRun`]: bytes that lie together |
//! | `width.rs` | [`AccessWidth`]: the widest access that fits a plane |
//! | `permutation.rs` | [`Permutation`]: rows of heads that are put in another order |
//! | `route.rs` | [`CopyRoute`]: what is done in each plane, from one layout to another |
//! | `plan.rs`, `wave.rs` | [`CopyPlan`]: which blocks, checked, in waves of pairs that any order suits |
//! | `fences.rs`, `waits.rs` | [`FenceTable`]: who used a block last, and what has to pass before somebody else may |
//! | `mover.rs` | [`Mover`]: who executes plans |
//! | `host/` | [`HostMemory`], [`HostMover`]: plain memory, the reference for every other mover |
//! | `queue.rs` | [`CopyQueue`]: which copies have been made once a fence has passed |
//! | `*_error.rs` | what can be wrong with each of them |
//!
//! A copy in five steps, of which the first two are done once:
//! 1. two [`BlockLayout`]s say where blocks are,
//! 2. a [`CopyRoute`] says what is copied in each plane,
//! 3. a [`CopyPlan`] says which blocks,
//! 4. a [`FenceTable`] says what has to pass first, and
//! 5. a [`Mover`] does it and answers with a fence.

mod fence_error;
mod fences;
mod host;
mod layout;
mod layout_error;
mod memory;
mod mover;
mod overlap;
mod permutation;
mod plan;
mod plan_error;
mod plane;
mod queue;
mod route;
mod route_error;
mod runs;
mod runs_error;
mod tensors;
mod tile;
mod waits;
mod wave;
mod width;

pub use self::fence_error::FenceError;
pub use self::fences::{Access, FenceTable};
pub use self::host::{HostMemory, HostMover, HostMoverError};
pub use self::layout::BlockLayout;
pub use self::layout_error::{LayoutError, Misaligned, OutsideMemory, PlaneField};
pub use self::memory::MemoryId;
pub use self::mover::Mover;
pub use self::permutation::{Permutation, TileStrides};
pub use self::plan::CopyPlan;
pub use self::plan_error::{CopyEnd, CopyPlanError};
pub use self::plane::Plane;
pub use self::queue::{CopyQueue, CopyQueueError};
pub use self::route::{CopyKind, CopyRoute, HeadSlice, PlaneCopy, PlaneSpan};
pub use self::route_error::CopyRouteError;
pub use self::runs::{PairRun, Run, pair_runs};
pub use self::runs_error::RunsError;
pub use self::tensors::KvTensor;
pub use self::tile::{Inner, Order, Tile};
pub use self::waits::{MAX_TIMELINES, TimelineId, Waits, WaitsIter};
pub use self::wave::Wave;
pub use self::width::AccessWidth;
