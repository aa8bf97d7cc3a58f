//! Holding what a sequence has published while nobody runs it.

use super::Sequences;
use super::error::PinError;
use super::handle::Handle;
use crate::lease::{Lease, Leases, Owner};

impl Sequences {
    /// Holds what is published of a sequence until a deadline, whatever becomes of the sequence: so that its next turn, after the
    /// user has thought, finds it.
    ///
    /// # Errors
    /// [`PinError`]; nothing is changed.
    ///
    /// One read-modify-write a block. Allocates a copy of the table.
    pub fn pin(
        &self,
        handle: Handle,
        leases: &mut Leases,
        owner: Owner,
        deadline: u64,
    ) -> Result<Lease, PinError> {
        let (_, sequence) = self.registry.get(handle)?;
        let chain = &sequence.chain;
        Ok(leases.grant_raw(owner, deadline, self.core(), chain, chain.published)?)
    }
}
