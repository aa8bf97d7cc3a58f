//! How fast blocks go to the host and back, beside the driver's own transfer of as many bytes.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use kvblock::cuda::{CudaDevice, HostPool, MoverConfig};
use kvblock::{CopyRoute, MemoryId, Order};

use crate::args::Args;
use crate::raw::{self, Trouble};
use crate::record::Record;
use crate::shapes::Size;
use crate::speed::{Bench, gigabytes_a_second, times};
use crate::world::{ids, span};

pub(crate) fn section(args: &Args, device: &CudaDevice, record: &mut Record) {
    println!("\nbetween device and host, through the staging ring");
    println!(
        "{:<28} {:>12} {:>7} {:>6} {:>10} {:>9} {:>14} {:>6}",
        "direction", "block bytes", "planes", "blocks", "us", "GB/s", "driver's GB/s", "%"
    );
    for to_host in [true, false] {
        for blocks in args.scale.pick([8_usize, 64].as_slice(), &[3]) {
            if record.has_time() {
                let name = if to_host {
                    "device to host"
                } else {
                    "host to device"
                };
                let row =
                    row(args, device, name, to_host, *blocks).map_err(|error| error.to_string());
                record.check(&format!("{name}, {blocks} blocks"), row);
            }
        }
    }
}

fn row(
    args: &Args,
    device: &CudaDevice,
    name: &str,
    to_host: bool,
    blocks: usize,
) -> Result<(), Trouble> {
    let size = Size {
        heads: args.scale.pick(8, 2),
        blocks: args.scale.pick(128, 12),
        ..Size::of(args.scale)
    };
    let offsets = size.separate(Order::Nhd)?;
    let slot = args.scale.pick(32 << 20, offsets.block_bytes() * 2);
    let mut bench = Bench::new(device, &offsets, &MoverConfig::new().staging(3, slot))?;
    let (layout, memory) = (bench.pool.layout().clone(), MemoryId::new(1));
    let host = HostPool::allocate(device, memory, &layout, blocks)?;
    bench.mover.add_host(&host)?;
    bench.fences.track(memory, blocks)?;
    let (source, destination) = if to_host {
        (&layout, host.layout())
    } else {
        (host.layout(), &layout)
    };
    let route = CopyRoute::new(source, destination)?;
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let scattered = |at: usize| number(at * 7 % layout.blocks());
    let pair = |at| {
        if to_host {
            (scattered(at), number(at))
        } else {
            (number(at), scattered(at))
        }
    };
    let plan = route.plan(&ids(&(0..blocks).map(pair).collect::<Vec<_>>()))?;
    let times = times(args.scale, plan.bytes() * 20);
    let ours = bench.time_plan(times, &plan)?;
    let (device_start, host_start) = (span(&layout).0, span(host.layout()).0);
    let driver = bench.time(times, |bench| {
        if to_host {
            raw::to_host(&bench.stream, host_start, device_start, plan.bytes())
        } else {
            raw::to_device(&bench.stream, device_start, host_start, plan.bytes())
        }
    })?;
    let (ours_rate, driver_rate) = (
        gigabytes_a_second(plan.bytes(), ours),
        gigabytes_a_second(plan.bytes(), driver),
    );
    println!(
        "{name:<28} {:>12} {:>7} {blocks:>6} {ours:>10.1} {ours_rate:>9.1} {driver_rate:>14.1} {:>6.1}",
        layout.block_bytes(),
        layout.planes().len(),
        100.0 * ours_rate / driver_rate
    );
    Ok(())
}
