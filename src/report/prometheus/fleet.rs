//! The metrics of a fleet: of each instance as a member, of each model, and of what became of the requests.

use super::family::Samples::{By, One};
use super::family::{Family, Figures};
use crate::fleet::{FleetStatistics, InstanceState};
use crate::report::{MemberReport, ModelReport};

impl Figures for MemberReport {
    fn figures(&self) -> Self {
        Self {
            report: self.report.figures(),
            ..*self
        }
    }
}

pub(super) const MEMBERS: &[Family<MemberReport>] = &[
    Family::gauge(
        "kvblock_member_state",
        "1 for the state that the instance is in.",
        By(
            "state",
            &[
                ("starting", |r| {
                    u64::from(r.state == InstanceState::Starting)
                }),
                ("ready", |r| u64::from(r.state == InstanceState::Ready)),
                ("draining", |r| {
                    u64::from(r.state == InstanceState::Draining)
                }),
            ],
        ),
    ),
    Family::gauge(
        "kvblock_member_memory_blocks",
        "Blocks in use and in all, on the shard of which the largest part is in use.",
        By(
            "use",
            &[
                ("used", |r| r.share.memory.used),
                ("all", |r| r.share.memory.whole),
            ],
        ),
    ),
    Family::gauge(
        "kvblock_member_service_positions",
        "Positions demanded a step, and all that it can compute.",
        By(
            "use",
            &[
                ("used", |r| r.share.service.used),
                ("all", |r| r.share.service.whole),
            ],
        ),
    ),
    Family::gauge(
        "kvblock_member_lent_blocks",
        "Blocks lent on each rank.",
        One(|r| r.lent as u64),
    ),
    Family::gauge(
        "kvblock_member_borrowed_blocks",
        "Blocks borrowed on each rank.",
        One(|r| r.borrowed as u64),
    ),
];

pub(super) const MODELS: &[Family<ModelReport>] = &[
    Family::gauge(
        "kvblock_model_instances",
        "Instances that serve the model.",
        One(|r| r.instances as u64),
    ),
    Family::gauge(
        "kvblock_model_ready_instances",
        "Instances of them that take requests.",
        One(|r| r.ready as u64),
    ),
    Family::gauge(
        "kvblock_model_largest_now_positions",
        "The largest request that one instance can admit now, and the sum over the instances.",
        By(
            "of",
            &[
                ("one", |r| r.largest.now as u64),
                ("sum", |r| r.largest.sum_now as u64),
            ],
        ),
    ),
    Family::gauge(
        "kvblock_model_largest_ever_positions",
        "The largest request that one empty instance can have, and the sum over the instances.",
        By(
            "of",
            &[
                ("one", |r| r.largest.ever as u64),
                ("sum", |r| r.largest.sum_ever as u64),
            ],
        ),
    ),
];

pub(super) const REQUESTS: &[Family<FleetStatistics>] = &[
    Family::counter(
        "kvblock_fleet_requests_total",
        "Requests that the fleet was asked to admit, by what became of them.",
        By(
            "result",
            &[
                ("placed", |r| r.placed),
                ("never", |r| r.never),
                ("later", |r| r.later),
                ("service_full", |r| r.service_full),
                ("otherwise", |r| r.otherwise),
            ],
        ),
    ),
    Family::counter(
        "kvblock_fleet_later_fits_in_sum_total",
        "Requests refused for now that fit in what is available in sum, and on no instance.",
        One(|r| r.later_fits_in_sum),
    ),
];
