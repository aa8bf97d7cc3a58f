//! Chains of a pool.

use core::ptr;

use kvblock_c::pool::*;
use kvblock_c::status::KVB_OK;

use crate::arguments::{Bytes, Place, Text, Told, known};
use crate::calls::{forget, pick};
use crate::pools::{home_of, store};
use crate::world::{MOST, World};

pub(crate) fn find(world: &mut World, bytes: &mut Bytes<'_>) {
    let (pool, home) = world.pool(bytes);
    let (worker, pay) = (world.worker(home, bytes), pick(&world.reservations, bytes));
    let mut text = Text::new(40, bytes);
    let space = world.a_space(bytes);
    let prompt = text.prompt(space, bytes);
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_chain>::new(bytes));
    if world.chains.len() >= MOST {
        return;
    }
    // SAFETY: as above.
    let status = unsafe {
        if bytes.byte() & 3 == 0 {
            known(kvb_pool_chain_create(pool, space, place.pointer()))
        } else {
            let status = kvb_pool_find(pool, worker, &prompt, pay, place.pointer(), told.pointer());
            told.check(status)
        }
    };
    store(&mut world.chains, place.result(status), home);
}

pub(crate) fn lengthen(world: &mut World, bytes: &mut Bytes<'_>) {
    let (chain, n) = (pick(&world.chains, bytes), bytes.count(8));
    let (blocks, promise) = (pick(&world.blocks, bytes), pick(&world.reservations, bytes));
    let worker = world.worker(home_of(&world.chains, chain), bytes);
    let mut told = Told::new(bytes);
    // SAFETY: as above.
    unsafe {
        if bytes.byte() & 1 == 0 {
            let status = kvb_chain_take(chain, worker, promise, n, told.pointer());
            told.check(status);
            return;
        }
        let status = kvb_chain_push(chain, blocks, told.pointer());
        if told.check(status) == KVB_OK {
            forget(&mut world.blocks, blocks);
        }
    }
}

pub(crate) fn publish(world: &mut World, bytes: &mut Bytes<'_>) {
    let chain = pick(&world.chains, bytes);
    let worker = world.worker(home_of(&world.chains, chain), bytes);
    let pay = if bytes.byte() & 3 == 3 {
        pick(&world.reservations, bytes)
    } else {
        ptr::null_mut()
    };
    let mut text = Text::new(20, bytes);
    let contents = text.contents();
    let (mut told, mut place) = (Told::new(bytes), Place::<kvb_published>::new(bytes));
    // SAFETY: as above.
    unsafe {
        let before = kvb_chain_published(chain);
        let status = kvb_chain_publish(
            chain,
            worker,
            &contents,
            pay,
            place.pointer(),
            told.pointer(),
        );
        if let Some(published) = place.result(told.check(status)) {
            assert_eq!(
                kvb_chain_published(chain),
                before + published.stored + published.duplicates
            );
        }
        let (mut told, mut adopted) = (Told::new(bytes), Place::<usize>::new(bytes));
        if bytes.byte() & 3 == 0 {
            let status =
                kvb_chain_adopt_duplicates(chain, worker, adopted.pointer(), told.pointer());
            adopted.result(told.check(status));
        }
    }
}

pub(crate) fn part(world: &mut World, bytes: &mut Bytes<'_>) {
    let chain = pick(&world.chains, bytes);
    let home = home_of(&world.chains, chain);
    let (worker, at) = (world.worker(home, bytes), bytes.count(9));
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_chain>::new(bytes));
    if world.chains.len() >= MOST {
        return;
    }
    // SAFETY: as above.
    let status = unsafe {
        if bytes.byte() & 1 == 0 {
            kvb_chain_fork(chain, worker, place.pointer(), told.pointer())
        } else {
            kvb_chain_split_off(chain, at, place.pointer(), told.pointer())
        }
    };
    store(&mut world.chains, place.result(told.check(status)), home);
}

pub(crate) fn end_chain(world: &mut World, bytes: &mut Bytes<'_>) {
    let chain = pick(&world.chains, bytes);
    let worker = world.worker(home_of(&world.chains, chain), bytes);
    let (lanes, shard, fence) = (pick(&world.lanes, bytes), bytes.below(3), bytes.word() & 15);
    let mut told = Told::new(bytes);
    // SAFETY: as above.
    let status = unsafe {
        match bytes.below(3) {
            0 => kvb_chain_release(chain, worker, told.pointer()),
            1 => kvb_chain_release_after(chain, worker, lanes, shard, fence, told.pointer()),
            _ => {
                kvb_chain_destroy(chain);
                KVB_OK
            }
        }
    };
    if told.check(status) == KVB_OK {
        forget(&mut world.chains, chain);
    }
}
