//! Executes a launch: blocks in shuffled order, threads of a block one after another or in turns.

use super::machine::{Machine, Stop, Thread};
use super::scope::{Slot, Start};
use super::{DYNAMIC_SHARED, Kernel};
use crate::error::LAUNCH_FAILED;
use crate::findings::Findings;
use crate::mark::Marks;
use crate::memory::{Fault, Memory, Spot};
use crate::order::Ranges;
use crate::random::Random;
use crate::work::Launch;

/// Runs all blocks; says what was read and written.
pub(crate) fn execute(
    launch: &Launch,
    memory: &mut Memory,
    seed: u64,
    limit: u64,
    reads: &mut Ranges,
    writes: &mut Ranges,
    findings: &mut Findings,
) -> Result<(), Fault> {
    let mut random = Random::new(seed);
    let count: u64 = launch.grid.iter().map(|count| u64::from(*count)).product();
    let Ok(count) = u32::try_from(count) else {
        return Err(Fault {
            code: LAUNCH_FAILED,
            text: "a grid of more than 2^32 blocks".into(),
        });
    };
    let mut blocks: Vec<u32> = (0..count).collect();
    random.shuffle(&mut blocks);
    let mut machine = Machine {
        kernel: &launch.kernel,
        arguments: &launch.arguments,
        memory,
        findings,
        touched: Vec::new(),
        budget: limit,
        limit,
        shared: Vec::new(),
        shared_marks: Marks::default(),
        block: 0,
        barriers: 0,
        load_spot: Spot::Device(0),
        store_spot: Spot::Device(0),
    };
    let mut threads = threads(launch, &mut random);
    let mut done = Ok(());
    for block in blocks {
        done = run_block(launch, &mut machine, &mut threads, block, &mut random);
        if done.is_err() {
            break;
        }
    }
    let mut touched = core::mem::take(&mut machine.touched);
    touched.sort_unstable();
    for (spot, page) in touched {
        if let Some(region) = memory.region_mut(spot) {
            region.marks.take(page, region.base, reads, writes);
        }
    }
    done
}

/// Threads as they are at the start, but for what depends on the block. Registers are noise as wide as they are.
fn threads(launch: &Launch, random: &mut Random) -> Vec<Thread> {
    let [width, height, depth] = launch.block;
    let slots = &launch.kernel.slots;
    let first: Vec<u64> = slots
        .iter()
        .map(|slot| launch_value(launch, *slot, random))
        .collect();
    (0..width * height * depth)
        .map(|number| {
            let place = [
                number % width,
                number / width % height,
                number / width / height,
            ];
            let mut registers = first.clone();
            for (register, slot) in registers.iter_mut().zip(slots) {
                match slot.start {
                    Start::Thread(axis) => *register = u64::from(place[axis]),
                    Start::Lane => *register = u64::from(number % 32),
                    Start::Warp => *register = u64::from(number / 32),
                    _ => {}
                }
            }
            let local = vec![0; launch.kernel.local_bytes];
            Thread {
                number: u64::from(number),
                at: 0,
                registers,
                local,
                stop: Stop::Turn,
            }
        })
        .collect()
}

/// What is the same for all threads of a launch.
fn launch_value(launch: &Launch, slot: Slot, random: &mut Random) -> u64 {
    match slot.start {
        Start::Undefined => random.next() & slot.ty.mask(),
        Start::Constant(value) => value,
        Start::ThreadCount(axis) => u64::from(launch.block[axis]),
        Start::BlockCount(axis) => u64::from(launch.grid[axis]),
        Start::DynamicShared => u64::from(launch.shared_bytes),
        Start::Thread(_) | Start::Lane | Start::Warp | Start::Block(_) => 0,
    }
}

fn prepare(
    launch: &Launch,
    machine: &mut Machine<'_>,
    threads: &mut [Thread],
    block: u32,
    random: &mut Random,
) {
    let kernel: &Kernel = &launch.kernel;
    let [width, height, _] = launch.grid;
    let place = [
        block % width,
        block / width % height,
        block / width / height,
    ];
    let of_block: Vec<(usize, u64)> = kernel
        .slots
        .iter()
        .enumerate()
        .filter_map(|(at, slot)| match slot.start {
            Start::Block(axis) => Some((at, u64::from(place[axis]))),
            _ => None,
        })
        .collect();
    for thread in threads.iter_mut() {
        for (at, value) in &of_block {
            thread.registers[*at] = *value;
        }
        if !thread.local.is_empty() {
            random.fill(&mut thread.local);
        }
        thread.at = 0;
        thread.stop = Stop::Turn;
    }
    let shared = if launch.shared_bytes > 0 {
        DYNAMIC_SHARED + launch.shared_bytes as usize
    } else {
        kernel.shared_bytes
    };
    machine.shared.resize(shared, 0);
    random.fill(&mut machine.shared);
    machine.shared_marks = Marks::default();
    machine.block = u64::from(block);
    machine.barriers = 0;
}

fn run_block(
    launch: &Launch,
    machine: &mut Machine<'_>,
    threads: &mut [Thread],
    block: u32,
    random: &mut Random,
) -> Result<(), Fault> {
    prepare(launch, machine, threads, block, random);
    let in_turns = random.once_in(2);
    let mut order: Vec<usize> = (0..threads.len()).collect();
    random.shuffle(&mut order);
    loop {
        // Everybody goes on to a barrier or to the end.
        let mut running = order.clone();
        while !running.is_empty() {
            running.retain(|at| threads[*at].stop == Stop::Turn);
            for at in &running {
                let turn = if in_turns {
                    1 + random.below(24) as u64
                } else {
                    1 << 20
                };
                machine
                    .run(&mut threads[*at], turn)
                    .map_err(|fault| *fault)?;
            }
        }
        let mut waiting = threads.iter().filter_map(|thread| match thread.stop {
            Stop::Barrier(number) => Some(number),
            _ => None,
        });
        let Some(first) = waiting.next() else {
            return Ok(());
        };
        if waiting.any(|number| number != first) {
            return Err(Fault {
                code: LAUNCH_FAILED,
                text: format!("threads of block {block} wait at different barriers"),
            });
        }
        machine.barriers += 1;
        for thread in threads
            .iter_mut()
            .filter(|thread| thread.stop == Stop::Barrier(first))
        {
            thread.stop = Stop::Turn;
        }
    }
}
