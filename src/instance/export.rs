//! Offering a sequence's computed positions on all shards to somebody else: each shard's blocks are read by themselves, the sequence goes
//! on here or there as a whole. Of a move the first shard's export decides: once it is committed the others follow, and once it is called
//! off they are.

use alloc::vec::Vec;
use core::fmt;

use super::{Instance, PerShard};
use crate::error::OutOfMemory;
use crate::lease::Leases;
use crate::prefix::{Namespace, Prompt};
use crate::sequence::{ExportError, Handle, Offer, Stale, Terms};
use crate::shared::Shared;
use crate::transfer::{Export, Handover, NotOpen, Phase};

/// The computed blocks of a sequence on all shards, offered to be read. A handle, as [`Export`].
#[derive(Clone)]
pub struct InstanceExport {
    shards: Shared<Vec<Export>>,
}

impl InstanceExport {
    /// The export of each shard; one in lockstep.
    #[must_use]
    pub fn shards(&self) -> &[Export] {
        &self.shards
    }

    fn first(&self) -> &Export {
        &self.shards[0]
    }

    /// Computed positions in the blocks.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.first().positions()
    }

    /// Whether the sequence goes with them.
    #[must_use]
    pub fn handover(&self) -> Handover {
        self.first().handover()
    }

    /// How far it is, at this instant.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.first().phase()
    }

    /// Calls it off on every shard. As [`Export::abort`].
    ///
    /// # Errors
    /// [`NotOpen`]: it has been committed or aborted before. If the first shard's was called off by itself, as its content turned out bad,
    /// the others are by this call.
    pub fn abort(&self) -> Result<(), NotOpen> {
        let first = self.first().abort();
        if self.phase() == Phase::Aborted {
            for export in &self.shards[1..] {
                // It may have been called off by itself.
                let _ = export.abort();
            }
        }
        first
    }

    /// A reader outside of this process has all of every shard. As [`Export::finish`].
    ///
    /// # Errors
    /// [`NotOpen`]: it has been committed or aborted before, an import reads it, or a lease is over; that aborts it on every shard.
    pub fn finish(&self) -> Result<(), NotOpen> {
        let over = |it: &Export| !it.is_readable() || it.phase() == Phase::Aborted;
        let is_open = matches!(self.phase(), Phase::Offered | Phase::Aborted);
        if is_open && self.shards.iter().any(over) {
            self.abort()?;
            return Err(NotOpen::LeaseOver);
        }
        self.first().finish()?;
        for export in &self.shards[1..] {
            // The reader has it, whatever became of it since.
            let _ = export.finish();
        }
        Ok(())
    }
}

impl fmt::Debug for InstanceExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shards.iter()).finish()
    }
}

impl Instance {
    /// Offers what is computed of a sequence to be read, on every shard or on none. `leases` has a table for each shard. As
    /// [`Sequences::export`](crate::Sequences::export).
    ///
    /// # Errors
    /// [`ExportError`]; nothing is changed on any shard.
    pub fn export(
        &mut self,
        handle: Handle,
        namespace: &Namespace,
        leases: &mut [Leases],
        terms: &Terms,
    ) -> Result<InstanceExport, ExportError> {
        let (export, _) = self.offer(handle, namespace, leases, terms)?;
        self.make_offer_known(handle);
        Ok(export)
    }

    /// The same, with what it took on each shard, so that it can be taken back before it is made known.
    pub(crate) fn offer(
        &mut self,
        handle: Handle,
        namespace: &Namespace,
        leases: &mut [Leases],
        terms: &Terms,
    ) -> Result<(InstanceExport, PerShard<Offer>), ExportError> {
        let plans = self.look(|_, it| it.plan_export(handle, namespace, terms))?;
        self.check_tables(leases)?;
        for ((it, plan), table) in self.shards.iter().zip(&plans).zip(leases.iter_mut()) {
            it.check_export(handle, plan, table, terms)
                .inspect_err(|error| it.count_refused(error))?;
        }
        let mut exports = Vec::new();
        let enough = exports.try_reserve_exact(self.shards.len());
        enough.map_err(|_| OutOfMemory)?;
        let mut tables = leases.iter_mut();
        let offered = self.on_all(
            |at, it| {
                let table = tables.next().ok_or(OutOfMemory)?;
                it.offer(handle, &plans[at], namespace, table, terms)
                    .inspect_err(|error| it.count_refused(error))
            },
            |at, it, export| it.take_back(handle, &plans[at], &export),
        )?;
        exports.extend(offered);
        match Shared::try_new(exports) {
            Ok(shards) => Ok((InstanceExport { shards }, plans)),
            Err((exports, _)) => {
                self.take_back(handle, &plans, &exports);
                Err(OutOfMemory.into())
            }
        }
    }

    /// The first block of which some shard knows that other tokens are computed than a prompt has, or another extra key.
    pub(crate) fn first_other(
        &self,
        handle: Handle,
        prompt: &Prompt<'_>,
    ) -> Result<Option<usize>, Stale> {
        let others = self.look(|_, it| it.first_other(handle, prompt))?;
        Ok(others.into_iter().flatten().min())
    }

    /// Somebody has heard of an offer.
    pub(crate) fn make_offer_known(&mut self, handle: Handle) {
        for it in &mut self.shards {
            it.make_offer_known(handle);
        }
    }

    /// Takes an offer back that nobody has heard of.
    pub(crate) fn take_back(&mut self, handle: Handle, plans: &[Offer], exports: &[Export]) {
        for ((it, plan), export) in self.shards.iter_mut().zip(plans).zip(exports) {
            it.take_back(handle, plan, export);
        }
    }
}
