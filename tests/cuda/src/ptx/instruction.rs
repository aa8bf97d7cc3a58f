//! Decoded instructions: indices of slots and functions, no text.

/// A function of one, two or three words; what it answers has the width of its type.
pub(crate) type Unary = fn(u64) -> u64;
pub(crate) type Binary = fn(u64, u64) -> u64;
pub(crate) type Ternary = fn(u64, u64, u64) -> u64;

/// An instruction and its guard.
#[derive(Debug, Clone)]
pub(crate) struct Instruction {
    /// The predicate, and the value with which the instruction is executed.
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) op: Op,
    pub(crate) line: u32,
}

/// Where an address points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Parameter,
}

/// The shape of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) space: Space,
    /// Bytes of one element: 1, 2, 4 or 8.
    pub(crate) bytes: usize,
    /// Elements: 1, 2 or 4.
    pub(crate) elements: usize,
    /// Loads of narrow signed numbers fill the register with the sign.
    pub(crate) signed: bool,
}

/// A width change: sign or zero from one width, then cut to another, then sign or zero to the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Widths {
    pub(crate) from: u32,
    pub(crate) from_signed: bool,
    pub(crate) to: u32,
    pub(crate) to_signed: bool,
    pub(crate) register: u32,
}

/// What an instruction does. The first number is the slot that is written.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Move(u32, u32),
    Unary(Unary, u32, u32),
    Binary(Binary, u32, u32, u32),
    Ternary(Ternary, u32, u32, u32, u32),
    /// A comparison with its opposite (`p|q`), or joined with another predicate, perhaps negated.
    Compare {
        work: Binary,
        targets: [u32; 2],
        operands: [u32; 2],
        joined: Option<(Binary, u32, bool)>,
    },
    Resize(Widths, u32, u32),
    /// A shared or local address made generic (`true`), or back.
    Window(Space, bool, u32, u32),
    /// A word of parts, the lowest first, each with so many bits.
    Pack(u32, Vec<u32>, u32),
    Unpack(Vec<u32>, u32, u32),
    Load {
        shape: Shape,
        to: [u32; 4],
        widths: [u32; 4],
        base: u32,
        offset: i64,
    },
    Store {
        shape: Shape,
        from: [u32; 4],
        base: u32,
        offset: i64,
    },
    /// Gets the old value and two operands: the new value. `to` is missing in a reduction.
    Atomic {
        change: Ternary,
        shape: Shape,
        to: Option<u32>,
        base: u32,
        offset: i64,
        operands: [u32; 2],
    },
    /// Instructions executed so far.
    Clock(u32, u32),
    Branch(usize),
    Barrier(u32),
    Exit,
    Trap,
    /// Fences: threads are executed one at a time, so that all see the same memory.
    Nothing,
}
