//! Names: registers, special registers, shared and local variables, parameters.

use std::collections::BTreeMap;

use super::types::Type;

/// Where a value of a thread comes from at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Nothing was written yet: noise.
    Undefined,
    Constant(u64),
    Thread(usize),
    ThreadCount(usize),
    Block(usize),
    BlockCount(usize),
    Lane,
    Warp,
    DynamicShared,
}

/// A register, a constant or a special register: one word of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) ty: Type,
    pub(crate) start: Start,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Register(u32),
    /// An offset in shared memory.
    Shared(usize),
    /// An offset in local memory.
    Local(usize),
    /// An offset in the parameters, and the size.
    Parameter(usize, usize),
}

/// The names of a function, those of inner braces on top.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) slots: Vec<Slot>,
    levels: Vec<BTreeMap<String, Name>>,
    constants: BTreeMap<(u64, u32), u32>,
    specials: BTreeMap<String, u32>,
}

impl Scope {
    pub(crate) fn enter(&mut self) {
        self.levels.push(BTreeMap::new());
    }

    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Gives a name a meaning; false if this level has it already.
    pub(crate) fn define(&mut self, name: &str, meaning: Name) -> bool {
        self.levels
            .last_mut()
            .is_some_and(|level| level.insert(name.into(), meaning).is_none())
    }

    pub(crate) fn register(&mut self, name: &str, ty: Type) -> bool {
        let slot = self.slot(Slot {
            ty,
            start: Start::Undefined,
        });
        self.define(name, Name::Register(slot))
    }

    fn slot(&mut self, slot: Slot) -> u32 {
        self.slots.push(slot);
        (self.slots.len() - 1) as u32
    }

    pub(crate) fn find(&self, name: &str) -> Option<Name> {
        self.levels
            .iter()
            .rev()
            .find_map(|level| level.get(name))
            .copied()
    }

    /// The slot of a constant of a width.
    pub(crate) fn constant(&mut self, value: u64, ty: Type) -> u32 {
        let value = value & ty.mask();
        if let Some(slot) = self.constants.get(&(value, ty.bits)) {
            return *slot;
        }
        let slot = self.slot(Slot {
            ty,
            start: Start::Constant(value),
        });
        self.constants.insert((value, ty.bits), slot);
        slot
    }

    /// The slot of a special register, if there is such a one.
    pub(crate) fn special(&mut self, name: &str) -> Option<u32> {
        if let Some(slot) = self.specials.get(name) {
            return Some(*slot);
        }
        let (stem, axis) = match name
            .strip_suffix(".x")
            .map(|stem| (stem, 0))
            .or(name.strip_suffix(".y").map(|stem| (stem, 1)))
        {
            Some(found) => found,
            None => name.strip_suffix(".z").map_or((name, 3), |stem| (stem, 2)),
        };
        let start = match (stem, axis) {
            ("%tid", 0..3) => Start::Thread(axis),
            ("%ntid", 0..3) => Start::ThreadCount(axis),
            ("%ctaid", 0..3) => Start::Block(axis),
            ("%nctaid", 0..3) => Start::BlockCount(axis),
            ("%laneid", 3) => Start::Lane,
            ("%warpid", 3) => Start::Warp,
            ("%dynamic_smem_size", 3) => Start::DynamicShared,
            _ => return None,
        };
        let slot = self.slot(Slot {
            ty: Type::B32,
            start,
        });
        self.specials.insert(name.into(), slot);
        Some(slot)
    }
}
