//! The figures of a registry of sequences.

use alloc::vec::Vec;
use core::fmt;

use bitvec::vec::BitVec;

use super::PoolReport;
use crate::array::try_bits;
use crate::block::BlockId;
use crate::error::{OutOfMemory, or_abort};
use crate::sequence::{HitStatistics, Sequences};

/// The figures of one registry at one look, and of the pool below it.
///
/// Blocks of the registry are counted once here, however many of its sequences share them; `table_entries` counts them once
/// for each. `held_blocks * block_size = used_positions + unused_positions`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SequencesReport {
    /// The pool, with what others hold of it.
    pub pool: PoolReport,
    /// Sequences that live.
    pub sequences: usize,
    /// Slots for sequences.
    pub max_sequences: usize,
    /// Different blocks in their tables.
    pub held_blocks: usize,
    /// Entries of all tables: a shared block once for each sequence.
    pub table_entries: usize,
    /// Entries of all tables beyond the first for each block.
    pub shared_entries: usize,
    /// Blocks set aside for growth and copies.
    pub promised: usize,
    /// Positions of all sequences, shared ones once for each.
    pub positions: usize,
    /// Positions in use in the blocks of the tables, shared ones once.
    pub used_positions: usize,
    /// Positions of these blocks that hold nothing: behind the ends of sequences, and in lookahead blocks.
    pub unused_positions: usize,
    /// Copies that have not been reported as made.
    pub pending_copies: usize,
    /// Blocks of imports that some writer may still touch, of living sequences or of ended ones.
    pub loading: usize,
    /// Blocks that are here twice in one process while transfers last: of a move away all that is offered and read, of an import from an
    /// export what comes.
    pub duplicated: usize,
    /// What its sequences come to with a physical budget: `held_blocks + promised`. Beside that, blocks are held for duplicates and
    /// pending copies, and by others: see `pool`.
    pub physical: usize,
    /// What they come to with a conservative budget, as its admissions see it: `table_entries + promised`.
    pub conservative: usize,
    /// Blocks that admissions leave available.
    pub watermark: usize,
    /// Lookups of first admissions.
    pub first: HitStatistics,
    /// Lookups of sequences that came back after a preemption.
    pub returned: HitStatistics,
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
    /// Sequences that left by a swap that was finished.
    pub swapped_out: u64,
    /// Sequences that came by a swap that was finished. Their lookups are neither first ones nor returns.
    pub swapped_in: u64,
    /// Blocks that were copied here for these.
    pub swap_copied: u64,
    /// Blocks that were found here for these, and not copied.
    pub swap_hits: u64,
    /// Duplicates that were put into tables.
    pub adopted: u64,
    /// Sequences whose publishing could not go on.
    pub publishing_ended: u64,
}

impl Sequences {
    /// The figures. Looks at every block and every table once. Allocates, and aborts where there is no memory:
    /// [`try_report`](Self::try_report) tells.
    #[must_use]
    pub fn report(&self) -> SequencesReport {
        or_abort(self.try_report())
    }

    /// The figures, if there is memory to count them.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// As [`report`](Self::report).
    pub fn try_report(&self) -> Result<SequencesReport, OutOfMemory> {
        let pool = self.pool().report();
        let usage = Usage::of(self, pool.max_blocks, pool.block_size)?;
        let held_blocks = usage.full.count_ones() + usage.partial_blocks;
        let promised = self.promised();
        let used_positions = usage.full.count_ones() * pool.block_size + usage.partial_positions;
        let statistics = self.statistics();
        Ok(SequencesReport {
            pool,
            sequences: self.len(),
            max_sequences: self.max_sequences(),
            held_blocks,
            table_entries: usage.entries,
            shared_entries: usage.entries - held_blocks,
            promised,
            positions: usage.positions,
            used_positions,
            unused_positions: held_blocks * pool.block_size - used_positions,
            pending_copies: self.pending_copies(),
            loading: self.loading_blocks(),
            duplicated: self.duplicated_blocks(),
            physical: held_blocks + promised,
            conservative: usage.entries + promised,
            watermark: self.watermark(),
            first: statistics.first,
            returned: statistics.returned,
            preemptions: statistics.preemptions,
            refused_appends: statistics.refused_appends,
            copies: statistics.copies,
            imports: statistics.imports,
            exports: statistics.exports,
            swapped_out: statistics.swapped_out,
            swapped_in: statistics.swapped_in,
            swap_copied: statistics.swap_copied,
            swap_hits: statistics.swap_hits,
            adopted: statistics.adopted,
            publishing_ended: statistics.unpublished,
        })
    }
}

/// What the tables come to.
struct Usage {
    /// Blocks that some sequence fills.
    full: BitVec<usize>,
    /// Blocks that none does, and positions that are in use in them.
    partial_blocks: usize,
    partial_positions: usize,
    entries: usize,
    positions: usize,
}

impl Usage {
    fn of(sequences: &Sequences, blocks: usize, block_size: usize) -> Result<Self, OutOfMemory> {
        let mut usage = Self {
            full: try_bits(blocks)?,
            partial_blocks: 0,
            partial_positions: 0,
            entries: 0,
            positions: 0,
        };
        let mut partial: Vec<(BlockId, usize)> = Vec::new();
        for (table, positions) in sequences.tables() {
            usage.entries += table.len();
            usage.positions += positions;
            let (full, rest) = table.split_at(positions / block_size);
            for block in full {
                usage.full.set(block.index(), true);
            }
            partial.try_reserve(rest.len()).map_err(|_| OutOfMemory)?;
            let mut left = positions % block_size;
            partial.extend(
                rest.iter()
                    .map(|&block| (block, core::mem::take(&mut left))),
            );
        }
        // Of a block that several have in part, the longest part counts.
        partial.sort_unstable();
        for (at, &(block, used)) in partial.iter().enumerate() {
            let is_longest = partial.get(at + 1).is_none_or(|&(next, _)| next != block);
            if is_longest && !usage.full[block.index()] {
                usage.partial_blocks += 1;
                usage.partial_positions += used;
            }
        }
        Ok(usage)
    }
}

impl fmt::Display for SequencesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capacity = self.pool.capacity;
        writeln!(
            f,
            "{} sequences of at most {}",
            self.sequences, self.max_sequences
        )?;
        for (name, n, note) in [
            ("held by them", self.held_blocks, "   shared ones once"),
            (
                "table entries",
                self.table_entries,
                "   shared ones once a sequence",
            ),
            ("shared entries", self.shared_entries, ""),
            ("promised", self.promised, "   for growth and copies"),
            ("physical budget", self.physical, "   held + promised"),
            (
                "conservative budget",
                self.conservative,
                "   entries + promised",
            ),
            ("watermark", self.watermark, "   kept from admissions"),
            ("loading", self.loading, "   writers may touch them"),
            ("duplicated", self.duplicated, "   in moves under way"),
        ] {
            super::blocks(f, name, n, capacity, note)?;
        }
        for (name, n) in [
            ("positions", self.positions),
            ("used in blocks", self.used_positions),
            ("unused in blocks", self.unused_positions),
        ] {
            writeln!(f, "  {name:<20}{n:>14} positions")?;
        }
        for (name, n) in [
            ("pending copies", self.pending_copies as u64),
            ("copies", self.copies),
            ("imports", self.imports),
            ("exports", self.exports),
            ("preemptions", self.preemptions),
            ("swapped out", self.swapped_out),
            ("swapped in", self.swapped_in),
            ("  blocks copied", self.swap_copied),
            ("  blocks found", self.swap_hits),
            ("refused appends", self.refused_appends),
            ("adopted duplicates", self.adopted),
            ("publishing ended", self.publishing_ended),
        ] {
            super::number(f, name, n)?;
        }
        for (name, hits) in [
            ("first lookups", self.first),
            ("return lookups", self.returned),
        ] {
            writeln!(
                f,
                "  {name:<20}{:>14} of {} positions {:>6.1} %   in {} requests",
                hits.hit,
                hits.queried,
                100.0 * hits.ratio(),
                hits.requests
            )?;
        }
        self.pool.fmt(f)
    }
}
