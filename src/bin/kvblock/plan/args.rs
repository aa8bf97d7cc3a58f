//! The arguments of `kvblock plan`.

use alloc::vec::Vec;
use core::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::values::{ByteSize, ElementBits, MarginArg};
use crate::values::at_least_one;

/// Say how many blocks fit into the device memory of each rank, where the rest of it goes, and which rank decides.
///
/// A rank's memory, less weights, workspaces, staging and margin, is divided by what a block takes there in all its layers. Ranks
/// are counted stage by stage: those of the first pipeline stage come first. An option that takes a list has one value for
/// all ranks, or one for each.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    /// Memory of a device: `80GiB`, `81559MiB`, `1.5TiB`, or a number of bytes
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Memory of a rank",
        value_delimiter = ',',
        required = true
    )]
    pub(super) device_memory: Vec<ByteSize>,

    /// What the weights on a rank take of it
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Memory of a rank",
        value_delimiter = ',',
        required = true
    )]
    pub(super) weights: Vec<ByteSize>,

    /// Activations, attention workspaces, captured graphs, communication buffers [default: 0]
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Memory of a rank",
        value_delimiter = ','
    )]
    pub(super) workspace: Vec<ByteSize>,

    /// Buffers through which blocks are moved [default: 0]
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Memory of a rank",
        value_delimiter = ','
    )]
    pub(super) staging: Vec<ByteSize>,

    /// What is left alone, in bytes or as a percentage of the device memory, `2GiB` or `5%` [default: 0]
    #[arg(
        long,
        value_name = "BYTES|PERCENT",
        help_heading = "Memory of a rank",
        value_delimiter = ','
    )]
    pub(super) margin: Vec<MarginArg>,

    /// Layers with K/V: of the model, spread evenly over --pipeline-parallel stages, or of each stage, as in `20,20,22,18`
    #[arg(long, value_name = "N", help_heading = "Model", value_parser = at_least_one, value_delimiter = ',', required = true)]
    pub(super) layers: Vec<NonZeroUsize>,

    /// K/V heads of the model. They are spread over the ranks of a stage; with fewer heads than ranks each rank has a copy of one
    #[arg(long, value_name = "N", help_heading = "Model", value_parser = at_least_one, requires = "head_size",
        required_unless_present = "mla_latent", conflicts_with = "mla_latent")]
    pub(super) kv_heads: Option<NonZeroUsize>,

    /// Elements of a head
    #[arg(long, value_name = "ELEMENTS", help_heading = "Model", value_parser = at_least_one, requires = "kv_heads")]
    pub(super) head_size: Option<NonZeroUsize>,

    /// Elements of a latent vector, in place of K and V: compressed K/V and rotary part together. Each rank of a stage has all of it
    #[arg(long, value_name = "ELEMENTS", help_heading = "Model", value_parser = at_least_one)]
    pub(super) mla_latent: Option<NonZeroUsize>,

    /// Bytes of an element: 2 for bf16, 1 for fp8, 0.5 for fp4
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Model",
        default_value = "2"
    )]
    pub(super) element_bytes: ElementBits,

    /// Bytes of scales of a position in each layer, on a rank
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Model",
        default_value_t = 0
    )]
    pub(super) scale_bytes: u64,

    /// Bytes of scales of a block in each layer, on a rank
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Model",
        default_value_t = 0
    )]
    pub(super) block_scale_bytes: u64,

    /// Ranks that share each layer
    #[arg(long, value_name = "N", help_heading = "Ranks", value_parser = at_least_one, default_value = "1")]
    pub(super) tensor_parallel: NonZeroUsize,

    /// Stages that the layers are spread over [default: as many as --layers names]
    #[arg(long, value_name = "N", help_heading = "Ranks", value_parser = at_least_one)]
    pub(super) pipeline_parallel: Option<NonZeroUsize>,

    /// Positions of a block
    #[arg(long, value_name = "B", value_parser = at_least_one, default_value = "16")]
    pub(super) block_size: NonZeroUsize,

    /// Also say how many sequences of so many positions fit at the same time; may be given several times
    #[arg(long, value_name = "POSITIONS", value_parser = at_least_one, value_delimiter = ',')]
    pub(super) length: Vec<NonZeroUsize>,

    /// Write the plan to this file, as one JSON object
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 2 bad arguments, or no block fits.";

const EXAMPLES: &str = "\
Exit codes:
  0  ok
  2  bad arguments, or no block fits: says which rank, what does not fit, and what to change

Examples:
  kvblock plan --device-memory 80GiB --weights 34GiB --workspace 3GiB --staging 1GiB --margin 2GiB \\
      --layers 80 --kv-heads 8 --head-size 128 --tensor-parallel 4 --length 8192
  kvblock plan --device-memory 141GiB --weights 80GiB --margin 5% --layers 61 --mla-latent 576 --tensor-parallel 8 --block-size 64
  kvblock plan --device-memory 80GiB --weights 34GiB,34GiB,37GiB,31GiB --layers 20,20,22,18 --kv-heads 8 --head-size 128";
