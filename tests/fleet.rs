//! Fleets: what takes a request, what refuses it and why, what moves between instances, what is lent between models.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "support/mod.rs"]
mod support;

#[path = "fleet/loans.rs"]
mod loans;
#[path = "fleet/members.rs"]
mod members;
#[path = "fleet/move_endings.rs"]
mod move_endings;
#[path = "fleet/moves.rs"]
mod moves;
#[path = "fleet/placement.rs"]
mod placement;
#[path = "fleet/reports.rs"]
mod reports;
#[path = "fleet/service.rs"]
mod service;
#[path = "fleet/words.rs"]
mod words;
