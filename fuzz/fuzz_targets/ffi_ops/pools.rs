//! Calls to the pools themselves: their upkeep, promises, blocks and events.

use core::ptr;

use kvblock_c::events::*;
use kvblock_c::pool::*;
use kvblock_c::status::KVB_OK;

use crate::arguments::{Bytes, Place, Text, Told, known};
use crate::calls::{forget, pick};
use crate::world::{Home, MOST, Object, World};
use crate::{chains, leases};

pub(crate) fn one(world: &mut World, choice: usize, bytes: &mut Bytes<'_>) {
    match choice {
        0 => look(world, bytes),
        1 => keep(world, bytes),
        2 => resize(world, bytes),
        3 => reserve(world, bytes),
        4 => change_reservation(world, bytes),
        5 => take(world, bytes),
        6 => change_blocks(world, bytes),
        7 => chains::find(world, bytes),
        8 => chains::lengthen(world, bytes),
        9 | 10 => chains::publish(world, bytes),
        11 => chains::part(world, bytes),
        12 => chains::end_chain(world, bytes),
        13 => leases::create_table(world, bytes),
        14 => leases::lease(world, bytes),
        _ => events(world, bytes),
    }
}

pub(crate) fn home_of<T>(all: &[Object<T>], it: *mut T) -> Home {
    all.iter()
        .find(|other| other.it == it)
        .map_or(0, |other| other.home)
}

/// Keeps what was made, unless there is enough of it.
pub(crate) fn store<T>(all: &mut Vec<Object<T>>, it: Option<*mut T>, home: Home) {
    all.extend(it.map(|it| Object { it, home }));
}

fn look(world: &mut World, bytes: &mut Bytes<'_>) {
    let ((pool, _), n) = (world.pool(bytes), bytes.count(70));
    let (mut told, mut again) = (Told::new(bytes), Told::new(bytes));
    let mut text = Text::new(40, bytes);
    let prompt = text.prompt(world.a_space(bytes), bytes);
    let mut place = Place::<kvb_probe>::new(bytes);
    // SAFETY: pointers and counts are as `arguments` makes them; objects live.
    unsafe {
        let status = kvb_pool_check(pool, n, told.pointer());
        if told.check(status) == KVB_OK {
            assert!(n <= kvb_pool_available(pool));
        }
        let status = kvb_pool_probe(pool, &prompt, place.pointer(), again.pointer());
        if let Some(probe) = place.result(again.check(status)) {
            assert_eq!(
                probe.positions,
                (probe.held + probe.idle) * world.block_size
            );
        }
        let _ = (
            kvb_pool_reserved(pool),
            kvb_pool_quarantined(pool),
            kvb_pool_capacity(pool),
        );
        let _ = (kvb_pool_shard(pool), kvb_pool_block_size(pool));
    }
}

fn keep(world: &mut World, bytes: &mut Bytes<'_>) {
    let (pool, home) = world.pool(bytes);
    let (worker, n) = (world.worker(home, bytes), bytes.count(20));
    let (mut told, mut place, space) = (
        Told::new(bytes),
        Place::<usize>::new(bytes),
        world.a_space(bytes),
    );
    // SAFETY: as above.
    let status = unsafe {
        match bytes.below(5) {
            0 => kvb_pool_evict(pool, worker, n, place.pointer(), told.pointer()),
            1 => kvb_pool_clear(pool, worker, space, place.pointer(), told.pointer()),
            2 => kvb_pool_clear_all(pool, worker, place.pointer(), told.pointer()),
            3 => kvb_pool_maintain(pool, worker, n.min(1000), place.pointer(), told.pointer()),
            _ => kvb_pool_invalidate(
                pool,
                worker,
                u32::from(bytes.byte()),
                place.pointer(),
                told.pointer(),
            ),
        }
    };
    place.result(told.check(status));
}

fn resize(world: &mut World, bytes: &mut Bytes<'_>) {
    let (pool, home) = world.pool(bytes);
    let (worker, n) = (world.worker(home, bytes), bytes.count(20));
    let (mut told, mut place) = (Told::new(bytes), Place::<kvb_resized>::new(bytes));
    // SAFETY: as above.
    let status = unsafe {
        if bytes.byte() & 1 == 0 {
            kvb_pool_grow(pool, n, place.pointer(), told.pointer())
        } else {
            kvb_pool_shrink(pool, worker, n, place.pointer(), told.pointer())
        }
    };
    place.result(told.check(status));
}

fn reserve(world: &mut World, bytes: &mut Bytes<'_>) {
    let ((pool, home), n) = (world.pool(bytes), bytes.count(40));
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_reservation>::new(bytes));
    if world.reservations.len() >= MOST {
        let it = pick(&world.reservations, bytes);
        // SAFETY: as above.
        unsafe { kvb_reservation_destroy(it) };
        forget(&mut world.reservations, it);
        return;
    }
    // SAFETY: as above.
    let status = unsafe { kvb_pool_reserve(pool, n, place.pointer(), told.pointer()) };
    store(
        &mut world.reservations,
        place.result(told.check(status)),
        home,
    );
}

fn change_reservation(world: &mut World, bytes: &mut Bytes<'_>) {
    let (it, n) = (pick(&world.reservations, bytes), bytes.count(20));
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_reservation>::new(bytes));
    let home = home_of(&world.reservations, it);
    // SAFETY: as above.
    unsafe {
        let before = kvb_reservation_blocks(it);
        let (status, after) = match bytes.below(3) {
            0 => (
                kvb_reservation_grow(it, n, told.pointer()),
                before.wrapping_add(n),
            ),
            1 => (
                kvb_reservation_shrink(it, n, told.pointer()),
                before.wrapping_sub(n),
            ),
            _ if world.reservations.len() < MOST => {
                let status = kvb_reservation_split(it, n, place.pointer(), told.pointer());
                store(&mut world.reservations, place.result(status), home);
                (status, before.wrapping_sub(n))
            }
            _ => return,
        };
        let done = told.check(status) == KVB_OK;
        assert_eq!(
            kvb_reservation_blocks(it),
            if done { after } else { before }
        );
    }
}

fn take(world: &mut World, bytes: &mut Bytes<'_>) {
    let (it, n) = (pick(&world.reservations, bytes), bytes.count(12));
    let home = home_of(&world.reservations, it);
    let worker = world.worker(home, bytes);
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_blocks>::new(bytes));
    if world.blocks.len() >= MOST {
        return;
    }
    // SAFETY: as above.
    let status = unsafe { kvb_reservation_take(it, worker, n, place.pointer(), told.pointer()) };
    store(&mut world.blocks, place.result(told.check(status)), home);
}

fn change_blocks(world: &mut World, bytes: &mut Bytes<'_>) {
    let (it, other, at) = (
        pick(&world.blocks, bytes),
        pick(&world.blocks, bytes),
        bytes.count(12),
    );
    let home = home_of(&world.blocks, it);
    let (worker, lanes) = (world.worker(home, bytes), pick(&world.lanes, bytes));
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_blocks>::new(bytes));
    let (mut ids, mut count) = (Place::<*const u32>::new(bytes), Place::<usize>::new(bytes));
    // SAFETY: as above; what a call has taken is forgotten.
    unsafe {
        let status = kvb_blocks_ids(it, ids.pointer(), count.pointer());
        ids.result(known(status));
        count.result(status);
        let (status, gone) = match bytes.below(5) {
            0 if world.blocks.len() < MOST => {
                let status = kvb_blocks_split_off(it, at, place.pointer(), told.pointer());
                store(&mut world.blocks, place.result(status), home);
                (status, ptr::null_mut())
            }
            1 => (kvb_blocks_append(it, other, told.pointer()), other),
            2 => (kvb_blocks_release(it, worker, told.pointer()), it),
            3 => {
                let (shard, fence) = (bytes.below(3), bytes.word() & 15);
                (
                    kvb_blocks_release_after(it, worker, lanes, shard, fence, told.pointer()),
                    it,
                )
            }
            _ => {
                kvb_blocks_destroy(it);
                forget(&mut world.blocks, it);
                return;
            }
        };
        if told.check(status) == KVB_OK {
            forget(&mut world.blocks, gone);
        }
    }
}

fn events(world: &mut World, bytes: &mut Bytes<'_>) {
    let (pool, _) = world.pool(bytes);
    let mut position = if bytes.rarely() {
        bytes.word()
    } else {
        world.read
    };
    // SAFETY: integers.
    let mut out: [kvb_event; 4] = unsafe { core::mem::zeroed() };
    let (mut count, mut lost) = (Place::<usize>::new(bytes), Place::<u64>::new(bytes));
    let mut place = Place::<*mut kvb_snapshot>::new(bytes);
    // SAFETY: as above.
    unsafe {
        let room = bytes.below(5);
        let status = kvb_pool_read_events(
            pool,
            &mut position,
            out.as_mut_ptr(),
            room,
            count.pointer(),
            lost.pointer(),
        );
        if let Some(count) = count.result(known(status)) {
            assert!(count <= room);
            world.read = position;
        }
        lost.result(status);
        let status = kvb_pool_snapshot_create(pool, place.pointer());
        if let Some(snapshot) = place.result(known(status)) {
            assert!(kvb_snapshot_from(snapshot) <= kvb_snapshot_to(snapshot));
            kvb_snapshot_destroy(snapshot);
        }
    }
}
