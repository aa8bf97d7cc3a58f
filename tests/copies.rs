//! Copies of blocks over plain memory: layouts, routes, plans, fence tables, and the mover that is the reference for others.
//!
//! What is compared is every byte of every memory, against models that copy byte by byte and pair by pair, and know nothing of waves, runs,
//! strides or widths.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "copies/bench.rs"]
mod bench;
#[path = "copies/cases.rs"]
mod cases;
#[path = "copies/fences.rs"]
mod fences;
#[path = "copies/heads.rs"]
mod heads;
#[path = "copies/host.rs"]
mod host;
#[path = "copies/layouts.rs"]
mod layouts;
#[path = "copies/plans.rs"]
mod plans;
#[path = "support/properties.rs"]
mod properties;
#[path = "copies/routes.rs"]
mod routes;
mod support;
#[path = "copies/tickets.rs"]
mod tickets;
#[path = "copies/timelines.rs"]
mod timelines;
