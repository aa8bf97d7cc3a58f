//! The plan of all ranks of an instance.

use alloc::vec::Vec;
use core::ffi::c_char;
use core::fmt::Write;

use kvblock::{InstancePlan, InstancePlanError};

use super::input::kvb_plan_input;
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{self, Either, OnRank, Problem, kvb_error, refused};
use crate::status::{KVB_ERR_NO_MEMORY, kvb_status};
use crate::text::Buffer;

/// The plan of ranks in lockstep: each block is on all of them, so the rank with the fewest decides.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_instance_plan {
    /// `sizeof(kvb_instance_plan)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// The rank that has no more blocks than `blocks`, by its place in the list; of several the first.
    pub binding_rank: u64,
    /// Blocks that all ranks have.
    pub blocks: u64,
    /// Positions of a block.
    pub block_size: u64,
    /// Positions of the longest request that fits if it is alone.
    pub longest_request: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_instance_plan {}

/// What one rank has for the plan of all: `blocks = usable + stranded`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_planned_rank {
    /// Blocks that fit this rank.
    pub blocks: u64,
    /// Bytes of a block there.
    pub block_bytes: u64,
    /// Blocks of it that no sequence can use, as another rank has none beside them.
    pub stranded_blocks: u64,
    /// Their bytes.
    pub stranded_bytes: u64,
}

type NoPlan = Either<OnRank, InstancePlanError>;

/// The plan of these ranks.
///
/// # Safety
/// * `count` pointers, each to an input of the size that it says.
unsafe fn plan(
    ranks: *const *const kvb_plan_input,
    count: usize,
) -> Result<InstancePlan, Problem<NoPlan>> {
    // SAFETY: this function's contract.
    let inputs = unsafe { arg::slice(ranks, count) }?;
    let mut plans = Vec::new();
    let enough = plans.try_reserve_exact(inputs.len());
    enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
    for (rank, &input) in inputs.iter().enumerate() {
        // SAFETY: this function's contract.
        let input = unsafe { arg::versioned(input) }?;
        let of_rank = |error| Either::One(OnRank { rank, error });
        plans.push(input.plan().map_err(|it| it.map(of_rank))?);
    }
    InstancePlan::new(plans).map_err(|it| refused(Either::Other(it)))
}

/// Says how many blocks fit ranks that share one table of blocks.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written; `each` has room for `count`, or is NULL. Threads: any. O(ranks);
/// allocates. Errors: those of `kvb_plan_rank`, with the rank's place in the list as `error->shard`; `KVB_ERR_NO_SHARDS` (no rank),
/// `KVB_ERR_BLOCK_SIZE` (not that of rank 0), `KVB_ERR_NO_MEMORY`. NULL: `each`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_plan_ranks(
    ranks: *const *const kvb_plan_input,
    count: usize,
    out: *mut kvb_instance_plan,
    each: *mut kvb_planned_rank,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let out = unsafe { Answer::new(out) }?;
        // SAFETY: as above.
        let plan = unsafe { plan(ranks, count) }?;
        // SAFETY: as above.
        let each = unsafe { arg::places(each, if each.is_null() { 0 } else { count }) }?;
        for ((rank, place), of_rank) in each.iter_mut().enumerate().zip(plan.ranks()) {
            place.write(kvb_planned_rank {
                blocks: of_rank.blocks() as u64,
                block_bytes: of_rank.block_bytes(),
                stranded_blocks: plan.stranded_blocks(rank).unwrap_or(0) as u64,
                stranded_bytes: plan.stranded_bytes(rank).unwrap_or(0),
            });
        }
        out.put(&kvb_instance_plan {
            struct_size: 0,
            reserved: 0,
            binding_rank: plan.binding_rank() as u64,
            blocks: plan.blocks() as u64,
            block_size: plan.block_size() as u64,
            longest_request: plan.longest_request(),
        });
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Writes the plan of one rank or several for a person to read, as UTF-8 with a zero at its end, into `capacity` bytes. `*length` is what
/// all of it takes without the zero: where that is not below `capacity` the text was cut off.
///
/// Threads: any. O(ranks); allocates. Errors: those of `kvb_plan_ranks`. NULL: `text` if `capacity` is 0; `length`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_plan_text(
    ranks: *const *const kvb_plan_input,
    count: usize,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let plan = unsafe { plan(ranks, count) }?;
        // SAFETY: as above.
        let mut buffer = unsafe { Buffer::of(text, capacity) }?;
        // A buffer takes everything.
        let _ = write!(buffer, "{plan}");
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(length, buffer.finish()) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
