//! A captured graph that copies other blocks each time.

use alloc::format;
use alloc::vec::Vec;

use kvblock::cuda::{CudaDevice, MoverConfig, PairList};
use kvblock::{CopyRoute, Mover, Order};

use crate::args::Args;
use crate::raw::{Graph, Trouble};
use crate::record::Record;
use crate::shapes::Size;
use crate::speed::{Bench, times};
use crate::world::{World, ids};

pub(crate) fn section(args: &Args, device: &CudaDevice, record: &mut Record) {
    println!("\na captured graph, replayed with other lists");
    if record.has_time() {
        record.check("graph replay", replay(args, device));
    }
    println!(
        "{:<28} {:>6} {:>14} {:>14}",
        "K and V of each layer", "pairs", "replay, us", "by itself, us"
    );
    for pairs in args.scale.pick([1_u32, 64].as_slice(), &[2]) {
        if record.has_time() {
            record.check(
                &format!("time of a replay, {pairs} pairs"),
                row(args, device, *pairs),
            );
        }
    }
}

/// What a replay takes, beside the same copy without a graph.
fn row(args: &Args, device: &CudaDevice, pairs: u32) -> Result<(), Trouble> {
    let size = Size {
        heads: args.scale.pick(8, 2),
        blocks: args.scale.pick(128, 12),
        ..Size::of(args.scale)
    };
    let mut bench = Bench::new(device, &size.separate(Order::Nhd)?, &MoverConfig::new())?;
    let layout = bench.pool.layout().clone();
    let route = CopyRoute::new(&layout, &layout)?;
    let plan = route.plan(&ids(&(0..pairs)
        .map(|at| (at, pairs + at))
        .collect::<Vec<_>>()))?;
    let mut list = PairList::new(&mut bench.mover, &route, plan.pairs())?;
    list.set(&plan, &bench.mover)?;
    let graph = Graph::capture(&bench.stream, || Ok(list.enqueue(&bench.mover)?))?;
    let times = times(args.scale, plan.bytes());
    let replay = bench.time(times, |bench| graph.launch(&bench.stream))?;
    list.mark(&bench.mover)?;
    list.check(&bench.mover)?;
    let alone = bench.time_plan(times, &plan)?;
    println!("{:<28} {pairs:>6} {replay:>14.1} {alone:>14.1}", "");
    Ok(())
}

fn replay(args: &Args, device: &CudaDevice) -> Result<(), Trouble> {
    let mut world = World::new(device, &MoverConfig::new().pairs(64))?;
    let layout = world.device_memory(&Size::of(args.scale).separate(Order::Nhd)?)?;
    let route = CopyRoute::new(&layout, &layout)?;
    let mut list = PairList::new(&mut world.mover, &route, 8)?;
    let stream = world.mover.own_timeline().stream().clone();
    let graph = Graph::capture(&stream, || Ok(list.enqueue(&world.mover)?))?;
    let lists: [&[(u32, u32)]; 4] = [
        &[(0, 1), (2, 3)],
        &[],
        &[(1, 11), (3, 10), (4, 9), (5, 8), (0, 2), (6, 7)],
        &[(11, 0)],
    ];
    for pairs in lists {
        list.set(&route.plan(&ids(pairs))?, &world.mover)?;
        graph.launch(&stream)?;
        let fence = list.mark(&world.mover)?;
        world.copy_twin(&route, pairs)?;
        world.mover.wait(fence)?;
    }
    list.check(&world.mover)?;
    world.compare()
}
