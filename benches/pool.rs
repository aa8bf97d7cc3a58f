//! The main operations of one shard under Criterion: one thread, 100k blocks of 16 positions.
//!
//! `cargo bench --bench pool`. Times are of the whole call; a rate counts blocks. For ratios to one `fetch_add`, the gates, other
//! sizes, two threads and comparisons see the program `figures` beside it.

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use kvblock::Prompt;

#[path = "workload/mod.rs"]
mod workload;

use workload::{Branching, CHAIN, Desk, WARM, pool, text};

const BLOCKS: usize = 100_000;

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut group = criterion.benchmark_group("pool");
    free_blocks(&mut group);
    found_chains(&mut group);
    idle_blocks(&mut group);
    group.finish();
    criterion.final_summary();
}

fn blocks(n: usize) -> Throughput {
    Throughput::Elements(n as u64)
}

/// Blocks that were free before.
fn free_blocks(group: &mut BenchmarkGroup<'_, WallTime>) {
    let pool = pool(BLOCKS);
    let mut desk = Desk::new(&pool);
    for n in [1, 64] {
        group.throughput(blocks(n));
        group.bench_function(format!("reserve, take, release {n}"), |b| {
            b.iter(|| desk.take_and_release(n));
        });
    }
}

/// 64 idle chains in turn.
fn found_chains(group: &mut BenchmarkGroup<'_, WallTime>) {
    let pool = pool(BLOCKS);
    let mut desk = Desk::new(&pool);
    let mut branching = Branching::several(&mut desk, 8);
    let texts = desk.warm(WARM);
    let mut turn = texts.iter().cycle();
    let mut next = move || turn.next().expect("a cycle");

    group.throughput(blocks(CHAIN));
    group.bench_function("find by child hint, release 128", |b| {
        b.iter(|| desk.find_and_release(next()));
    });
    // Spoiling takes far longer than what is timed.
    group.measurement_time(Duration::from_millis(200));
    group.bench_function("find with hashing, release 128", |b| {
        b.iter_custom(|iterations| {
            let mut time = Duration::ZERO;
            for _ in 0..iterations {
                branching.rotate_left(1);
                branching[0].spoil_hints(&mut desk);
                let start = Instant::now();
                desk.find_and_release(branching[0].tokens());
                time += start.elapsed();
            }
            time
        });
    });
    group.measurement_time(Duration::from_secs(2));
    group.bench_function("fork, release 128", |b| {
        let chain = desk.find(&texts[0]);
        b.iter(|| {
            let fork = chain.fork(&mut desk.worker).expect("few references");
            desk.release(fork);
        });
    });
    group.bench_function("probe 128", |b| {
        b.iter(|| pool.probe(&Prompt::new(&desk.space, next()).full_hit(true)));
    });
    let unknown = text(u32::MAX, CHAIN);
    group.throughput(Throughput::Elements(1));
    group.bench_function("find, first block missed", |b| {
        b.iter(|| black_box(desk.find_and_release(&unknown)));
    });
}

/// A pool full of idle chains: whoever takes reclaims.
fn idle_blocks(group: &mut BenchmarkGroup<'_, WallTime>) {
    let pool = pool(BLOCKS);
    let mut desk = Desk::new(&pool);
    desk.fill(CHAIN, 0);
    for n in [CHAIN, 1] {
        let mut tokens = text(0, n);
        group.throughput(blocks(n));
        group.bench_function(format!("reclaim, take, publish, release {n}"), |b| {
            b.iter(|| {
                desk.renew(&mut tokens);
                desk.store(&tokens);
            });
        });
    }
}
