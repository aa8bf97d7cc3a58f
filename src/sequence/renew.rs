//! Content that turned out bad: everybody who has it goes back to before it, and computes anew in blocks of its own.

use alloc::vec::Vec;

use super::Sequences;
use super::error::AppendError;
use super::handle::Handle;
use super::sequence::count;
use super::step::Step;
use super::transit::Transit;
use crate::block::BlockId;
use crate::error::{InvalidateError, OutOfMemory, Refused};

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
        let mut plan = self.plan_renew(handle, out)?;
        self.pay_renew(&plan)
            .inspect_err(|&error| self.count_refused_append(error))?;
        self.finish_renew(handle, &mut plan, out);
        Ok(())
    }
}

/// The steps of taking bad content back on all shards of an instance.
impl Sequences {
    /// Who has a block, or a copy of it that has not been reported as made, and at which entry.
    pub(crate) fn sharers(
        &self,
        block: BlockId,
        sharers: &mut Vec<(Handle, usize)>,
    ) -> Result<(), InvalidateError> {
        let bad = self.tickets.copies_of(block);
        let bad = bad.map_err(|OutOfMemory| InvalidateError::OutOfMemory)?;
        sharers
            .try_reserve(self.registry.len())
            .map_err(|_| InvalidateError::OutOfMemory)?;
        for (cursor, sequence) in self.registry.iter() {
            let entry = sequence.chain.first_entry_of(&bad);
            sharers.extend(entry.map(|entry| (cursor.handle, entry)));
        }
        Ok(())
    }

    /// Memory to roll a sequence back to an entry of its table.
    pub(crate) fn prepare_roll_back(
        &mut self,
        handle: Handle,
        entry: usize,
    ) -> Result<(), InvalidateError> {
        let core = &*self.pool.core;
        let Ok((_, sequence)) = self.registry.get_mut(handle) else {
            return Ok(());
        };
        let (seal, chain) = (&mut sequence.seal, &sequence.chain);
        let room = seal.reserve_roll_back(core, chain, entry);
        room.map_err(|OutOfMemory| InvalidateError::OutOfMemory)
    }

    /// Another shard of the sequence has bad content at an entry: nothing from there on is computed here either.
    pub(crate) fn roll_back(&mut self, handle: Handle, entry: usize) {
        let core = &*self.pool.core;
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            sequence.spoil_load(entry * core.block_size);
            sequence.roll_back(core, entry);
        }
    }

    /// Tokens from a position on have to be told again.
    pub(crate) fn forget_known(&mut self, handle: Handle, known: usize) {
        let block_size = self.core().block_size;
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            let published = sequence.chain.published;
            sequence.seal.forget_from(known, published, block_size);
        }
    }
}

/// Entries of a table that get blocks of their own.
#[derive(Debug, Default)]
pub(crate) struct Renewal {
    from: usize,
    entries: Vec<usize>,
    fresh: Vec<BlockId>,
    old: Vec<BlockId>,
    /// Blocks of it count as bad.
    spoiled: bool,
}

/// The steps of a renewal, each over all shards of an instance before the next one.
impl Sequences {
    /// What gets other blocks, and memory for it.
    pub(crate) fn plan_renew(
        &self,
        handle: Handle,
        out: &mut Step,
    ) -> Result<Renewal, AppendError> {
        let core = self.core();
        let (_, sequence) = self.registry.get(handle)?;
        sequence.check_growth()?;
        let from = sequence.seal.computed.div_ceil(core.block_size);
        let table = &sequence.chain.ids;
        let entries = || from..table.len();
        let is_shared = |&entry: &usize| !self.tickets.is_alone_in(core, table[entry], 0);
        let shared = entries().filter(is_shared).count();
        let mut plan = Renewal {
            from,
            spoiled: sequence.chain.is_spoiled(),
            ..Renewal::default()
        };
        if shared > 0 || plan.spoiled {
            let old = 2 * entries().len();
            plan.entries.try_reserve(shared).map_err(|_| OutOfMemory)?;
            plan.fresh.try_reserve(shared).map_err(|_| OutOfMemory)?;
            plan.old.try_reserve(old).map_err(|_| OutOfMemory)?;
            out.reserve(0, shared)?;
            plan.entries
                .extend(entries().filter(is_shared).take(shared));
        }
        Ok(plan)
    }

    /// Decides by a load whether its blocks can be had.
    pub(crate) fn check_renew(&self, plan: &Renewal) -> Result<(), Refused> {
        let (blocks, available) = (plan.entries.len(), self.core().credits.now().available);
        if count(blocks) > available {
            return Err(self.core().shortfall(blocks, available));
        }
        Ok(())
    }

    /// Takes the credits for them.
    pub(crate) fn pay_renew(&self, plan: &Renewal) -> Result<(), AppendError> {
        let (core, blocks) = (self.core(), plan.entries.len());
        core.credits
            .withdraw_available(count(blocks))
            .map_err(|available| core.shortfall(blocks, available))?;
        Ok(())
    }

    /// Gives them back.
    pub(crate) fn give_back_renew(&self, plan: &Renewal) {
        self.core().credits.deposit(count(plan.entries.len()));
    }

    /// Puts the blocks, which are paid, into the table.
    pub(crate) fn finish_renew(&mut self, handle: Handle, plan: &mut Renewal, out: &mut Step) {
        let core = &*self.pool.core;
        let Ok((cursor, sequence)) = self.registry.get_mut(handle) else {
            return;
        };
        if !plan.entries.is_empty() || plan.spoiled {
            plan.fresh.resize(plan.entries.len(), BlockId::NONE);
            core.obtain(&mut self.worker, &mut plan.fresh);
            for (&entry, &block) in plan.entries.iter().zip(&plan.fresh) {
                out.note(0, entry, block);
                sequence.changed_from = sequence.changed_from.min(entry);
            }
            let Renewal {
                from,
                entries,
                fresh,
                old,
                ..
            } = plan;
            sequence.chain.replace(core, *from, entries, fresh, old);
        }
        if matches!(sequence.transit, Transit::Loading(_)) {
            sequence.leave_transit();
        }
        let (entry, offset) = (
            cursor.positions / core.block_size,
            cursor.positions % core.block_size,
        );
        if offset > 0 && entry >= plan.from {
            cursor.open(&sequence.chain.ids, entry, core.block_size, sequence.end);
            if core::mem::take(&mut sequence.copy_credit) {
                core.credits.unreserve(1);
            }
        }
    }
}
