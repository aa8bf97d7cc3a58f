//! Tables of fences, beside a list of who used each block since its last write.

use core::ptr;
use std::collections::HashMap;

use kvblock_c::copy::*;
use kvblock_c::status::*;

use crate::arguments::{Bytes, List, Place, Sized, Told, known};
use crate::layouts::{MOST_BLOCKS, some_blocks};
use crate::plans::{Plan, a_plan};
use crate::world::{MOST, World};

#[derive(Clone, Copy)]
struct Use {
    writes: bool,
    timeline: u32,
    fence: u64,
}

pub(crate) struct Table {
    pub(crate) it: *mut kvb_fences,
    /// Of each timeline the last fence, and the one that has passed.
    timelines: Vec<(u64, u64)>,
    /// Of each memory the blocks that are tracked.
    tracked: HashMap<u32, usize>,
    /// Of each block of a memory the last write and what came after it.
    uses: HashMap<(u32, u32), Vec<Use>>,
}

/// A list of (memory, block, whether it is written).
type Uses = Vec<(u32, u32, bool)>;

impl Table {
    /// On each timeline what is to be waited for.
    fn waits(&self, uses: &Uses, on: u32) -> [u64; KVB_MAX_TIMELINES] {
        let mut waits = [0; KVB_MAX_TIMELINES];
        for &(memory, block, writes) in uses {
            for it in self.uses.get(&(memory, block)).into_iter().flatten() {
                let passed = self.timelines[it.timeline as usize].1;
                if it.timeline != on && it.fence > passed && (writes || it.writes) {
                    let place = &mut waits[it.timeline as usize];
                    *place = it.fence.max(*place);
                }
            }
        }
        waits
    }

    fn record(&mut self, uses: &Uses, timeline: u32, fence: u64) {
        // Everything is read before anything is written.
        let reads = uses.iter().filter(|it| !it.2);
        for &(memory, block, writes) in reads.chain(uses.iter().filter(|it| it.2)) {
            let list = self.uses.entry((memory, block)).or_default();
            if writes {
                list.clear();
            }
            list.push(Use {
                writes,
                timeline,
                fence,
            });
        }
        self.timelines[timeline as usize].0 = fence;
    }

    fn knows(&self, on: u32) -> bool {
        (on as usize) < self.timelines.len()
    }

    fn may_record(&self, on: u32, fence: u64) -> bool {
        self.knows(on) && fence != 0 && fence >= self.timelines[on as usize].0
    }

    fn tracks(&self, memory: u32, blocks: usize) -> bool {
        self.tracked.get(&memory).is_some_and(|&it| blocks <= it)
    }
}

fn uses_of(plan: &Plan) -> Uses {
    let ends = (plan.path.source.memory, plan.path.destination.memory);
    let reads = plan.pairs.iter().map(|it| (ends.0, it.0, false));
    let writes = plan.pairs.iter().map(|it| (ends.1, it.1, true));
    reads.chain(writes).collect()
}

/// Makes a table, or gives one back if there are many.
pub(crate) fn create(world: &mut World, bytes: &mut Bytes<'_>) {
    if world.copies.tables.len() >= MOST / 2 {
        let gone = bytes.below(MOST / 2);
        let gone = world.copies.tables.swap_remove(gone);
        // SAFETY: made by its create function; nobody else has it.
        unsafe { kvb_fences_destroy(gone.it) };
        return;
    }
    let mut place = Place::<*mut kvb_fences>::new(bytes);
    // SAFETY: a place, or null.
    let status = unsafe { kvb_fences_create(place.pointer()) };
    if let Some(it) = place.result(known(status)) {
        let timelines = 1 + bytes.below(4);
        // SAFETY: the table was made just now.
        unsafe {
            for number in 0..timelines as u32 {
                let mut made = 7;
                let status = kvb_fences_add_timeline(it, &mut made, ptr::null_mut());
                assert_eq!((status, made), (KVB_OK, number));
            }
            for memory in 0..2 {
                let status = kvb_fences_track(it, memory, MOST_BLOCKS, ptr::null_mut());
                assert_eq!(status, KVB_OK);
            }
        }
        world.copies.tables.push(Table {
            it,
            timelines: vec![(0, 0); timelines],
            tracked: HashMap::from([(0, MOST_BLOCKS), (1, MOST_BLOCKS)]),
            uses: HashMap::new(),
        });
    }
}

fn a_table(world: &World, bytes: &mut Bytes<'_>) -> Option<usize> {
    let count = world.copies.tables.len();
    (count > 0).then(|| bytes.below(count))
}

/// A timeline of the table; rarely none.
fn a_timeline(table: &Table, bytes: &mut Bytes<'_>) -> u32 {
    match bytes.byte() {
        255 => 256 + u32::from(bytes.byte() & 7),
        254 => u32::MAX,
        253 => table.timelines.len() as u32,
        byte => u32::from(byte) % table.timelines.len().max(1) as u32,
    }
}

/// A fence a little later than the last one; rarely an earlier one, or any.
fn a_fence(table: &Table, on: u32, bytes: &mut Bytes<'_>) -> u64 {
    let last = table.timelines.get(on as usize).map_or(0, |it| it.0);
    match bytes.byte() {
        255 => bytes.word(),
        254 => 0,
        253 => last.wrapping_sub(1),
        byte => last.saturating_add(u64::from(byte & 3)),
    }
}

/// Timelines and memories of a table, and what has passed.
pub(crate) fn change(world: &mut World, bytes: &mut Bytes<'_>) {
    let Some(at) = a_table(world, bytes) else {
        return create(world, bytes);
    };
    let table = &mut world.copies.tables[at];
    let (kind, mut told) = (bytes.below(4), Told::new(bytes));
    let usable = told.is_usable();
    // SAFETY: pointers and counts are as `arguments` makes them; objects live.
    unsafe {
        match kind {
            0 => {
                let mut place = Place::<u32>::new(bytes);
                let usable = usable && !place.pointer().is_null();
                let status = kvb_fences_add_timeline(table.it, place.pointer(), told.pointer());
                let made = place.result(told.check(status));
                let can = table.timelines.len() < KVB_MAX_TIMELINES;
                assert_eq!(status == KVB_OK, usable && can, "a timeline more");
                if let Some(made) = made {
                    assert_eq!(made as usize, table.timelines.len());
                    table.timelines.push((0, 0));
                }
            }
            1 => {
                let memory = u32::from(bytes.byte() & 1);
                let blocks = bytes.count(9);
                let status = kvb_fences_track(table.it, memory, blocks, told.pointer());
                let can = blocks <= 9;
                assert_eq!(
                    told.check(status) == KVB_OK,
                    usable && can,
                    "blocks to track"
                );
                if status == KVB_OK {
                    let tracked = table.tracked.entry(memory).or_default();
                    *tracked = blocks.max(*tracked);
                }
            }
            _ => {
                let on = a_timeline(table, bytes);
                let fence = a_fence(table, on, bytes);
                let status = kvb_fences_completed(table.it, on, fence, told.pointer());
                let can = usable && table.knows(on);
                assert_eq!(told.check(status) == KVB_OK, can, "a fence has passed");
                if can {
                    let (last, passed) = &mut table.timelines[on as usize];
                    *passed = fence.min(*last).max(*passed);
                }
            }
        }
        for (number, timeline) in (0..).zip(&table.timelines) {
            let mut last = u64::MAX;
            let status = kvb_fences_last(table.it, number, &mut last, ptr::null_mut());
            assert_eq!((status, last), (KVB_OK, timeline.0));
        }
    }
}

/// What a plan, or somebody who uses blocks, has to wait for, and that it has done so.
pub(crate) fn pass(world: &mut World, bytes: &mut Bytes<'_>) {
    let (Some(at), plan) = (a_table(world, bytes), a_plan(world, bytes)) else {
        return create(world, bytes);
    };
    let plan = plan.filter(|_| bytes.byte() & 1 == 0);
    let (plans, tables) = (&world.copies.plans, &mut world.copies.tables);
    let table = &mut tables[at];
    let on = a_timeline(table, bytes);
    let fence = a_fence(table, on, bytes);
    let (memory, writes) = (u32::from(bytes.byte() & 1), u32::from(bytes.byte() & 1));
    let writes = if bytes.byte() == 255 { 2 } else { writes };
    let mut blocks = List::new(some_blocks(5, MOST_BLOCKS, bytes), bytes);
    let mut waits = Sized::<kvb_waits>::asked(bytes);
    let (mut told, mut again) = (Told::new(bytes), Told::new(bytes));
    let (uses, tracked) = match plan {
        Some(plan) => {
            let (from, to) = (&plans[plan].path.source, &plans[plan].path.destination);
            let tracked =
                table.tracks(from.memory, from.blocks) && table.tracks(to.memory, to.blocks);
            (uses_of(&plans[plan]), tracked)
        }
        None => {
            let listed = blocks.told();
            let most = listed.unwrap_or_default().iter().max();
            let needed = most.map_or(0, |&it| it as usize + 1);
            let uses = listed.unwrap_or_default().iter();
            let uses = uses
                .map(|&it| (memory, it, writes == KVB_ACCESS_WRITE))
                .collect();
            (
                uses,
                listed.is_some() && writes < 2 && table.tracks(memory, needed),
            )
        }
    };
    // SAFETY: as above.
    unsafe {
        let (list, count) = (blocks.pointer(), blocks.count());
        let mut status = KVB_OK;
        waits.ask(|out| {
            let error = told.pointer();
            status = match plan {
                Some(plan) => kvb_fences_waits_for(table.it, plans[plan].it, on, out, error),
                None => kvb_fences_waits_for_blocks(
                    table.it, memory, list, count, writes, on, out, error,
                ),
            };
            status
        });
        told.check(status);
        if let Some(answer) = waits.answer().filter(|_| told.is_usable()) {
            assert_eq!(
                status == KVB_OK,
                tracked && table.knows(on),
                "asked what to wait for"
            );
            if status == KVB_OK {
                let expected = table.waits(&uses, on);
                assert_eq!(answer.fences, expected);
                let count = expected.iter().filter(|&&it| it != 0).count();
                assert_eq!(answer.count as usize, count);
            }
        }
        let error = again.pointer();
        let status = match plan {
            Some(plan) => kvb_fences_record(table.it, plans[plan].it, on, fence, error),
            None => {
                kvb_fences_record_blocks(table.it, memory, list, count, writes, on, fence, error)
            }
        };
        let can = again.is_usable() && tracked && table.may_record(on, fence);
        assert_eq!(again.check(status) == KVB_OK, can, "recorded");
        if can {
            table.record(&uses, on, fence);
        }
    }
}
