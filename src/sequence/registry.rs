//! The slots of a registry: which are vacant, who has the others.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::error::{Stale, TooManySequences};
use super::handle::{Handle, Name};
use super::labels::Labels;
use super::sequence::{Cursor, Sequence};
use crate::array::array;
use crate::error::CreateError;
use crate::pool::Core;

/// Sequences by slot. What an append inside a block needs lies apart from the rest.
#[derive(Debug)]
pub(super) struct Registry {
    cursors: Box<[Cursor]>,
    sequences: Box<[Sequence]>,
    /// The next slot to be used is the last.
    vacant: Vec<u32>,
    labels: Labels,
}

impl Registry {
    /// `positions`: room for sequences as long as that.
    pub(super) fn new(core: &Core, slots: usize, positions: usize) -> Result<Self, CreateError> {
        let last = u32::try_from(slots).unwrap_or(u32::MAX);
        let mut vacant = Vec::new();
        vacant
            .try_reserve_exact(slots)
            .map_err(|_| CreateError::OutOfMemory {
                bytes: slots.saturating_mul(size_of::<u32>()),
            })?;
        vacant.extend((0..last).rev());
        let mut sequences = array(slots, |_| Sequence::vacant(core))?;
        if positions > 0 {
            for sequence in &mut sequences {
                sequence
                    .make_room(positions, core.block_size)
                    .map_err(|_| CreateError::OutOfMemory {
                        bytes: positions.saturating_mul(size_of::<u32>()),
                    })?;
            }
        }
        Ok(Self {
            cursors: array(slots, |_| Cursor::VACANT)?,
            sequences,
            vacant,
            labels: Labels::new(slots)?,
        })
    }

    pub(super) fn max(&self) -> usize {
        self.cursors.len()
    }

    pub(super) fn len(&self) -> usize {
        self.cursors.len() - self.vacant.len()
    }

    /// The lowest slots are used first, as by a new registry. There are no sequences.
    pub(super) fn use_in_order(&mut self) {
        self.vacant.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Whether `n` more sequences have slots.
    pub(super) fn check_room(&self, n: usize) -> Result<(), TooManySequences> {
        if n > self.vacant.len() {
            return Err(TooManySequences { max: self.max() });
        }
        Ok(())
    }

    /// The `n`-th slot to be used from now on. There are as many.
    pub(super) fn vacant(&mut self, n: usize) -> &mut Sequence {
        let slot = self.vacant[self.vacant.len() - 1 - n];
        &mut self.sequences[slot as usize]
    }

    /// Gives the next slot, whose sequence is prepared, to it, with a cursor at `positions`, under a new name or the one that another
    /// registry gave, all of whose slots are used as here.
    pub(super) fn enter(&mut self, core: &Core, positions: usize, name: Option<Handle>) -> Handle {
        debug_assert!(!self.vacant.is_empty(), "room is checked before");
        let Some(slot) = self.vacant.pop() else {
            return Handle::NONE;
        };
        let slot = slot as usize;
        let handle = name.unwrap_or_else(|| Handle(Name::new(slot, core.next_epoch())));
        debug_assert_eq!(handle.slot(), slot, "slots are used as there");
        self.cursors[slot] = Cursor::new(handle, positions);
        self.labels.insert(self.sequences[slot].label, slot);
        handle
    }

    /// A sequence and the `n`-th slot to be used from now on. There are as many.
    pub(super) fn get_and_vacant(&mut self, slot: usize, n: usize) -> (&Sequence, &mut Sequence) {
        let other = self.vacant[self.vacant.len() - 1 - n] as usize;
        let (low, high) = self.sequences.split_at_mut(slot.max(other));
        if slot < other {
            (&low[slot], &mut high[0])
        } else {
            (&high[0], &mut low[other])
        }
    }

    /// Every sequence, by slot.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&Cursor, &mut Sequence)> {
        let sequences = self.cursors.iter().zip(&mut self.sequences);
        sequences.filter(|(cursor, _)| cursor.handle != Handle::NONE)
    }

    /// Who has a slot.
    pub(super) fn in_slot(&self, slot: usize) -> Option<Handle> {
        let handle = self.cursors[slot].handle;
        (handle != Handle::NONE).then_some(handle)
    }

    /// The sequence of a slot.
    pub(super) fn at(&mut self, slot: usize) -> &mut Sequence {
        &mut self.sequences[slot]
    }

    /// Makes a slot vacant; what its sequence holds stays with it.
    pub(super) fn leave(&mut self, slot: usize) {
        self.cursors[slot] = Cursor::VACANT;
        self.labels.remove(self.sequences[slot].label, slot);
        self.vacant.push(u32::try_from(slot).unwrap_or(u32::MAX));
    }

    /// Gives back what all of them hold.
    pub(super) fn release_all(&mut self, core: &Core) {
        for (cursor, sequence) in self.cursors.iter_mut().zip(&mut self.sequences) {
            if cursor.handle != Handle::NONE {
                sequence.release(core);
                *cursor = Cursor::VACANT;
            }
        }
    }

    #[inline]
    pub(super) fn cursor(&mut self, handle: Handle) -> Option<&mut Cursor> {
        self.cursors
            .get_mut(handle.slot())
            .filter(|cursor| cursor.handle == handle)
    }

    pub(super) fn get(&self, handle: Handle) -> Result<(&Cursor, &Sequence), Stale> {
        let slot = self.find(handle)?;
        Ok((&self.cursors[slot], &self.sequences[slot]))
    }

    pub(super) fn get_mut(
        &mut self,
        handle: Handle,
    ) -> Result<(&mut Cursor, &mut Sequence), Stale> {
        let slot = self.find(handle)?;
        Ok((&mut self.cursors[slot], &mut self.sequences[slot]))
    }

    pub(super) fn find(&self, handle: Handle) -> Result<usize, Stale> {
        match self.cursors.get(handle.slot()) {
            Some(cursor) if cursor.handle == handle => Ok(handle.slot()),
            _ => Err(Stale),
        }
    }

    /// Everyone, by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Cursor, &Sequence)> {
        self.cursors
            .iter()
            .zip(&self.sequences)
            .filter(|(cursor, _)| cursor.handle != Handle::NONE)
    }

    pub(super) fn labelled(&self, label: u64) -> impl Iterator<Item = Handle> + '_ {
        self.labels
            .slots(label)
            .map(|slot| self.cursors[slot].handle)
    }
}
