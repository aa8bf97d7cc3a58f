//! What is measured. Each row's work is written once, for either side.

use core::hint::black_box;
use std::time::Instant;

use crate::c_side::CSide;
use crate::rust_side::RustSide;
use crate::side::{BATCH, BLOCK, Side};

/// What C may cost more, in nanoseconds.
const A_CALL: f64 = 25.0;
const AN_ITEM_BY_HANDLE: f64 = 4.0;
const AN_ITEM_BY_LABEL: f64 = 15.0;

/// Calls of a sample.
const CALLS: u32 = 256;
/// The prompt of each sequence of the batch: four blocks and a position.
const PROMPT: usize = 4 * BLOCK + 1;

/// One figure. Its samples are nanoseconds for each call or item.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) gate: f64,
    pub(crate) rust: fn(&mut RustSide) -> f64,
    pub(crate) c: fn(&mut CSide<'_>) -> f64,
}

/// A row whose work is a function for either side.
macro_rules! row {
    ($name:literal, $gate:expr, $sample:expr) => {
        Row {
            name: $name,
            gate: $gate,
            rust: |side| $sample(side),
            c: |side| $sample(side),
        }
    };
}

pub(crate) const ROWS: &[Row] = &[
    row!("available, a call", A_CALL, available),
    row!("check, a call", A_CALL, check),
    row!("slot of a handle, a call", A_CALL, slot),
    row!("state, a call", A_CALL, state),
    row!("computed, nothing to publish, a call", A_CALL, computed),
    row!("append 1 and truncate, a call", A_CALL, append_and_truncate),
    row!("admit 4 blocks and release, a call", A_CALL, admit_4),
    row!("admit 128 blocks and release, a call", A_CALL, admit_128),
    row!(
        "step within a block, an item",
        AN_ITEM_BY_HANDLE,
        step_within
    ),
    row!("step over a block, an item", AN_ITEM_BY_HANDLE, step_over),
    row!("advance, an item", AN_ITEM_BY_HANDLE, advance),
    row!(
        "block tables of 5 entries, an item",
        AN_ITEM_BY_HANDLE,
        copy_tables
    ),
    row!("find by label, an item", AN_ITEM_BY_HANDLE, find),
    row!(
        "find and step within a block, an item",
        AN_ITEM_BY_LABEL,
        find_and_step
    ),
];

/// Nanoseconds of each of some units.
fn a_unit(units: u32, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / f64::from(units)
}

fn available(side: &mut impl Side) -> f64 {
    a_unit(CALLS, || {
        for _ in 0..CALLS {
            black_box(black_box(&*side).available());
        }
    })
}

fn check(side: &mut impl Side) -> f64 {
    a_unit(CALLS, || {
        for _ in 0..CALLS {
            black_box(&*side).check(black_box(3));
        }
    })
}

fn slot(side: &mut impl Side) -> f64 {
    a_unit(CALLS, || {
        for _ in 0..CALLS {
            black_box(side.slot(black_box(7 << 24 | 5)));
        }
    })
}

/// A prompt that nobody else has; nothing of it is computed, so nothing is found.
fn prompt(tokens: usize) -> Vec<u32> {
    (0..).take(tokens).collect()
}

/// Does the work with one sequence that has a block and a half.
fn with_one<S: Side>(side: &mut S, work: impl FnOnce(&mut S, u64, usize) -> f64) -> f64 {
    let tokens = prompt(BLOCK + BLOCK / 2);
    let seq = side.admit(&tokens, 0);
    side.computed(seq, tokens.len() - 1);
    let time = work(side, seq, tokens.len());
    side.release(seq);
    time
}

fn state(side: &mut impl Side) -> f64 {
    with_one(side, |side, seq, _| {
        a_unit(CALLS, || {
            for _ in 0..CALLS {
                black_box(black_box(&*side).positions(black_box(seq)));
            }
        })
    })
}

fn computed(side: &mut impl Side) -> f64 {
    with_one(side, |side, seq, positions| {
        a_unit(CALLS, || {
            for _ in 0..CALLS {
                side.computed(black_box(seq), black_box(positions));
            }
        })
    })
}

fn append_and_truncate(side: &mut impl Side) -> f64 {
    with_one(side, |side, seq, positions| {
        a_unit(2 * CALLS, || {
            for _ in 0..CALLS {
                side.append(black_box(seq), 1);
                side.truncate(black_box(seq), positions);
            }
        })
    })
}

fn admit_4(side: &mut impl Side) -> f64 {
    admit_and_release(side, 4, 64)
}

fn admit_128(side: &mut impl Side) -> f64 {
    admit_and_release(side, 128, 16)
}

fn admit_and_release(side: &mut impl Side, blocks: usize, times: u32) -> f64 {
    let tokens = prompt(blocks * BLOCK);
    a_unit(2 * times, || {
        for _ in 0..times {
            let seq = side.admit(black_box(&tokens), 1);
            side.release(black_box(seq));
        }
    })
}

/// Does the work with a batch of sequences, each of whose ends is the first position of a block.
fn with_batch<S: Side>(side: &mut S, work: impl FnOnce(&mut S, &[u64]) -> f64) -> f64 {
    let mut tokens = prompt(PROMPT);
    let labels: Vec<u64> = (0..BATCH as u64)
        .map(|at| at.wrapping_mul(0x9E37_79B9))
        .collect();
    let mut seqs = Vec::with_capacity(BATCH);
    for (own, &label) in (0..).zip(&labels) {
        tokens[0] = own;
        seqs.push(side.admit(&tokens, label));
    }
    side.set_batch(&seqs);
    let time = work(side, &labels);
    for seq in seqs {
        side.release(seq);
    }
    time
}

/// Items of some steps of a batch.
fn items(steps: usize) -> u32 {
    u32::try_from(steps * BATCH).unwrap_or(u32::MAX)
}

fn step_within(side: &mut impl Side) -> f64 {
    with_batch(side, |side, _| steps(side, BLOCK - 1))
}

fn step_over(side: &mut impl Side) -> f64 {
    with_batch(side, |side, _| steps(side, BLOCK))
}

fn steps(side: &mut impl Side, count: usize) -> f64 {
    a_unit(items(count), || (0..count).for_each(|_| side.step()))
}

fn advance(side: &mut impl Side) -> f64 {
    let tokens = prompt(BATCH);
    with_batch(side, |side, _| {
        // One less than the block has, so that nothing is published.
        let times: Vec<f64> = (PROMPT..PROMPT + BLOCK - 2)
            .map(|at| {
                side.step();
                a_unit(items(1), || side.advance(at, black_box(&tokens)))
            })
            .collect();
        times.iter().sum::<f64>() / times.len() as f64
    })
}

fn copy_tables(side: &mut impl Side) -> f64 {
    with_batch(side, |side, _| {
        a_unit(items(8), || {
            for _ in 0..8 {
                black_box(side.copy_tables());
            }
        })
    })
}

fn find(side: &mut impl Side) -> f64 {
    with_batch(side, |side, labels| {
        a_unit(items(8), || {
            (0..8).for_each(|_| side.find(black_box(labels)))
        })
    })
}

fn find_and_step(side: &mut impl Side) -> f64 {
    with_batch(side, |side, labels| {
        a_unit(items(8), || {
            for _ in 0..8 {
                side.find(black_box(labels));
                side.step();
            }
        })
    })
}
