//! One call; those that begin and end registries and lanes are here.

use core::ptr;

use kvblock_c::lanes::*;
use kvblock_c::pool::{kvb_pool, kvb_pool_config, kvb_pool_create, kvb_pool_destroy};
use kvblock_c::seqs::*;
use kvblock_c::status::KVB_OK;

use crate::arguments::{Bytes, List, Place, Sized, Told, known};
use crate::world::{Home, MOST, Object, Registry, World, seqs_config, size};
use crate::{fences, growth, layouts, plans, pools, reads, routes, sequences, swaps};

/// What lists have at most.
pub(crate) const MOST_ITEMS: usize = 5;

pub(crate) fn one(world: &mut World, bytes: &mut Bytes<'_>) {
    let choice = usize::from(bytes.byte());
    // A quarter of all calls moves content: between registries, and between blocks.
    if let Some(choice) = choice.checked_sub(192) {
        return match choice {
            0..32 => swaps::one(world, choice % 18, bytes),
            _ => copies(world, choice - 32, bytes),
        };
    }
    let choice = choice % 48;
    match choice {
        0 => create_registry(world, bytes),
        1 => destroy_registry(world, bytes),
        2 => create_pool_wrongly(world, bytes),
        3..=6 => with(world, bytes, sequences::admit),
        7 => with(world, bytes, sequences::fork),
        8 | 9 => with(world, bytes, sequences::release),
        10 => with(world, bytes, sequences::release_after),
        11 => with(world, bytes, sequences::detach),
        12 => with(world, bytes, sequences::attach),
        13 => with(world, bytes, reads::read_labels),
        14 => with(world, bytes, reads::read_tables),
        15 => with(world, bytes, reads::read_figures),
        16 => with(world, bytes, reads::victims),
        17 => with(world, bytes, create_lanes),
        18 => complete(world, bytes),
        19 => with(world, bytes, resize),
        20..=31 => with(world, bytes, |world, at, bytes| {
            growth::one(world, at, choice - 20, bytes)
        }),
        _ => pools::one(world, choice - 32, bytes),
    }
}

fn copies(world: &mut World, choice: usize, bytes: &mut Bytes<'_>) {
    match choice {
        0..=3 => layouts::create(world, bytes),
        4 | 5 => layouts::look(world, bytes),
        6 => layouts::look_at_pairs(world, bytes),
        7..=9 => routes::create(world, bytes),
        10..=12 => plans::create(world, bytes),
        13..=17 => plans::set(world, bytes),
        18 => plans::read(world, bytes),
        19 => fences::create(world, bytes),
        20..=23 => fences::change(world, bytes),
        _ => fences::pass(world, bytes),
    }
}

/// On one of the registries, or a new one.
fn with(
    world: &mut World,
    bytes: &mut Bytes<'_>,
    call: impl FnOnce(&mut World, usize, &mut Bytes<'_>),
) {
    match world.registry(bytes) {
        Some(at) => call(world, at, bytes),
        None => create_registry(world, bytes),
    }
}

/// The registry, rarely null.
pub(crate) fn seqs(world: &World, at: usize, bytes: &mut Bytes<'_>) -> *mut kvb_seqs {
    if bytes.byte() == 255 {
        ptr::null_mut()
    } else {
        world.registries[at].it
    }
}

/// Takes one of a list; rarely null.
pub(crate) fn pick<T>(all: &[Object<T>], bytes: &mut Bytes<'_>) -> *mut T {
    match bytes.byte() {
        255 => ptr::null_mut(),
        byte => all
            .get(usize::from(byte) % all.len().max(1))
            .map_or(ptr::null_mut(), |it| it.it),
    }
}

/// One that a call has taken is no longer there.
pub(crate) fn forget<T>(all: &mut Vec<Object<T>>, it: *mut T) -> Option<Object<T>> {
    let at = all.iter().position(|other| other.it == it)?;
    Some(all.swap_remove(at))
}

pub(crate) fn create_registry(world: &mut World, bytes: &mut Bytes<'_>) {
    if world.registries.len() >= MOST {
        return;
    }
    let value = seqs_config(bytes.count(8), bytes.below(5), bytes.count(40));
    let mut config = Sized::given(value, bytes);
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_seqs>::new(bytes));
    let kind = bytes.below(6);
    let mut home: Home = [1, 2, 3, 3, 1, 1][kind];
    let pointers: Vec<*const kvb_pool> = match kind {
        0 | 5 => vec![world.pools[0]],
        1 => vec![world.pools[1]],
        2 => vec![world.pools[0], world.pools[1]],
        // What is refused: one pool twice, a null one.
        3 => vec![
            world.pools[0],
            if bytes.byte() & 1 == 0 {
                world.pools[0]
            } else {
                ptr::null()
            },
        ],
        _ => Vec::new(),
    };
    let mut list = List::new(pointers, bytes);
    // SAFETY: pointers and counts are as `arguments` makes them; objects live.
    let status = unsafe {
        match (kind, world.registries.first()) {
            (5, Some(first)) => {
                home = first.home;
                kvb_seqs_create_another(first.it, config.pointer(), place.pointer(), told.pointer())
            }
            (4, _) => {
                world.locksteps += 1;
                home = 1 << (1 + world.locksteps);
                let mut ranks = List::new(some_ranks(world.locksteps, bytes), bytes);
                let pool = pool_config(world.block_size, bytes.below(9));
                let mut pool = Sized::given(pool, bytes);
                kvb_seqs_create_lockstep(
                    ranks.pointer(),
                    ranks.count(),
                    pool.pointer(),
                    config.pointer(),
                    place.pointer(),
                    told.pointer(),
                )
            }
            _ => kvb_seqs_create(
                list.pointer(),
                list.count(),
                config.pointer(),
                place.pointer(),
                told.pointer(),
            ),
        }
    };
    let Some(it) = place.result(told.check(status)) else {
        return;
    };
    let mut step = ptr::null_mut();
    // SAFETY: the registry lives, and there is a place.
    assert_eq!(
        unsafe { kvb_step_create(it, bytes.below(9), bytes.below(9), &mut step) },
        KVB_OK
    );
    world.named += 1;
    world.registries.push(Registry {
        it,
        name: world.named,
        step,
        home,
        handles: Vec::new(),
    });
}

fn some_ranks(named: u32, bytes: &mut Bytes<'_>) -> Vec<kvb_rank> {
    let rank = |at: u32, bytes: &mut Bytes<'_>| kvb_rank {
        // No two pools have one name, so that no two sequences do; two ranks of an instance that have one are refused.
        shard: 10 * named + if bytes.rarely() { 0 } else { at },
        reserved: 0,
        blocks: bytes.below(40),
        max_blocks: bytes.below(3) * 20,
    };
    (0..bytes.below(4) as u32)
        .map(|at| rank(at, bytes))
        .collect()
}

fn pool_config(block_size: usize, events: usize) -> kvb_pool_config {
    kvb_pool_config {
        struct_size: size::<kvb_pool_config>(),
        shard: 0,
        blocks: 0,
        max_blocks: 0,
        block_size,
        events,
        secret: [0; 16],
        proof: 0,
        hash: 0,
        hash_seed: 0,
    }
}

/// A pool that is not made for one reason or another, or that goes at once.
fn create_pool_wrongly(_: &mut World, bytes: &mut Bytes<'_>) {
    let mut value = pool_config(bytes.count(9), bytes.count(20));
    value.blocks = bytes.count(20);
    value.max_blocks = bytes.count(30);
    value.proof = bytes.below(3) as u32;
    value.hash = bytes.below(3) as u32;
    let mut config = Sized::given(value, bytes);
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_pool>::new(bytes));
    // SAFETY: as above.
    let status = unsafe { kvb_pool_create(config.pointer(), place.pointer(), told.pointer()) };
    let made = place.result(told.check(status));
    // SAFETY: made just now, or null.
    unsafe { kvb_pool_destroy(made.unwrap_or(ptr::null_mut())) };
}

fn destroy_registry(world: &mut World, bytes: &mut Bytes<'_>) {
    let Some(at) = world.registry(bytes) else {
        return;
    };
    let (lanes, mut told) = (pick(&world.lanes, bytes), Told::new(bytes));
    // SAFETY: as above; on success the registry is gone.
    unsafe {
        if bytes.byte() & 1 == 0 {
            kvb_seqs_destroy(world.registries[at].it);
        } else {
            let it = world.registries[at].it;
            let status = kvb_seqs_close_after(it, lanes, bytes.word() & 15, told.pointer());
            if told.check(status) != KVB_OK {
                return;
            }
        }
    }
    let registry = world.registries.swap_remove(at);
    world.gone(registry);
}

fn create_lanes(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    if world.lanes.len() >= MOST {
        let lanes = pick(&world.lanes, bytes);
        // SAFETY: as above.
        unsafe { kvb_lanes_destroy(lanes) };
        forget(&mut world.lanes, lanes);
        return;
    }
    let mut place = Place::<*mut kvb_lanes>::new(bytes);
    // SAFETY: as above.
    let (status, home) = unsafe {
        if bytes.byte() & 1 == 0 {
            let it = seqs(world, at, bytes);
            (
                kvb_seqs_lanes_create(it, place.pointer()),
                world.registries[at].home,
            )
        } else {
            let (pool, home) = world.pool(bytes);
            (kvb_pool_lanes_create(pool, place.pointer()), home)
        }
    };
    if let Some(it) = place.result(known(status)) {
        world.lanes.push(Object { it, home });
    }
}

fn complete(world: &mut World, bytes: &mut Bytes<'_>) {
    let (lanes, mut blocks) = (pick(&world.lanes, bytes), Place::<usize>::new(bytes));
    let fence = if bytes.rarely() {
        bytes.word()
    } else {
        bytes.word() & 15
    };
    // SAFETY: as above.
    unsafe {
        let status = kvb_lanes_complete(lanes, bytes.below(3), fence, blocks.pointer());
        blocks.result(known(status));
        let _ = kvb_lanes_waiting(lanes);
    }
}

fn resize(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, n, mut told) = (seqs(world, at, bytes), bytes.count(20), Told::new(bytes));
    // SAFETY: as above.
    let status = unsafe {
        match bytes.below(3) {
            0 => kvb_seqs_grow(it, n, told.pointer()),
            1 => kvb_seqs_shrink(it, n, told.pointer()),
            _ => kvb_seqs_resize_rank(it, bytes.below(4), n, told.pointer()),
        }
    };
    told.check(status);
}
