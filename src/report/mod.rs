//! Figures: of a shard, of a table of leases, of a registry of sequences, of an instance, of a fleet; as metrics for Prometheus.

mod fleet;
mod instance;
mod leases;
mod pool;
mod prometheus;
mod sequences;

pub use self::fleet::{FleetReport, MemberReport, ModelReport};
pub use self::instance::{InstanceReport, RankReport};
pub use self::leases::LeasesReport;
pub use self::pool::PoolReport;
pub use self::prometheus::{Metrics, MetricsError};
pub use self::sequences::SequencesReport;

use core::fmt;

/// Writes a count of blocks with its share of a whole, aligned.
#[expect(clippy::cast_precision_loss, reason = "a percentage to read")]
fn blocks(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    n: usize,
    whole: usize,
    note: &str,
) -> fmt::Result {
    let share = 100.0 * n as f64 / whole.max(1) as f64;
    writeln!(f, "  {name:<20}{n:>14} blocks {share:>6.1} %{note}")
}

/// Writes a count, aligned with those.
fn number(f: &mut fmt::Formatter<'_>, name: &str, n: u64) -> fmt::Result {
    writeln!(f, "  {name:<20}{n:>14}")
}
