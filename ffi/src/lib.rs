//! The C API of `kvblock`. Its guide is the head of `include/kvblock.h`, which is made from these files in this order.
//!
//! | what | where |
//! | --- | --- |
//! | what C gives, what C gets back | `arg`, `object`, `held`, `text` |
//! | status numbers, errors with their figures, versions | `status`, `error`, `version` |
//! | memory and panics | `runtime` |
#![no_std]
#![allow(non_camel_case_types, reason = "the names are those of the C header")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "the pointers of one call have one contract: the head of the header"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the documentation is the C header's: its head says what every pointer must be, each function what is particular to it"
)]

extern crate alloc;

mod arg;
mod held;
mod object;
mod text;

// In the order of the header, where each file uses those above it.

pub mod status;

pub mod version;

#[cfg(not(feature = "rust-host"))]
pub mod runtime;

pub mod error;

pub mod namespace;

pub mod prompt;

pub mod format;

pub mod copy;

pub mod pool;

pub mod leases;

pub mod events;

pub mod metrics;

pub mod seqs;

pub mod lanes;

pub mod transfer;

pub mod swap;

pub mod plan;

pub mod fleet;

pub mod holder;
