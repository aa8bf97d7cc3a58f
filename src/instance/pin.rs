//! Holding what a sequence has published on all shards while nobody runs it.

use alloc::vec::Vec;

use super::Instance;
use crate::error::CreateError;
use crate::lease::{Lease, LeaseError, Leases, Owner};
use crate::sequence::{Handle, PinError};

impl Instance {
    /// A table of leases for each shard, each with this budget of references.
    ///
    /// # Errors
    /// [`CreateError::OutOfMemory`].
    pub fn leases(&self, budget: usize) -> Result<Vec<Leases>, CreateError> {
        let mut tables = Vec::new();
        let bytes = self.shards.len() * size_of::<Leases>();
        tables
            .try_reserve_exact(self.shards.len())
            .map_err(|_| CreateError::OutOfMemory { bytes })?;
        for it in &self.shards {
            tables.push(Leases::new(it.pool(), budget)?);
        }
        Ok(tables)
    }

    /// Holds what is published of a sequence on every shard until a deadline: as much as on the one that has the least. `leases` has a
    /// table for each shard. Returns a lease for each. As [`Sequences::pin`](crate::Sequences::pin).
    ///
    /// # Errors
    /// [`PinError`]; nothing is changed on any shard.
    pub fn pin(
        &self,
        handle: Handle,
        leases: &mut [Leases],
        owner: Owner,
        deadline: u64,
    ) -> Result<Vec<Lease>, PinError> {
        let blocks = self.state(handle)?.published;
        self.check_tables(leases)?;
        for (it, table) in self.shards.iter().zip(leases.iter_mut()) {
            it.check_pin(handle, blocks, table, owner, deadline)?;
        }
        let mut granted = Vec::new();
        let enough = granted.try_reserve_exact(self.shards.len());
        enough.map_err(|_| LeaseError::OutOfMemory)?;
        for (it, table) in self.shards.iter().zip(leases) {
            match it.pin_first(handle, blocks, table, owner, deadline) {
                Ok(lease) => granted.push(lease),
                Err(error) => {
                    for lease in granted {
                        // Nobody has had it.
                        let _: Result<(), _> = lease.end();
                    }
                    return Err(error);
                }
            }
        }
        Ok(granted)
    }

    /// One for each shard, in their order.
    pub(super) fn check_tables(&self, leases: &[Leases]) -> Result<(), LeaseError> {
        let same =
            |(it, table): (&crate::Sequences, &Leases)| core::ptr::eq(it.core(), table.core());
        if leases.len() == self.shards.len() && self.shards.iter().zip(leases).all(same) {
            return Ok(());
        }
        Err(LeaseError::WrongPool)
    }
}
