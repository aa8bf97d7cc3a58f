//! Admission: all of what a request needs, or nothing.

use kvblock::{Admit, AdmitError, Budget, Growth, LengthMismatch};

use super::handle::kvb_handle;
use super::kvb_seqs;
use crate::arg::{self, Argument, Versioned};
use crate::error::{self, kvb_error, refused};
use crate::prompt::{ReadPrompt, kvb_prompt};
use crate::status::{KVB_ERR_INVALID, kvb_status};

/// Nothing is set aside: an append that needs a block may be refused, and you preempt, wait, or end the request.
pub const KVB_GROWTH_ON_DEMAND: u32 = 0;
/// At most `growth_amount` positions beyond the prompt, and room for all of them is set aside: an append within never fails.
pub const KVB_GROWTH_CAP: u32 = 1;
/// `growth_amount` blocks are set aside; appends draw on them, and at block borders they are made up to that number again where
/// there is room. An append fails only if these and what is available do not cover it.
pub const KVB_GROWTH_AHEAD: u32 = 2;

/// The need is held against the capacity as if nothing were shared: tables and promises of the whole registry must fit. Otherwise a
/// shared block counts once.
pub const KVB_ADMIT_CONSERVATIVE: u32 = 1;
/// Its blocks are not published: nobody else will find them.
pub const KVB_ADMIT_UNPUBLISHED: u32 = 2;
/// It returns after a preemption: its hits are counted apart.
pub const KVB_ADMIT_RETURNING: u32 = 4;

/// A request. All zero but `struct_size` and `prompt` is a good choice.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_admit {
    /// `sizeof(kvb_admit)`.
    pub struct_size: u32,
    /// `KVB_ADMIT_*`, or 0.
    pub flags: u32,
    /// What is to be computed.
    pub prompt: kvb_prompt,
    /// `KVB_GROWTH_*`: what it is promised beyond the prompt.
    pub growth: u32,
    /// 0.
    pub reserved: u32,
    /// Positions for `KVB_GROWTH_CAP`, blocks for `KVB_GROWTH_AHEAD`.
    pub growth_amount: usize,
    /// Your name for it: see `kvb_seqs_find`.
    pub label: u64,
}

// SAFETY: integers and pointers.
unsafe impl Versioned for kvb_admit {}

/// A request that was read, with what it needs to be lent.
pub(crate) struct ReadAdmit<'a> {
    prompt: ReadPrompt<'a>,
    growth: Growth,
    flags: u32,
    label: u64,
}

impl ReadAdmit<'_> {
    /// # Safety
    /// * Null, or a request of the size that it says, and what it points to is there.
    pub(crate) unsafe fn new(request: *const kvb_admit) -> Result<Self, Argument> {
        // SAFETY: this function's contract.
        let request = unsafe { arg::versioned(request) }?;
        arg::unused(request.reserved)?;
        let known = KVB_ADMIT_CONSERVATIVE | KVB_ADMIT_UNPUBLISHED | KVB_ADMIT_RETURNING;
        Ok(Self {
            flags: arg::flags(request.flags, known)?,
            growth: match request.growth {
                KVB_GROWTH_ON_DEMAND => Growth::OnDemand,
                KVB_GROWTH_CAP => Growth::Cap(request.growth_amount),
                KVB_GROWTH_AHEAD => Growth::Ahead(request.growth_amount),
                _ => return Err(Argument(KVB_ERR_INVALID)),
            },
            // SAFETY: this function's contract.
            prompt: unsafe { ReadPrompt::new(&request.prompt) }?,
            label: request.label,
        })
    }

    const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn lend(&self) -> Admit<'_> {
        let budget = if self.has(KVB_ADMIT_CONSERVATIVE) {
            Budget::Conservative
        } else {
            Budget::Physical
        };
        Admit::new(self.prompt.lend(), self.growth)
            .budget(budget)
            .insert(!self.has(KVB_ADMIT_UNPUBLISHED))
            .returning(self.has(KVB_ADMIT_RETURNING))
            .label(self.label)
    }
}

/// An admitted sequence.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_admitted {
    /// Its name from now on.
    pub seq: kvb_handle,
    /// Positions that were found: compute from there on.
    pub hit: usize,
    /// Blocks that were taken for the rest, on the shard that took the fewest: the last ones of its table.
    pub fresh: usize,
}

/// What an admission takes on one shard, in blocks. It must have `hit_idle + fresh + promised` available above the watermark.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_cost {
    /// Entries of its table: `hit_held + hit_idle + fresh`.
    pub blocks: usize,
    /// Found, and held by somebody already: they cost nothing.
    pub hit_held: usize,
    /// Found idle.
    pub hit_idle: usize,
    /// Taken.
    pub fresh: usize,
    /// Set aside for its growth.
    pub promised: usize,
}

/// How many positions of a prompt are findable on every shard at this instant. Changes nothing, not even the order of reclaim.
///
/// Threads: the registry's. O(blocks found) a shard. Errors: `KVB_ERR_LENGTH_MISMATCH`, `KVB_ERR_NO_MEMORY` (with extra keys only).
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_probe(
    seqs: *const kvb_seqs,
    prompt: *const kvb_prompt,
    positions: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, prompt, out) =
            unsafe { (arg::get(seqs)?, arg::get(prompt)?, arg::place(positions)?) };
        // SAFETY: as above.
        let prompt = unsafe { ReadPrompt::new(prompt) }?;
        let found = seqs.inner.probe(&prompt.lend());
        out.write(found.map_err(refused::<LengthMismatch>)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// What `kvb_seqs_admit` would take on each shard at this instant, or the refusal that it would give. Changes nothing.
///
/// Ownership: `costs` has room for one a shard, or is NULL. Threads: the registry's. O(blocks found) a shard; with a conservative budget a
/// look at every slot. Errors: as `kvb_seqs_admit`. NULL: `costs`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_check(
    seqs: *const kvb_seqs,
    request: *const kvb_admit,
    costs: *mut kvb_cost,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, request) = unsafe { (arg::get(seqs)?, ReadAdmit::new(request)?) };
        let each = seqs
            .inner
            .check(&request.lend())
            .map_err(refused::<AdmitError>)?;
        if costs.is_null() {
            return Ok(());
        }
        // SAFETY: as above; one a shard.
        let places = unsafe { arg::places(costs, each.shards().len()) }?;
        for (place, cost) in places.iter_mut().zip(each.shards()) {
            place.write(kvb_cost {
                blocks: cost.blocks,
                hit_held: cost.hit_held,
                hit_idle: cost.hit_idle,
                fresh: cost.fresh,
                promised: cost.promised,
            });
        }
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Admits a sequence on every shard: holds what is found of its prompt, takes blocks for the rest, and sets aside what it is promised;
/// all of it or nothing. All positions of the prompt are appended and known then, and those found are computed; tell the others with
/// `kvb_seqs_computed`.
///
/// Ownership: nothing that `request` points to is kept. Threads: the registry's. O(blocks); allocates only for sequences longer than
/// `kvb_seqs_config.positions`, and with extra keys. Errors, after which nothing has changed: `KVB_ERR_NEVER_FITS` (waiting cannot help),
/// `KVB_ERR_SHORTFALL`, `KVB_ERR_TOO_MANY_SEQUENCES`, `KVB_ERR_LENGTH_MISMATCH`, `KVB_ERR_NO_MEMORY`, `KVB_ERR_INVALID`,
/// `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_admit(
    seqs: *mut kvb_seqs,
    request: *const kvb_admit,
    out: *mut kvb_admitted,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, out) = unsafe { (arg::get_mut(seqs)?, arg::place(out)?) };
        // SAFETY: as above.
        let request = unsafe { ReadAdmit::new(request) }?;
        let admitted = seqs
            .inner
            .admit(&request.lend())
            .map_err(refused::<AdmitError>)?;
        out.write(kvb_admitted {
            seq: kvb_handle::of(admitted.handle),
            hit: admitted.hit,
            fresh: admitted.fresh,
        });
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
