//! What a call costs from C beside the same call from Rust, in one run: the shared library of this build is loaded, and each row's work
//! is done by turns on either side.
//!
//! ```text
//! cargo bench -p kvblock-ffi --bench cost                 everything: some seconds
//! cargo bench -p kvblock-ffi --bench cost -- --quick      a few samples: shows that the program works, no more
//! ```
//! A gate is what C may cost more: 25 ns a call, 4 ns an item of a batch by handle, 15 ns an item by label. A missed gate is said in its
//! row; timings never make the program fail. Without `--bench`, which `cargo bench` passes, it runs as with `--quick`.

#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, reason = "shared with the tests, of which each uses a part")]
mod support;

mod c_side;
mod library;
mod rows;
mod rust_side;
mod side;

use c_side::CSide;
use library::Library;
use rows::ROWS;
use rust_side::RustSide;

/// Samples of each row: with `--bench`, and without.
const SAMPLES: [usize; 2] = [301, 5];

/// Times of one row, a sample each.
#[derive(Default)]
struct Times {
    rust: Vec<f64>,
    c: Vec<f64>,
    more: Vec<f64>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let quick = has("--quick") || !has("--bench");
    let samples = SAMPLES[usize::from(quick)];
    let path = support::shared_library();
    let library = Library::load(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut rust, mut c) = (RustSide::new(), CSide::new(&library));
    let mut all: Vec<Times> = ROWS.iter().map(|_| Times::default()).collect();
    // The first round fills caches and lists, and counts for nothing.
    for round in 0..=samples {
        for (row, times) in ROWS.iter().zip(&mut all) {
            // A noisy moment hits both, and neither is always the first.
            let (by_rust, by_c) = if round % 2 == 0 {
                let by_rust = (row.rust)(&mut rust);
                (by_rust, (row.c)(&mut c))
            } else {
                let by_c = (row.c)(&mut c);
                ((row.rust)(&mut rust), by_c)
            };
            if round > 0 {
                times.rust.push(by_rust);
                times.c.push(by_c);
                times.more.push(by_c - by_rust);
            }
        }
    }
    print(samples, &all);
}

fn print(samples: usize, all: &[Times]) {
    println!("C beside Rust: medians of {samples} samples a row and side, by turns; ns");
    println!(
        "{:<44} {:>9} {:>9} {:>9} {:>17} {:>5}  verdict",
        "", "Rust", "C", "more", "(10 % .. 90 %)", "gate"
    );
    for (row, times) in ROWS.iter().zip(all) {
        let more = quantile(&times.more, 500);
        let verdict = if more <= row.gate {
            String::from("met")
        } else {
            format!("MISSED by {:.1} ns", more - row.gate)
        };
        println!(
            "{:<44} {:>9.2} {:>9.2} {:>9.2} {:>17} {:>5}  {verdict}",
            row.name,
            quantile(&times.rust, 500),
            quantile(&times.c, 500),
            more,
            format!(
                "({:.2} .. {:.2})",
                quantile(&times.more, 100),
                quantile(&times.more, 900)
            ),
            row.gate,
        );
    }
}

/// The value below which this share of the values lies, in thousandths.
fn quantile(values: &[f64], thousandths: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len().saturating_sub(1) * thousandths).div_ceil(1000);
    sorted.get(at).copied().unwrap_or(f64::NAN)
}
