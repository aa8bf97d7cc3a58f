//! Who executes plans.

use super::fences::FenceTable;
use super::plan::CopyPlan;
use super::waits::TimelineId;
use crate::pool::Fence;

/// Executes plans on one timeline, one after another.
///
/// The fences of a mover rise: 1, 2, 3, and so on, one for each copy, and more if it says so; `Fence(0)` has passed before all. Copies end
/// in the order in which they were begun.
///
/// After an error nothing of the plan is in flight any more: the sources are as they were, what the destinations have is undefined, and
/// nothing of it was recorded. A mover that can no longer promise that says so at every later call.
pub trait Mover {
    /// What can be wrong.
    type Error: core::error::Error;

    /// The timeline on which it copies, of the table that is given to [`copy`](Self::copy). Nobody else records on it.
    fn timeline(&self) -> TimelineId;

    /// Begins to copy behind everything that the plan has to wait for, records the plan, and returns the fence that passes when all of it
    /// has been copied. A plan without pairs gets a fence as well.
    ///
    /// # Errors
    /// As the mover says.
    fn copy(&mut self, plan: &CopyPlan, fences: &mut FenceTable) -> Result<Fence, Self::Error>;

    /// The last fence that has passed. Does not wait.
    ///
    /// # Errors
    /// As the mover says.
    fn completed(&mut self) -> Result<Fence, Self::Error>;

    /// Waits until a fence has passed.
    ///
    /// # Errors
    /// As the mover says; a fence that the mover has not given is one.
    fn wait(&mut self, fence: Fence) -> Result<(), Self::Error>;
}
