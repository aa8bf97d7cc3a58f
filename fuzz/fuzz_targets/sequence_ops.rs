//! Any list of calls on two registries over one pool, and on the pool, beside the models of `tests/sequence_model/` and `tests/model/`: the
//! driver panics where they differ.
//!
//! The first six bytes choose pool and registries, then each call is one byte that names it and the registry, and the bytes of its
//! arguments.
#![no_main]

#[path = "../../tests/sequence_model/ops.rs"]
mod calls;
#[path = "../../tests/sequence_model/faults.rs"]
mod faults;
#[path = "../../tests/sequence_model/fences.rs"]
mod fences;
#[path = "../../tests/sequence_model/figures.rs"]
mod figures;
#[path = "../../tests/sequence_model/lanes.rs"]
mod lanes;
#[path = "../../tests/sequence_model/memory.rs"]
mod memory;
#[path = "../../tests/model/ops.rs"]
#[allow(dead_code, reason = "shared with the target for the pool alone")]
mod ops;
#[path = "../../tests/model/reference.rs"]
#[allow(dead_code, reason = "shared with the target for the pool alone")]
mod reference;
#[path = "../../tests/sequence_model/reference.rs"]
mod registry;
#[path = "../../tests/sequence_model/traffic.rs"]
mod traffic;
#[path = "../../tests/sequence_model/transfers.rs"]
mod transfers;
#[path = "../../tests/sequence_model/transit.rs"]
mod transit;

use arbitrary::{Arbitrary, Result, Unstructured};
use kvblock::Proof;
use libfuzzer_sys::fuzz_target;

use calls::{Aim, Call, Request, Scheduling, Who, run};
use ops::{Asked, By, Keys, Op, Setup, Symbol, Wrong};
use registry::Growth;

/// Longer lists find nothing that shorter ones don't, only later.
const MOST_CALLS: usize = 150;

/// What one input stands for.
#[derive(Debug)]
struct Input {
    scheduling: Scheduling,
    calls: Vec<(u8, Call)>,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let scheduling = scheduling(bytes)?;
        let mut calls = Vec::new();
        while !bytes.is_empty() && calls.len() < MOST_CALLS {
            let choice = byte(bytes)?;
            calls.push((choice / 128, call(choice % 128, bytes)?));
        }
        Ok(Self { scheduling, calls })
    }
}

fuzz_target!(|input: Input| {
    run(&input.scheduling, &input.calls);
});

fn byte(bytes: &mut Unstructured<'_>) -> Result<u8> {
    bytes.arbitrary()
}

fn scheduling(bytes: &mut Unstructured<'_>) -> Result<Scheduling> {
    let (blocks, block_size, identity, events) =
        (byte(bytes)?, byte(bytes)?, byte(bytes)?, byte(bytes)?);
    let (sequences, watermark) = (byte(bytes)?, byte(bytes)?);
    // Sometimes more than one word of free blocks.
    let blocks = if blocks < 240 {
        1 + usize::from(blocks % 40)
    } else {
        50 + 9 * usize::from(blocks - 240)
    };
    Ok(Scheduling {
        pool: Setup {
            spare: 0,
            blocks,
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
        },
        max_sequences: 1 + usize::from(sequences % 12),
        watermark: usize::from(watermark / 32) % blocks,
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

fn wrong(choice: u8) -> Option<Wrong> {
    match choice {
        254 => Some(Wrong::Extra),
        255 => Some(Wrong::Keys),
        _ => None,
    }
}

fn symbol(choice: u8) -> Symbol {
    Symbol {
        tokens: u32::from(choice % 3),
        extra: u8::from(choice >= 240),
    }
}

fn asked(bytes: &mut Unstructured<'_>) -> Result<Asked> {
    let (name, choice, count) = (byte(bytes)?, byte(bytes)?, byte(bytes)? % 8);
    let symbols = (0..count).map(|_| byte(bytes).map(symbol));
    Ok(Asked {
        name: if name < 192 { 0 } else { name % 3 },
        symbols: symbols.collect::<Result<_>>()?,
        rest: usize::from(choice % 4),
        full_hit: choice % 8 >= 4,
        wrong: wrong(choice),
    })
}

fn request(bytes: &mut Unstructured<'_>) -> Result<Request> {
    let choice = byte(bytes)?;
    Ok(Request {
        growth: match choice % 3 {
            0 => Growth::OnDemand,
            1 => Growth::Ahead(amount(bytes)?),
            _ => Growth::Cap(amount(bytes)?),
        },
        conservative: choice / 3 % 4 == 3,
        insert: choice / 12 % 4 != 3,
        returning: choice / 48 % 4 == 3,
        label: choice % 4,
        asked: asked(bytes)?,
    })
}

fn who(bytes: &mut Unstructured<'_>) -> Result<Who> {
    Ok(match byte(bytes)? {
        any @ 240..=255 => Who::Any(any),
        living => Who::Living(living),
    })
}

fn aim(bytes: &mut Unstructured<'_>) -> Result<Aim> {
    Ok(match byte(bytes)? {
        at @ 0..100 => Aim::At(at),
        100..200 => Aim::End,
        255 => Aim::Over(usize::MAX),
        over => Aim::Over(usize::from(over - 200)),
    })
}

fn pool_call(choice: u8, bytes: &mut Unstructured<'_>) -> Result<Op> {
    Ok(match choice {
        0 => Op::Reserve(amount(bytes)?),
        1 => Op::DropReservation {
            which: byte(bytes)?,
        },
        2 => Op::Take {
            from: byte(bytes)?,
            n: amount(bytes)?,
            worker: byte(bytes)?,
        },
        3 => Op::ReleaseBlocks {
            which: byte(bytes)?,
            by: By::Worker(0),
        },
        4 => Op::Find {
            asked: asked(bytes)?,
            pay: byte(bytes)?,
            worker: 0,
        },
        5 => Op::ReleaseChain {
            chain: byte(bytes)?,
            by: By::Drop,
        },
        6 => Op::Evict {
            n: amount(bytes)?,
            worker: byte(bytes)?,
        },
        7 => {
            let name = byte(bytes)?;
            Op::Clear {
                name: (name < 192).then_some(name),
                worker: 0,
            }
        }
        8 => Op::Invalidate {
            block: u32::from(byte(bytes)?),
            worker: 0,
        },
        9 => Op::Maintain {
            steps: amount(bytes)?,
            worker: 0,
        },
        10 => Op::Probe {
            asked: asked(bytes)?,
        },
        _ => Op::ReadEvents,
    })
}

/// Those that build something up have more than one number.
fn call(choice: u8, bytes: &mut Unstructured<'_>) -> Result<Call> {
    Ok(match choice % 64 {
        choice @ 0..12 => Call::Pool(pool_call(choice, bytes)?),
        12 => Call::Check(request(bytes)?),
        13..22 => Call::Admit(request(bytes)?),
        22..27 => {
            let count = byte(bytes)? % 6;
            let batch = (0..count).map(|_| Ok((who(bytes)?, amount(bytes)?)));
            Call::Step(batch.collect::<Result<_>>()?)
        }
        27..33 => Call::Append(who(bytes)?, amount(bytes)?),
        33 => Call::CheckAppend(who(bytes)?, amount(bytes)?),
        34..36 => Call::Ensure(who(bytes)?, aim(bytes)?),
        36..41 => {
            let (who, n, choice, off) = (who(bytes)?, aim(bytes)?, byte(bytes)?, byte(bytes)?);
            Call::Tokens {
                who,
                n,
                symbol: symbol(choice),
                off: usize::from(off.saturating_sub(250)),
                wrong: wrong(choice),
            }
        }
        41..46 => Call::Computed(who(bytes)?, aim(bytes)?),
        46..49 => Call::Truncate(who(bytes)?, aim(bytes)?),
        49..52 => Call::Fork(who(bytes)?, byte(bytes)? % 4),
        52..55 => Call::Copied(byte(bytes)?),
        55 => Call::Release(who(bytes)?),
        56 => Call::Preempt(who(bytes)?),
        57 => Call::Adopt(who(bytes)?),
        58 => Call::Detach(who(bytes)?),
        59 => Call::Attach {
            dropped: byte(bytes)? >= 224,
        },
        60 => Call::CopyTable(who(bytes)?, aim(bytes)?),
        61 => Call::Slots(who(bytes)?, aim(bytes)?, aim(bytes)?),
        _ => {
            let count = byte(bytes)? % 6;
            let order = (0..count).map(|_| who(bytes));
            Call::Victims(order.collect::<Result<_>>()?, amount(bytes)?)
        }
    })
}
