//! What a plan is made from.

use kvblock::{
    CapacityPlan, KvShape, Margin, PlanError, PlanInput, PlanStep, PlanTerm, RankMemory,
};

use crate::arg::{Argument, Versioned};
use crate::error::{Problem, refused};
use crate::status::KVB_ERR_INVALID;

/// `kvb_plan_input.device_memory`.
pub const KVB_PLAN_INPUT_DEVICE_MEMORY: u32 = 1;
/// `kvb_plan_input.layers`.
pub const KVB_PLAN_INPUT_LAYERS: u32 = 2;
/// `kvb_plan_input.kv_heads`.
pub const KVB_PLAN_INPUT_KV_HEADS: u32 = 3;
/// `kvb_plan_input.head_size`.
pub const KVB_PLAN_INPUT_HEAD_SIZE: u32 = 4;
/// `kvb_plan_input.element_bits`.
pub const KVB_PLAN_INPUT_ELEMENT_BITS: u32 = 5;

/// `kvb_plan_input.weights`.
pub const KVB_PLAN_TERM_WEIGHTS: u32 = 1;
/// `kvb_plan_input.workspaces`.
pub const KVB_PLAN_TERM_WORKSPACES: u32 = 2;
/// `kvb_plan_input.staging`.
pub const KVB_PLAN_TERM_STAGING: u32 = 3;
/// The margin.
pub const KVB_PLAN_TERM_MARGIN: u32 = 4;

/// K/V heads * head size * bits of an element * positions, or elements of a latent vector * bits * positions.
pub const KVB_PLAN_STEP_PLANE_BITS: u32 = 1;
/// Scale bytes of a position * positions + scale bytes of a block.
pub const KVB_PLAN_STEP_SCALE_BYTES: u32 = 2;
/// K + V + scales.
pub const KVB_PLAN_STEP_LAYER_BYTES: u32 = 3;
/// Bytes of a layer * layers.
pub const KVB_PLAN_STEP_BLOCK_BYTES: u32 = 4;

/// One rank: its memory, what of it is not for K/V, and what it keeps of a position. All that is 0 is not there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_plan_input {
    /// `sizeof(kvb_plan_input)`.
    pub struct_size: u32,
    /// What is left alone for what nobody foresees, in millionths of the device memory, rounded up to whole bytes: 50000 are 5 %. Or 0,
    /// and `margin_bytes`.
    pub margin_millionths: u32,
    /// The same in bytes, if `margin_millionths` is 0.
    pub margin_bytes: u64,
    /// Bytes of the device.
    pub device_memory: u64,
    /// Bytes of the weights on this rank.
    pub weights: u64,
    /// Bytes for activations, attention workspaces, captured graphs, communication.
    pub workspaces: u64,
    /// Bytes for buffers through which blocks are moved.
    pub staging: u64,
    /// Layers with K/V of their own on this rank: not those of other pipeline stages, recurrent ones, and those that read another layer's.
    pub layers: u64,
    /// K/V heads of the model.
    pub kv_heads: u64,
    /// Elements of a head.
    pub head_size: u64,
    /// Elements of the latent vector that is kept in place of K and V, the rotary part included: then `kv_heads` and `head_size` are 0.
    pub latent: u64,
    /// Bits of an element: 16 for bf16 and fp16, 8 for fp8, 4 for fp4.
    pub element_bits: u64,
    /// Bytes of scales that each position has in each layer on the rank, of K and V together.
    pub scale_bytes_per_position: u64,
    /// Bytes of scales that each block has in each layer on the rank, of K and V together.
    pub scale_bytes_per_block: u64,
    /// Ranks that share each layer: heads are spread evenly, the first ranks have one more of those that remain, and with fewer heads than
    /// ranks each has a copy of one. A latent vector is on each. 0 counts as 1.
    pub tensor_parallel: u64,
    /// Which of them this is, from 0.
    pub rank: u64,
    /// Positions of a block.
    pub block_size: usize,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_plan_input {}

impl kvb_plan_input {
    /// The plan of this rank.
    pub(crate) fn plan(&self) -> Result<CapacityPlan, Problem<PlanError>> {
        let memory = RankMemory::new(self.device_memory, self.weights)
            .workspaces(self.workspaces)
            .staging(self.staging)
            .margin(self.margin()?);
        let shape = self
            .shape()?
            .scale_bytes_per_position(self.scale_bytes_per_position)
            .scale_bytes_per_block(self.scale_bytes_per_block);
        let on_rank = shape.on_rank(self.tensor_parallel.max(1), self.rank);
        let shape = on_rank.map_err(refused)?;
        CapacityPlan::new(&memory, self.layers, &shape, self.block_size).map_err(refused)
    }

    const fn margin(&self) -> Result<Margin, Argument> {
        match (self.margin_millionths, self.margin_bytes) {
            (0, bytes) => Ok(Margin::Bytes(bytes)),
            (millionths, 0) => Ok(Margin::PartsPerMillion(millionths)),
            _ => Err(Argument(KVB_ERR_INVALID)),
        }
    }

    const fn shape(&self) -> Result<KvShape, Argument> {
        match (self.latent, self.kv_heads, self.head_size) {
            (0, heads, size) => Ok(KvShape::heads(heads, size, self.element_bits)),
            (latent, 0, 0) => Ok(KvShape::latent(latent, self.element_bits)),
            _ => Err(Argument(KVB_ERR_INVALID)),
        }
    }
}

/// Which input an error is about.
pub(crate) const fn input(input: PlanInput) -> u32 {
    match input {
        PlanInput::DeviceMemory => KVB_PLAN_INPUT_DEVICE_MEMORY,
        PlanInput::Layers => KVB_PLAN_INPUT_LAYERS,
        PlanInput::KvHeads => KVB_PLAN_INPUT_KV_HEADS,
        PlanInput::HeadSize => KVB_PLAN_INPUT_HEAD_SIZE,
        PlanInput::ElementBits => KVB_PLAN_INPUT_ELEMENT_BITS,
        // A latent vector of no elements, and a degree of 0, say that there is none.
        _ => 0,
    }
}

/// Which term an error is about.
pub(crate) const fn term(term: PlanTerm) -> u32 {
    match term {
        PlanTerm::Weights => KVB_PLAN_TERM_WEIGHTS,
        PlanTerm::Workspaces => KVB_PLAN_TERM_WORKSPACES,
        PlanTerm::Staging => KVB_PLAN_TERM_STAGING,
        PlanTerm::Margin => KVB_PLAN_TERM_MARGIN,
        _ => 0,
    }
}

/// Which product or sum an error is about.
pub(crate) const fn step(step: PlanStep) -> u32 {
    match step {
        PlanStep::PlaneBits => KVB_PLAN_STEP_PLANE_BITS,
        PlanStep::ScaleBytes => KVB_PLAN_STEP_SCALE_BYTES,
        PlanStep::LayerBytes => KVB_PLAN_STEP_LAYER_BYTES,
        PlanStep::BlockBytes => KVB_PLAN_STEP_BLOCK_BYTES,
        _ => 0,
    }
}
