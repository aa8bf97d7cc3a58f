//! Calls that begin sequences, share them, take them elsewhere and end them.

use core::ptr;

use kvblock_c::seqs::*;
use kvblock_c::status::KVB_OK;

use crate::arguments::{Bytes, List, Place, Sized, Text, Told, known};
use crate::calls::{MOST_ITEMS, forget, pick, seqs};
use crate::world::{MOST, Object, World, size};

pub(crate) fn admit(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let mut text = Text::new(48, bytes);
    let prompt = text.prompt(world.a_space(bytes), bytes);
    let kind = bytes.byte();
    let value = kvb_admit {
        struct_size: size::<kvb_admit>(),
        flags: u32::from(if kind == 255 { 8 } else { kind & 7 }),
        prompt,
        growth: u32::from(kind >> 3 & 3) % if bytes.rarely() { 4 } else { 3 },
        reserved: u32::from(bytes.byte() == 255),
        growth_amount: bytes.count(20),
        label: u64::from(kind >> 5),
    };
    let mut request = Sized::given(value, bytes);
    let (mut told, mut place) = (Told::new(bytes), Place::<kvb_admitted>::new(bytes));
    let (mut again, mut probed) = (Told::new(bytes), Place::<usize>::new(bytes));
    let (it, mut third) = (seqs(world, at, bytes), Told::new(bytes));
    let prompt = if bytes.byte() == 255 {
        ptr::null()
    } else {
        ptr::from_ref(&prompt)
    };
    // SAFETY: as above.
    unsafe {
        let status = kvb_seqs_probe(it, prompt, probed.pointer(), again.pointer());
        probed.result(again.check(status));
        let costs = ptr::null_mut();
        let checked = kvb_seqs_check(it, request.pointer(), costs, third.pointer());
        third.check(checked);
        let status = kvb_seqs_admit(it, request.pointer(), place.pointer(), told.pointer());
        told.check(status);
        if status == KVB_OK && third.is_usable() {
            assert_eq!(checked, KVB_OK, "it was to be refused");
        }
        if let Some(admitted) = place.result(status) {
            world.named(at, admitted.seq);
        }
    }
}

pub(crate) fn fork(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let none = kvb_handle { bits: 3 };
    let mut children = List::new(vec![none; bytes.below(4)], bytes);
    let (it, parent, mut told) = (
        seqs(world, at, bytes),
        world.handle(at, bytes),
        Told::new(bytes),
    );
    // SAFETY: as above.
    let status = unsafe {
        kvb_seqs_fork(
            it,
            parent,
            children.pointer(),
            children.count(),
            told.pointer(),
        )
    };
    let done = told.check(status) == KVB_OK;
    for &child in children.told().unwrap_or_default() {
        assert_eq!(
            done,
            child != none,
            "children of a refused call, or none of one that was not"
        );
        if done {
            world.named(at, child);
        }
    }
}

pub(crate) fn release(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let handles = (0..bytes.below(MOST_ITEMS))
        .map(|_| world.handle(at, bytes))
        .collect();
    let (mut list, it) = (List::new(handles, bytes), seqs(world, at, bytes));
    // SAFETY: as above.
    let status = unsafe {
        if bytes.byte() & 1 == 0 {
            kvb_seqs_release(it, list.pointer(), list.count())
        } else {
            kvb_seqs_preempt(it, list.pointer(), list.count())
        }
    };
    if known(status) == KVB_OK {
        for &handle in list.told().unwrap_or_default() {
            world.over(at, handle);
        }
    }
}

pub(crate) fn release_after(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, handle, lanes) = (
        seqs(world, at, bytes),
        world.handle(at, bytes),
        pick(&world.lanes, bytes),
    );
    let (fence, mut told) = (bytes.word() & 15, Told::new(bytes));
    // SAFETY: as above.
    let status = unsafe {
        if bytes.byte() & 1 == 0 {
            kvb_seqs_release_after(it, handle, lanes, fence, told.pointer())
        } else {
            kvb_seqs_preempt_after(it, handle, lanes, fence, told.pointer())
        }
    };
    if told.check(status) == KVB_OK {
        world.over(at, handle);
    }
}

pub(crate) fn detach(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, handle) = (seqs(world, at, bytes), world.handle(at, bytes));
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_detached>::new(bytes));
    if world.detached.len() >= MOST {
        return;
    }
    // SAFETY: as above.
    let status = unsafe { kvb_seqs_detach(it, handle, place.pointer(), told.pointer()) };
    if let Some(it) = place.result(told.check(status)) {
        world.over(at, handle);
        let home = world.registries[at].home;
        world.detached.push(Object { it, home });
    }
}

pub(crate) fn attach(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (it, detached) = (seqs(world, at, bytes), pick(&world.detached, bytes));
    let (mut told, mut place) = (Told::new(bytes), Place::<kvb_handle>::new(bytes));
    let (lanes, fence) = (pick(&world.lanes, bytes), bytes.word() & 15);
    // SAFETY: as above; on success the detached one is gone.
    unsafe {
        match bytes.below(4) {
            0 => {
                let status = kvb_detached_release_after(detached, lanes, fence, told.pointer());
                if told.check(status) == KVB_OK {
                    forget(&mut world.detached, detached);
                }
            }
            1 => {
                kvb_detached_destroy(detached);
                forget(&mut world.detached, detached);
            }
            _ => {
                let status = kvb_seqs_attach(it, detached, place.pointer(), told.pointer());
                if let Some(handle) = place.result(told.check(status)) {
                    forget(&mut world.detached, detached);
                    world.named(at, handle);
                }
            }
        }
    }
}
