//! The figures of a fleet: each instance for itself, and for each model the largest request that fits on one beside the sum.

use alloc::vec::Vec;
use core::fmt;

use super::InstanceReport;
use crate::array::try_push;
use crate::error::{OutOfMemory, or_abort};
use crate::fleet::{Fleet, FleetStatistics, InstanceId, InstanceState, Largest, Share};

/// The figures of one instance of a fleet.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MemberReport {
    /// Which.
    pub id: InstanceId,
    /// The model that it serves.
    pub model: u64,
    /// Whether it takes requests.
    pub state: InstanceState,
    /// How much of its memory is in use, and of its token service.
    pub share: Share,
    /// Blocks that it has lent on each rank: those that the borrower has, or that drain for it.
    pub lent: usize,
    /// Blocks that it has borrowed on each rank.
    pub borrowed: usize,
    /// Its own figures.
    pub report: InstanceReport,
}

/// The figures of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ModelReport {
    /// Which.
    pub model: u64,
    /// Instances that serve it.
    pub instances: usize,
    /// Those of them that take requests.
    pub ready: usize,
    /// The largest request that fits on one of these, beside what they have in sum.
    pub largest: Largest,
}

/// The figures of a fleet at one look.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FleetReport {
    /// In the order in which they were added.
    pub instances: Vec<MemberReport>,
    /// By their numbers.
    pub models: Vec<ModelReport>,
    /// What became of the requests.
    pub statistics: FleetStatistics,
}

impl Fleet {
    /// The figures. As [`Instance::report`](crate::Instance::report) for each instance. Allocates, and aborts where there is no memory:
    /// [`try_report`](Self::try_report) tells.
    #[must_use]
    pub fn report(&self) -> FleetReport {
        or_abort(self.try_report())
    }

    /// The figures, if there is memory for them.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// As [`report`](Self::report).
    pub fn try_report(&self) -> Result<FleetReport, OutOfMemory> {
        let (mut instances, mut models) = (Vec::new(), Vec::new());
        for id in self.ids() {
            if let Some(member) = self.try_report_member(id)? {
                try_push(&mut instances, member)?;
            }
        }
        for member in &instances {
            let model = member.model;
            if models.iter().all(|it: &ModelReport| it.model != model) {
                try_push(&mut models, self.report_model(model, &instances))?;
            }
        }
        models.sort_unstable_by_key(|it| it.model);
        Ok(FleetReport {
            instances,
            models,
            statistics: self.statistics(),
        })
    }

    fn report_model(&self, model: u64, instances: &[MemberReport]) -> ModelReport {
        let own = || instances.iter().filter(|it| it.model == model);
        let is_ready = |it: &&MemberReport| it.state == InstanceState::Ready;
        ModelReport {
            model,
            instances: own().count(),
            ready: own().filter(is_ready).count(),
            largest: self.largest(model),
        }
    }

    /// `None`: there is no such instance.
    fn try_report_member(&self, id: InstanceId) -> Result<Option<MemberReport>, OutOfMemory> {
        let (Ok(instance), Ok(member)) = (self.get(id), self.member(id)) else {
            return Ok(None);
        };
        let (Ok(state), Ok(share)) = (self.state(id), self.share(id)) else {
            return Ok(None);
        };
        let (lent, borrowed) = self.lent_and_borrowed(id);
        Ok(Some(MemberReport {
            id,
            model: member.model,
            state,
            share,
            lent,
            borrowed,
            report: instance.try_report()?,
        }))
    }
}

impl fmt::Display for FleetReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = &self.statistics;
        writeln!(
            f,
            "{} instances of {} models",
            self.instances.len(),
            self.models.len()
        )?;
        writeln!(
            f,
            "{:>8} {:>6} {:<8} {:>6} {:>6} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>6}",
            "instance",
            "model",
            "state",
            "mem %",
            "step %",
            "free",
            "held",
            "physical",
            "conserv.",
            "strand",
            "dupl.",
            "drain",
            "lent",
            "borr."
        )?;
        for it in &self.instances {
            let figures = &it.report;
            writeln!(
                f,
                "{:>8} {:>6} {:<8} {:>6.1} {:>6.1} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>6}",
                it.id,
                it.model,
                it.state,
                100.0 * it.share.memory.ratio(),
                100.0 * it.share.service.ratio(),
                figures.free,
                figures.held,
                figures.physical,
                figures.conservative,
                figures.stranded,
                figures.duplicated,
                figures.draining,
                it.lent,
                it.borrowed
            )?;
        }
        writeln!(f, "from free on in blocks")?;
        for it in &self.models {
            let Largest {
                now,
                ever,
                sum_now,
                sum_ever,
                ..
            } = it.largest;
            writeln!(
                f,
                "model {}: {} of {} instances ready; the largest request now {now} positions ({sum_now} in sum), ever {ever} ({sum_ever} in sum)",
                it.model, it.ready, it.instances
            )?;
        }
        write!(
            f,
            "{} requests placed; refused: {} never fit, {} later ({} of them would fit in the sum), {} for want of service, {} otherwise",
            requests.placed,
            requests.never,
            requests.later,
            requests.later_fits_in_sum,
            requests.service_full,
            requests.otherwise
        )
    }
}
