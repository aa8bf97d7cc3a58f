//! Every shape and every kind of copy, byte by byte against the reference.

use alloc::format;
use alloc::vec::Vec;

use kvblock::cuda::{CudaDevice, MoverConfig};
use kvblock::{BlockLayout, CopyRoute, HeadSlice, Order};

use crate::args::{Args, Scale};
use crate::raw::Trouble;
use crate::record::Record;
use crate::shapes::{self, Shape, Size};
use crate::world::World;

pub(crate) fn section(args: &Args, device: &CudaDevice, record: &mut Record) {
    println!("\nbytes: every shape against the reference");
    let all = match shapes::all(args.scale) {
        Ok(all) => all,
        Err(error) => return record.failed("shapes", &error),
    };
    for shape in &all {
        let kinds: [(&str, Check); 4] = [
            ("in place", in_place),
            ("a chain", chain),
            ("to another memory", across),
            ("to the host and back", over_the_host),
        ];
        for (kind, check) in kinds {
            if record.has_time() {
                record.check(
                    &format!("{}: {kind}", shape.name),
                    check(device, args.scale, shape),
                );
            }
        }
    }
    for turned in turned(args.scale) {
        if record.has_time() {
            let name = format!("{}: NHD and HND", turned.0);
            record.check(
                &name,
                turned
                    .1
                    .map_err(Trouble::from)
                    .and_then(|(nhd, hnd)| reordered(device, &nhd, &hnd)),
            );
        }
    }
    for (from, to) in [(2, 4), (4, 2)] {
        if record.has_time() {
            record.check(
                &format!("heads of {from} ranks to {to}"),
                other_degree(device, args.scale, from, to),
            );
        }
    }
}

type Check = fn(&CudaDevice, Scale, &Shape) -> Result<(), Trouble>;

/// Copies on a few blocks, with neighbours that are one run and others that are not.
fn in_place(device: &CudaDevice, _: Scale, shape: &Shape) -> Result<(), Trouble> {
    let mut world = World::new(device, &MoverConfig::new().pairs(64))?;
    let layout = world.device_memory(&shape.layout)?;
    let route = CopyRoute::new(&layout, &layout)?;
    world.copy(&route, &[(0, 6), (1, 7), (2, 8), (5, 3)])?;
    world.copy(&route, &[(11, 0)])?;
    world.compare()
}

/// What one pair writes another one reads.
fn chain(device: &CudaDevice, _: Scale, shape: &Shape) -> Result<(), Trouble> {
    let mut world = World::new(device, &MoverConfig::new().pairs(64))?;
    let layout = world.device_memory(&shape.layout)?;
    let route = CopyRoute::new(&layout, &layout)?;
    world.copy(
        &route,
        &[(0, 1), (1, 2), (2, 3), (9, 8), (8, 9), (5, 4), (6, 5)],
    )?;
    world.compare()
}

fn across(device: &CudaDevice, _: Scale, shape: &Shape) -> Result<(), Trouble> {
    let mut world = World::new(device, &MoverConfig::new().pairs(64))?;
    let source = world.device_memory(&shape.layout)?;
    let destination = world.device_memory(&shape.layout)?;
    let route = CopyRoute::new(&source, &destination)?;
    world.copy(&route, &[(0, 11), (1, 10), (2, 0), (3, 1), (11, 5)])?;
    world.compare()
}

/// More blocks than the ring has room for, in pieces that are neighbours on the host and others that are not.
fn over_the_host(device: &CudaDevice, _: Scale, shape: &Shape) -> Result<(), Trouble> {
    let slot = shape.layout.block_bytes() * 2 + 100;
    let mut world = World::new(device, &MoverConfig::new().pairs(64).staging(2, slot))?;
    let layout = world.device_memory(&shape.layout)?;
    let host = world.host_memory(&layout, 9)?;
    let out = CopyRoute::new(&layout, &host)?;
    let back = CopyRoute::new(&host, &layout)?;
    world.copy(
        &out,
        &[(0, 8), (1, 0), (2, 1), (3, 2), (4, 3), (5, 5), (11, 7)],
    )?;
    world.copy(&back, &[(0, 7), (1, 6), (2, 0), (8, 11), (5, 9)])?;
    world.compare()
}

type Turned = (
    &'static str,
    Result<(BlockLayout, BlockLayout), kvblock::LayoutError>,
);

fn turned(scale: Scale) -> Vec<Turned> {
    let size = Size::of(scale);
    let both = |of: fn(&Size, Order) -> Result<BlockLayout, kvblock::LayoutError>| {
        Ok((of(&size, Order::Nhd)?, of(&size, Order::Hnd)?))
    };
    alloc::vec![
        ("separate K and V", both(Size::separate)),
        ("[blocks, 2, ...]", both(Size::blocks_first)),
        ("cross-layer", both(Size::cross_layer)),
    ]
}

fn reordered(device: &CudaDevice, nhd: &BlockLayout, hnd: &BlockLayout) -> Result<(), Trouble> {
    let slot = nhd.block_bytes() * 3;
    let mut world = World::new(device, &MoverConfig::new().pairs(64).staging(2, slot))?;
    let one = world.device_memory(nhd)?;
    let other = world.device_memory(hnd)?;
    let host = world.host_memory(&one, 8)?;
    world.copy(
        &CopyRoute::new(&one, &other)?,
        &[(0, 11), (1, 2), (2, 3), (7, 7)],
    )?;
    world.copy(&CopyRoute::new(&other, &one)?, &[(11, 5), (2, 4)])?;
    // The host has them in the order of the first.
    world.copy(
        &CopyRoute::new(&other, &host)?,
        &[(0, 0), (11, 1), (2, 5), (3, 6)],
    )?;
    world.copy(&CopyRoute::new(&host, &other)?, &[(5, 8), (1, 9)])?;
    world.compare()
}

/// All heads of a layer, which `from` devices have parts of, go to `to` devices.
fn other_degree(device: &CudaDevice, scale: Scale, from: u32, to: u32) -> Result<(), Trouble> {
    let size = |ranks| Size {
        heads: 8 / ranks,
        ..Size::of(scale)
    };
    let mut world = World::new(device, &MoverConfig::new().pairs(64))?;
    let mut sources = Vec::new();
    for _ in 0..from {
        sources.push(world.device_memory(&size(from).blocks_first(Order::Nhd)?)?);
    }
    let (ours, theirs) = (8 / to, 8 / from);
    for rank in 0..to {
        let destination = world.device_memory(&size(to).blocks_first(Order::Hnd)?)?;
        // Heads of all ranks are counted through.
        let mut head = rank * ours;
        while head < (rank + 1) * ours {
            let source = head / theirs;
            let heads = ours.min(theirs);
            let slice = HeadSlice {
                source_first: head % theirs,
                destination_first: head % ours,
                heads,
            };
            let source = &sources[usize::try_from(source)?];
            let route = CopyRoute::heads(source, &destination, slice)?;
            world.copy(&route, &[(0, 1), (1, 0), (7, 9)])?;
            head += heads;
        }
    }
    world.compare()
}
