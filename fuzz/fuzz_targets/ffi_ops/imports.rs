//! What swaps fill: whoever has it may answer in the place of the swap.

use core::ptr;

use kvblock_c::status::*;
use kvblock_c::swap::kvb_swap_import;
use kvblock_c::transfer::*;

use crate::arguments::{Bytes, Place, Told, known};
use crate::world::{MOST, World};

/// What a swap fills, for whoever answers in its place: the swap may be gone, and so may the registry where it goes.
pub(crate) struct Filled {
    pub(crate) it: *mut kvb_import,
    swap: u64,
    to: u64,
}

/// Each swap has an import of its own from now on.
pub(crate) fn take(world: &mut World) {
    for swap in &world.swaps {
        let mut it = ptr::null_mut();
        // SAFETY: the swap lives, and there is a place.
        assert_eq!(unsafe { kvb_swap_import(swap.it, &mut it) }, KVB_OK);
        let (swap, to) = (swap.name, swap.ends.1);
        world.imports.push(Filled { it, swap, to });
    }
}

/// Imports whose registry is gone: each names what it holds by itself, and is named once.
pub(crate) fn left_behind(world: &World) -> Vec<*mut kvb_import> {
    let is_gone = |to: u64| world.registries.iter().all(|it| it.name != to);
    let mut named = Vec::new();
    let mut found = Vec::new();
    for import in world.imports.iter().filter(|it| is_gone(it.to)) {
        if !named.contains(&import.swap) {
            named.push(import.swap);
            found.push(import.it);
        }
    }
    found
}

/// A handle of what a swap fills.
pub(crate) fn make(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let mut place = Place::<*mut kvb_import>::new(bytes);
    if world.imports.len() >= MOST {
        return answer(world, bytes);
    }
    let swap = &world.swaps[at];
    // SAFETY: as above.
    let status = unsafe { kvb_swap_import(swap.it, place.pointer()) };
    let (swap, to) = (swap.name, swap.ends.1);
    let made = place.result(known(status));
    world.imports.extend(made.map(|it| Filled { it, swap, to }));
}

/// Who has an import answers in the place of the swap, which may be gone.
pub(crate) fn answer(world: &mut World, bytes: &mut Bytes<'_>) {
    let count = world.imports.len();
    if count == 0 {
        return;
    }
    let at = bytes.below(count);
    let it = world.imports[at].it;
    let (shard, writer) = (bytes.count(2), bytes.count(1));
    let (first, blocks) = (bytes.count(4), bytes.count(4));
    let (mut told, mut place) = (Told::new(bytes), Place::<u32>::new(bytes));
    let mut missing = Place::<usize>::new(bytes);
    // SAFETY: as above.
    unsafe {
        let left = kvb_import_left(it);
        match bytes.below(4) {
            0 => {
                let (answer, error) = (place.pointer(), told.pointer());
                let status = kvb_import_arrived(it, shard, writer, first, blocks, answer, error);
                place.result(told.check(status));
            }
            1 => {
                let (answer, error) = (place.pointer(), told.pointer());
                let status = kvb_import_failed(it, shard, writer, first, blocks, answer, error);
                place.result(told.check(status));
            }
            2 => {
                let status = kvb_import_end(it, shard, writer, missing.pointer(), told.pointer());
                missing.result(told.check(status));
            }
            _ => {
                kvb_import_destroy(world.imports.swap_remove(at).it);
                return;
            }
        }
        assert!(kvb_import_left(it) <= left, "more to come than before");
    }
}
