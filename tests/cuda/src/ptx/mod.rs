//! A subset of PTX: parsed when a module is loaded, decoded to indices of registers, executed thread by thread.
//!
//! Whatever is not known is an error of the load, with its line; nothing is skipped.

mod alu;
mod compare;
mod decode;
mod instruction;
mod launch;
mod lexer;
mod machine;
mod memory_ops;
mod operand;
mod parse;
mod scope;
mod types;

use core::fmt;

pub(crate) use launch::execute;
pub(crate) use parse::parse;

use instruction::Instruction;
use scope::Slot;

/// Where shared memory sized at the launch lies; all other shared memory is below.
const DYNAMIC_SHARED: usize = 1 << 16;

/// A parsed file.
#[derive(Debug)]
pub(crate) struct Ptx {
    pub(crate) version: (u32, u32),
    pub(crate) kernels: Vec<Kernel>,
}

/// An entry function.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// Offset and size of each parameter.
    pub(crate) parameters: Vec<(usize, usize)>,
    pub(crate) parameter_bytes: usize,
    /// Most threads of a block in each direction, from `.maxntid`.
    pub(crate) most_threads: Option<[u32; 3]>,
    /// Exact threads of a block, from `.reqntid`.
    pub(crate) exact_threads: Option<[u32; 3]>,
    pub(crate) shared_bytes: usize,
    pub(crate) local_bytes: usize,
    /// Declared registers.
    pub(crate) registers: usize,
    slots: Vec<Slot>,
    code: Vec<Instruction>,
}

impl Kernel {
    /// Most threads of a block, all directions together.
    pub(crate) fn thread_limit(&self) -> u32 {
        let limit = self
            .exact_threads
            .or(self.most_threads)
            .map_or(1024, |most| {
                most.iter()
                    .fold(1, |all: u32, one| all.saturating_mul(*one))
            });
        limit.min(1024)
    }

    /// Whether a block may have this shape.
    pub(crate) fn allows(&self, block: [u32; 3]) -> bool {
        let threads = block
            .iter()
            .try_fold(1, |all: u32, one| all.checked_mul(*one));
        threads.is_some_and(|threads| threads <= self.thread_limit())
            && block[2] <= 64
            && self.exact_threads.is_none_or(|exact| exact == block)
    }
}

/// What was not understood.
#[derive(Debug)]
pub(crate) struct PtxError {
    pub(crate) line: u32,
    pub(crate) text: String,
}

impl PtxError {
    fn new(line: u32, text: impl Into<String>) -> Self {
        Self {
            line,
            text: text.into(),
        }
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}
