//! Figures of one shard: medians, largest calls and ratios to one uncontended `fetch_add` of the same run, beside the gates
//! that they are to meet.
//!
//! ```text
//! cargo bench --bench figures                     everything; half a minute, more beside other work
//! cargo bench --bench figures -- threads          one part: one-thread, sizes, calls, sequences, copies, threads, memory
//! cargo bench --bench figures -- --quick          all parts, a few samples: shows that the program works, no more
//! benches/instructions.sh                         instructions per operation, by callgrind
//! ```
//! Timings never make it fail: a missed gate is said in its row. Without `--bench`, which `cargo bench` passes, it runs as with
//! `--quick`.

#[path = "../workload/mod.rs"]
mod workload;

mod calls;
mod copies;
mod instructions;
mod measure;
mod memory;
mod one_thread;
mod sequences;
mod threads;

/// How much to do.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Samples of each row.
    pub(crate) samples: usize,
    /// Of each row, for the sizes that no gate is about.
    pub(crate) samples_of_other_sizes: usize,
    /// Pool sizes: the one of the gates, then others.
    pub(crate) sizes: &'static [usize],
    /// Timed calls of each kind.
    pub(crate) calls: usize,
    /// Undisturbed pairs of runs, with one thread and with two; at most ten times as many are tried.
    pub(crate) runs: usize,
    pub(crate) run_ms: u64,
}

const FULL: Effort = Effort {
    samples: 301,
    samples_of_other_sizes: 101,
    sizes: &[100_000, 10_000, 1_000_000],
    calls: 20_000,
    runs: 51,
    run_ms: 1,
};
const QUICK: Effort = Effort {
    samples: 5,
    samples_of_other_sizes: 3,
    sizes: &[20_000, 30_000],
    calls: 100,
    runs: 3,
    run_ms: 1,
};

/// Measures and prints.
type Part = fn(&Effort);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let number = |name: &str| -> Option<usize> {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse().ok()
    };
    if has("--instructions") {
        return instructions::run(
            number("--blocks").unwrap_or(10_000),
            number("--rounds").unwrap_or(64),
        );
    }
    let effort = if has("--quick") || !has("--bench") {
        QUICK
    } else {
        FULL
    };
    let chosen: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let parts: [(&str, Part); 7] = [
        ("one-thread", one_thread::run),
        ("sizes", one_thread::run_other_sizes),
        ("calls", calls::run),
        ("sequences", sequences::run),
        ("copies", copies::run),
        ("threads", threads::run),
        ("memory", memory::run),
    ];
    for (name, run) in parts {
        if chosen.is_empty() || chosen.contains(&name) {
            run(&effort);
            println!();
        }
    }
}
