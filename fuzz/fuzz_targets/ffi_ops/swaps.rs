//! Swaps between registries, beside how far each must be: what is launched on each shard, what has passed, and who has the sequence.

use core::ptr;

use kvblock_c::leases::{kvb_leases, kvb_seqs_leases_create};
use kvblock_c::seqs::*;
use kvblock_c::status::*;
use kvblock_c::swap::*;

use crate::arguments::{Bytes, List, Place, Sized, Told};
use crate::calls::{create_registry, pick, seqs};
use crate::world::{MOST, Object, World, no_state, size};
use crate::{imports, sequences};

/// What a swap's copy does on one shard.
#[derive(Clone, Copy, Debug)]
struct Copies {
    blocks: usize,
    until: Option<u64>,
    passed: bool,
}

pub(crate) struct Transit {
    pub(crate) it: *mut kvb_swap,
    /// A number that no other one gets.
    pub(crate) name: u64,
    /// The registries, by the names that they have here: they may be gone.
    pub(crate) ends: (u64, u64),
    info: kvb_swap_info,
    computed: usize,
    shards: Vec<Copies>,
    over: bool,
}

/// One of the swaps; rarely none.
fn a_swap(world: &World, bytes: &mut Bytes<'_>) -> Option<usize> {
    let count = world.swaps.len();
    (count > 0).then(|| bytes.below(count))
}

pub(crate) fn one(world: &mut World, choice: usize, bytes: &mut Bytes<'_>) {
    let at = a_swap(world, bytes);
    match (choice, at) {
        (0..=4, _) | (5..=16, None) => begin(world, bytes),
        (5, Some(at)) => look(world, at, bytes),
        (6 | 7, Some(at)) => copying(world, at, bytes),
        (8 | 9, Some(at)) => complete(world, at, bytes),
        (10 | 11, Some(at)) => copy_all(world, at, bytes),
        (12 | 13, Some(at)) => finish(world, at, bytes),
        (14, Some(at)) => abort(world, at, bytes),
        (15, Some(at)) => imports::make(world, at, bytes),
        (16, Some(at)) => destroy(world, at),
        _ if world.imports.is_empty() => begin(world, bytes),
        _ => imports::answer(world, bytes),
    }
}

/// A table of leases, mostly of the registry.
fn a_table(world: &mut World, at: usize, bytes: &mut Bytes<'_>) -> *mut kvb_leases {
    let home = world.registries[at].home;
    if bytes.rarely() {
        return pick(&world.tables, bytes);
    }
    if let Some(own) = world.tables.iter().find(|it| it.home == home) {
        return own.it;
    }
    let mut it = ptr::null_mut();
    // SAFETY: the registry lives, and there is a place.
    let status = unsafe { kvb_seqs_leases_create(world.registries[at].it, 64, &mut it) };
    assert_eq!(status, KVB_OK);
    world.tables.push(Object { it, home });
    it
}

/// What is seen of a sequence; nothing of one that is not there.
fn state_of(it: *const kvb_seqs, seq: kvb_handle) -> Option<kvb_state> {
    let mut state = no_state();
    // SAFETY: the registry is null or lives, and there is a place.
    let status = unsafe { kvb_seqs_get_state(it, seq, &mut state) };
    (status == KVB_OK).then_some(state)
}

fn begin(world: &mut World, bytes: &mut Bytes<'_>) {
    if world.swaps.len() >= MOST {
        return;
    }
    if world.registries.len() < 2 {
        return create_registry(world, bytes);
    }
    let count = world.registries.len();
    let at = bytes.below(count);
    if world.registries[at].handles.is_empty() {
        return sequences::admit(world, at, bytes);
    }
    let to = match bytes.byte() {
        255 => at,
        byte => (at + 1 + usize::from(byte) % (count - 1)) % count,
    };
    let (from_it, to_it) = (seqs(world, at, bytes), seqs(world, to, bytes));
    let seq = world.handle(at, bytes);
    let before = state_of(world.registries[at].it, seq);
    let positions = before.map_or(3, |it| it.positions);
    let kind = bytes.byte();
    // Enough tokens, or rarely one too few.
    let most = if kind == 255 {
        positions.saturating_sub(1)
    } else {
        positions + usize::from(kind & 3)
    };
    let mut tokens = List::new(vec![u32::from(kind >> 7); most], bytes);
    let value = kvb_admit {
        struct_size: size::<kvb_admit>(),
        flags: u32::from(kind >> 2 & 7),
        prompt: kvblock_c::prompt::kvb_prompt {
            space: world.a_space(bytes),
            tokens: tokens.pointer(),
            token_count: tokens.count(),
            extra: ptr::null(),
            extra_count: 0,
            keys: ptr::null(),
            key_count: 0,
            flags: 0,
            reserved: 0,
        },
        growth: u32::from(kind >> 5) % 3,
        reserved: 0,
        growth_amount: bytes.count(20),
        label: 1,
    };
    let mut request = Sized::given(value, bytes);
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_swap>::new(bytes));
    let leases = a_table(world, at, bytes);
    let owner = u64::from(bytes.byte());
    // SAFETY: pointers and counts are as `arguments` makes them; objects live.
    let (status, counts) = unsafe {
        let counts = || (kvb_seqs_count(from_it), kvb_seqs_count(to_it));
        let before = counts();
        let status = kvb_seqs_swap_to(
            from_it,
            seq,
            to_it,
            request.pointer(),
            leases,
            owner,
            place.pointer(),
            told.pointer(),
        );
        (told.check(status), (before, counts()))
    };
    let after = state_of(world.registries[at].it, seq);
    let seen = |it: Option<kvb_state>| it.map(|it| (it.positions, it.computed, it.blocks));
    let Some(it) = place.result(status) else {
        assert_eq!(counts.0, counts.1, "a swap that was not begun");
        assert_eq!(seen(before).map(|it| it.0), seen(after).map(|it| it.0));
        return;
    };
    assert_eq!(counts.1, (counts.0.0, counts.0.1 + 1));
    assert_eq!(
        seen(before),
        seen(after),
        "the source of a swap stays as it is"
    );
    let mut lease = ptr::null_mut();
    // SAFETY: it was just made, and there is a place.
    assert_eq!(unsafe { kvb_swap_lease(it, &mut lease) }, KVB_OK);
    let home = world.registries[at].home;
    world.read_by.push((Object { it: lease, home }, leases));
    let info = info_of(it);
    assert_eq!(info.source, seq);
    world.named(to, info.seq);
    let computed = after.map_or(0, |it| it.computed);
    let offered = computed.div_ceil(world.block_size);
    let found = info.hit as usize / world.block_size;
    let shards = (0..info.shards as usize).map(|shard| {
        let pairs = pairs_of(it, shard);
        assert_eq!(
            pairs.len(),
            offered.saturating_sub(found),
            "what is to be copied"
        );
        let (here, there) = (
            table_of(from_it, shard, seq),
            table_of(to_it, shard, info.seq),
        );
        let ends = here
            .iter()
            .zip(&there)
            .skip(found)
            .map(|(&from, &to)| (from, to));
        assert!(
            pairs.iter().copied().eq(ends.take(pairs.len())),
            "other pairs than the tables"
        );
        Copies {
            blocks: pairs.len(),
            until: None,
            passed: pairs.is_empty(),
        }
    });
    let shards = shards.collect();
    world.swaps_begun += 1;
    world.swaps.push(Transit {
        it,
        name: world.swaps_begun,
        ends: (world.registries[at].name, world.registries[to].name),
        info,
        computed,
        shards,
        over: false,
    });
}

fn table_of(it: *mut kvb_seqs, shard: usize, seq: kvb_handle) -> Vec<u32> {
    let (mut table, mut count) = (ptr::null(), 0);
    // SAFETY: the registry lives, and so does its table until the next call.
    unsafe {
        assert_eq!(
            kvb_seqs_get_table(it, shard, seq, &mut table, &mut count),
            KVB_OK
        );
        let entries = (0..count).map(|at| table.add(at).read());
        entries
            .map(|it| u32::try_from(it).expect("an id"))
            .collect()
    }
}

fn info_of(it: *const kvb_swap) -> kvb_swap_info {
    let mut info = kvb_swap_info {
        struct_size: size::<kvb_swap_info>(),
        shards: 0,
        source: kvb_handle { bits: 0 },
        seq: kvb_handle { bits: 0 },
        hit: 0,
    };
    // SAFETY: the swap lives, and there is a place.
    assert_eq!(unsafe { kvb_swap_get_info(it, &mut info) }, KVB_OK);
    info
}

fn pairs_of(it: *const kvb_swap, shard: usize) -> Vec<(u32, u32)> {
    let (mut sources, mut destinations) = ([0; 256], [0; 256]);
    let mut count = 0;
    // SAFETY: the swap lives; lists of so many, and a place.
    let status = unsafe {
        kvb_swap_pairs(
            it,
            shard,
            sources.as_mut_ptr(),
            destinations.as_mut_ptr(),
            256,
            &mut count,
            ptr::null_mut(),
        )
    };
    assert_eq!(status, KVB_OK);
    sources.into_iter().zip(destinations).take(count).collect()
}

/// It says the same for as long as it lives.
fn check(swap: &Transit) {
    let info = info_of(swap.it);
    let numbers = |it: &kvb_swap_info| (it.shards, it.source, it.seq, it.hit);
    assert_eq!(numbers(&info), numbers(&swap.info));
    for (shard, copies) in swap.shards.iter().enumerate() {
        let expected = if swap.over { 0 } else { copies.blocks };
        assert_eq!(pairs_of(swap.it, shard).len(), expected);
    }
}

fn look(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let swap = &world.swaps[at];
    let mut info = Sized::<kvb_swap_info>::asked(bytes);
    let it = if bytes.rarely() {
        ptr::null_mut()
    } else {
        swap.it
    };
    let shard = bytes.count(2);
    let capacity = bytes.below(9);
    let mut sources = List::new(vec![7; capacity], bytes);
    let mut destinations = List::new(vec![7; capacity], bytes);
    let (mut told, mut count) = (Told::new(bytes), Place::<usize>::new(bytes));
    // SAFETY: as above.
    unsafe {
        info.ask(|out| kvb_swap_get_info(it, out));
        let status = kvb_swap_pairs(
            it,
            shard,
            sources.pointer(),
            destinations.pointer(),
            sources.count().max(destinations.count()),
            count.pointer(),
            told.pointer(),
        );
        let found = count.result(told.check(status)).unwrap_or(0);
        for list in [&sources, &destinations] {
            let written = list.told().unwrap_or_default().iter();
            assert!(
                written.skip(found).all(|&it| it == 7),
                "written behind the end"
            );
        }
    }
    check(swap);
}

fn copying(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let swap = &mut world.swaps[at];
    let (shard, fence) = (bytes.count(2), a_fence(bytes));
    let mut told = Told::new(bytes);
    // SAFETY: as above.
    let status = unsafe { kvb_swap_copying(swap.it, shard, fence, told.pointer()) };
    if !told.is_usable() {
        assert_eq!(told.check(status), KVB_ERR_STRUCT_SIZE);
        return;
    }
    let copies = swap.shards.get_mut(shard);
    let expected = match &copies {
        _ if swap.over => KVB_ERR_SWAP_OVER,
        None => KVB_ERR_OUT_OF_RANGE,
        Some(it) if it.passed && it.blocks > 0 && it.until.is_some_and(|until| until < fence) => {
            KVB_ERR_ALREADY_COPIED
        }
        Some(_) => KVB_OK,
    };
    assert_eq!(told.check(status), expected, "a copy that is launched");
    if let (KVB_OK, Some(copies)) = (status, copies) {
        copies.until = copies.until.max(Some(fence));
    }
    check(swap);
}

fn a_fence(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.byte() {
        255 => u64::MAX,
        byte => u64::from(byte & 7),
    }
}

/// The timeline of a shard has come so far.
fn pass(swap: &mut Transit, shard: usize, fence: u64) {
    // SAFETY: the swap lives.
    let all = unsafe { kvb_swap_complete(swap.it, shard, fence) };
    if let Some(copies) = swap.shards.get_mut(shard) {
        copies.passed |= copies.until.is_some_and(|until| until <= fence);
    }
    let passed = swap.shards.iter().all(|it| it.passed);
    assert_eq!(all, passed, "whether all has passed");
}

fn complete(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (shard, fence) = (bytes.count(2), a_fence(bytes));
    pass(&mut world.swaps[at], shard, fence);
    // SAFETY: null is no swap.
    assert!(!unsafe { kvb_swap_complete(ptr::null_mut(), shard, fence) });
    check(&world.swaps[at]);
}

/// Launches and passes all of it.
fn copy_all(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let (swap, fence) = (&mut world.swaps[at], 8 + a_fence(bytes) % 8);
    for shard in 0..swap.shards.len() {
        let copies = &mut swap.shards[shard];
        if copies.passed || swap.over {
            continue;
        }
        // SAFETY: the swap lives.
        let status = unsafe { kvb_swap_copying(swap.it, shard, fence, ptr::null_mut()) };
        assert_eq!(status, KVB_OK);
        copies.until = copies.until.max(Some(fence));
        pass(swap, shard, fence);
    }
    check(swap);
}

/// The registry of a name, mostly; rarely another, or null.
fn an_end(world: &World, name: u64, bytes: &mut Bytes<'_>) -> (*mut kvb_seqs, Option<usize>) {
    let own = world.registries.iter().position(|it| it.name == name);
    match (bytes.byte(), own) {
        (255, _) => (ptr::null_mut(), None),
        (0..240, Some(at)) => (world.registries[at].it, Some(at)),
        (byte, _) => {
            let at = usize::from(byte) % world.registries.len().max(1);
            let it = world.registries.get(at);
            it.map_or((ptr::null_mut(), None), |it| (it.it, Some(at)))
        }
    }
}

fn finish(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let names = world.swaps[at].ends;
    let ((from, from_at), (to, to_at)) =
        (an_end(world, names.0, bytes), an_end(world, names.1, bytes));
    let (mut told, mut place) = (Told::new(bytes), Place::<kvb_handle>::new(bytes));
    let swap = &mut world.swaps[at];
    let (source, seq) = (swap.info.source, swap.info.seq);
    // SAFETY: as above; no handle is wanted where its place is null.
    let status = unsafe { kvb_swap_finish(swap.it, from, to, place.pointer(), told.pointer()) };
    let result = place.result(told.check(status));
    let passed = swap.shards.iter().all(|it| it.passed);
    if status != KVB_OK {
        if told.is_usable() && swap.over && !from.is_null() && !to.is_null() && from != to {
            assert_eq!(status, KVB_ERR_SWAP_OVER);
        }
        return check(swap);
    }
    assert!(passed && !swap.over, "finished before it was copied");
    assert!(result.is_none_or(|it| it == seq));
    swap.over = true;
    let (Some(from_at), Some(to_at)) = (from_at, to_at) else {
        panic!("finished without registries");
    };
    assert_eq!(
        (world.registries[from_at].name, world.registries[to_at].name),
        names
    );
    let state = state_of(to, seq).expect("a sequence that has come");
    let Transit { computed, info, .. } = &world.swaps[at];
    let had = info.hit as usize;
    assert_eq!(
        state.computed,
        had.max(*computed),
        "computed before it ended"
    );
    assert!(state_of(from, source).is_none(), "it is on both sides");
    world.over(from_at, source);
    check(&world.swaps[at]);
}

fn abort(world: &mut World, at: usize, bytes: &mut Bytes<'_>) {
    let name = world.swaps[at].ends.1;
    let ((to, to_at), mut told) = (an_end(world, name, bytes), Told::new(bytes));
    let swap = &mut world.swaps[at];
    // SAFETY: as above.
    let status = unsafe { kvb_swap_abort(swap.it, to, told.pointer()) };
    if told.check(status) == KVB_OK {
        assert!(!swap.over, "over twice");
        swap.over = true;
        for copies in &mut swap.shards {
            copies.passed |= copies.until.is_none();
        }
        let seq = swap.info.seq;
        assert!(state_of(to, seq).is_none(), "what was called off is there");
        world.over(to_at.expect("a registry"), seq);
    } else if swap.over && told.is_usable() && !to.is_null() {
        assert_eq!(status, KVB_ERR_SWAP_OVER);
    }
    check(&world.swaps[at]);
}

fn destroy(world: &mut World, at: usize) {
    let swap = world.swaps.swap_remove(at);
    // SAFETY: made by its create function; nobody else has it.
    unsafe { kvb_swap_destroy(swap.it) };
}
