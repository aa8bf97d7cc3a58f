//! Several instances on one clock, and instances of several ranks.
//!
//! In the order in which they use each other:
//!
//! * `settings`, `phases`: what is asked for, and a workload made for it;
//! * `figures`, `timeline`: what is noted of each instance;
//! * `placement`: which instance gets the queue's head;
//! * `scale`: instances that come and go; `moves`: running sequences that change theirs; `balance`: which ones;
//! * `summary` with `advice`: what is reported.

mod advice;
mod balance;
pub(crate) mod figures;
pub(crate) mod moves;
pub(crate) mod phases;
pub(crate) mod placement;
pub(crate) mod scale;
pub(crate) mod settings;
pub(crate) mod summary;
pub(crate) mod timeline;
