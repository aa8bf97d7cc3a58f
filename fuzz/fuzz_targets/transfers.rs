//! Two engines with memory that can be looked at, over fences, leases, transfers, bad content and resizes: any bytes are calls of both, see
//! `tests/lifetimes/engine.rs`, which panics where content that somebody needs has changed or an audit disagrees.
#![no_main]

#[path = "../../tests/lifetimes/engine.rs"]
mod engine;

use libfuzzer_sys::fuzz_target;

/// Longer lists find nothing that shorter ones don't, only later.
const MOST_BYTES: usize = 1_000;

fuzz_target!(|bytes: &[u8]| engine::run(&bytes[..bytes.len().min(MOST_BYTES)]));
