//! Reports in the text format that Prometheus reads.

mod error;
mod family;
mod fleet;
mod instance;
mod labels;
mod leases;
mod pool;
mod sequences;

pub use self::error::MetricsError;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use self::family::Section;
use super::{
    FleetReport, InstanceReport, LeasesReport, MemberReport, ModelReport, PoolReport, RankReport,
    SequencesReport,
};
use crate::error::OutOfMemory;
use crate::fleet::FleetStatistics;
use crate::text::try_to_string;

/// Reports of many pools, registries and tables of leases as one page of metrics, in the
/// [text exposition format](https://prometheus.io/docs/instrumenting/exposition_formats/) 0.0.4.
///
/// Each report comes with labels that say whose it is. All samples of a metric stand together, in the order in which the reports
/// were added. What counts events is a counter and ends in `_total`, all else is a gauge. Metrics of pools begin with
/// `kvblock_pool_`, those of registries with `kvblock_sequences`, those of leases with `kvblock_leases`; those of instances and their
/// ranks with `kvblock_instance_` and `kvblock_rank_`; those of fleets with `kvblock_fleet_`, `kvblock_model_` and `kvblock_member_`.
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
    ranks: Section<RankReport>,
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
            ranks: Section::new(instance::RANKS),
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

    /// Adds the figures of an instance: its own, those of each rank with a label `rank`, and those of each shard's registry and pool with
    /// a label `shard`.
    ///
    /// # Errors
    /// [`MetricsError`], also if `labels` has one of these names; nothing is added then.
    ///
    /// As [`pool`](Self::pool) for each rank and shard.
    pub fn instance(
        &mut self,
        labels: &[(&str, &str)],
        report: &InstanceReport,
    ) -> Result<(), MetricsError> {
        self.all_or_none(|it| it.add_instance(labels, report))
    }

    /// Adds the figures of a fleet: what became of its requests; each model, with a label `model`; and each instance with a label
    /// `instance`, as [`instance`](Self::instance) and what it is to the fleet.
    ///
    /// # Errors
    /// [`MetricsError`], also if `labels` has one of these names; nothing is added then.
    ///
    /// As [`instance`](Self::instance) for each.
    pub fn fleet(
        &mut self,
        labels: &[(&str, &str)],
        report: &FleetReport,
    ) -> Result<(), MetricsError> {
        self.all_or_none(|it| {
            it.requests.add(labels, &report.statistics)?;
            for model in &report.models {
                let number = try_to_string(model.model)?;
                it.models.add(&with(labels, "model", &number)?, model)?;
            }
            for member in &report.instances {
                let (id, model) = (try_to_string(member.id)?, try_to_string(member.model)?);
                let labels = with(labels, "instance", &id)?;
                let labels = with(&labels, "model", &model)?;
                it.members.add(&labels, member)?;
                it.add_instance(&labels, &member.report)?;
            }
            Ok(())
        })
    }

    /// The page, if there is memory for it; it is the same as that of `to_string`.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn try_to_string(&self) -> Result<String, OutOfMemory> {
        try_to_string(self)
    }

    fn add_instance(
        &mut self,
        labels: &[(&str, &str)],
        report: &InstanceReport,
    ) -> Result<(), MetricsError> {
        self.instances.add(labels, report)?;
        for rank in &report.ranks {
            let name = try_to_string(rank.shard)?;
            self.ranks.add(&with(labels, "rank", &name)?, rank)?;
        }
        for shard in &report.shards {
            let name = try_to_string(shard.pool.shard)?;
            let labels = with(labels, "shard", &name)?;
            self.pools.add(&labels, &shard.pool)?;
            self.sequences.add(&labels, shard)?;
        }
        Ok(())
    }

    fn all_or_none(
        &mut self,
        add: impl FnOnce(&mut Self) -> Result<(), MetricsError>,
    ) -> Result<(), MetricsError> {
        let before = (
            (self.pools.len(), self.sequences.len()),
            (self.instances.len(), self.ranks.len()),
            (self.members.len(), self.models.len(), self.requests.len()),
        );
        add(self).inspect_err(|_| {
            let ((pools, sequences), (instances, ranks), (members, models, requests)) = before;
            self.pools.truncate(pools);
            self.sequences.truncate(sequences);
            self.instances.truncate(instances);
            self.ranks.truncate(ranks);
            self.members.truncate(members);
            self.models.truncate(models);
            self.requests.truncate(requests);
        })
    }
}

/// Labels with one more.
fn with<'a>(
    labels: &[(&'a str, &'a str)],
    name: &'a str,
    value: &'a str,
) -> Result<Vec<(&'a str, &'a str)>, OutOfMemory> {
    let mut more = Vec::new();
    more.try_reserve_exact(labels.len() + 1)
        .map_err(|_| OutOfMemory)?;
    more.extend_from_slice(labels);
    more.push((name, value));
    Ok(more)
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// The page; each line ends with a line feed. No allocation.
impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.requests.fmt(f)?;
        self.models.fmt(f)?;
        self.members.fmt(f)?;
        self.instances.fmt(f)?;
        self.ranks.fmt(f)?;
        self.pools.fmt(f)?;
        self.sequences.fmt(f)?;
        self.leases.fmt(f)
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
            ranks,
            members,
            models,
            requests,
        } = Metrics::new();
        let families = all(pools.families())
            .chain(all(sequences.families()))
            .chain(all(leases.families()))
            .chain(all(instances.families()))
            .chain(all(ranks.families()))
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
