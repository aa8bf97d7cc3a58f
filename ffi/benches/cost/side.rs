//! The calls that are measured, on either side of the C interface.

/// Blocks of the pool.
pub(crate) const BLOCKS: usize = 100_000;
/// Positions of a block.
pub(crate) const BLOCK: usize = 16;
/// Sequences of a batch.
pub(crate) const BATCH: usize = 256;
/// Entries of a row of block tables.
pub(crate) const STRIDE: usize = 64;

/// A registry over one pool, with a batch of sequences, of which each is to get one position a step. Whatever is refused panics.
///
/// Sequences are named by the bits of their handles.
pub(crate) trait Side {
    fn available(&self) -> usize;
    fn check(&self, blocks: usize);
    fn slot(&self, seq: u64) -> u32;
    fn admit(&mut self, tokens: &[u32], label: u64) -> u64;
    fn release(&mut self, seq: u64);
    fn append(&mut self, seq: u64, positions: usize);
    fn truncate(&mut self, seq: u64, positions: usize);
    fn computed(&mut self, seq: u64, positions: usize);
    /// The positions of its state.
    fn positions(&self, seq: u64) -> usize;

    /// The batch of all later steps.
    fn set_batch(&mut self, seqs: &[u64]);
    fn step(&mut self);
    /// Names the batch anew by its labels.
    fn find(&mut self, labels: &[u64]);
    /// The position `at` of each is this token, and computed.
    fn advance(&mut self, at: usize, tokens: &[u32]);
    /// The block tables of the batch into rows; the first entry of the last row.
    fn copy_tables(&mut self) -> i32;
}
