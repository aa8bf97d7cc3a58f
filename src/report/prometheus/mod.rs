//! Reports in the text format that Prometheus reads.

mod error;
mod family;
mod fleet;
mod instance;
mod instances;
mod labels;
mod leases;
mod pool;
mod sequences;

pub use self::error::MetricsError;

use core::fmt;

use self::family::Section;
use super::{InstanceReport, LeasesReport, MemberReport, ModelReport, PoolReport, SequencesReport};
use crate::fleet::FleetStatistics;

/// Reports of many pools, registries and tables of leases as one page of metrics, in the
/// [text exposition format](https://prometheus.io/docs/instrumenting/exposition_formats/) 0.0.4.
///
/// Each report comes with labels that say whose it is. All samples of a metric stand together, in the order in which the reports
/// were added. What counts events is a counter and ends in `_total`, all else is a gauge. Metrics of pools begin with
/// `kvblock_pool_`, those of registries with `kvblock_sequences`, those of leases with `kvblock_leases`, those of instances with
/// `kvblock_instance_`, those of fleets with `kvblock_fleet_`.
///
/// ```
/// use kvblock::{BlockPool, Metrics, PoolConfig};
/// let mut metrics = Metrics::new();
/// for shard in ["0", "1"] {
///     let pool = BlockPool::new(&PoolConfig::new(64, 16))?;
///     metrics.pool(&[("instance", "0"), ("shard", shard)], &pool.report())?;
/// }
/// let page = metrics.to_string();
/// assert!(page.contains("\
/// ## TYPE kvblock_pool_available_blocks gauge
/// kvblock_pool_available_blocks{instance=\"0\",shard=\"0\"} 64
/// kvblock_pool_available_blocks{instance=\"0\",shard=\"1\"} 64
/// "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Metrics {
    pools: Section<PoolReport>,
    sequences: Section<SequencesReport>,
    leases: Section<LeasesReport>,
    instances: Section<InstanceReport>,
    members: Section<MemberReport>,
    models: Section<ModelReport>,
    requests: Section<FleetStatistics>,
}

impl Metrics {
    /// The media type of the page, for the header `Content-Type`.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// An empty page.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pools: Section::new(pool::FAMILIES),
            sequences: Section::new(sequences::FAMILIES),
            leases: Section::new(leases::FAMILIES),
            instances: Section::new(instance::FAMILIES),
            members: Section::new(fleet::MEMBERS),
            models: Section::new(fleet::MODELS),
            requests: Section::new(fleet::REQUESTS),
        }
    }

    /// Adds the figures of a pool.
    ///
    /// A label with an empty value is left out, as it means the same as none.
    ///
    /// # Errors
    /// [`MetricsError`]; nothing is added then.
    ///
    /// A comparison with the labels of each pool that is there already. Allocates.
    pub fn pool(
        &mut self,
        labels: &[(&str, &str)],
        report: &PoolReport,
    ) -> Result<(), MetricsError> {
        self.pools.add(labels, report)
    }

    /// Adds the figures of a registry, without those of the pool below it: registries can share a pool, so that
    /// [`SequencesReport::pool`] is added once, by [`pool`](Self::pool).
    ///
    /// # Errors
    /// [`MetricsError`]; nothing is added then.
    ///
    /// A comparison with the labels of each registry that is there already. Allocates.
    pub fn sequences(
        &mut self,
        labels: &[(&str, &str)],
        report: &SequencesReport,
    ) -> Result<(), MetricsError> {
        self.sequences.add(labels, report)
    }

    /// Adds the figures of a table of leases.
    ///
    /// # Errors
    /// [`MetricsError`]; nothing is added then.
    ///
    /// A comparison with the labels of each table that is there already. Allocates.
    pub fn leases(
        &mut self,
        labels: &[(&str, &str)],
        report: &LeasesReport,
    ) -> Result<(), MetricsError> {
        self.leases.add(labels, report)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// The page; each line ends with a line feed. No allocation.
impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pools.fmt(f)?;
        self.sequences.fmt(f)?;
        self.leases.fmt(f)?;
        self.instances.fmt(f)?;
        self.members.fmt(f)?;
        self.models.fmt(f)?;
        self.requests.fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::report::prometheus::family::{Family, Kind, SAMPLE_NAMES, Samples};

    /// Name, kind, help, label of each family.
    fn all<R>(
        families: &'static [Family<R>],
    ) -> impl Iterator<Item = (&'static str, Kind, &'static str, Option<&'static str>)> {
        families.iter().map(|family| {
            let label = match family.samples {
                Samples::One(_) => None,
                Samples::By(label, _) => Some(label),
            };
            (family.name, family.kind, family.help, label)
        })
    }

    #[test]
    fn the_tables_keep_the_rules_of_names() {
        let Metrics {
            pools,
            sequences,
            leases,
            instances,
            members,
            models,
            requests,
        } = Metrics::new();
        let families = all(pools.families())
            .chain(all(sequences.families()))
            .chain(all(leases.families()))
            .chain(all(instances.families()))
            .chain(all(members.families()))
            .chain(all(models.families()))
            .chain(all(requests.families()));
        let mut seen = alloc::vec::Vec::new();
        for (name, kind, help, label) in families {
            assert!(name.starts_with("kvblock_"), "{name}");
            assert_eq!(name.ends_with("_total"), kind == Kind::Counter, "{name}");
            assert!(
                help.ends_with('.') && !help.contains(['\n', '\\']),
                "{help}"
            );
            assert!(label.is_none_or(|it| SAMPLE_NAMES.contains(&it)), "{name}");
            assert!(!seen.contains(&name), "{name} twice");
            seen.push(name);
        }
        assert!(seen.len() > 40, "{}", seen.len());
    }
}
