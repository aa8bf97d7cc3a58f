//! Watermarks: what the appended positions are, and which of them are computed. Sealed blocks are published as soon as both are known.

use super::Sequences;
use super::error::{ComputedError, NotNext, Stale, TokensError};
use super::handle::Handle;
use super::seal::{Telling, Untold};
use super::sequence::{Cursor, Sequence};
use super::ticket::CopyTicket;
use crate::pool::{Core, Worker};
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
        let telling = sequence.prepare_tokens(core, cursor, at, contents)?;
        sequence.seal.tell(contents, telling);
        let ended = sequence.publish(core, &mut self.worker);
        self.statistics.unpublished += u64::from(ended);
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
        sequence.prepare_tokens(&self.pool.core, cursor, at, contents)
    }

    /// Takes tokens down, which are prepared, and publishes.
    pub(crate) fn tell(&mut self, handle: Handle, contents: &Contents<'_>, telling: Telling) {
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            sequence.seal.tell(contents, telling);
            let ended = sequence.publish(&self.pool.core, &mut self.worker);
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
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        sequence.check_computed(core, cursor, positions)?;
        let ended = sequence.mark_computed(core, &mut self.worker, positions);
        self.statistics.unpublished += u64::from(ended);
        Ok(())
    }

    pub(crate) fn check_computed(
        &self,
        handle: Handle,
        positions: usize,
    ) -> Result<(), ComputedError> {
        let (cursor, sequence) = self.registry.get(handle)?;
        sequence.check_computed(self.core(), cursor, positions)
    }

    /// Moves the watermark up, and publishes.
    pub(crate) fn mark_computed(&mut self, handle: Handle, positions: usize) {
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            let ended = sequence.mark_computed(&self.pool.core, &mut self.worker, positions);
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
            let ended = sequence.publish(&self.pool.core, &mut self.worker);
            self.statistics.unpublished += u64::from(ended);
        }
        Ok(())
    }
}

impl Sequence {
    /// Publishes what is sealed. Returns whether publishing ended with this.
    #[inline]
    fn publish(&mut self, core: &Core, worker: &mut Worker) -> bool {
        self.seal.publish(core, worker, &mut self.chain)
    }

    #[inline]
    fn prepare_tokens(
        &mut self,
        core: &Core,
        cursor: &Cursor,
        at: usize,
        contents: &Contents<'_>,
    ) -> Result<Telling, TokensError> {
        let known = self.seal.known;
        if at != known {
            return Err(NotNext { at, known }.into());
        }
        cursor.check(at.saturating_add(contents.tokens.len()))?;
        self.seal
            .prepare(contents, self.chain.published, core.block_size)
            .map_err(|untold| match untold {
                Untold::LengthMismatch(mismatch) => TokensError::from(mismatch),
                Untold::OutOfMemory(none) => TokensError::from(none),
            })
    }

    #[inline]
    fn check_computed(
        &self,
        core: &Core,
        cursor: &Cursor,
        positions: usize,
    ) -> Result<(), ComputedError> {
        cursor.check(positions)?;
        if positions > self.seal.computed {
            self.check_loaded(core.block_size)?;
            self.check_computes()?;
        }
        Ok(())
    }

    #[inline]
    fn mark_computed(&mut self, core: &Core, worker: &mut Worker, positions: usize) -> bool {
        self.seal.computed = self.seal.computed.max(positions);
        self.publish(core, worker)
    }
}
