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
        let slot = self.registry.find(parent)?;
        self.registry.check_room(children.len())?;
        if children.is_empty() {
            return Ok(());
        }
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get(parent)?;
        sequence.check_settled(core.block_size)?;
        let positions = cursor.positions;
        let blocks = positions.div_ceil(core.block_size);
        let partial = sequence.has_partial_tail(positions, core.block_size);
        let copies = partial && sequence.growth != Growth::OnDemand;
        // A lookahead block of the parent is in its table; for the children it still has to come.
        let promise = match sequence.growth {
            Growth::Cap(_) => {
                sequence.promise + count(sequence.chain.ids.len().saturating_sub(blocks))
            }
            Growth::Ahead(_) | Growth::OnDemand => sequence.promise,
        };
        let each = promise as usize + usize::from(copies);
        let parents_copy = copies && !sequence.copy_credit;
        let needed = each
            .saturating_mul(children.len())
            .saturating_add(usize::from(parents_copy));
        if sequence.budget == Budget::Conservative {
            let tables = blocks.saturating_mul(children.len());
            self.within_budget(tables.saturating_add(needed), Budget::Conservative)
                .inspect_err(|&refused| core.count_refusal(refused))?;
        }
        for child in 0..children.len() {
            let (parent, vacant) = self.registry.get_and_vacant(slot, child);
            vacant.reserve_for(parent, blocks)?;
        }
        let credits = core.reserve(needed, 0)?;
        let (_, sequence) = self.registry.get(parent)?;
        sequence
            .chain
            .hold_for(core, blocks, count(children.len()))
            .inspect_err(|_| core.credits.unreserve(credits))?;

        for child in children.iter_mut() {
            let (parent, vacant) = self.registry.get_and_vacant(slot, 0);
            vacant.become_branch(parent, blocks);
            vacant.promise = promise;
            vacant.copy_credit = copies;
            *child = self.registry.enter(core, positions);
        }
        let (cursor, sequence) = self.registry.get_mut(parent)?;
        sequence.copy_credit |= parents_copy;
        if positions % core.block_size != 0 {
            cursor.close();
        }
        Ok(())
    }
}
