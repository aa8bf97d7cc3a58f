//! A captured graph that copies other blocks each time.

use kvblock::cuda::{CudaDevice, MoverConfig, PairList};
use kvblock::{CopyRoute, Mover, Order};

use crate::args::Args;
use crate::raw::{Graph, Trouble};
use crate::record::Record;
use crate::shapes::Size;
use crate::world::{World, ids};

pub(crate) fn section(args: &Args, device: &CudaDevice, record: &mut Record) {
    println!("\na captured graph, replayed with other lists");
    if record.has_time() {
        record.check("graph replay", replay(args, device));
    }
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
