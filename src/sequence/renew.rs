//! Content that turned out bad: everybody who has it goes back to before it, and computes anew in blocks of its own.

use alloc::vec::Vec;

use super::Sequences;
use super::error::AppendError;
use super::handle::Handle;
use super::sequence::count;
use super::step::Step;
use super::transit::Transit;
use crate::block::BlockId;
use crate::error::{InvalidateError, OutOfMemory};

impl Sequences {
    /// The content of a block is bad (it did not arrive whole, memory failed): every sequence of this registry that has it goes
    /// back to the positions before it, whose count is [`computed`](crate::SequenceState::computed) then, and the block with all
    /// that was published below it can't be found any more. `affected` (which is cleared first) gets these sequences.
    ///
    /// Copies of it that have not been reported as made are as bad. What this registry exported of it is called off, and what is
    /// read of that from now on does not count at the other end; what had arrived there before is to be told to that registry.
    ///
    /// Tables stay as they are. Each of them needs [`renew`](Self::renew) before it computes its other positions again; tokens have
    /// to be told again from [`known`](crate::SequenceState::known) on, if that fell. Other registries of the pool need a call of
    /// their own, before the block can have gone to somebody else; holders of chains and leases, detached sequences and copies that
    /// were made before have to be seen to by the engine.
    ///
    /// # Errors
    /// [`InvalidateError::OutOfRange`], [`InvalidateError::OutOfMemory`]. A block that nobody has and nobody can find is no error.
    ///
    /// A look at every table, and if the block is published a few passes over all blocks. Allocates.
    pub fn invalidate(
        &mut self,
        block: BlockId,
        affected: &mut Vec<Handle>,
    ) -> Result<(), InvalidateError> {
        affected.clear();
        affected
            .try_reserve(self.registry.len())
            .map_err(|_| InvalidateError::OutOfMemory)?;
        let bad = self.tickets.copies_of(block);
        let bad = bad.map_err(|OutOfMemory| InvalidateError::OutOfMemory)?;
        let core = &*self.pool.core;
        for (_, sequence) in self.registry.iter_mut() {
            if let Some(entry) = sequence.chain.first_entry_of(&bad) {
                let room = sequence
                    .seal
                    .reserve_roll_back(core, &sequence.chain, entry);
                room.map_err(|OutOfMemory| InvalidateError::OutOfMemory)?;
            }
        }
        match core.invalidate(block) {
            Ok(_) | Err(InvalidateError::NotPublished { .. }) => {}
            Err(error) => return Err(error),
        }
        for export in self.exports.iter().filter(|it| it.lease().is_live()) {
            if let Some(entry) = export.ids().iter().position(|it| bad.contains(it)) {
                export.spoil(entry * core.block_size);
            }
        }
        for (cursor, sequence) in self.registry.iter_mut() {
            let Some(entry) = sequence.chain.first_entry_of(&bad) else {
                continue;
            };
            let positions = entry * core.block_size;
            let spoiled = sequence.spoil_load(positions);
            if sequence.seal.computed <= positions && !spoiled {
                continue;
            }
            sequence.roll_back(core, entry);
            affected.push(cursor.handle);
        }
        Ok(())
    }

    /// Gives a sequence blocks of its own from where it is not computed on, in place of those that others have or had: so that it
    /// can compute these positions itself, after bad content or instead of a load that failed or takes too long (what has arrived
    /// and no call of [`loading`](Self::loading) has noticed is not waited for). Tells in `out` (which is cleared first) which
    /// entries changed. A load under way is given up; its blocks stay held until their writers have answered. Nothing happens if
    /// all of them are its own.
    ///
    /// # Errors
    /// As [`append`](Self::append): they are paid from what is available, not from its promise. Nothing is changed.
    ///
    /// As taking the blocks. Allocates its lists.
    pub fn renew(&mut self, handle: Handle, out: &mut Step) -> Result<(), AppendError> {
        out.clear();
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        sequence.check_growth()?;
        let from = sequence.seal.computed.div_ceil(core.block_size);
        let table = &sequence.chain.ids;
        let entries = || from..table.len();
        let is_shared = |&entry: &usize| !self.tickets.is_alone_in(core, table[entry], 0);
        let shared = entries().filter(is_shared).count();
        if shared > 0 || sequence.chain.is_spoiled() {
            let (mut replaced, mut fresh): (Vec<usize>, Vec<BlockId>) = (Vec::new(), Vec::new());
            replaced.try_reserve(shared).map_err(|_| OutOfMemory)?;
            fresh.try_reserve(shared).map_err(|_| OutOfMemory)?;
            let mut old = Vec::new();
            let most = 2 * entries().len();
            old.try_reserve(most).map_err(|_| OutOfMemory)?;
            out.reserve(0, shared)?;
            core.credits
                .withdraw_available(count(shared))
                .map_err(|available| {
                    let refused = core.shortfall(shared, available);
                    core.count_refusal(refused);
                    self.statistics.refused_appends += 1;
                    refused
                })?;
            replaced.extend(entries().filter(is_shared));
            fresh.resize(shared, BlockId::NONE);
            core.obtain(&mut self.worker, &mut fresh);
            for (&entry, &block) in replaced.iter().zip(&fresh) {
                out.note(0, entry, block);
                sequence.changed_from = sequence.changed_from.min(entry);
            }
            sequence
                .chain
                .replace(core, from, &replaced, &fresh, &mut old);
        }
        if matches!(sequence.transit, Transit::Loading(_)) {
            sequence.leave_transit();
        }
        let (entry, offset) = (
            cursor.positions / core.block_size,
            cursor.positions % core.block_size,
        );
        if offset > 0 && entry >= from {
            cursor.open(&sequence.chain.ids, entry, core.block_size, sequence.end);
            if core::mem::take(&mut sequence.copy_credit) {
                core.credits.unreserve(1);
            }
        }
        Ok(())
    }
}
