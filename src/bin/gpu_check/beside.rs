//! What a copy in the background costs a kernel that runs at the same time, with few thread blocks and with many.
//!
//! The kernel is a copy that takes the whole device and all of its memory's bandwidth, as decoding does.

use alloc::format;
use alloc::vec::Vec;

use kvblock::cuda::{CudaDevice, MoverConfig};
use kvblock::{CopyPlan, CopyRoute, Mover, Order};

use crate::args::Args;
use crate::raw::Trouble;
use crate::record::Record;
use crate::shapes::Size;
use crate::speed::{Bench, gigabytes_a_second, times};
use crate::world::ids;

pub(crate) fn section(args: &Args, device: &CudaDevice, record: &mut Record) {
    println!("\na copy of blocks beside a kernel that takes the whole device");
    println!(
        "{:<28} {:>12} {:>16} {:>10}",
        "thread blocks of the copy", "kernel, us", "kernel beside, us", "slower, %"
    );
    for thread_blocks in [8, 32, 0] {
        if record.has_time() {
            record.check(
                &format!("beside a copy of {thread_blocks} thread blocks"),
                row(args, device, thread_blocks),
            );
        }
    }
}

fn plan(bench: &Bench, pairs: u32) -> Result<CopyPlan, Trouble> {
    let layout = bench.pool.layout();
    let list: Vec<_> = (0..pairs).map(|at| (at, pairs + at)).collect();
    Ok(CopyRoute::new(layout, layout)?.plan(&ids(&list))?)
}

fn row(args: &Args, device: &CudaDevice, thread_blocks: u32) -> Result<(), Trouble> {
    let size = Size {
        heads: args.scale.pick(8, 2),
        blocks: args.scale.pick(128, 12),
        ..Size::of(args.scale)
    };
    let offsets = size.separate(Order::Nhd)?;
    let mut kernel = Bench::new(device, &offsets, &MoverConfig::new())?;
    let mut copy = Bench::new(
        device,
        &offsets,
        &MoverConfig::new().thread_blocks(thread_blocks),
    )?;
    let pairs = args.scale.pick(64, 4);
    let (kernel_plan, copy_plan) = (plan(&kernel, pairs)?, plan(&copy, pairs)?);
    let times = times(args.scale, kernel_plan.bytes());
    let alone = kernel.time_plan(times, &kernel_plan)?;
    // Enough copies for as long as the kernel is timed, even if they are slow.
    for _ in 0..args.scale.pick(60, 2) {
        copy.mover.copy(&copy_plan, &mut copy.fences)?;
    }
    let beside = kernel.time(times.min(10), |bench| {
        bench.mover.copy(&kernel_plan, &mut bench.fences)?;
        Ok(())
    })?;
    copy.stream.synchronize()?;
    let name = match thread_blocks {
        0 => format!(
            "all, {:.0} GB/s alone",
            gigabytes_a_second(copy_plan.bytes(), copy.time_plan(5, &copy_plan)?)
        ),
        some => format!(
            "{some}, {:.0} GB/s alone",
            gigabytes_a_second(copy_plan.bytes(), copy.time_plan(5, &copy_plan)?)
        ),
    };
    println!(
        "{name:<28} {alone:>12.1} {beside:>16.1} {:>10.1}",
        100.0 * (beside - alone) / alone
    );
    Ok(())
}
