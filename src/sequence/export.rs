//! Offering a sequence's computed positions to somebody else.

use super::Sequences;
use super::error::{CopyPending, ExportError, OtherNamespace};
use super::growth::Growth;
use super::handle::Handle;
use crate::error::OutOfMemory;
use crate::lease::{Lease, Leases, Owner};
use crate::prefix::Namespace;
use crate::transfer::{Export, Handover};

/// Under which terms blocks are offered.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Terms {
    /// For whom they are held.
    pub owner: Owner,
    /// Until when, in the time of the leases' table.
    pub deadline: u64,
    /// Whether the sequence goes with them.
    pub handover: Handover,
    /// Called off, the sequence waits until nobody reads its blocks: then it needs no copy of a shared end.
    pub(crate) waits: bool,
}

impl Terms {
    /// The content only.
    #[must_use]
    pub const fn copy(owner: Owner, deadline: u64) -> Self {
        Self {
            owner,
            deadline,
            handover: Handover::Copy,
            waits: false,
        }
    }

    /// The sequence itself.
    #[must_use]
    pub const fn moving(owner: Owner, deadline: u64) -> Self {
        Self {
            handover: Handover::Move,
            ..Self::copy(owner, deadline)
        }
    }

    /// The sequence itself, to another tier; a copy engine has no deadline.
    pub(crate) const fn swapping(owner: Owner) -> Self {
        Self {
            waits: true,
            ..Self::moving(owner, Lease::NO_DEADLINE)
        }
    }
}

impl Sequences {
    /// Offers what is computed of a sequence to be read: a lease holds these blocks, whatever becomes of the sequence. `namespace`
    /// is the one it was admitted in.
    ///
    /// With [`Handover::Move`] the sequence gets no positions here, and can't be shortened, until the export is aborted; releasing
    /// it aborts. When the other side has committed, release it here.
    ///
    /// # Errors
    /// [`ExportError`]; nothing is changed.
    ///
    /// One read-modify-write a block. Allocates a copy of the table.
    pub fn export(
        &mut self,
        handle: Handle,
        namespace: &Namespace,
        leases: &mut Leases,
        terms: &Terms,
    ) -> Result<Export, ExportError> {
        let plan = self.plan_export(handle, namespace, terms)?;
        let export = self
            .offer(handle, &plan, namespace, leases, terms)
            .inspect_err(|error| self.count_refused(error))?;
        self.make_offer_known(handle);
        Ok(export)
    }
}

/// What an export takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// Computed positions, and the blocks that they are in.
    positions: usize,
    blocks: usize,
    /// The block at the end gets another owner: the next write into it will be to a copy.
    shared: bool,
    /// For which a credit has to be set aside.
    copies: bool,
}

impl Offer {
    /// Blocks that it takes references on.
    pub(crate) const fn blocks(&self) -> usize {
        self.blocks
    }
}

/// The steps of an export, each over all shards of an instance before the next one.
impl Sequences {
    /// What an export takes.
    pub(crate) fn plan_export(
        &self,
        handle: Handle,
        namespace: &Namespace,
        terms: &Terms,
    ) -> Result<Offer, ExportError> {
        let core = self.core();
        let (cursor, sequence) = self.registry.get(handle)?;
        sequence.check_settled(core.block_size)?;
        if core.space(namespace) != sequence.chain.space {
            return Err(OtherNamespace.into());
        }
        let positions = sequence.seal.computed;
        let blocks = positions.div_ceil(core.block_size);
        if self.tickets.copies_into_any(&sequence.chain.ids[..blocks]) {
            return Err(CopyPending.into());
        }
        let shared = blocks > cursor.positions / core.block_size
            && sequence.has_partial_tail(cursor.positions, core.block_size);
        Ok(Offer {
            positions,
            blocks,
            shared,
            copies: shared
                && !terms.waits
                && sequence.growth != Growth::OnDemand
                && !sequence.copy_credit,
        })
    }

    /// Decides by loads whether it can be had, but for the blocks' own counts.
    pub(crate) fn check_export(
        &self,
        handle: Handle,
        plan: &Offer,
        leases: &mut Leases,
        terms: &Terms,
    ) -> Result<(), ExportError> {
        let (core, (_, sequence)) = (self.core(), self.registry.get(handle)?);
        core.check(usize::from(plan.copies), 0)?;
        let references = sequence.chain.references(plan.blocks);
        Ok(leases.admit(terms.owner, terms.deadline, core, references)?)
    }

    /// Offers what was planned, until it is [made known](Self::make_offer_known) or [taken back](Self::take_back).
    pub(crate) fn offer(
        &mut self,
        handle: Handle,
        plan: &Offer,
        namespace: &Namespace,
        leases: &mut Leases,
        terms: &Terms,
    ) -> Result<Export, ExportError> {
        let &Offer {
            positions,
            blocks,
            shared,
            copies,
        } = plan;
        self.exports.retain(|it| it.lease().is_live());
        self.exports.try_reserve(1).map_err(|_| OutOfMemory)?;
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        let credits = core.check(usize::from(copies), 0)?;
        core.credits
            .reserve(credits)
            .map_err(|available| core.shortfall(1, available))?;
        let back = || core.credits.unreserve(credits);
        let lease = leases.grant_raw(terms.owner, terms.deadline, core, &sequence.chain, blocks);
        let lease = lease.inspect_err(|_| back())?;
        let (format, extent) = (self.format.clone(), (positions, core.block_size));
        let export = Export::try_new(
            (terms.handover, terms.waits),
            &lease,
            extent,
            namespace,
            format,
        )
        .inspect_err(|_| {
            let _ = lease.end();
            back();
        })?;
        self.exports.push(export.clone());
        sequence.copy_credit |= copies;
        if terms.handover == Handover::Move {
            sequence.offer(export.clone());
            cursor.close();
        } else if shared {
            cursor.close();
        }
        self.statistics.exports += 1;
        Ok(export)
    }

    /// Somebody has heard of an offer.
    pub(crate) fn make_offer_known(&mut self, handle: Handle) {
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            sequence.make_offer_known();
        }
    }

    /// Takes an offer back that nobody has heard of.
    pub(crate) fn take_back(&mut self, handle: Handle, plan: &Offer, export: &Export) {
        // Nobody has aborted or committed it.
        let _ = export.abort();
        let core = &*self.pool.core;
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            sequence.take_offer_back();
            if plan.copies {
                sequence.copy_credit = false;
                core.credits.unreserve(1);
            }
        }
        self.exports.pop();
        self.statistics.exports -= 1;
    }
}
