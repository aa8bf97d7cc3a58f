//! A million transfers between two pools, each ended at some step by some side; several under way at a time. Then both pools are exact,
//! and empty.

use std::sync::mpsc;
use std::thread;

use kvblock::{
    Admit, AppendError, BlockPool, ElementType, Export, Fence, Flights, Growth, Handle, Import,
    Incoming, KvFormat, Lane, Leases, Namespace, Owner, PoolConfig, Prompt, Sequences,
    SequencesConfig, ShardId, Step, Terms,
};

const SIZE: usize = 4;
const BLOCKS: usize = 96;
const WRITERS: usize = 2;
const AT_ONCE: usize = 6;

/// A small generator: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }
}

/// One pool with its registry, its leases and the lane of its device.
struct End {
    sequences: Sequences,
    leases: Leases,
    lane: Lane,
    fence: u64,
}

impl End {
    fn new(shard: u32) -> Self {
        let config = PoolConfig::new(BLOCKS, SIZE).shard(ShardId::new(shard));
        let pool = BlockPool::new(&config).unwrap();
        let format = KvFormat::new(SIZE, ElementType::new(0), [64]).unwrap();
        Self {
            leases: Leases::new(&pool, 10 * BLOCKS).unwrap(),
            lane: pool.lane(),
            sequences: Sequences::new(pool, &SequencesConfig::new(32).format(format)).unwrap(),
            fence: 0,
        }
    }

    /// Releases at once or after a fence.
    fn release(&mut self, handle: Handle, random: &mut Random) {
        if random.below(2) == 0 {
            self.sequences.release(handle).unwrap();
        } else {
            self.fence += 1;
            let fence = Fence(self.fence);
            self.sequences
                .release_after(handle, &mut self.lane, fence)
                .unwrap();
        }
        if random.below(4) == 0 {
            self.lane.complete(Fence(self.fence.saturating_sub(1)));
        }
    }

    fn is_exact_and_empty(&mut self) {
        self.lane.complete(Fence(self.fence));
        assert_eq!(self.sequences.audit(&[&self.leases, &self.lane]), Ok(()));
        let report = self.sequences.report();
        assert_eq!(
            (report.sequences, report.loading, report.duplicated),
            (0, 0, 0)
        );
        let pool = report.pool;
        assert_eq!((pool.held, pool.quarantined, pool.reserved), (0, 0, 0));
        assert_eq!(pool.free + pool.idle, BLOCKS);
        assert_eq!(self.leases.used(), 0);
    }
}

/// One of a few prompts, so that some of it is found at the other side.
fn prompt(random: &mut Random) -> Vec<u32> {
    let family = u32::try_from(random.below(6)).unwrap();
    let len = 1 + random.below(6 * SIZE);
    (0..u32::try_from(len).unwrap())
        .map(|at| family * 1000 + at)
        .collect()
}

fn admit<'a>(space: &'a Namespace, prompt: &'a [u32]) -> Admit<'a> {
    Admit::new(Prompt::new(space, prompt), Growth::Cap(3))
}

/// What a writer may say next of one import.
fn answer(import: &Import, random: &mut Random) {
    let writer = random.below(WRITERS);
    let blocks = import.ids().len();
    // Late and repeated answers are among these.
    if blocks == 0 || random.below(8) == 0 {
        let _ = import.end(writer);
    } else {
        let at = random.below(blocks);
        let end = at + 1 + random.below(blocks - at);
        if random.below(12) == 0 {
            let _ = import.failed(writer, at..end);
        } else {
            let _ = import.arrived(writer, at..end);
        }
    }
}

/// One move, as far as each side knows.
struct Move {
    here: Option<Handle>,
    export: Export,
    there: Option<Handle>,
    import: Option<Import>,
    prompt: Vec<u32>,
}

struct Stress {
    ends: [End; 2],
    random: Random,
    flights: Flights,
    owners: u64,
    now: u64,
    committed: usize,
}

impl Stress {
    fn begin(&mut self) -> Option<Move> {
        let space = Namespace::new();
        let prompt = prompt(&mut self.random);
        let source = &mut self.ends[0];
        let here = source.sequences.admit(&admit(&space, &prompt)).ok()?.handle;
        let computed = 1 + self.random.below(prompt.len());
        source.sequences.computed(here, computed).unwrap();
        self.owners += 1;
        let terms = Terms::moving(Owner::new(self.owners), self.now + 40);
        match source
            .sequences
            .export(here, &space, &mut source.leases, &terms)
        {
            Ok(export) => Some(Move {
                here: Some(here),
                export,
                there: None,
                import: None,
                prompt,
            }),
            Err(_) => {
                source.release(here, &mut self.random);
                None
            }
        }
    }

    /// Any one thing that any side may do.
    fn go_on(&mut self, it: &mut Move) {
        let [source, target] = &mut self.ends;
        let random = &mut self.random;
        match random.below(20) {
            0 => {
                let _ = it.export.abort();
            }
            1 => {
                if let Some(here) = it.here.take() {
                    source.release(here, random);
                }
            }
            2 => {
                if let Some(there) = it.there.take() {
                    target.release(there, random);
                }
            }
            3 => {
                let _ = it.export.finish();
            }
            4 => {
                self.now += 5;
                source.leases.tick(self.now);
                target.leases.tick(self.now);
            }
            5 => {
                if let Some(there) = it.there {
                    // A move under way is renewed only when it is over.
                    let _ = target.sequences.renew(there, &mut Step::new());
                }
            }
            6..10 => {
                if it.import.is_none() {
                    let space = Namespace::new();
                    let incoming =
                        Incoming::from_export(&it.export, WRITERS).flights(&self.flights);
                    let request = admit(&space, &it.prompt);
                    if let Ok(imported) = target.sequences.import(&request, &incoming) {
                        it.there = Some(imported.handle);
                        it.import = Some(imported.import);
                    }
                }
            }
            10..12 => {
                if let Some(there) = it.there {
                    if target.sequences.commit(there).is_ok() {
                        self.committed += 1;
                        // Within the cap it can't be refused.
                        let appended = target.sequences.append(there, 1, &mut Step::new());
                        assert!(!matches!(appended, Err(AppendError::Refused(_))));
                    }
                }
            }
            12 => {
                if let Some(there) = it.there {
                    target.sequences.loading(there).unwrap();
                }
            }
            _ => {
                if let Some(import) = &it.import {
                    answer(import, random);
                }
            }
        }
    }

    fn is_over(it: &Move) -> bool {
        let settled = it.import.as_ref().is_none_or(Import::is_settled);
        it.here.is_none() && it.there.is_none() && settled
    }

    /// Whatever is left of it ends, in a random order.
    fn finish(&mut self, it: &mut Move) {
        for _ in 0..10_000 {
            if Self::is_over(it) {
                break;
            }
            self.go_on(it);
        }
        assert!(Self::is_over(it), "it does not end");
        let _ = it.export.abort();
    }
}

#[test]
fn a_million_transfers_ended_at_every_step() {
    let transfers = if cfg!(debug_assertions) {
        20_000
    } else {
        1_000_000
    };
    let mut stress = Stress {
        ends: [End::new(0), End::new(1)],
        random: Random(1),
        flights: Flights::new(64 * BLOCKS as u64).unwrap(),
        owners: 0,
        now: 0,
        committed: 0,
    };
    let mut moves: Vec<Move> = Vec::new();
    let mut begun = 0;
    while begun < transfers {
        if moves.len() < AT_ONCE {
            if let Some(it) = stress.begin() {
                begun += 1;
                moves.push(it);
            }
        }
        if moves.is_empty() {
            continue;
        }
        let at = stress.random.below(moves.len());
        if stress.random.below(24) == 0 {
            let mut it = moves.swap_remove(at);
            stress.finish(&mut it);
        } else {
            stress.go_on(&mut moves[at]);
        }
        if begun % 50_000 == 0 && stress.random.below(40) == 0 {
            for end in &stress.ends {
                let audit = end.sequences.audit(&[&end.leases, &end.lane]);
                assert_eq!(audit, Ok(()));
            }
        }
    }
    for mut it in moves {
        stress.finish(&mut it);
    }
    assert!(
        stress.committed > transfers / 100,
        "{} committed",
        stress.committed
    );
    assert_eq!(stress.flights.in_flight(), 0);
    for end in &mut stress.ends {
        end.is_exact_and_empty();
    }
}

/// Source, target and writers on threads of their own: each side gives up when it likes, answers come when they come.
#[test]
fn transfers_over_threads_leave_both_pools_exact() {
    let transfers = if cfg!(debug_assertions) {
        5_000
    } else {
        100_000
    };
    let (mut source, mut target) = (End::new(0), End::new(1));
    let (offers, offered) = mpsc::sync_channel::<(Export, Vec<u32>)>(4);
    let (imports, imported) = mpsc::sync_channel::<Import>(4);
    thread::scope(|threads| {
        threads.spawn(move || {
            let mut random = Random(3);
            for import in imported {
                for _ in 0..random.below(20) {
                    answer(&import, &mut random);
                }
                for writer in 0..WRITERS {
                    let _ = import.end(writer);
                }
            }
        });
        let target = &mut target;
        threads.spawn(move || {
            let mut random = Random(2);
            let space = Namespace::new();
            for (export, prompt) in offered {
                let incoming = Incoming::from_export(&export, WRITERS);
                let Ok(it) = target.sequences.import(&admit(&space, &prompt), &incoming) else {
                    let _ = export.abort();
                    continue;
                };
                imports.send(it.import).unwrap();
                for _ in 0..random.below(40) {
                    let state = target.sequences.loading(it.handle).unwrap();
                    if state.left == 0 {
                        break;
                    }
                    thread::yield_now();
                }
                let _ = target.sequences.commit(it.handle);
                target.release(it.handle, &mut random);
            }
        });
        let mut random = Random(1);
        let space = Namespace::new();
        let mut open: Vec<(Handle, Export)> = Vec::new();
        for owner in 0..transfers {
            if open.len() == AT_ONCE {
                let (here, export) = open.swap_remove(random.below(AT_ONCE));
                if random.below(2) == 0 {
                    let _ = export.abort();
                }
                source.release(here, &mut random);
            }
            let prompt = prompt(&mut random);
            let Ok(admitted) = source.sequences.admit(&admit(&space, &prompt)) else {
                continue;
            };
            source
                .sequences
                .computed(admitted.handle, prompt.len())
                .unwrap();
            let terms = Terms::moving(Owner::new(owner), owner + 10 + random.next() % 100);
            source.leases.tick(owner);
            match source
                .sequences
                .export(admitted.handle, &space, &mut source.leases, &terms)
            {
                Ok(export) => {
                    offers.send((export.clone(), prompt)).unwrap();
                    open.push((admitted.handle, export));
                }
                Err(_) => source.release(admitted.handle, &mut random),
            }
        }
        for (here, export) in open {
            let _ = export.abort();
            source.release(here, &mut random);
        }
        drop(offers);
    });
    source.is_exact_and_empty();
    target.is_exact_and_empty();
}
