//! Executes the threads of one block.

use super::instruction::{Instruction, Op, Shape, Space, Widths};
use super::types::{mask, sign_extend};
use super::{DYNAMIC_SHARED, Kernel};
use crate::error::{ILLEGAL_INSTRUCTION, LAUNCH_TIMEOUT};
use crate::findings::Findings;
use crate::mark::{Mark, Marks};
use crate::memory::{Fault, Memory, Spot};

/// Generic addresses of shared and of local memory.
const SHARED_WINDOW: u64 = 0x00e0_0000_0000_0000;
const LOCAL_WINDOW: u64 = 0x00f0_0000_0000_0000;
const WINDOW: u64 = 1 << 32;

/// Why a thread does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Others may go on first.
    Turn,
    Barrier(u32),
    Exit,
}

/// A thread between two turns.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) number: u64,
    pub(crate) at: usize,
    pub(crate) registers: Vec<u64>,
    pub(crate) local: Vec<u8>,
    pub(crate) stop: Stop,
}

/// What all threads of a launch, and those of the block that runs, share.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) arguments: &'a [u8],
    pub(crate) memory: &'a mut Memory,
    pub(crate) findings: &'a mut Findings,
    /// Pages with marks.
    pub(crate) touched: Vec<(Spot, usize)>,
    /// Instructions left.
    pub(crate) budget: u64,
    pub(crate) limit: u64,
    pub(crate) shared: Vec<u8>,
    pub(crate) shared_marks: Marks,
    pub(crate) block: u64,
    pub(crate) barriers: u64,
    pub(crate) load_spot: Spot,
    pub(crate) store_spot: Spot,
}

impl Machine<'_> {
    /// Executes at most `turn` instructions of a thread.
    pub(crate) fn run(&mut self, thread: &mut Thread, turn: u64) -> Result<(), Box<Fault>> {
        let kernel = self.kernel;
        for executed in 1..=turn {
            let instruction = &kernel.code[thread.at];
            thread.at += 1;
            if instruction.guard.is_some_and(|(predicate, holds)| {
                (thread.registers[predicate as usize] == 1) != holds
            }) {
                continue;
            }
            match self.step(instruction, thread) {
                Ok(None) => {}
                Ok(Some(stop)) => {
                    thread.stop = stop;
                    return self.spend(executed);
                }
                Err(fault) => {
                    let text = format!(
                        "{} (line {}, block {}, thread {})",
                        fault.text, instruction.line, self.block, thread.number
                    );
                    return Err(Box::new(Fault { text, ..*fault }));
                }
            }
        }
        self.spend(turn)
    }

    fn spend(&mut self, instructions: u64) -> Result<(), Box<Fault>> {
        self.budget = self.budget.saturating_sub(instructions);
        if self.budget == 0 {
            return Err(Box::new(Fault {
                code: LAUNCH_TIMEOUT,
                text: format!("not over after {} instructions", self.limit),
            }));
        }
        Ok(())
    }

    #[inline]
    fn step(
        &mut self,
        instruction: &Instruction,
        thread: &mut Thread,
    ) -> Result<Option<Stop>, Box<Fault>> {
        let registers = &mut thread.registers;
        let get = |registers: &[u64], slot: u32| registers[slot as usize];
        match &instruction.op {
            Op::Move(d, a) => registers[*d as usize] = get(registers, *a),
            Op::Unary(work, d, a) => registers[*d as usize] = work(get(registers, *a)),
            Op::Binary(work, d, a, b) => {
                registers[*d as usize] = work(get(registers, *a), get(registers, *b))
            }
            Op::Ternary(work, d, a, b, c) => {
                registers[*d as usize] =
                    work(get(registers, *a), get(registers, *b), get(registers, *c))
            }
            Op::Compare {
                work,
                targets,
                operands,
                joined,
            } => {
                let found = work(get(registers, operands[0]), get(registers, operands[1]));
                let join = |value: u64| {
                    joined.map_or(value, |(join, other, negated)| {
                        join(value, get(registers, other) ^ u64::from(negated))
                    })
                };
                let (first, second) = (join(found), join(found ^ 1));
                registers[targets[1] as usize] = second;
                registers[targets[0] as usize] = first;
            }
            Op::Resize(widths, d, a) => {
                registers[*d as usize] = resize(*widths, get(registers, *a))
            }
            Op::Window(space, generic, d, a) => {
                registers[*d as usize] = window(*space, *generic, get(registers, *a))?
            }
            Op::Pack(d, parts, bits) => {
                let packed = parts
                    .iter()
                    .rev()
                    .fold(0, |word, part| word << bits | get(registers, *part));
                registers[*d as usize] = packed;
            }
            Op::Unpack(parts, a, bits) => {
                let mut word = get(registers, *a);
                for part in parts {
                    registers[*part as usize] = word & mask(*bits);
                    word >>= bits;
                }
            }
            Op::Load {
                shape,
                to,
                widths,
                base,
                offset,
            } => {
                let address = get(registers, *base).wrapping_add_signed(*offset);
                let bytes = self.load(thread, *shape, address)?;
                for at in 0..shape.elements {
                    let value = element(&bytes, at, shape.bytes);
                    let value = if shape.signed {
                        sign_extend(value, 8 * shape.bytes as u32) & mask(widths[at])
                    } else {
                        value
                    };
                    thread.registers[to[at] as usize] = value;
                }
            }
            Op::Store {
                shape,
                from,
                base,
                offset,
            } => {
                let address = get(registers, *base).wrapping_add_signed(*offset);
                let mut bytes = [0; 16];
                for at in 0..shape.elements {
                    let value = get(registers, from[at]).to_le_bytes();
                    bytes[at * shape.bytes..][..shape.bytes].copy_from_slice(&value[..shape.bytes]);
                }
                self.store(thread, *shape, address, &bytes)?;
            }
            Op::Atomic {
                change,
                shape,
                to,
                base,
                offset,
                operands,
            } => {
                let address = get(registers, *base).wrapping_add_signed(*offset);
                let operands = [get(registers, operands[0]), get(registers, operands[1])];
                let place = self.place(thread, *shape, address, true, true)?;
                let mut bytes = [0; 8];
                // SAFETY: `place` is where an access of this shape was found to be in bounds.
                unsafe { core::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), shape.bytes) };
                let old = u64::from_le_bytes(bytes);
                let new = change(old, operands[0], operands[1]).to_le_bytes();
                // SAFETY: as above.
                unsafe { core::ptr::copy_nonoverlapping(new.as_ptr(), place, shape.bytes) };
                if let Some(to) = to {
                    thread.registers[*to as usize] = old;
                }
            }
            Op::Clock(d, bits) => {
                registers[*d as usize] = (self.limit - self.budget) & mask(*bits);
                // The clock has gone on when it is read next.
                return Ok(Some(Stop::Turn));
            }
            Op::Branch(target) => thread.at = *target,
            Op::Barrier(number) => return Ok(Some(Stop::Barrier(*number))),
            Op::Exit => return Ok(Some(Stop::Exit)),
            Op::Trap => {
                return Err(Box::new(Fault {
                    code: ILLEGAL_INSTRUCTION,
                    text: "trap".into(),
                }));
            }
            Op::Nothing => {}
        }
        Ok(None)
    }

    fn load(
        &mut self,
        thread: &mut Thread,
        shape: Shape,
        address: u64,
    ) -> Result<[u8; 16], Box<Fault>> {
        let wide = shape.bytes * shape.elements;
        let mut bytes = [0; 16];
        if shape.space == Space::Parameter {
            let start = usize::try_from(address)
                .ok()
                .filter(|start| start % wide == 0);
            let found = start.and_then(|start| self.arguments.get(start..start.checked_add(wide)?));
            bytes[..wide].copy_from_slice(
                found.ok_or_else(|| Fault::illegal(format!("no parameter at {address}")))?,
            );
            return Ok(bytes);
        }
        let place = self.place(thread, shape, address, false, false)?;
        // SAFETY: `place` is where an access of this shape, at most 16 bytes, was found to be in bounds.
        unsafe { core::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), wide) };
        Ok(bytes)
    }

    fn store(
        &mut self,
        thread: &mut Thread,
        shape: Shape,
        address: u64,
        bytes: &[u8; 16],
    ) -> Result<(), Box<Fault>> {
        let place = self.place(thread, shape, address, true, false)?;
        // SAFETY: `place` is where an access of this shape, at most 16 bytes, was found to be in bounds.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), place, shape.bytes * shape.elements)
        };
        Ok(())
    }

    /// Checks an access and marks it: where its bytes are in this process.
    #[inline]
    fn place(
        &mut self,
        thread: &mut Thread,
        shape: Shape,
        address: u64,
        write: bool,
        atomic: bool,
    ) -> Result<*mut u8, Box<Fault>> {
        let bytes = shape.bytes * shape.elements;
        if address % bytes as u64 != 0 {
            return Err(Fault::misaligned(address, bytes).into());
        }
        let in_shared = address.wrapping_sub(SHARED_WINDOW) < WINDOW;
        let in_local = address.wrapping_sub(LOCAL_WINDOW) < WINDOW;
        match shape.space {
            Space::Shared => self.shared_place(thread, address, bytes, write, atomic),
            Space::Generic if in_shared => {
                self.shared_place(thread, address - SHARED_WINDOW, bytes, write, atomic)
            }
            Space::Local => local_place(thread, address, bytes),
            Space::Generic if in_local => local_place(thread, address - LOCAL_WINDOW, bytes),
            _ => self.global_place(thread, address, bytes, write, atomic),
        }
    }

    #[inline]
    fn global_place(
        &mut self,
        thread: &Thread,
        address: u64,
        bytes: usize,
        write: bool,
        atomic: bool,
    ) -> Result<*mut u8, Box<Fault>> {
        let spot = if write {
            &mut self.store_spot
        } else {
            &mut self.load_spot
        };
        self.memory.find(address, bytes, spot)?;
        let spot = *spot;
        let Some(region) = self.memory.region_mut(spot) else {
            return Err(Fault::illegal(format!("no memory at {address:#x}")).into());
        };
        let mark = Mark::new(self.block, self.barriers, thread.number, atomic);
        let (other, page) =
            region
                .marks
                .access((address - region.base) as usize, bytes, mark, write);
        let place = region.pointer(address);
        if let Some(page) = page {
            self.touched.push((spot, page));
        }
        if let Some(other) = other {
            self.race(thread, other, address, bytes);
        }
        Ok(place)
    }

    fn shared_place(
        &mut self,
        thread: &Thread,
        address: u64,
        bytes: usize,
        write: bool,
        atomic: bool,
    ) -> Result<*mut u8, Box<Fault>> {
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        let end = start.saturating_add(bytes);
        let fixed = end <= self.kernel.shared_bytes;
        if !fixed && (start < DYNAMIC_SHARED || end > self.shared.len()) {
            return Err(Fault::illegal(format!(
                "out of bounds: {bytes} bytes at {address} of shared memory"
            ))
            .into());
        }
        let mark = Mark::new(self.block, self.barriers, thread.number, atomic);
        if let (Some(other), _) = self.shared_marks.access(start, bytes, mark, write) {
            self.race(thread, other, address, bytes);
        }
        Ok(self.shared[start..].as_mut_ptr())
    }

    #[cold]
    fn race(&mut self, thread: &Thread, other: Mark, address: u64, bytes: usize) {
        let (name, block) = (&self.kernel.name, self.block);
        self.findings.race(format!(
            "kernel {name}: thread {} of block {block} and {other} are not ordered, and touch {bytes} bytes at {address:#x}",
            thread.number
        ));
    }
}

fn local_place(thread: &mut Thread, address: u64, bytes: usize) -> Result<*mut u8, Box<Fault>> {
    let start = usize::try_from(address).unwrap_or(usize::MAX);
    if start.saturating_add(bytes) > thread.local.len() {
        return Err(Fault::illegal(format!(
            "out of bounds: {bytes} bytes at {address} of local memory"
        ))
        .into());
    }
    Ok(thread.local[start..].as_mut_ptr())
}

fn resize(widths: Widths, value: u64) -> u64 {
    let value = if widths.from_signed {
        sign_extend(value, widths.from)
    } else {
        value & mask(widths.from)
    };
    let cut = if widths.to_signed {
        sign_extend(value, widths.to)
    } else {
        value & mask(widths.to)
    };
    cut & mask(widths.register)
}

fn window(space: Space, generic: bool, address: u64) -> Result<u64, Box<Fault>> {
    let start = match space {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        _ => return Ok(address),
    };
    if generic {
        return Ok(start + address % WINDOW);
    }
    address
        .checked_sub(start)
        .filter(|offset| *offset < WINDOW)
        .ok_or_else(|| Fault::illegal(format!("{address:#x} is not in that space")).into())
}

fn element(bytes: &[u8; 16], at: usize, size: usize) -> u64 {
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[at * size..][..size]);
    u64::from_le_bytes(word)
}
