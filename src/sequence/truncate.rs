//! Shortening a sequence: rejected drafts, an earlier point to go on from, lookahead that is not needed.

use super::Sequences;
use super::error::{Beyond, TruncateError};
use super::growth::Growth;
use super::handle::Handle;
use super::sequence::count;
use crate::prefix::Proof;
use crate::sync::Ordering::Acquire;

impl Sequences {
    /// Keeps the first `positions` positions and gives back the blocks behind them, tail first; what was published of them
    /// stays findable. With the number it has, only lookahead blocks go.
    ///
    /// A sequence with a cap keeps its promise, so the blocks go back into it. If the block at the end is partly kept and others see
    /// it, the next append will copy it: a published one, and a shared one of a sequence with a promise, takes the credit for that at this call.
    ///
    /// # Errors
    /// [`TruncateError::Refused`] if there is no credit for that copy, or none for the promise in the place of given-back blocks that are
    /// published or shared; taking back what was never published or shared cannot fail. [`TruncateError::Stale`],
    /// [`TruncateError::Beyond`].
    ///
    /// One read-modify-write for each shared or published block given back. No allocation.
    pub fn truncate(&mut self, handle: Handle, positions: usize) -> Result<(), TruncateError> {
        let core = &*self.pool.core;
        let block_size = core.block_size;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        if positions > cursor.positions {
            return Err(Beyond {
                asked: positions,
                positions: cursor.positions,
            }
            .into());
        }
        let keep = positions.div_ceil(block_size);
        let offset = positions % block_size;
        let partial = offset != 0;
        let table = &sequence.chain.ids;
        let seen = partial && !self.tickets.is_alone_in(core, table[keep - 1], offset);
        let published = partial && sequence.chain.published >= keep;
        let has_promise = sequence.growth != Growth::OnDemand;
        let copies = seen && (published || has_promise || sequence.copy_credit);
        let copy = copies && !sequence.copy_credit;
        let dropped = table.len() - keep;
        let capped = matches!(sequence.growth, Growth::Cap(_));
        // Of the dropped blocks, those that give their credit back for sure.
        let sure = table[keep..]
            .iter()
            .filter(|&&block| core.state(block).load(Acquire).is_private_alone())
            .count();
        let unsure = if capped { dropped - sure } else { 0 };
        let charge = count(unsure) + u32::from(copy);
        core.credits
            .reserve(charge)
            .map_err(|available| core.shortfall(charge as usize, available))?;

        let kept = published && core.proof == Proof::Tokens;
        let restored = kept.then(|| core.nodes.tokens(sequence.chain.node(keep - 1), offset));
        let unpublished = sequence.chain.published > positions / block_size;
        sequence.seal.truncate(
            positions,
            sequence.chain.published.min(positions / block_size),
            restored,
            unpublished,
            block_size,
        );
        let mut credits = sequence.chain.truncate(core, keep);
        credits += sequence.chain.unpublish(core, positions / block_size);

        let promised = match sequence.growth {
            Growth::Cap(_) => count(sure),
            Growth::Ahead(blocks) => credits.min(count(blocks) - sequence.promise),
            Growth::OnDemand => 0,
        };
        core.credits.deposit_reserved(promised);
        core.credits.deposit(credits - promised);
        sequence.promise += promised + count(unsure);
        if copy {
            sequence.copy_credit = true;
        } else if !copies && core::mem::take(&mut sequence.copy_credit) {
            core.credits.unreserve(1);
        }
        sequence.changed_from = sequence.changed_from.min(keep);
        cursor.positions = positions;
        if seen {
            cursor.close();
        } else {
            cursor.open(
                &sequence.chain.ids,
                positions / block_size,
                block_size,
                sequence.end,
            );
        }
        Ok(())
    }
}
