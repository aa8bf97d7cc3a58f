//! Calls that only read.

use core::ptr;

use kvblock_c::pool::{kvb_pool_get_report, kvb_pool_report};
use kvblock_c::seqs::*;
use kvblock_c::status::KVB_OK;

use crate::arguments::{Bytes, List, Place, Sized, Told, known};
use crate::calls::{MOST_ITEMS, seqs};
use crate::world::World;

pub(crate) fn read_labels(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let labels = (0..bytes.below(MOST_ITEMS) as u64).collect();
    let mut labels = List::new(labels, bytes);
    let told = labels.told().map_or(0, <[u64]>::len);
    let mut found = List::right(vec![kvb_handle { bits: 0 }; told.max(1)]);
    let mut count = Place::<usize>::new(bytes);
    let it = seqs(world, at, bytes);
    // SAFETY: as above; a place for each label, none if the count can't be believed.
    unsafe {
        known(kvb_seqs_find(
            it,
            labels.pointer(),
            labels.count(),
            found.pointer(),
        ));
        let label = u64::from(bytes.byte() & 7);
        let label = if label == 7 {
            ptr::null()
        } else {
            ptr::from_ref(&label)
        };
        let status = kvb_seqs_list(it, label, found.pointer(), told, count.pointer());
        count.result(known(status));
    }
}

pub(crate) fn read_tables(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let handles = (0..bytes.below(MOST_ITEMS))
        .map(|_| world.handle(at, bytes))
        .collect();
    let (mut handles, it) = (List::new(handles, bytes), seqs(world, at, bytes));
    let (shard, stride) = (bytes.below(3), bytes.below(80));
    let mut rows = vec![-7; MOST_ITEMS * 80];
    let (mut told, handle) = (Told::new(bytes), world.handle(at, bytes));
    let mut slots = vec![-7_i64; 16];
    let (mut first, mut count) = (Place::<usize>::new(bytes), Place::<usize>::new(bytes));
    let (from, slot_count) = (bytes.count(20), bytes.below(16));
    let mut again = Told::new(bytes);
    // SAFETY: as above; rows for all handles that are told rightly.
    unsafe {
        let rows_at = rows.as_mut_ptr();
        let none = ptr::null_mut();
        let status = kvb_seqs_copy_tables(
            it,
            shard,
            handles.pointer(),
            handles.count(),
            rows_at,
            stride,
            none,
            told.pointer(),
        );
        if told.check(status) != KVB_OK {
            assert!(
                rows.iter().all(|&entry| entry == -7),
                "a refused call wrote a row"
            );
        }
        let status = kvb_seqs_get_slots(
            it,
            shard,
            handle,
            from,
            slot_count,
            slots.as_mut_ptr(),
            again.pointer(),
        );
        if again.check(status) != KVB_OK {
            assert!(
                slots.iter().all(|&slot| slot == -7),
                "a refused call wrote a slot"
            );
        }
        let status = kvb_seqs_get_dirty(it, shard, handle, first.pointer(), count.pointer());
        first.result(known(status));
        count.result(status);
        let mut table = Place::<*const i32>::new(bytes);
        let mut entries = Place::<usize>::new(bytes);
        let status = known(kvb_seqs_get_table(
            it,
            shard,
            handle,
            table.pointer(),
            entries.pointer(),
        ));
        if let (Some(table), Some(entries)) = (table.result(status), entries.result(status)) {
            let table = if entries == 0 {
                &[]
            } else {
                core::slice::from_raw_parts(table, entries)
            };
            assert!(
                table.iter().all(|&entry| (0..200).contains(&entry)),
                "{table:?}"
            );
        }
    }
}

pub(crate) fn read_figures(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, handle, shard) = (
        seqs(world, at, bytes),
        world.handle(at, bytes),
        bytes.below(4),
    );
    let (mut state, mut report) = (
        Sized::<kvb_state>::asked(bytes),
        Sized::<kvb_seqs_report>::asked(bytes),
    );
    let (mut of_shard, mut rank) = (
        Sized::<kvb_registry_report>::asked(bytes),
        Sized::<kvb_rank_report>::asked(bytes),
    );
    let mut pool = Sized::<kvb_pool_report>::asked(bytes);
    let mut text = [0; 64];
    let mut length = Place::<usize>::new(bytes);
    // SAFETY: as above.
    unsafe {
        state.ask(|out| kvb_seqs_get_state(it, handle, out));
        report.ask(|out| kvb_seqs_get_report(it, out));
        of_shard.ask(|out| kvb_seqs_get_shard_report(it, shard, out));
        rank.ask(|out| kvb_seqs_get_rank_report(it, shard, out));
        pool.ask(|out| kvb_pool_get_report(kvb_seqs_pool(it, shard), out));
        let status = kvb_seqs_report_text(it, text.as_mut_ptr(), bytes.below(64), length.pointer());
        length.result(known(status));
        let _ = (
            kvb_seqs_free(it),
            kvb_seqs_largest(it),
            kvb_seqs_draining(it),
            kvb_seqs_max(it),
        );
        let _ = (
            kvb_seqs_width(it),
            kvb_seqs_count(it),
            kvb_handle_slot(handle),
            kvb_handle_epoch(handle),
        );
    }
}

pub(crate) fn victims(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let order = (0..bytes.below(MOST_ITEMS))
        .map(|_| world.handle(at, bytes))
        .collect();
    let need = (0..bytes.below(4)).map(|_| bytes.count(9)).collect();
    let (mut order, mut need) = (List::new(order, bytes), List::new(need, bytes));
    let mut chosen = [kvb_handle { bits: 0 }; MOST_ITEMS];
    let (mut count, mut enough) = (Place::<usize>::new(bytes), Place::<u32>::new(bytes));
    let (it, mut told) = (seqs(world, at, bytes), Told::new(bytes));
    // SAFETY: as above; room for all that are told rightly.
    unsafe {
        let status = kvb_seqs_select_victims(
            it,
            order.pointer(),
            order.count(),
            need.pointer(),
            need.count(),
            chosen.as_mut_ptr(),
            count.pointer(),
            enough.pointer(),
            told.pointer(),
        );
        told.check(status);
        if let Some(count) = count.result(status) {
            assert!(count <= order.told().map_or(0, <[_]>::len));
        }
        enough.result(status);
    }
}
