//! The figures of an instance and of its shards.

use core::ffi::c_char;
use core::fmt::Write;

use kvblock::{HitStatistics, InstanceReport, OutOfMemory, SequencesReport};

use super::kvb_seqs;
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{Problem, call, plain, refused};
use crate::status::{KVB_ERR_OUT_OF_RANGE, kvb_status};
use crate::text::Buffer;

/// The figures of an instance at one look: of the shard that binds the others.
///
/// What one shard has free is no use where another has nothing: so `free` is the least, and the two budgets are the most, of any shard.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_seqs_report {
    /// `sizeof(kvb_seqs_report)`.
    pub struct_size: u32,
    /// The shard that has the fewest blocks for an admission.
    pub binding: u32,
    /// 1 if all ranks have one table, 0 if each shard has one.
    pub lockstep: u32,
    /// 0.
    pub reserved: u32,
    /// Token positions of a block.
    pub block_size: u64,
    /// Sequences that live.
    pub sequences: u64,
    /// Slots for sequences.
    pub max_sequences: u64,
    /// Blocks that an admission can have there: available above the watermark, and within the capacity.
    pub free: u64,
    /// Blocks that one sequence can ever have: capacity above the watermark, on the shard where that is the least.
    pub largest: u64,
    /// Blocks with a holder, shared ones once, on the shard that has the most of them.
    pub held: u64,
    /// What its sequences come to with a physical budget, on the shard where that is the most: shared blocks once.
    pub physical: u64,
    /// What they come to with a conservative budget, on the shard where that is the most: shared blocks once for each sequence.
    pub conservative: u64,
    /// Blocks that writers may still touch, over all shards.
    pub loading: u64,
    /// Blocks that transfers under way keep twice, over all shards.
    pub duplicated: u64,
    /// Blocks above the limit that are still in service, over all shards.
    pub draining: u64,
    /// Blocks of all ranks that no sequence can use.
    pub stranded: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_seqs_report {}

/// What one rank, or one shard, has for an instance: `usable + stranded = blocks`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_rank_report {
    /// `sizeof(kvb_rank_report)`.
    pub struct_size: u32,
    /// Which.
    pub shard: u32,
    /// Blocks that its memory has room for.
    pub blocks: u64,
    /// Blocks of them that sequences can use.
    pub usable: u64,
    /// Blocks of them that they can't, as another rank has none beside them.
    pub stranded: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_rank_report {}

/// Lookups of admitted prompts, in token positions. Refused admissions are none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_hits {
    /// Admitted requests.
    pub requests: u64,
    /// Positions of their prompts.
    pub queried: u64,
    /// Positions that were found.
    pub hit: u64,
}

impl From<HitStatistics> for kvb_hits {
    fn from(hits: HitStatistics) -> Self {
        Self {
            requests: hits.requests,
            queried: hits.queried,
            hit: hits.hit,
        }
    }
}

/// The figures of a registry on one shard. Blocks are counted once here, however many of its sequences share them; `table_entries` counts
/// them once for each. `held_blocks * block_size = used_positions + unused_positions`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_registry_report {
    /// `sizeof(kvb_registry_report)`.
    pub struct_size: u32,
    /// Which shard.
    pub shard: u32,
    /// Sequences that live.
    pub sequences: u64,
    /// Slots for sequences.
    pub max_sequences: u64,
    /// Different blocks in their tables.
    pub held_blocks: u64,
    /// Entries of all tables: a shared block once for each sequence.
    pub table_entries: u64,
    /// Entries of all tables beyond the first for each block.
    pub shared_entries: u64,
    /// Blocks set aside for growth and copies.
    pub promised: u64,
    /// Positions of all sequences, shared ones once for each.
    pub positions: u64,
    /// Positions in use in the blocks of the tables, shared ones once.
    pub used_positions: u64,
    /// Positions of these blocks that hold nothing: behind the ends of sequences, and in lookahead blocks.
    pub unused_positions: u64,
    /// Copies that have not been reported as made.
    pub pending_copies: u64,
    /// Blocks of imports that some writer may still touch, of living sequences or of ended ones.
    pub loading: u64,
    /// Blocks that are here twice in one process while transfers last: of a move away all that is offered and read, of an import from an
    /// export what comes.
    pub duplicated: u64,
    /// What its sequences come to with a physical budget: `held_blocks + promised`. Beside that, blocks are held for duplicates and
    /// pending copies, and by others: see `pool`.
    pub physical: u64,
    /// What they come to with a conservative budget, as its admissions see it: `table_entries + promised`.
    pub conservative: u64,
    /// Blocks that admissions leave available.
    pub watermark: u64,
    /// Lookups of first admissions.
    pub first: kvb_hits,
    /// Lookups of sequences that came back after a preemption.
    pub returned: kvb_hits,
    /// Sequences that were preempted.
    pub preemptions: u64,
    /// Calls of `step`, `append` and `ensure` that were refused for want of blocks, now or for ever; counted in `pool`, too.
    pub refused_appends: u64,
    /// Copies of shared or published blocks.
    pub copies: u64,
    /// Sequences whose first positions came from elsewhere, or were to.
    pub imports: u64,
    /// Times that a sequence was offered to somebody else.
    pub exports: u64,
    /// Duplicates that were put into tables.
    pub adopted: u64,
    /// Sequences whose publishing could not go on.
    pub publishing_ended: u64,
    /// Sequences that left by a swap that was finished.
    pub swapped_out: u64,
    /// Sequences that came by a swap that was finished. Their lookups are neither first ones nor returns.
    pub swapped_in: u64,
    /// Blocks that were copied here for these.
    pub swap_copied: u64,
    /// Blocks that were found here for these, and not copied.
    pub swap_hits: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_registry_report {}

impl From<&InstanceReport> for kvb_seqs_report {
    fn from(report: &InstanceReport) -> Self {
        Self {
            struct_size: 0,
            binding: report.binding.get(),
            lockstep: u32::from(report.lockstep),
            reserved: 0,
            block_size: report.block_size as u64,
            sequences: report.sequences as u64,
            max_sequences: report.max_sequences as u64,
            free: report.free as u64,
            largest: report.largest as u64,
            held: report.held as u64,
            physical: report.physical as u64,
            conservative: report.conservative as u64,
            loading: report.loading as u64,
            duplicated: report.duplicated as u64,
            draining: report.draining as u64,
            stranded: report.stranded as u64,
        }
    }
}

impl From<&SequencesReport> for kvb_registry_report {
    fn from(report: &SequencesReport) -> Self {
        Self {
            struct_size: 0,
            shard: report.pool.shard.get(),
            sequences: report.sequences as u64,
            max_sequences: report.max_sequences as u64,
            held_blocks: report.held_blocks as u64,
            table_entries: report.table_entries as u64,
            shared_entries: report.shared_entries as u64,
            promised: report.promised as u64,
            positions: report.positions as u64,
            used_positions: report.used_positions as u64,
            unused_positions: report.unused_positions as u64,
            pending_copies: report.pending_copies as u64,
            loading: report.loading as u64,
            duplicated: report.duplicated as u64,
            physical: report.physical as u64,
            conservative: report.conservative as u64,
            watermark: report.watermark as u64,
            first: report.first.into(),
            returned: report.returned.into(),
            preemptions: report.preemptions,
            refused_appends: report.refused_appends,
            copies: report.copies,
            imports: report.imports,
            exports: report.exports,
            swapped_out: report.swapped_out,
            swapped_in: report.swapped_in,
            swap_copied: report.swap_copied,
            swap_hits: report.swap_hits,
            adopted: report.adopted,
            publishing_ended: report.publishing_ended,
        }
    }
}

/// Reads the figures of an instance.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(max_blocks + table entries);
/// allocates. Errors: `KVB_ERR_STRUCT_SIZE`, `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_get_report(
    seqs: *const kvb_seqs,
    out: *mut kvb_seqs_report,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get(seqs)?, Answer::new(out)?) };
        let report = seqs.inner.try_report().map_err(refused)?;
        out.put(&kvb_seqs_report::from(&report));
        Ok::<_, Problem<OutOfMemory>>(())
    };
    // SAFETY: null.
    unsafe { call(core::ptr::null_mut(), body) }
}

/// Reads the figures of a registry on one shard, which is below `kvb_seqs_shards`. Those of its pool: `kvb_seqs_pool`.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(max_blocks + table entries);
/// allocates. Errors: `KVB_ERR_STRUCT_SIZE`, `KVB_ERR_OUT_OF_RANGE`, `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_get_shard_report(
    seqs: *const kvb_seqs,
    shard: usize,
    out: *mut kvb_registry_report,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get(seqs)?, Answer::new(out)?) };
        let report = seqs.shard(shard)?.try_report().map_err(refused)?;
        out.put(&kvb_registry_report::from(&report));
        Ok::<_, Problem<OutOfMemory>>(())
    };
    // SAFETY: null.
    unsafe { call(core::ptr::null_mut(), body) }
}

/// Reads what one rank has for an instance in lockstep, or one shard of a split one; `at` is below `kvb_seqs_width`.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(1).
/// Errors: `KVB_ERR_STRUCT_SIZE`, `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_get_rank_report(
    seqs: *const kvb_seqs,
    at: usize,
    out: *mut kvb_rank_report,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get(seqs)?, Answer::new(out)?) };
        let it = &seqs.inner;
        let rank = it.rank(at).ok_or(Argument(KVB_ERR_OUT_OF_RANGE))?;
        out.put(&kvb_rank_report {
            struct_size: 0,
            shard: rank.shard.get(),
            blocks: rank.blocks as u64,
            usable: it.capacity(at) as u64,
            stranded: it.stranded(at) as u64,
        });
        Ok(())
    })
}

/// Writes the figures of an instance and of all its shards for a person to read, as UTF-8 with a zero at its end, into `capacity` bytes.
/// `*length` is what all of it takes without the zero: where that is not below `capacity` the text was cut off.
///
/// Threads: the registry's. O(max_blocks + table entries); allocates. Errors: `KVB_ERR_NO_MEMORY`. NULL: `text` if `capacity` is 0;
/// `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_report_text(
    seqs: *const kvb_seqs,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let seqs = unsafe { arg::get(seqs) }?;
        // SAFETY: as above.
        let mut buffer = unsafe { Buffer::of(text, capacity) }?;
        let report = seqs.inner.try_report().map_err(refused)?;
        // A buffer takes everything.
        let _ = write!(buffer, "{report}");
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(length, buffer.finish()) };
        Ok::<_, Problem<OutOfMemory>>(())
    };
    // SAFETY: null.
    unsafe { call(core::ptr::null_mut(), body) }
}
