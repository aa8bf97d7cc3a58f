//! The metrics of a fleet: of each instance in it, of each model, and of the requests.

use super::family::Family;
use super::family::Samples::{By, One};
use crate::fleet::{FleetStatistics, InstanceState};
use crate::report::{MemberReport, ModelReport};

const fn is(member: &MemberReport, state: InstanceState) -> u64 {
    (member.state as u8 == state as u8) as u64
}

pub(super) const MEMBERS: &[Family<MemberReport>] = &[
    Family::gauge(
        "kvblock_fleet_instance_state",
        "1 for the state that the instance is in.",
        By(
            "state",
            &[
                ("starting", |r| is(r, InstanceState::Starting)),
                ("ready", |r| is(r, InstanceState::Ready)),
                ("draining", |r| is(r, InstanceState::Draining)),
            ],
        ),
    ),
    Family::gauge(
        "kvblock_fleet_instance_used_blocks",
        "Blocks that are held, quarantined or promised, on the shard where that is the largest part.",
        One(|r| r.share.memory.used),
    ),
    Family::gauge(
        "kvblock_fleet_instance_capacity_blocks",
        "Blocks of that shard.",
        One(|r| r.share.memory.whole),
    ),
    Family::gauge(
        "kvblock_fleet_instance_demanded_positions",
        "Positions demanded a step.",
        One(|r| r.share.service.used),
    ),
    Family::gauge(
        "kvblock_fleet_instance_service_positions",
        "Positions that it can compute in a step.",
        One(|r| r.share.service.whole),
    ),
    Family::gauge(
        "kvblock_fleet_instance_lent_blocks",
        "Blocks that it has lent on each rank.",
        One(|r| r.lent as u64),
    ),
    Family::gauge(
        "kvblock_fleet_instance_borrowed_blocks",
        "Blocks that it has borrowed on each rank.",
        One(|r| r.borrowed as u64),
    ),
];

pub(super) const MODELS: &[Family<ModelReport>] = &[
    Family::gauge(
        "kvblock_fleet_model_instances",
        "Instances that serve the model.",
        One(|r| r.instances as u64),
    ),
    Family::gauge(
        "kvblock_fleet_model_ready_instances",
        "Instances that serve the model and take requests.",
        One(|r| r.ready as u64),
    ),
    Family::gauge(
        "kvblock_fleet_model_largest_now_positions",
        "The largest request that one instance can admit now.",
        One(|r| r.largest.now as u64),
    ),
    Family::gauge(
        "kvblock_fleet_model_sum_now_positions",
        "What all instances can admit now, together: more than any request that fits.",
        One(|r| r.largest.sum_now as u64),
    ),
    Family::gauge(
        "kvblock_fleet_model_largest_ever_positions",
        "The largest request that one instance can have when it is empty.",
        One(|r| r.largest.ever as u64),
    ),
    Family::gauge(
        "kvblock_fleet_model_sum_ever_positions",
        "What all instances can have when they are empty, together.",
        One(|r| r.largest.sum_ever as u64),
    ),
];

pub(super) const REQUESTS: &[Family<FleetStatistics>] = &[
    Family::counter(
        "kvblock_fleet_placed_total",
        "Requests that were admitted on an instance.",
        One(|r| r.placed),
    ),
    Family::counter(
        "kvblock_fleet_refused_total",
        "Requests that were admitted on no instance, by the reason.",
        By(
            "reason",
            &[
                ("never", |r| r.never),
                ("later", |r| r.later),
                ("service", |r| r.service_full),
                ("otherwise", |r| r.otherwise),
            ],
        ),
    ),
    Family::counter(
        "kvblock_fleet_refused_fits_in_sum_total",
        "Requests that were refused for now and would have fit in what is available in sum.",
        One(|r| r.later_fits_in_sum),
    ),
];
