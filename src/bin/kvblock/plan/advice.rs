//! What to do next: where there is no plan, and where one leaves something unused.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use kvblock::{InstancePlan, MAX_BLOCK_SIZE, PlanError, PlanInput, PlanTerm};

use super::PlanArgs;

/// What to change so that there is a plan.
pub(super) fn remedy(error: &PlanError, block_size: usize) -> String {
    match *error {
        PlanError::DoesNotFit { term, .. } => String::from(match term {
            PlanTerm::Weights => {
                "raise --tensor-parallel or --pipeline-parallel so that a rank holds less of them, and name with --weights what it then holds"
            }
            PlanTerm::Workspaces => "lower --workspace: fewer tokens in a step need less",
            PlanTerm::Staging => "lower --staging: fewer blocks are then moved at a time",
            _ => "lower --margin",
        }),
        PlanError::LessThanABlock { block_bytes, left } => format!(
            "it takes {} bytes more: lower --workspace, --staging or --margin, take smaller blocks with --block-size, or raise \
             --tensor-parallel or --pipeline-parallel",
            block_bytes.saturating_sub(left)
        ),
        PlanError::TooManyBlocks { blocks, max } => {
            let times = blocks.div_ceil(max as u64);
            let larger = (block_size as u64).saturating_mul(times);
            if larger <= MAX_BLOCK_SIZE as u64 {
                format!("raise --block-size to {larger} or more")
            } else {
                String::from(
                    "look at --device-memory, --layers and the sizes of the model: a block is tiny",
                )
            }
        }
        PlanError::Overflow { .. } => String::from(
            "look at --layers, --kv-heads, --head-size, --mla-latent, --element-bytes and the bytes of scales: one is far too large",
        ),
        PlanError::Zero {
            input: PlanInput::DeviceMemory,
        } => String::from("name it with --device-memory, as in 80GiB"),
        PlanError::BlockSize { .. } => String::from("name another with --block-size"),
        _ => String::from("`kvblock plan --help` says what each option means"),
    }
}

/// What a plan leaves unused, and what cannot be served with it.
pub(super) fn notes(args: &PlanArgs, plan: &InstancePlan) -> Vec<String> {
    let mut notes = Vec::new();
    let ranks = args.tensor_parallel.get();
    match args.kv_heads {
        Some(heads) if heads < args.tensor_parallel => notes.push(format!(
            "each of {ranks} ranks has a copy of one of {heads} K/V heads: from --tensor-parallel {heads} on blocks become no smaller"
        )),
        None if ranks > 1 => notes.push(format!(
            "each of {ranks} ranks has the whole latent: blocks become no smaller with --tensor-parallel"
        )),
        _ => {}
    }
    let stranded = |rank| plan.stranded_bytes(rank).unwrap_or(0);
    let most = (0..plan.ranks().len()).max_by_key(|&rank| stranded(rank));
    if let Some(most) = most.filter(|&rank| stranded(rank) > 0) {
        notes.push(format!(
            "up to {} bytes of a rank (rank {most}) are never used, as rank {} has fewer blocks: give that one more memory, fewer \
             layers (--layers) or fewer weights",
            stranded(most),
            plan.binding_rank()
        ));
    }
    for length in &args.length {
        if plan.sequences_at(length.get() as u64) == 0 {
            notes.push(format!(
                "no sequence of {length} positions fits: the longest has {}",
                plan.longest_request()
            ));
        }
    }
    notes
}
