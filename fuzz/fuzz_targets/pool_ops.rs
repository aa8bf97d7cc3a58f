//! Any list of calls on one pool, beside the model of `tests/model/`: the driver panics where the two differ.
//!
//! The first four bytes choose the pool, then each call is one byte that names it and the bytes of its arguments.
#![no_main]

#[path = "../../tests/model/ops.rs"]
mod ops;
#[path = "../../tests/model/reference.rs"]
mod reference;

use arbitrary::{Arbitrary, Result, Unstructured};
use kvblock::Proof;
use libfuzzer_sys::fuzz_target;

use ops::{Asked, By, Foreign, Keys, Op, Setup, Symbol, Wrong, run};

/// Longer lists find nothing that shorter ones don't, only later.
const MOST_CALLS: usize = 150;

/// What one input stands for.
#[derive(Debug)]
struct Input {
    setup: Setup,
    calls: Vec<Op>,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let setup = setup(bytes)?;
        let mut calls = Vec::new();
        while !bytes.is_empty() && calls.len() < MOST_CALLS {
            calls.push(call(bytes)?);
        }
        Ok(Self { setup, calls })
    }
}

fuzz_target!(|input: Input| {
    run(&input.setup, &input.calls);
});

fn byte(bytes: &mut Unstructured<'_>) -> Result<u8> {
    bytes.arbitrary()
}

fn setup(bytes: &mut Unstructured<'_>) -> Result<Setup> {
    let (blocks, block_size, identity, events) =
        (byte(bytes)?, byte(bytes)?, byte(bytes)?, byte(bytes)?);
    Ok(Setup {
        spare: usize::from(block_size / 8),
        // Sometimes more than one word of free blocks.
        blocks: if blocks < 240 {
            1 + usize::from(blocks % 40)
        } else {
            50 + 9 * usize::from(blocks - 240)
        },
        block_size: 1 + usize::from(block_size % 4),
        keys: [
            Keys::Hashed,
            Keys::Constant,
            Keys::Engine,
            Keys::EngineConstant,
        ][usize::from(identity % 4)],
        proof: if identity < 192 {
            Proof::Tokens
        } else {
            Proof::Digest
        },
        events: [1 << 12, 0, 4, 16][usize::from(events % 4)],
    })
}

/// Up to 30 for most bytes; the largest stand for more than any pool has.
fn amount(bytes: &mut Unstructured<'_>) -> Result<usize> {
    Ok(match byte(bytes)? {
        255 => usize::MAX,
        many @ 248..=254 => 40 * usize::from(many - 247),
        few => usize::from(few % 31),
    })
}

fn symbols(bytes: &mut Unstructured<'_>) -> Result<Vec<Symbol>> {
    let count = byte(bytes)? % 8;
    (0..count)
        .map(|_| {
            byte(bytes).map(|b| Symbol {
                tokens: u32::from(b % 3),
                extra: u8::from(b >= 240),
            })
        })
        .collect()
}

fn wrong(choice: u8) -> Option<Wrong> {
    match choice {
        253 => Some(Wrong::Tokens),
        254 => Some(Wrong::Extra),
        255 => Some(Wrong::Keys),
        _ => None,
    }
}

fn asked(bytes: &mut Unstructured<'_>) -> Result<Asked> {
    let (name, choice) = (byte(bytes)?, byte(bytes)?);
    Ok(Asked {
        name: if name < 192 { 0 } else { name % 3 },
        rest: usize::from(choice % 4),
        full_hit: choice % 8 >= 4,
        wrong: wrong(choice),
        symbols: symbols(bytes)?,
    })
}

fn by(bytes: &mut Unstructured<'_>) -> Result<By> {
    Ok(match byte(bytes)? {
        worker @ 0..128 => By::Worker(worker),
        _ => By::Drop,
    })
}

/// Those that build something up have more than one number.
fn call(bytes: &mut Unstructured<'_>) -> Result<Op> {
    let what = byte(bytes)?;
    // The highest few move the limit; no older input has many of them.
    if what >= 246 {
        return Ok(if what < 250 {
            Op::Widen(amount(bytes)?)
        } else {
            Op::Narrow {
                n: amount(bytes)?,
                worker: byte(bytes)?,
            }
        });
    }
    Ok(match what % 36 {
        0 => Op::Check(amount(bytes)?),
        1 => Op::Reserve(amount(bytes)?),
        2 => Op::Grow {
            which: byte(bytes)?,
            n: amount(bytes)?,
        },
        3 => Op::Shrink {
            which: byte(bytes)?,
            n: amount(bytes)?,
        },
        4 => Op::SplitReservation {
            which: byte(bytes)?,
            n: amount(bytes)?,
        },
        5 => Op::DropReservation {
            which: byte(bytes)?,
        },
        6 | 27 => Op::Take {
            from: byte(bytes)?,
            n: amount(bytes)?,
            worker: byte(bytes)?,
        },
        7 => Op::Append {
            to: byte(bytes)?,
            what: byte(bytes)?,
        },
        8 => Op::SplitBlocks {
            which: byte(bytes)?,
            at: amount(bytes)?,
        },
        9 => Op::ReleaseBlocks {
            which: byte(bytes)?,
            by: by(bytes)?,
        },
        10 => Op::Start { name: byte(bytes)? },
        11 => Op::Find {
            asked: asked(bytes)?,
            pay: byte(bytes)?,
            worker: byte(bytes)?,
        },
        12 | 28 => Op::Push {
            chain: byte(bytes)?,
            blocks: byte(bytes)?,
        },
        13 | 29 => {
            let (chain, choice, worker) = (byte(bytes)?, byte(bytes)?, byte(bytes)?);
            let pay = (choice % 2 == 1).then_some(choice);
            Op::Publish {
                chain,
                symbols: symbols(bytes)?,
                wrong: wrong(choice),
                pay,
                worker,
            }
        }
        14 => Op::Fork {
            chain: byte(bytes)?,
            worker: byte(bytes)?,
        },
        15 => Op::SplitChain {
            chain: byte(bytes)?,
            at: amount(bytes)?,
        },
        16 => Op::Adopt {
            chain: byte(bytes)?,
            worker: byte(bytes)?,
        },
        17 | 30 | 31 => Op::ReleaseChain {
            chain: byte(bytes)?,
            by: by(bytes)?,
        },
        18 | 32..=35 => {
            let choice = byte(bytes)?;
            Op::Admit {
                asked: asked(bytes)?,
                publish: choice % 4 != 3,
                worker: choice / 128,
            }
        }
        19 => {
            let (first, sizes) = (byte(bytes)?, byte(bytes)?);
            Op::Flood {
                first: u32::from(first % 16),
                chains: 1 + u32::from(sizes % 16),
                length: 1 + u32::from(sizes / 64),
                fan: if first < 128 { 1 } else { 3 },
                worker: 0,
            }
        }
        20 => Op::Evict {
            n: amount(bytes)?,
            worker: byte(bytes)?,
        },
        21 => {
            let name = byte(bytes)?;
            Op::Clear {
                name: (name < 192).then_some(name),
                worker: byte(bytes)?,
            }
        }
        22 => Op::Invalidate {
            block: u32::from(byte(bytes)?),
            worker: byte(bytes)?,
        },
        23 => Op::Maintain {
            steps: amount(bytes)?,
            worker: byte(bytes)?,
        },
        24 => Op::Probe {
            asked: asked(bytes)?,
        },
        25 => Op::ReadEvents,
        _ => {
            let call = Foreign::ALL[usize::from(byte(bytes)?) % Foreign::ALL.len()];
            Op::Foreign {
                call,
                which: byte(bytes)?,
            }
        }
    })
}
