//! `kvblock plan`: how many blocks fit into the memory of each rank.

mod advice;
mod args;
mod values;

pub(crate) use self::args::PlanArgs;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::num::NonZeroUsize;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use kvblock::{CapacityPlan, InstancePlan, KvShape, RankMemory};
use serde::Serialize;

use self::values::{ByteSize, MarginArg};
use crate::failure::{Failure, cannot_fail};
use crate::replay::cannot_write;

/// Most ranks that a plan is made for.
const MAX_RANKS: usize = 1 << 16;

/// The JSON object.
#[derive(Serialize)]
struct Summary<'a> {
    tensor_parallel: usize,
    pipeline_parallel: usize,
    plan: &'a InstancePlan,
    lengths: Vec<Length>,
}

/// How many sequences of a length fit.
#[derive(Serialize)]
struct Length {
    positions: usize,
    sequences: u64,
}

/// Plans as the arguments say.
pub(crate) fn run(args: &PlanArgs) -> Result<(), Failure> {
    let stages = stages(args)?;
    let plan = plan(args, &stages)?;
    let length = |&positions: &NonZeroUsize| Length {
        positions: positions.get(),
        sequences: plan.sequences_at(positions.get() as u64),
    };
    let summary = Summary {
        tensor_parallel: args.tensor_parallel.get(),
        pipeline_parallel: stages.len(),
        plan: &plan,
        lengths: args.length.iter().map(length).collect(),
    };
    print(&summary);
    for note in advice::notes(args, &plan) {
        let _ = writeln!(io::stderr(), "kvblock: {note}");
    }
    let Some(path) = &args.json else {
        return Ok(());
    };
    let write = || -> io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        serde_json::to_writer_pretty(&mut out, &summary)?;
        writeln!(out)?;
        out.flush()
    };
    write().map_err(|error| cannot_write(path, &error))
}

/// The layers of each stage.
fn stages(args: &PlanArgs) -> Result<Vec<u64>, Failure> {
    let named = args.layers.iter().map(|layers| layers.get() as u64);
    let stages = args
        .pipeline_parallel
        .map_or(args.layers.len(), usize::from);
    let ranks = stages.checked_mul(args.tensor_parallel.get());
    if ranks.is_none_or(|ranks| ranks > MAX_RANKS) {
        return Err(Failure::Input(format!(
            "a plan is made for at most {MAX_RANKS} ranks: lower --tensor-parallel or --pipeline-parallel"
        )));
    }
    match args.layers[..] {
        [layers] if layers.get() % stages == 0 => {
            Ok(alloc::vec![(layers.get() / stages) as u64; stages])
        }
        [layers] => Err(Failure::Input(format!(
            "{layers} layers are not spread evenly over {stages} stages, and engines differ in which has more: name the layers of each \
             with --layers, as in `20,20,22,18`"
        ))),
        _ if args.layers.len() == stages => Ok(named.collect()),
        _ => Err(Failure::Input(format!(
            "--layers names {} stages, --pipeline-parallel {stages}: leave one of them out",
            args.layers.len()
        ))),
    }
}

fn plan(args: &PlanArgs, stages: &[u64]) -> Result<InstancePlan, Failure> {
    let (degree, block_size) = (args.tensor_parallel.get(), args.block_size.get());
    let (model, count) = (model(args)?, stages.len() * degree);
    let mut ranks = Vec::with_capacity(count);
    for rank in 0..count {
        let memory = memory(args, rank, count)?;
        let layers = stages[rank / degree];
        let plan = model
            .on_rank(degree as u64, (rank % degree) as u64)
            .and_then(|shape| CapacityPlan::new(&memory, layers, &shape, block_size))
            .map_err(|error| {
                let remedy = advice::remedy(&error, block_size);
                Failure::Input(match count {
                    1 => format!("{error}: {remedy}"),
                    _ => format!("rank {rank}: {error}: {remedy}"),
                })
            })?;
        ranks.push(plan);
    }
    InstancePlan::new(ranks).map_err(cannot_fail("InstancePlan::new"))
}

/// The memory of one of `count` ranks.
fn memory(args: &PlanArgs, rank: usize, count: usize) -> Result<RankMemory, Failure> {
    let bytes = |option, values: &[ByteSize]| -> Result<u64, Failure> {
        let value = of_rank(option, values, rank, count)?;
        Ok(value.map_or(0, |ByteSize(bytes)| bytes))
    };
    let device_memory = bytes("--device-memory", &args.device_memory)?;
    let memory = RankMemory::new(device_memory, bytes("--weights", &args.weights)?)
        .workspaces(bytes("--workspace", &args.workspace)?)
        .staging(bytes("--staging", &args.staging)?);
    Ok(match of_rank("--margin", &args.margin, rank, count)? {
        Some(MarginArg(margin)) => memory.margin(margin),
        None => memory,
    })
}

/// The value of a rank: the only one, or that of its place if there are as many as ranks.
fn of_rank<T: Copy>(
    option: &'static str,
    values: &[T],
    rank: usize,
    count: usize,
) -> Result<Option<T>, Failure> {
    match values {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        all if all.len() == count => Ok(all.get(rank).copied()),
        all => Err(Failure::Input(format!(
            "{option} has {} values for {count} ranks: name one for all, or one for each",
            all.len()
        ))),
    }
}

/// What all ranks of a stage keep together.
fn model(args: &PlanArgs) -> Result<KvShape, Failure> {
    let bits = args.element_bytes.0;
    let shape = match (args.mla_latent, args.kv_heads, args.head_size) {
        (Some(latent), _, _) => KvShape::latent(latent.get() as u64, bits),
        (_, Some(heads), Some(size)) => KvShape::heads(heads.get() as u64, size.get() as u64, bits),
        _ => {
            return Err(Failure::Input(String::from(
                "--kv-heads and --head-size, or --mla-latent, say what is kept of a position",
            )));
        }
    };
    Ok(shape
        .scale_bytes_per_position(args.scale_bytes)
        .scale_bytes_per_block(args.block_scale_bytes))
}

/// The plan on standard output. Nobody is left to tell if it is closed.
fn print(summary: &Summary<'_>) {
    let plan = summary.plan;
    let mut text = plan.to_string();
    for Length {
        positions,
        sequences,
    } in &summary.lengths
    {
        text += &format!(
            "\n    {:<16}{sequences:>18} sequences of {positions} positions",
            "at a time"
        );
    }
    let ranks: Vec<_> = plan.ranks().iter().map(CapacityPlan::blocks).collect();
    let memory = if ranks.iter().all(|blocks| *blocks == plan.blocks()) {
        format!("--blocks {}", plan.blocks())
    } else {
        let each: Vec<_> = ranks.iter().map(ToString::to_string).collect();
        format!("--uneven {}", each.join(","))
    };
    let block_size = plan.block_size();
    text += &format!("\nnext: kvblock replay TRACE {memory} --block-size {block_size}\n");
    let _ = io::stdout().lock().write_all(text.as_bytes());
}
