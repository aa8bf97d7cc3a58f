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
        self.pin_first(handle, usize::MAX, leases, owner, deadline)
    }

    /// The same for no more than the first `blocks`.
    pub(crate) fn pin_first(
        &self,
        handle: Handle,
        blocks: usize,
        leases: &mut Leases,
        owner: Owner,
        deadline: u64,
    ) -> Result<Lease, PinError> {
        let (_, sequence) = self.registry.get(handle)?;
        let (chain, core) = (&sequence.chain, self.core());
        let blocks = chain.published.min(blocks);
        Ok(leases.grant_raw(owner, deadline, core, chain, blocks)?)
    }

    /// Everything that speaks against a pin but the blocks' own counts.
    pub(crate) fn check_pin(
        &self,
        handle: Handle,
        blocks: usize,
        leases: &mut Leases,
        owner: Owner,
        deadline: u64,
    ) -> Result<(), PinError> {
        let (_, sequence) = self.registry.get(handle)?;
        let chain = &sequence.chain;
        let references = chain.references(chain.published.min(blocks));
        Ok(leases.admit(owner, deadline, self.core(), references)?)
    }
}
