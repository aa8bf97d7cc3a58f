//! Bytes of bookkeeping.

use crate::Effort;
use crate::measure::at_most;
use crate::workload::pool;

/// Just above a power of two, where the ring of tokens is twice as long as it need be.
const WORST: usize = (1 << 17) + 1;
const GATE: f64 = 96.0;

pub(crate) fn run(_: &Effort) {
    println!("Memory: bytes a block beside its tokens, as `report` says it");
    println!("{:>10} {:>8} {:>6}  verdict", "blocks", "bytes", "gate");
    for blocks in [10_000, 100_000, 1_000_000, WORST] {
        let bytes = pool(blocks).report().bookkeeping_bytes_per_block();
        let verdict = at_most(bytes, Some(GATE));
        println!("{blocks:>10} {bytes:>8.2} {GATE:>6}  {verdict}");
    }
}
