//! What is moved when blocks are copied: where they are, and in which runs they lie.

mod layout;

pub use self::layout::{BlockLayout, LayoutError, PairRun, Plane, Run, RunsError, pair_runs};
