//! The calls of a step's cycle: positions, what they are, that they are computed, copies, and what takes them back.

use core::ptr;

use kvblock_c::seqs::*;
use kvblock_c::status::{KVB_ERR_PARTIAL, KVB_OK};

use crate::arguments::{Bytes, List, Place, Text, Told, done_in_part, known};
use crate::calls::{pick, seqs};
use crate::world::{World, no_state};

/// Most items of a batch.
const MOST_ITEMS: usize = 5;

pub(crate) fn one(world: &mut World, at: usize, choice: usize, bytes: &mut Bytes<'_>) {
    match choice {
        0 | 1 => step(world, at, bytes),
        2 | 3 => append(world, at, bytes),
        4 => tokens(world, at, bytes),
        5 => computed(world, at, bytes),
        6..=8 => advance(world, at, bytes),
        9 => truncate(world, at, bytes),
        10 => adopt(world, at, bytes),
        _ => invalidate(world, at, bytes),
    }
}

/// The lists of the registry's step, whose copies are made at once, or later, or said to be made elsewhere.
fn read_step(world: &World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, step) = (world.registries[at].it, world.registries[at].step);
    let shard = bytes.below(3);
    let mut place = Place::<kvb_step_lists>::new(bytes);
    // SAFETY: pointers and counts are as `arguments` makes them; objects live.
    unsafe {
        let status = kvb_step_get(step, shard, place.pointer());
        let Some(lists) = place.result(known(status)) else {
            return;
        };
        let slots = slice(lists.slots, lists.slot_count);
        assert!(
            slots.iter().all(|&slot| (0..200 * 8).contains(&slot)),
            "{slots:?}"
        );
        let copies = slice(lists.copies, lists.copy_count);
        assert!(
            copies
                .iter()
                .all(|copy| copy.src != copy.dst && copy.positions < world.block_size)
        );
        let _ = (
            slice(lists.fresh, lists.fresh_count),
            slice(lists.changes, lists.change_count),
        );
        let on = if bytes.rarely() {
            bytes.below(3)
        } else {
            shard
        };
        if bytes.byte() & 3 != 0 {
            known(kvb_seqs_copied(it, on, lists.copies, lists.copy_count));
        }
    }
}

/// # Safety
/// * As many items as are announced.
unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: this function's contract.
    unsafe { core::slice::from_raw_parts(first, count) }
}

fn step(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let item = |bytes: &mut Bytes<'_>| kvb_append {
        seq: world.handle(at, bytes),
        positions: bytes.count(12),
    };
    let batch: Vec<kvb_append> = (0..bytes.below(MOST_ITEMS)).map(|_| item(bytes)).collect();
    let mut list = List::new(batch, bytes);
    let it = seqs(world, at, bytes);
    let step = if bytes.byte() == 255 {
        ptr::null_mut()
    } else {
        world.registries[at].step
    };
    let (mut failures, mut count) = (
        Place::<*const kvb_failure>::new(bytes),
        Place::<usize>::new(bytes),
    );
    // SAFETY: as above.
    unsafe {
        let status = known(kvb_seqs_step(it, list.pointer(), list.count(), step));
        if !done_in_part(status) {
            return;
        }
        let read = known(kvb_step_failures(step, failures.pointer(), count.pointer()));
        if let (Some(failures), Some(count)) = (failures.result(read), count.result(read)) {
            assert_eq!(count > 0, status == KVB_ERR_PARTIAL);
            for failure in slice(failures, count) {
                known(failure.status);
                assert!(failure.index < list.count());
            }
        }
    }
    read_step(world, at, bytes);
}

fn append(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, seq, n) = (
        seqs(world, at, bytes),
        world.handle(at, bytes),
        bytes.count(16),
    );
    let step = if bytes.byte() == 255 {
        ptr::null_mut()
    } else {
        world.registries[at].step
    };
    let (mut told, mut again, mut blocks) = (
        Told::new(bytes),
        Told::new(bytes),
        Place::<usize>::new(bytes),
    );
    let (mut before, mut after) = (no_state(), no_state());
    // SAFETY: as above.
    unsafe {
        let lives = kvb_seqs_get_state(it, seq, &mut before);
        let status = kvb_seqs_check_append(it, seq, n, blocks.pointer(), again.pointer());
        blocks.result(again.check(status));
        let covers = bytes.byte() & 3 == 3;
        let status = if covers {
            kvb_seqs_ensure(it, seq, n, step, told.pointer())
        } else {
            kvb_seqs_append(it, seq, n, step, told.pointer())
        };
        let done = told.check(status) == KVB_OK;
        assert!(!done || lives == KVB_OK, "somebody who is not there grew");
        if lives == KVB_OK {
            assert_eq!(kvb_seqs_get_state(it, seq, &mut after), KVB_OK);
            let more = if done && !covers { n } else { 0 };
            assert_eq!(
                after.positions,
                before.positions + more,
                "positions were not as many"
            );
        }
    }
    read_step(world, at, bytes);
}

fn tokens(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, seq) = (seqs(world, at, bytes), world.handle(at, bytes));
    let mut text = Text::new(12, bytes);
    let contents = text.contents();
    let contents = if bytes.byte() == 255 {
        ptr::null()
    } else {
        ptr::from_ref(&contents)
    };
    let mut told = Told::new(bytes);
    let mut state = no_state();
    // SAFETY: as above.
    unsafe {
        kvb_seqs_get_state(it, seq, &mut state);
        let from = if bytes.rarely() {
            bytes.count(20)
        } else {
            state.known
        };
        let status = kvb_seqs_tokens(it, seq, from, contents, told.pointer());
        told.check(status);
    }
}

fn computed(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, seq, n, mut told) = (
        seqs(world, at, bytes),
        world.handle(at, bytes),
        bytes.count(60),
        Told::new(bytes),
    );
    // SAFETY: as above.
    let status = unsafe { kvb_seqs_computed(it, seq, n, told.pointer()) };
    told.check(status);
}

/// Tells what of some sequences is not known yet, and that all of it is computed; rarely something else.
fn advance(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let it = seqs(world, at, bytes);
    let mut texts: Vec<Text> = (0..bytes.below(MOST_ITEMS))
        .map(|_| Text::new(20, bytes))
        .collect();
    let mut item = |text: &mut Text| {
        let seq = world.handle(at, bytes);
        let mut state = no_state();
        // SAFETY: as above.
        unsafe { kvb_seqs_get_state(it, seq, &mut state) };
        let (tokens, count) = text.tokens();
        let left = state.positions.saturating_sub(state.known);
        kvb_progress {
            seq,
            at: if bytes.rarely() {
                bytes.count(20)
            } else {
                state.known
            },
            tokens,
            token_count: if bytes.rarely() || count > 20 {
                count
            } else {
                count.min(left)
            },
            computed: if bytes.rarely() {
                bytes.count(60)
            } else {
                state.positions
            },
        }
    };
    let batch = texts.iter_mut().map(&mut item).collect();
    let mut list = List::new(batch, bytes);
    let told = list.told().map_or(0, <[_]>::len);
    // SAFETY: integers.
    let mut failures: [kvb_failure; MOST_ITEMS] = unsafe { core::mem::zeroed() };
    let mut count = Place::<usize>::new(bytes);
    let room = if bytes.byte() & 1 == 0 {
        ptr::null_mut()
    } else {
        failures.as_mut_ptr()
    };
    // SAFETY: as above.
    unsafe {
        let status = known(kvb_seqs_advance(
            it,
            list.pointer(),
            list.count(),
            room,
            count.pointer(),
        ));
        if let Some(count) = count.result(if done_in_part(status) { KVB_OK } else { status }) {
            assert_eq!(count > 0, status == KVB_ERR_PARTIAL);
            assert!(count <= told);
        }
    }
}

fn truncate(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, seq, to) = (
        seqs(world, at, bytes),
        world.handle(at, bytes),
        bytes.count(40),
    );
    let (lanes, fence, mut told) = (
        pick(&world.lanes, bytes),
        bytes.word() & 15,
        Told::new(bytes),
    );
    let mut state = no_state();
    // SAFETY: as above.
    unsafe {
        let status = if bytes.byte() & 1 == 0 {
            kvb_seqs_truncate(it, seq, to, told.pointer())
        } else {
            kvb_seqs_truncate_after(it, seq, to, lanes, fence, told.pointer())
        };
        if told.check(status) == KVB_OK {
            assert_eq!(kvb_seqs_get_state(it, seq, &mut state), KVB_OK);
            assert_eq!(state.positions, to);
        }
    }
}

fn adopt(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, seq) = (seqs(world, at, bytes), world.handle(at, bytes));
    let (lanes, fence, mut told) = (
        pick(&world.lanes, bytes),
        bytes.word() & 15,
        Told::new(bytes),
    );
    let mut blocks = Place::<usize>::new(bytes);
    // SAFETY: as above.
    unsafe {
        let status = if bytes.byte() & 1 == 0 {
            kvb_seqs_adopt_duplicates(it, seq, blocks.pointer(), told.pointer())
        } else {
            kvb_seqs_adopt_duplicates_after(it, seq, lanes, fence, blocks.pointer(), told.pointer())
        };
        blocks.result(told.check(status));
    }
}

fn invalidate(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, shard, block) = (
        seqs(world, at, bytes),
        bytes.below(3),
        u32::from(bytes.byte() & 127),
    );
    let step = world.registries[at].step;
    let mut affected = [kvb_handle { bits: 0 }; 4];
    let (mut told, mut count) = (Told::new(bytes), Place::<usize>::new(bytes));
    let room = bytes.below(5);
    // SAFETY: as above.
    unsafe {
        let first = affected.as_mut_ptr();
        let status = kvb_seqs_invalidate(
            it,
            shard,
            block,
            first,
            room,
            count.pointer(),
            told.pointer(),
        );
        let Some(count) = count.result(told.check(status)) else {
            return;
        };
        for &seq in affected.iter().take(count.min(room)) {
            known(kvb_seqs_renew(it, seq, step, ptr::null_mut()));
        }
        known(kvb_seqs_renew(
            it,
            world.handle(at, bytes),
            step,
            ptr::null_mut(),
        ));
    }
}
