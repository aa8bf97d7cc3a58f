//! Recounts every instance, with the leases that the fleet has given on its blocks.

use core::error::Error;
use core::fmt;

use super::Fleet;
use super::member::InstanceId;
use crate::instance::InstanceInconsistency;
use crate::pool::Holder;

/// The first thing that an audit of a fleet found not to add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetInconsistency {
    /// Where.
    pub instance: InstanceId,
    /// What.
    pub found: InstanceInconsistency,
}

impl fmt::Display for FleetInconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {}: {}", self.instance, self.found)
    }
}
impl Error for FleetInconsistency {}

impl Fleet {
    /// Recounts every instance; `others` are all other holders of their pools. Only at rest: no other thread may use the pools meanwhile.
    ///
    /// # Errors
    /// The first thing that does not add up.
    ///
    /// As [`Instance::audit`](crate::Instance::audit) for each.
    pub fn audit(&self, others: &[&dyn Holder]) -> Result<(), FleetInconsistency> {
        for entry in &self.members {
            let tables = entry.leases.iter().map(|it| it as &dyn Holder);
            let holders = others.iter().copied().chain(tables);
            let audited = entry.instance.audit_beside(holders);
            let instance = entry.id;
            audited.map_err(|found| FleetInconsistency { instance, found })?;
        }
        Ok(())
    }
}
