//! How many blocks fit: a rank's memory less what else needs it, divided by what a block takes there.
//!
//! Invariant: `device memory = weights + workspaces + staging + margin + blocks * block bytes + remainder`, exactly, and the
//! remainder is less than a block.

mod error;
mod instance;
mod memory;
mod rank;
#[cfg(feature = "serde")]
mod serialize;
mod shape;
mod show;
mod size;

pub use self::error::{InstancePlanError, PlanError, PlanInput, PlanStep};
pub use self::instance::InstancePlan;
pub use self::memory::{Margin, PlanTerm, RankMemory};
pub use self::rank::CapacityPlan;
pub use self::shape::KvShape;
