//! Plans as data: what each term took, and what it comes to.

use alloc::vec::Vec;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::instance::InstancePlan;
use super::memory::PlanTerm;
use super::rank::CapacityPlan;

impl PlanTerm {
    const fn key(self) -> &'static str {
        match self {
            Self::Weights => "weights_bytes",
            Self::Workspaces => "workspaces_bytes",
            Self::Staging => "staging_bytes",
            Self::Margin => "margin_bytes",
        }
    }
}

impl Serialize for CapacityPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut plan = serializer.serialize_struct("CapacityPlan", 9 + self.terms().len())?;
        plan.serialize_field("device_memory_bytes", &self.device_memory())?;
        for &(term, bytes) in self.terms() {
            plan.serialize_field(term.key(), &bytes)?;
        }
        plan.serialize_field("cache_bytes", &self.cache_bytes())?;
        plan.serialize_field("layers", &self.layers())?;
        plan.serialize_field("shape", &self.shape())?;
        plan.serialize_field("block_size", &self.block_size())?;
        plan.serialize_field("block_bytes", &self.block_bytes())?;
        plan.serialize_field("blocks", &self.blocks())?;
        plan.serialize_field("remainder_bytes", &self.remainder())?;
        plan.serialize_field("longest_request", &self.longest_request())?;
        plan.end()
    }
}

/// A rank of an instance.
#[derive(serde::Serialize)]
struct Rank<'a> {
    rank: usize,
    stranded_blocks: Option<usize>,
    stranded_bytes: Option<u64>,
    plan: &'a CapacityPlan,
}

impl Serialize for InstancePlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ranks = self.ranks().iter().enumerate().map(|(rank, plan)| Rank {
            rank,
            stranded_blocks: self.stranded_blocks(rank),
            stranded_bytes: self.stranded_bytes(rank),
            plan,
        });
        let mut plan = serializer.serialize_struct("InstancePlan", 5)?;
        plan.serialize_field("blocks", &self.blocks())?;
        plan.serialize_field("block_size", &self.block_size())?;
        plan.serialize_field("longest_request", &self.longest_request())?;
        plan.serialize_field("binding_rank", &self.binding_rank())?;
        plan.serialize_field("ranks", &ranks.collect::<Vec<_>>())?;
        plan.end()
    }
}
