//! Reports of instances and fleets, each of which is several reports with labels of their own.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::{Metrics, MetricsError};
use crate::report::{FleetReport, InstanceReport};

impl Metrics {
    /// Adds the figures of an instance, and those of each shard's pool and registry with its number as the label `shard`.
    ///
    /// # Errors
    /// [`MetricsError`]; nothing is added then.
    ///
    /// As [`pool`](Self::pool) and [`sequences`](Self::sequences) for each shard.
    pub fn instance(
        &mut self,
        labels: &[(&str, &str)],
        report: &InstanceReport,
    ) -> Result<(), MetricsError> {
        self.all_or_none(|page| page.add_instance(labels, report))
    }

    /// Adds the figures of a fleet: of each instance, with its name as the label `instance` and its model as the label `model`; of each
    /// model, with that label; and of the requests.
    ///
    /// # Errors
    /// [`MetricsError`]; nothing is added then.
    ///
    /// As [`instance`](Self::instance) for each.
    pub fn fleet(
        &mut self,
        labels: &[(&str, &str)],
        report: &FleetReport,
    ) -> Result<(), MetricsError> {
        self.all_or_none(|page| page.add_fleet(labels, report))
    }

    fn add_instance(
        &mut self,
        labels: &[(&str, &str)],
        report: &InstanceReport,
    ) -> Result<(), MetricsError> {
        self.instances.add(labels, report)?;
        for registry in &report.shards {
            let shard = registry.pool.shard.to_string();
            let labels = and(labels, &[("shard", &shard)]);
            self.pool(&labels, &registry.pool)?;
            self.sequences(&labels, registry)?;
        }
        Ok(())
    }

    fn add_fleet(
        &mut self,
        labels: &[(&str, &str)],
        report: &FleetReport,
    ) -> Result<(), MetricsError> {
        for it in &report.instances {
            let (id, model) = (it.id.to_string(), it.model.to_string());
            let labels = and(labels, &[("instance", &id), ("model", &model)]);
            self.members.add(&labels, it)?;
            self.add_instance(&labels, &it.report)?;
        }
        for it in &report.models {
            let model = it.model.to_string();
            self.models.add(&and(labels, &[("model", &model)]), it)?;
        }
        self.requests.add(labels, &report.statistics)
    }

    /// What a call that fails has added is taken out again.
    fn all_or_none(
        &mut self,
        add: impl FnOnce(&mut Self) -> Result<(), MetricsError>,
    ) -> Result<(), MetricsError> {
        let (pools, sequences) = (self.pools.len(), self.sequences.len());
        let (instances, members) = (self.instances.len(), self.members.len());
        let (models, requests) = (self.models.len(), self.requests.len());
        add(self).inspect_err(|_| {
            self.pools.truncate(pools);
            self.sequences.truncate(sequences);
            self.instances.truncate(instances);
            self.members.truncate(members);
            self.models.truncate(models);
            self.requests.truncate(requests);
        })
    }
}

/// Labels and more of them.
fn and<'a>(labels: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    labels.iter().chain(more).copied().collect()
}
