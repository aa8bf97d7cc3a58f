//! Leases, and tables of them.

use core::ptr;

use kvblock_c::leases::*;
use kvblock_c::status::KVB_OK;

use crate::arguments::{Bytes, Place, Told, known};
use crate::calls::{forget, pick, seqs};
use crate::pools::store;
use crate::world::{MOST, World};

pub(crate) fn create_table(world: &mut World, bytes: &mut Bytes<'_>) {
    if world.tables.len() >= MOST {
        let it = pick(&world.tables, bytes);
        // SAFETY: as above.
        unsafe { kvb_leases_destroy(it) };
        if forget(&mut world.tables, it).is_some() {
            let of_it = world.read_by.iter_mut().filter(|(_, table)| *table == it);
            of_it.for_each(|(_, table)| *table = ptr::null_mut());
        }
        return;
    }
    let (budget, mut place) = (bytes.count(60), Place::<*mut kvb_leases>::new(bytes));
    // SAFETY: as above.
    let (status, home) = unsafe {
        match world.registry(bytes) {
            Some(at) if bytes.byte() & 1 == 0 => {
                let it = seqs(world, at, bytes);
                (
                    kvb_seqs_leases_create(it, budget, place.pointer()),
                    world.registries[at].home,
                )
            }
            _ => {
                let (pool, home) = world.pool(bytes);
                (kvb_pool_leases_create(pool, budget, place.pointer()), home)
            }
        }
    };
    store(&mut world.tables, place.result(known(status)), home);
}

pub(crate) fn lease(world: &mut World, bytes: &mut Bytes<'_>) {
    let (table, chain) = (pick(&world.tables, bytes), pick(&world.chains, bytes));
    let (owner, deadline) = (u64::from(bytes.byte() & 7), u64::from(bytes.byte()));
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_lease>::new(bytes));
    let wanted = bytes.byte() & 1 == 0 && world.leases.len() < MOST;
    let out = if wanted {
        place.pointer()
    } else {
        ptr::null_mut()
    };
    let at = world.registry(bytes);
    // SAFETY: as above.
    unsafe {
        let status = match (bytes.below(7), at) {
            (0 | 1, Some(at)) => {
                let (it, seq) = (seqs(world, at, bytes), world.handle(at, bytes));
                kvb_seqs_pin(it, seq, table, owner, deadline, out, told.pointer())
            }
            (2, _) => kvb_leases_grant(table, chain, owner, deadline, out, told.pointer()),
            (3, _) => {
                let status = kvb_leases_keep(table, chain, owner, deadline, out, told.pointer());
                if status == KVB_OK {
                    forget(&mut world.chains, chain);
                }
                status
            }
            (4, _) => {
                world.time += deadline / 16;
                let mut ended = Place::<usize>::new(bytes);
                let status = kvb_leases_tick(table, world.time, ended.pointer());
                ended.result(known(status));
                return;
            }
            _ => return use_lease(world, deadline, bytes),
        };
        told.check(status);
        if wanted {
            store(&mut world.leases, place.result(status), 0);
        }
    }
}

fn use_lease(world: &mut World, time: u64, bytes: &mut Bytes<'_>) {
    let it = pick(&world.leases, bytes);
    let (mut ids, mut count) = (Place::<*const u32>::new(bytes), Place::<usize>::new(bytes));
    // SAFETY: as above.
    unsafe {
        let status = kvb_lease_ids(it, bytes.below(3), ids.pointer(), count.pointer());
        ids.result(known(status));
        count.result(status);
        let _ = (
            kvb_lease_owner(it),
            kvb_lease_deadline(it),
            kvb_lease_shards(it),
        );
        match bytes.below(4) {
            0 => known(kvb_lease_extend(it, time)),
            1 => known(kvb_lease_check(it, time)),
            2 => known(kvb_lease_end(it)),
            _ => {
                kvb_lease_destroy(it);
                forget(&mut world.leases, it);
                KVB_OK
            }
        };
    }
}
