//! Plans, which a mover of this file executes over bytes: what it leaves must be what copying pair after pair would.

use core::ptr;

use kvblock_c::copy::*;
use kvblock_c::status::*;

use crate::arguments::{Bytes, List, Place, Told};
use crate::layouts::{Shape, some_blocks};
use crate::routes::{self, Path};
use crate::world::{MOST, World};

/// Memories that layouts are in, and the bytes of each that copies are made in.
const MEMORIES: usize = 2;
const MEMORY: usize = 4096;
/// Most pairs of a list.
const MOST_PAIRS: usize = 12;

pub(crate) struct Plan {
    pub(crate) it: *mut kvb_copy_plan,
    pub(crate) path: Path,
    pub(crate) pairs: Vec<(u32, u32)>,
}

type Memory = Vec<Vec<u8>>;

/// No two bytes near one another are alike.
fn fresh_memory() -> Memory {
    let byte = |memory: usize, at: usize| (at % 251 + 101 * memory) as u8;
    (0..MEMORIES)
        .map(|memory| (0..MEMORY).map(|at| byte(memory, at)).collect())
        .collect()
}

fn move_bytes(memory: &mut Memory, from: (u32, u64), to: (u32, u64), bytes: u64) {
    let place = |at: u64| usize::try_from(at).expect("a small address");
    let length = place(bytes);
    let start = place(from.1);
    let read = memory[from.0 as usize][start..start + length].to_vec();
    let start = place(to.1);
    memory[to.0 as usize][start..start + length].copy_from_slice(&read);
}

impl Path {
    fn is_small(&self) -> bool {
        self.source.end() <= MEMORY as u128 && self.destination.end() <= MEMORY as u128
    }

    /// Copies one pair, as the layouts say it.
    fn copy(&self, memory: &mut Memory, (from, to): (u32, u32)) {
        let at = |shape: &Shape, plane: usize, block: u32| {
            let it = &shape.parts[plane].plane;
            it.base
                + if block == 0 {
                    0
                } else {
                    it.block_stride * u64::from(block)
                }
        };
        for plane in 0..self.source.parts.len() {
            let source = at(&self.source, plane, from);
            let destination = at(&self.destination, plane, to);
            for (read, written, bytes) in self.vectors(plane) {
                let from = (self.source.memory, source + read);
                let to = (self.destination.memory, destination + written);
                move_bytes(memory, from, to, bytes);
            }
        }
    }

    /// What setting these pairs must answer: the number, the place of the pair and its block.
    fn status_of(&self, pairs: &[(u32, u32)]) -> Result<(), (kvb_status, u32, u64)> {
        for (at, &(from, to)) in (0..).zip(pairs) {
            if from as usize >= self.source.blocks {
                return Err((KVB_ERR_NO_SUCH_BLOCK, at, from.into()));
            }
            if to as usize >= self.destination.blocks {
                return Err((KVB_ERR_NO_SUCH_BLOCK, at, to.into()));
            }
            if self.in_place && from == to {
                return Err((KVB_ERR_ONTO_ITSELF, at, from.into()));
            }
            if pairs[..at as usize].iter().any(|it| it.1 == to) {
                return Err((KVB_ERR_DUPLICATE_DESTINATION, at, to.into()));
            }
        }
        Ok(())
    }

    /// The wave of each pair.
    fn waves(&self, pairs: &[(u32, u32)]) -> Vec<usize> {
        let mut waves: Vec<usize> = Vec::new();
        for (at, pair) in pairs.iter().enumerate() {
            let meets = |before: usize| pairs[before].1 == pair.0 || pairs[before].0 == pair.1;
            let before = (0..at).filter(|&before| self.in_place && meets(before));
            waves.push(before.map(|before| waves[before] + 1).max().unwrap_or(0));
        }
        waves
    }
}

/// Makes a plan, or gives one back if there are many. The route may go before it.
pub(crate) fn create(world: &mut World, bytes: &mut Bytes<'_>) {
    if world.copies.plans.len() >= MOST {
        let gone = bytes.below(MOST);
        let gone = world.copies.plans.swap_remove(gone);
        // SAFETY: made by its create function; nobody else has it.
        unsafe { kvb_copy_plan_destroy(gone.it) };
        return;
    }
    if world.copies.routes.is_empty() {
        return routes::create(world, bytes);
    }
    let choice = usize::from(bytes.byte());
    let routes = &world.copies.routes;
    let route = routes
        .get(choice % routes.len().max(1))
        .filter(|_| choice != 255);
    let it = route.map_or(ptr::null_mut(), |it| it.it);
    let pairs = bytes.count(MOST_PAIRS);
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_copy_plan>::new(bytes));
    // SAFETY: pointers and counts are as `arguments` makes them; objects live.
    let status = unsafe { kvb_copy_plan_create(it, pairs, place.pointer(), told.pointer()) };
    if let (Some(it), Some(route)) = (place.result(told.check(status)), route) {
        let (path, pairs) = (route.model.clone(), Vec::new());
        world.copies.plans.push(Plan { it, path, pairs });
    }
}

/// Replaces the pairs of a plan.
pub(crate) fn set(world: &mut World, bytes: &mut Bytes<'_>) {
    let Some(at) = a_plan(world, bytes) else {
        return create(world, bytes);
    };
    let path = &world.copies.plans[at].path;
    let sources = some_blocks(MOST_PAIRS, path.source.blocks, bytes);
    let destinations = some_blocks(MOST_PAIRS, path.destination.blocks, bytes);
    let mut pairs: Vec<_> = sources.into_iter().zip(destinations).collect();
    if bytes.byte() & 1 == 0 {
        // Without what is wrong most often.
        let mut seen = Vec::new();
        pairs.retain(|&(from, to)| {
            let is_new = from != to && !seen.contains(&to);
            seen.push(to);
            is_new
        });
    }
    let mut sources = List::new(pairs.iter().map(|it| it.0).collect(), bytes);
    let mut destinations = List::new(pairs.iter().map(|it| it.1).collect(), bytes);
    let mut told = Told::new(bytes);
    let plan = &mut world.copies.plans[at];
    // The larger count is one that neither pointer is believed with.
    let announced = sources.count().max(destinations.count());
    // SAFETY: as above.
    let status = unsafe {
        kvb_copy_plan_set(
            plan.it,
            sources.pointer(),
            destinations.pointer(),
            announced,
            told.pointer(),
        )
    };
    told.check(status);
    let lists = (sources.told(), destinations.told());
    let (Some(_), Some(_), true) = (lists.0, lists.1, told.is_usable()) else {
        assert_ne!(status, KVB_OK, "lists that are none");
        return check(plan);
    };
    match plan.path.status_of(&pairs) {
        Ok(()) => {
            assert_eq!(status, KVB_OK, "pairs that can be copied");
            plan.pairs = pairs;
        }
        Err((expected, place, block)) => {
            assert_eq!(status, expected, "pairs that can't be copied");
            if let Some(error) = told.answer() {
                assert_eq!((error.which, error.needed), (place, block));
            }
        }
    }
    check(plan);
}

/// One of the plans.
pub(crate) fn a_plan(world: &World, bytes: &mut Bytes<'_>) -> Option<usize> {
    let count = world.copies.plans.len();
    (count > 0).then(|| bytes.below(count))
}

/// The pairs of a wave, as the library lists them.
fn wave_of(plan: &Plan, wave: usize) -> Vec<(u32, u32)> {
    let (mut sources, mut destinations) = ([0; MOST_PAIRS], [0; MOST_PAIRS]);
    let mut count = 0;
    // SAFETY: lists of so many, and a place.
    let status = unsafe {
        kvb_copy_plan_wave(
            plan.it,
            wave,
            sources.as_mut_ptr(),
            destinations.as_mut_ptr(),
            MOST_PAIRS,
            &mut count,
            ptr::null_mut(),
        )
    };
    assert_eq!(status, KVB_OK);
    sources.into_iter().zip(destinations).take(count).collect()
}

fn runs_of(plan: &Plan, wave: usize) -> Vec<kvb_pair_run> {
    // SAFETY: integers.
    let mut runs = vec![unsafe { core::mem::zeroed::<kvb_pair_run>() }; 4 * MOST_PAIRS];
    let mut count = 0;
    // SAFETY: a list of so many, and a place.
    let status = unsafe {
        kvb_copy_plan_wave_runs(
            plan.it,
            wave,
            runs.as_mut_ptr(),
            runs.len(),
            &mut count,
            ptr::null_mut(),
        )
    };
    assert_eq!(status, KVB_OK);
    runs.truncate(count);
    runs
}

/// A plan has the pairs that it was given, each in its wave, and copies what they say.
pub(crate) fn check(plan: &Plan) {
    let waves = plan.path.waves(&plan.pairs);
    let count = waves.iter().map(|wave| wave + 1).max().unwrap_or(0);
    // SAFETY: the plan lives.
    unsafe {
        assert_eq!(kvb_copy_plan_pairs(plan.it), plan.pairs.len());
        assert_eq!(kvb_copy_plan_waves(plan.it), count);
        let bytes = plan.path.block_bytes() * plan.pairs.len() as u64;
        assert_eq!(kvb_copy_plan_bytes(plan.it), bytes);
    }
    for wave in 0..count {
        let of_wave = plan.pairs.iter().zip(&waves).filter(|(_, it)| **it == wave);
        let mut expected: Vec<_> = of_wave.map(|(pair, _)| *pair).collect();
        expected.sort_unstable();
        assert_eq!(wave_of(plan, wave), expected, "wave {wave}");
    }
    if plan.path.is_small() {
        let mut expected = fresh_memory();
        for &pair in &plan.pairs {
            plan.path.copy(&mut expected, pair);
        }
        let (mut memory, planes) = (fresh_memory(), planes_of(&plan.path));
        for wave in 0..count {
            execute(plan, wave, &planes, &mut memory);
        }
        assert!(memory == expected, "other bytes than pair after pair");
    }
}

/// What a mover does: in the order that is the worst.
fn execute(plan: &Plan, wave: usize, planes: &[kvb_plane_copy], memory: &mut Memory) {
    let ends = (plan.path.source.memory, plan.path.destination.memory);
    let pairs = wave_of(plan, wave);
    for run in runs_of(plan, wave).iter().rev() {
        let parts = (&plan.path.source.parts, &plan.path.destination.parts);
        let first = pairs[run.first];
        let source = plan
            .path
            .source
            .range(&parts.0[run.plane], first.0 as usize);
        let destination = plan
            .path
            .destination
            .range(&parts.1[run.plane], first.1 as usize);
        let starts = (u128::from(run.source), u128::from(run.destination));
        assert_eq!(starts, (source.0, destination.0), "a run of another plane");
        move_bytes(
            memory,
            (ends.0, run.source),
            (ends.1, run.destination),
            run.bytes,
        );
    }
    for plane in planes.iter().filter(|it| it.kind == KVB_COPY_PERMUTE) {
        for &pair in pairs.iter().rev() {
            permute(plane, ends, pair, memory);
        }
    }
}

/// What is done in each plane: of a route that is made for it, as the plan's own may be gone.
fn planes_of(path: &Path) -> Vec<kvb_plane_copy> {
    let layout = |shape: &Shape| {
        let planes: Vec<_> = shape.parts.iter().map(|it| it.plane).collect();
        let tiles: Vec<_> = shape.parts.iter().map(|it| it.tile).collect();
        let mut it = ptr::null_mut();
        // SAFETY: lists of so many, and a place.
        let status = unsafe {
            kvb_layout_create_tiled(
                planes.as_ptr(),
                tiles.as_ptr(),
                planes.len(),
                shape.blocks,
                shape.memory,
                &mut it,
                ptr::null_mut(),
            )
        };
        assert_eq!(status, KVB_OK);
        it
    };
    let (source, destination) = (layout(&path.source), layout(&path.destination));
    let (mut route, mut count) = (ptr::null_mut(), 0);
    // SAFETY: integers.
    let mut planes =
        vec![unsafe { core::mem::zeroed::<kvb_plane_copy>() }; path.source.parts.len()];
    // SAFETY: two layouts and places; each object is given back once.
    unsafe {
        let status = match path.slice {
            None => kvb_copy_route_create(source, destination, &mut route, ptr::null_mut()),
            Some((first, heads)) => kvb_copy_route_create_heads(
                source,
                destination,
                first.0,
                first.1,
                heads,
                &mut route,
                ptr::null_mut(),
            ),
        };
        assert_eq!(status, KVB_OK);
        kvb_layout_destroy(source);
        kvb_layout_destroy(destination);
        let out = planes.as_mut_ptr();
        let status = kvb_copy_route_planes(route, out, planes.len(), &mut count, ptr::null_mut());
        assert_eq!((status, count), (KVB_OK, planes.len()));
        kvb_copy_route_destroy(route);
    }
    planes
}

fn permute(it: &kvb_plane_copy, ends: (u32, u32), (from, to): (u32, u32), memory: &mut Memory) {
    let block = |base: u64, stride: u64, block: u32| {
        base + if block == 0 {
            0
        } else {
            stride * u64::from(block)
        }
    };
    let source = block(it.source_base, it.source_stride, from);
    let destination = block(it.destination_base, it.destination_stride, to);
    let vector = |strides: &kvb_tile_strides, [part, position, head]: [u32; 3]| {
        u64::from(part) * strides.part
            + u64::from(position) * strides.position
            + u64::from(head) * strides.head
    };
    for part in 0..it.parts {
        for position in 0..it.positions {
            for head in 0..it.heads {
                let at = [part, position, head];
                let from = source + vector(&it.source, at);
                let to = destination + vector(&it.destination, at);
                assert!(from % u64::from(it.access) == 0 && to % u64::from(it.access) == 0);
                move_bytes(memory, (ends.0, from), (ends.1, to), it.head_bytes.into());
            }
        }
    }
}

/// Reads a plan with any arguments.
pub(crate) fn read(world: &mut World, bytes: &mut Bytes<'_>) {
    let plan = a_plan(world, bytes).filter(|_| !bytes.rarely());
    let it = plan.map_or(ptr::null_mut(), |at| world.copies.plans[at].it);
    let wave = bytes.count(3);
    let capacity = bytes.below(MOST_PAIRS);
    let mut sources = List::new(vec![7; capacity], bytes);
    let mut destinations = List::new(vec![7; capacity], bytes);
    // SAFETY: integers.
    let mut runs = List::new(
        vec![unsafe { core::mem::zeroed::<kvb_pair_run>() }; capacity],
        bytes,
    );
    let (mut told, mut again) = (Told::new(bytes), Told::new(bytes));
    let (mut count, mut run_count) = (Place::<usize>::new(bytes), Place::<usize>::new(bytes));
    // SAFETY: as above.
    unsafe {
        let announced = sources.count().max(destinations.count());
        let status = kvb_copy_plan_wave(
            it,
            wave,
            sources.pointer(),
            destinations.pointer(),
            announced,
            count.pointer(),
            told.pointer(),
        );
        let found = count.result(told.check(status));
        for list in [&sources, &destinations] {
            let written = list.told().unwrap_or_default();
            let behind = written.iter().skip(found.unwrap_or(0));
            assert!(behind.copied().all(|it| it == 7), "written behind the end");
        }
        let status = kvb_copy_plan_wave_runs(
            it,
            wave,
            runs.pointer(),
            runs.count(),
            run_count.pointer(),
            again.pointer(),
        );
        run_count.result(again.check(status));
    }
    if let Some(at) = plan {
        check(&world.copies.plans[at]);
    }
}
