//! Watermarks: what the appended positions are, and which of them are computed. Sealed blocks are published as soon as both are known.

use super::Sequences;
use super::error::{ComputedError, NotNext, Stale, TokensError};
use super::handle::Handle;
use super::seal::{Telling, Untold};
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
        let telling = self.prepare_tokens(handle, at, contents)?;
        self.tell(handle, contents, telling);
        Ok(())
    }

    /// All that can speak against tokens; and makes room for them.
    pub(crate) fn prepare_tokens(
        &mut self,
        handle: Handle,
        at: usize,
        contents: &Contents<'_>,
    ) -> Result<Telling, TokensError> {
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
        let (published, block_size) = (sequence.chain.published, self.pool.core.block_size);
        seal.prepare(contents, published, block_size)
            .map_err(|untold| match untold {
                Untold::LengthMismatch(mismatch) => TokensError::from(mismatch),
                Untold::OutOfMemory(none) => TokensError::from(none),
            })
    }

    /// Takes tokens down, which are prepared, and publishes.
    pub(crate) fn tell(&mut self, handle: Handle, contents: &Contents<'_>, telling: Telling) {
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            sequence.seal.tell(contents, telling);
            let chain = &mut sequence.chain;
            let ended = sequence
                .seal
                .publish(&self.pool.core, &mut self.worker, chain);
            self.statistics.unpublished += u64::from(ended);
        }
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
        self.check_computed(handle, positions)?;
        self.mark_computed(handle, positions);
        Ok(())
    }

    pub(crate) fn check_computed(
        &self,
        handle: Handle,
        positions: usize,
    ) -> Result<(), ComputedError> {
        let (cursor, sequence) = self.registry.get(handle)?;
        cursor.check(positions)?;
        if positions > sequence.seal.computed {
            sequence.check_loaded(self.pool.core.block_size)?;
        }
        Ok(())
    }

    /// Moves the watermark up, and publishes.
    pub(crate) fn mark_computed(&mut self, handle: Handle, positions: usize) {
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            let seal = &mut sequence.seal;
            seal.computed = seal.computed.max(positions);
            let ended = seal.publish(&self.pool.core, &mut self.worker, &mut sequence.chain);
            self.statistics.unpublished += u64::from(ended);
        }
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
