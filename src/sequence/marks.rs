//! Watermarks: what the appended positions are, and which of them are computed. Sealed blocks are published as soon as both are known.

use super::Sequences;
use super::error::{ComputedError, NotNext, Stale, TokensError};
use super::handle::Handle;
use super::seal::Untold;
use super::ticket::CopyTicket;
use crate::prefix::Contents;

impl Sequences {
    /// Says which tokens the positions from `at` on are. `at` must be the first unknown position, so that no token is ever taken for
    /// another position's.
    ///
    /// Extra keys and the engine's own chain keys come with the tokens that fill a block: one for each block that these
    /// fill. Extra keys may be left out (then there is none); chain keys may not, once the sequence has any.
    ///
    /// # Errors
    /// [`TokensError`]; nothing is changed.
    ///
    /// A copy of the tokens, and a publish where a computed block is full. No allocation in steady state.
    pub fn tokens(
        &mut self,
        handle: Handle,
        at: usize,
        contents: &Contents<'_>,
    ) -> Result<(), TokensError> {
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        let seal = &mut sequence.seal;
        if at != seal.known {
            return Err(NotNext {
                at,
                known: seal.known,
            }
            .into());
        }
        cursor.check(at.saturating_add(contents.tokens.len()))?;
        let chain = &mut sequence.chain;
        seal.tell(contents, chain.published, core.block_size)
            .map_err(|untold| match untold {
                Untold::LengthMismatch(mismatch) => TokensError::from(mismatch),
                Untold::OutOfMemory(none) => TokensError::from(none),
            })?;
        let ended = seal.publish(core, &mut self.worker, chain);
        self.statistics.unpublished += u64::from(ended);
        Ok(())
    }

    /// Says that K/V of the first `positions` positions is written. Fewer than before change nothing, so that answers of
    /// overlapping steps may come in any order. It must be the K/V of what these positions are now: a step that began before a
    /// [`truncate`](Self::truncate) answers only for what was kept.
    ///
    /// Blocks that are full, known and computed are published, unless the sequence was admitted without. Content that is
    /// findable already is held beside the sequence's own block (a duplicate; an idle one costs an available credit). A block that
    /// a fork or a pending copy refers to waits until it is the sequence's alone. Where publishing can't go on (no credit for a
    /// duplicate, no place in the index, a block of the path was cleared) it ends for this sequence; the report counts that.
    ///
    /// # Errors
    /// [`ComputedError`]; nothing is changed.
    ///
    /// A publish where a block became full. No allocation but for duplicates.
    pub fn computed(&mut self, handle: Handle, positions: usize) -> Result<(), ComputedError> {
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        cursor.check(positions)?;
        if positions > sequence.seal.computed {
            sequence.check_loaded(core.block_size)?;
        }
        let seal = &mut sequence.seal;
        seal.computed = seal.computed.max(positions);
        let ended = seal.publish(core, &mut self.worker, &mut sequence.chain);
        self.statistics.unpublished += u64::from(ended);
        Ok(())
    }

    /// Says that a copy has been made: its blocks are no longer held for it, and what its sequence could not publish before is
    /// published. (Others that waited for it publish with their next [`computed`](Self::computed).)
    ///
    /// # Errors
    /// [`Stale`]: the ticket was given back already, or is another registry's (one of the same pool, or of a pool with another
    /// [`ShardId`](crate::ShardId)).
    pub fn copied(&mut self, ticket: CopyTicket) -> Result<(), Stale> {
        let owner = self.tickets.settle(&self.pool.core, &ticket)?;
        if let Ok((_, sequence)) = self.registry.get_mut(owner) {
            let ended =
                sequence
                    .seal
                    .publish(&self.pool.core, &mut self.worker, &mut sequence.chain);
            self.statistics.unpublished += u64::from(ended);
        }
        Ok(())
    }
}
