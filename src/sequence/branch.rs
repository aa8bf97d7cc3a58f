//! Branches: sequences that share what there is, and part at their next write.

use super::Sequences;
use super::error::BranchError;
use super::growth::{Budget, Growth};
use super::handle::Handle;
use super::sequence::count;

impl Sequences {
    /// Makes a branch for each place in `children`, and puts its handle there: all of them or none.
    ///
    /// A branch shares every block, a partial one at the end too: whoever writes to that first gets a copy of it, and the last owner
    /// writes in place. It inherits label, watermarks, growth and what is left of the promise, with credits of its own. Where
    /// the end is partial, each owner with a promise, the parent too, is promised the block for its copy as well. Lookahead
    /// blocks stay the parent's.
    ///
    /// # Errors
    /// [`BranchError::Refused`]: no room for the promises, or with the parent's conservative budget for the tables;
    /// [`BranchError::TooManyReferences`], [`BranchError::TooManySequences`], [`BranchError::OutOfMemory`], [`BranchError::Stale`].
    /// Nothing is changed.
    ///
    /// One read-modify-write a block, however many children, and a copy of the table for each. Allocates if the buffers of their
    /// slots are too small.
    pub fn fork(&mut self, parent: Handle, children: &mut [Handle]) -> Result<(), BranchError> {
        let plan = self.plan_fork(parent, children.len())?;
        self.check_fork(&plan)
            .and_then(|()| self.begin_fork(parent, &plan))
            .inspect_err(|error| self.count_refused(error))?;
        self.finish_fork(parent, &plan, children, true);
        Ok(())
    }
}

/// What the branches of a sequence take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fork {
    children: usize,
    /// Entries of a branch's table.
    blocks: usize,
    /// Credits of each branch for blocks to come.
    promise: u32,
    /// Each owner is promised the copy of the shared end, and the parent is not yet.
    copies: bool,
    parents_copy: bool,
    /// Credits in all.
    needed: usize,
    budget: Budget,
}

/// The steps of a fork, each over all shards of an instance before the next one.
impl Sequences {
    /// What a fork takes.
    pub(crate) fn plan_fork(&self, parent: Handle, children: usize) -> Result<Fork, BranchError> {
        let core = self.core();
        let (cursor, sequence) = self.registry.get(parent)?;
        self.registry.check_room(children)?;
        if children > 0 {
            sequence.check_settled(core.block_size)?;
        }
        let positions = cursor.positions;
        let blocks = positions.div_ceil(core.block_size);
        let partial = sequence.has_partial_tail(positions, core.block_size);
        let copies = children > 0 && partial && sequence.growth != Growth::OnDemand;
        // A lookahead block of the parent is in its table; for the children it still has to come.
        let promise = match sequence.growth {
            Growth::Cap(_) => {
                sequence.promise + count(sequence.chain.ids.len().saturating_sub(blocks))
            }
            Growth::Ahead(_) | Growth::OnDemand => sequence.promise,
        };
        let each = promise as usize + usize::from(copies);
        let parents_copy = copies && !sequence.copy_credit;
        Ok(Fork {
            children,
            blocks,
            promise,
            copies,
            parents_copy,
            needed: each
                .saturating_mul(children)
                .saturating_add(usize::from(parents_copy)),
            budget: sequence.budget,
        })
    }

    /// Decides by loads whether it can be had.
    pub(crate) fn check_fork(&self, plan: &Fork) -> Result<(), BranchError> {
        if plan.budget == Budget::Conservative && plan.children > 0 {
            let tables = plan.blocks.saturating_mul(plan.children);
            self.within_budget(tables.saturating_add(plan.needed), Budget::Conservative)?;
        }
        self.core().check(plan.needed, 0)?;
        Ok(())
    }

    /// Has room, credits and references for the branches, or none of these.
    pub(crate) fn begin_fork(&mut self, parent: Handle, plan: &Fork) -> Result<(), BranchError> {
        let slot = self.registry.find(parent)?;
        for child in 0..plan.children {
            let (parent, vacant) = self.registry.get_and_vacant(slot, child);
            vacant.reserve_for(parent, plan.blocks, self.pool.core.block_size)?;
        }
        let core = &*self.pool.core;
        let needed = core.check(plan.needed, 0)?;
        core.credits
            .reserve(needed)
            .map_err(|available| core.shortfall(plan.needed, available))?;
        let (_, sequence) = self.registry.get(parent)?;
        if plan.children > 0 {
            sequence
                .chain
                .hold_for(core, plan.blocks, count(plan.children))
                .inspect_err(|_| core.credits.unreserve(needed))?;
        }
        Ok(())
    }

    /// Gives credits and references back.
    pub(crate) fn give_up_fork(&self, parent: Handle, plan: &Fork) {
        if let Ok((_, sequence)) = self.registry.get(parent) {
            for _ in 0..plan.children {
                sequence.chain.unhold(self.core(), plan.blocks);
            }
            self.core().credits.unreserve(count(plan.needed));
        }
    }

    /// Names the branches, which have all that they take; as another shard's registry did, unless they are to be `named`.
    pub(crate) fn finish_fork(
        &mut self,
        parent: Handle,
        plan: &Fork,
        children: &mut [Handle],
        named: bool,
    ) {
        let (Ok(slot), core) = (self.registry.find(parent), &*self.pool.core) else {
            return;
        };
        if plan.children == 0 {
            return;
        }
        let positions = self
            .registry
            .get(parent)
            .map_or(0, |(cursor, _)| cursor.positions);
        for child in children.iter_mut() {
            let (parent, vacant) = self.registry.get_and_vacant(slot, 0);
            vacant.become_branch(parent, plan.blocks);
            vacant.promise = plan.promise;
            vacant.copy_credit = plan.copies;
            let name = (!named).then_some(*child);
            *child = self.registry.enter(core, positions, name);
        }
        if let Ok((cursor, sequence)) = self.registry.get_mut(parent) {
            sequence.copy_credit |= plan.parents_copy;
            if positions % core.block_size != 0 {
                cursor.close();
            }
        }
    }
}
