//! Reading a sequence: its watermarks, its block table, its slots.

use core::ops::Range;

use super::Sequences;
use super::error::{ReadError, Stale, TooShort};
use super::growth::Growth;
use super::handle::Handle;
use super::sequence::{slot_of, slot_of_position};
use crate::block::BlockId;

/// A sequence at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SequenceState {
    /// The engine's name for it.
    pub label: u64,
    /// Positions appended.
    pub positions: usize,
    /// Positions whose tokens are known.
    pub known: usize,
    /// Positions whose K/V is written.
    pub computed: usize,
    /// Blocks from the start whose content is findable, or was when it was published.
    pub published: usize,
    /// Entries of the table; lookahead is among them.
    pub blocks: usize,
    /// Blocks set aside: for growth, and for the copy of a shared end.
    pub promised: usize,
    /// What it was promised at admission.
    pub growth: Growth,
}

impl Sequences {
    /// The sequence's figures.
    ///
    /// # Errors
    /// [`Stale`].
    pub fn state(&self, handle: Handle) -> Result<SequenceState, Stale> {
        let (cursor, sequence) = self.registry.get(handle)?;
        Ok(SequenceState {
            label: sequence.label,
            positions: cursor.positions,
            known: sequence.seal.known,
            computed: sequence.seal.computed,
            published: sequence.chain.published,
            blocks: sequence.chain.ids.len(),
            promised: sequence.credits() as usize,
            growth: sequence.growth,
        })
    }

    /// The block table.
    ///
    /// # Errors
    /// [`Stale`].
    pub fn table(&self, handle: Handle) -> Result<&[BlockId], Stale> {
        let (_, sequence) = self.registry.get(handle)?;
        Ok(&sequence.chain.ids)
    }

    /// Writes the block table to the start of a row, as kernels take it, and returns its length. Nothing of it is
    /// [`dirty`](Self::dirty) then.
    ///
    /// # Errors
    /// [`ReadError::TooShort`]: the row is shorter than the table, and not changed. [`ReadError::Stale`].
    pub fn copy_table(&mut self, handle: Handle, row: &mut [i32]) -> Result<usize, ReadError> {
        let (_, sequence) = self.registry.get_mut(handle)?;
        let table = &sequence.chain.ids;
        let (needed, got) = (table.len(), row.len());
        if needed > got {
            return Err(TooShort { needed, got }.into());
        }
        for (place, block) in row.iter_mut().zip(table) {
            *place = i32::from_ne_bytes(block.get().to_ne_bytes());
        }
        sequence.changed_from = needed;
        Ok(needed)
    }

    /// Entries of the block table that changed since [`copy_table`](Self::copy_table). A table that became shorter has none.
    ///
    /// # Errors
    /// [`Stale`].
    pub fn dirty(&self, handle: Handle) -> Result<Range<usize>, Stale> {
        let (_, sequence) = self.registry.get(handle)?;
        let len = sequence.chain.ids.len();
        Ok(sequence.changed_from.min(len)..len)
    }

    /// Writes the slots of some positions to the start of `out`: `block id * block size + offset`, for a chunk of a prompt for instance.
    ///
    /// # Errors
    /// [`ReadError::Beyond`]: the range ends behind the sequence. [`ReadError::TooShort`]: `out` is shorter than the range.
    /// [`ReadError::Stale`].
    pub fn slots(
        &self,
        handle: Handle,
        positions: Range<usize>,
        out: &mut [i64],
    ) -> Result<(), ReadError> {
        let (cursor, sequence) = self.registry.get(handle)?;
        cursor.check(positions.end)?;
        let (needed, got) = (positions.len(), out.len());
        if needed > got {
            return Err(TooShort { needed, got }.into());
        }
        let block_size = self.core().block_size;
        let table = &sequence.chain.ids;
        for (position, slot) in positions.zip(out) {
            let block = table[position / block_size];
            *slot = slot_of(block, block_size) + slot_of_position(position % block_size);
        }
        Ok(())
    }

    /// Every sequence, by slot.
    pub fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        self.registry.iter().map(|(cursor, _)| cursor.handle)
    }

    /// The sequences that the engine named so, the latest first.
    pub fn labelled(&self, label: u64) -> impl Iterator<Item = Handle> + '_ {
        self.registry.labelled(label)
    }
}
