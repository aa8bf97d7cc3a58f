//! Model checking of the pool with loom: one aimed model for each hazard of the protocol, over the real code, index and batches
//! included. Each block has a payload cell beside it: loom fails on any access to it that is not ordered.
//!
//! Two threads are explored without bound, three with at most three preemptions. `KVB_MUTANT=name` puts a hazard back; the
//! table in `.ci/mutants` says which model must fail then.
//!
//! Run: `RUSTFLAGS="--cfg loom -C debug-assertions=on" CARGO_TARGET_DIR=target/loom cargo test --release --test loom`
#![cfg(loom)]

mod elastic;
mod fences;
mod hit;
mod instances;
mod lease;
mod publish;
mod sequences;
mod shard;
mod stall;
mod structures;
mod sweep;
mod transfers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Explores every interleaving (with at most `preemptions`, if given). Fails at the first that breaks a property.
fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicU64::new(0));
    let counter = executions.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 50_000;
    let start = Instant::now();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let name = std::thread::current().name().unwrap_or("model").to_owned();
    let bound = preemptions.map_or("unbounded".to_owned(), |n| format!("{n} preemptions"));
    let executions = executions.load(Ordering::Relaxed);
    println!(
        "{name:<40} {bound:<14} {executions:>9} executions {:>8.1?}",
        start.elapsed()
    );
}

/// Two threads, without bound.
fn two(model: impl Fn() + Send + Sync + 'static) {
    explore(None, model);
}

/// Three threads, three preemptions.
fn three(model: impl Fn() + Send + Sync + 'static) {
    explore(Some(3), model);
}
