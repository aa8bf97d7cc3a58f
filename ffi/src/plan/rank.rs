//! The plan of one rank.

use kvblock::{CapacityPlan, ElementType, LayoutError};

use super::input::kvb_plan_input;
use crate::arg::{self, Answer, Versioned};
use crate::error::{self, Either, kvb_error, refused};
use crate::format::kvb_format;
use crate::object;
use crate::status::kvb_status;

/// How many blocks fit into the memory of one rank, and where the rest of it goes:
/// `device_memory = weights + workspaces + staging + margin + cache_bytes` and `cache_bytes = blocks * block_bytes + remainder`, exactly.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_plan {
    /// `sizeof(kvb_plan)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Bytes of the device.
    pub device_memory: u64,
    /// Bytes of them for the weights.
    pub weights: u64,
    /// Bytes of them for activations, attention workspaces, captured graphs, communication.
    pub workspaces: u64,
    /// Bytes of them for buffers through which blocks are moved.
    pub staging: u64,
    /// Bytes of them that are left alone.
    pub margin: u64,
    /// Bytes left for K/V.
    pub cache_bytes: u64,
    /// Bytes of a block, in all layers.
    pub block_bytes: u64,
    /// Blocks that fit: what a pool of this rank is made with.
    pub blocks: u64,
    /// Positions of a block.
    pub block_size: u64,
    /// Bytes left for K/V that are too few for another block.
    pub remainder: u64,
    /// Positions of the longest request that fits if it is alone.
    pub longest_request: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_plan {}

impl From<&CapacityPlan> for kvb_plan {
    fn from(plan: &CapacityPlan) -> Self {
        let of = |number| {
            let mut terms = plan.terms().iter();
            let found = terms.find(|(term, _)| super::input::term(*term) == number);
            found.map_or(0, |&(_, bytes)| bytes)
        };
        Self {
            struct_size: 0,
            reserved: 0,
            device_memory: plan.device_memory(),
            weights: of(super::KVB_PLAN_TERM_WEIGHTS),
            workspaces: of(super::KVB_PLAN_TERM_WORKSPACES),
            staging: of(super::KVB_PLAN_TERM_STAGING),
            margin: of(super::KVB_PLAN_TERM_MARGIN),
            cache_bytes: plan.cache_bytes(),
            block_bytes: plan.block_bytes(),
            blocks: plan.blocks() as u64,
            block_size: plan.block_size() as u64,
            remainder: plan.remainder(),
            longest_request: plan.longest_request(),
        }
    }
}

/// Says how many blocks fit a rank.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1), no allocation.
/// Errors: `KVB_ERR_PLAN_ZERO`, `KVB_ERR_PLAN_MARGIN`, `KVB_ERR_PLAN_DOES_NOT_FIT`, `KVB_ERR_PLAN_OVERFLOW`,
/// `KVB_ERR_PLAN_LESS_THAN_A_BLOCK`, `KVB_ERR_BLOCK_SIZE`, `KVB_ERR_OUT_OF_RANGE` (no such rank of `tensor_parallel`),
/// `KVB_ERR_TOO_MANY_BLOCKS` (a shard has no ids for the rest: larger blocks are fewer), `KVB_ERR_INVALID` (two margins, or heads beside
/// a latent vector), `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_plan_rank(
    input: *const kvb_plan_input,
    out: *mut kvb_plan,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (input, out) = unsafe { (arg::versioned(input)?, Answer::new(out)?) };
        out.put(&kvb_plan::from(&input.plan()?));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Sequences of so many positions each that fit into so many blocks at the same time, if they share nothing. One that is empty needs a
/// block as one of a single position does.
///
/// Threads: any. O(1). 0 if `block_size` is 0.
#[unsafe(no_mangle)]
pub extern "C" fn kvb_plan_sequences_at(blocks: u64, block_size: u64, positions: u64) -> u64 {
    if block_size == 0 {
        return 0;
    }
    blocks / positions.div_ceil(block_size).max(1)
}

/// Makes the format of a rank's blocks, for transfers and loans: K and V (or the latents alone) and scales have a plane each, layer by
/// layer, of `block_bytes` together.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_format_destroy`. Threads: any. O(layers). Errors: those of `kvb_plan_rank`, and
/// `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_plan_format(
    input: *const kvb_plan_input,
    element: u32,
    out: *mut *mut kvb_format,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (input, out) = unsafe { (arg::versioned(input)?, arg::place(out)?) };
        let plan = input
            .plan()
            .map_err(|it| it.map(Either::<_, LayoutError>::One))?;
        let inner = plan.format(ElementType::new(element));
        let inner = inner.map_err(|it| refused(Either::Other(it)))?;
        Ok(object::give(kvb_format { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
