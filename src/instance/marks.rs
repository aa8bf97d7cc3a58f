//! Watermarks over all shards: what the appended positions are, and which of them are computed everywhere.

use super::Instance;
use crate::prefix::Contents;
use crate::sequence::{ComputedError, CopyTicket, Handle, Sequences, Stale, TokensError};

impl Instance {
    /// Says which tokens the positions from `at` on are, on every shard. As [`Sequences::tokens`](crate::Sequences::tokens).
    ///
    /// # Errors
    /// [`TokensError`]; nothing is changed on any shard.
    pub fn tokens(
        &mut self,
        handle: Handle,
        at: usize,
        contents: &Contents<'_>,
    ) -> Result<(), TokensError> {
        let prepared = self.on_all(
            |_, it| it.prepare_tokens(handle, at, contents),
            |_, _, _| {},
        )?;
        for (it, telling) in self.shards.iter_mut().zip(prepared) {
            it.tell(handle, contents, telling);
        }
        Ok(())
    }

    /// Says that K/V of the first `positions` positions is written on every shard: a pipeline tells it when its last stage is done. As
    /// [`Sequences::computed`](crate::Sequences::computed).
    ///
    /// # Errors
    /// [`ComputedError`]; nothing is changed on any shard.
    pub fn computed(&mut self, handle: Handle, positions: usize) -> Result<(), ComputedError> {
        for it in &self.shards {
            it.check_computed(handle, positions)?;
        }
        for it in &mut self.shards {
            it.mark_computed(handle, positions);
        }
        Ok(())
    }

    /// Where a shard could not keep the tokens of what was published they have to be told again, on all of them.
    pub(super) fn know_alike(&mut self, handle: Handle) {
        let known = |it: &Sequences| it.state(handle).map_or(0, |state| state.known);
        let least = self.shards.iter().map(known).min().unwrap_or(0);
        for it in &mut self.shards {
            it.forget_known(handle, least);
        }
    }

    /// Says that a copy on a shard has been made: a ticket of the [`Step`](crate::Step) of that shard. As
    /// [`Sequences::copied`](crate::Sequences::copied).
    ///
    /// # Errors
    /// [`Stale`]: the ticket was given back already, is another shard's or another registry's.
    pub fn copied(&mut self, shard: usize, ticket: CopyTicket) -> Result<(), Stale> {
        self.shards.get_mut(shard).ok_or(Stale)?.copied(ticket)
    }
}
