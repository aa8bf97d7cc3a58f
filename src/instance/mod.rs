//! Several shards that serve one model together: how many blocks each of them can have.

mod plan;

pub use self::plan::{
    CapacityPlan, InstancePlan, InstancePlanError, KvShape, Margin, PlanError, PlanInput, PlanStep,
    PlanTerm, RankMemory,
};
