//! One thread and two, each on chains of its own; beside it the same behind one mutex, and simpler structures.

use core::hash::{BuildHasherDefault, Hash, Hasher};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::DefaultHasher;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use kvblock::BlockPool;

use crate::Effort;
use crate::measure::{at_least, median, nanoseconds, preemptions, quantile};
use crate::workload::{BLOCK, CHAIN, Desk, WARM, pool, text};

/// Two threads are to do so many times the work of one.
const GATE: f64 = 1.4;

/// So many pairs of runs are tried for each that is to count.
const MOST_TRIES: usize = 10;

/// What a thread does again and again. Says how many blocks that was.
type Step<'a> = Box<dyn FnMut() -> usize + 'a>;

/// Something for one or two threads to do.
struct Job<'a> {
    name: String,
    gate: Option<f64>,
    /// Prepares a thread: its number is 0 or 1.
    prepare: Box<dyn Fn(usize) -> Step<'a> + Sync + 'a>,
    pairs: Vec<Pair>,
}

/// A run with one thread and one with two: blocks a nanosecond.
struct Pair {
    one: f64,
    two: f64,
    /// The threads began together, and nobody took a processor away meanwhile.
    undisturbed: bool,
}

/// One thread's part in a run.
struct Share {
    start: Instant,
    end: Instant,
    blocks: usize,
    undisturbed: bool,
}

impl<'a> Job<'a> {
    fn new(
        name: impl Into<String>,
        gate: Option<f64>,
        prepare: impl Fn(usize) -> Step<'a> + Sync + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            gate,
            prepare: Box::new(prepare),
            pairs: Vec::new(),
        }
    }

    fn pair(&self, length: Duration) -> Pair {
        let (one, quiet_one) = self.rate(1, length);
        let (two, quiet_two) = self.rate(2, length);
        Pair {
            one,
            two,
            undisturbed: quiet_one && quiet_two,
        }
    }

    /// Blocks a nanosecond of all threads together, from the first one's start to the last one's end.
    fn rate(&self, threads: usize, length: Duration) -> (f64, bool) {
        let waiting = AtomicUsize::new(threads);
        let work = |thread| {
            let mut step = (self.prepare)(thread);
            step();
            waiting.fetch_sub(1, Relaxed);
            while waiting.load(Relaxed) > 0 {
                core::hint::spin_loop();
            }
            let before = preemptions();
            let (start, mut blocks) = (Instant::now(), 0);
            let mut end = start;
            while end - start < length {
                // A look at the clock costs as much as a small step.
                blocks += (0..8).map(|_| step()).sum::<usize>();
                end = Instant::now();
            }
            Share {
                start,
                end,
                blocks,
                undisturbed: before == preemptions(),
            }
        };
        let shares: Vec<Share> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|i| scope.spawn(move || work(i))).collect();
            let mut shares = vec![work(0)];
            shares.extend(
                others
                    .into_iter()
                    .map(|thread| thread.join().expect("no panic")),
            );
            shares
        });
        let starts = shares.iter().map(|share| share.start);
        let ends = shares.iter().map(|share| share.end);
        let (first, last) = (starts.clone().min(), starts.max());
        let between = |from: Option<Instant>, to: Option<Instant>| {
            to.zip(from).map_or(Duration::ZERO, |(to, from)| to - from)
        };
        let blocks: usize = shares.iter().map(|share| share.blocks).sum();
        let together = between(first, last) < length / 20;
        (
            blocks as f64 / nanoseconds(between(first, ends.max())),
            together && shares.iter().all(|share| share.undisturbed),
        )
    }

    fn undisturbed(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.undisturbed).count()
    }

    fn print(&self) {
        /// Fewer say nothing.
        const FEWEST: usize = 9;
        let undisturbed = self.undisturbed();
        let all = undisturbed < FEWEST;
        let of = |value: fn(&Pair) -> f64| -> Vec<f64> {
            let pairs = self.pairs.iter().filter(|pair| all || pair.undisturbed);
            pairs.map(value).collect()
        };
        let ratios = of(|pair| pair.two / pair.one);
        println!(
            "{:<52} {:>8.2} {:>8.2} {:>8.2} {:>16} {:>10} {:>5}  {}",
            self.name,
            median(&of(|pair| 1.0 / pair.one)),
            median(&of(|pair| 1.0 / pair.two)),
            median(&ratios),
            format!(
                "({:.2} .. {:.2})",
                quantile(&ratios, 100),
                quantile(&ratios, 900)
            ),
            if all {
                format!("all of {}", self.pairs.len())
            } else {
                format!("{undisturbed} of {}", self.pairs.len())
            },
            self.gate.map_or(String::new(), |gate| format!("{gate}")),
            at_least(median(&ratios), self.gate),
        );
    }
}

pub(crate) fn run(effort: &Effort) {
    let blocks = effort.sizes[0];
    let pools: [BlockPool; 3] = core::array::from_fn(|_| pool(blocks));
    let lock = Mutex::new(());
    let list = Mutex::new((0..u32::try_from(blocks).expect("a pool's size")).collect());
    let map = ShardedMap::new();
    let mut jobs = Vec::new();
    for lock in [None, Some(&lock)] {
        jobs.push(hits(&pools[0], lock));
        jobs.push(reclaims(&pools[1], lock));
    }
    jobs.push(map.hits());
    for n in [1, 64] {
        for lock in [None, Some(&lock)] {
            jobs.push(takes(&pools[2], n, lock));
        }
        jobs.push(list_takes(&list, n));
    }
    let length = Duration::from_millis(effort.run_ms);
    for _ in 0..MOST_TRIES * effort.runs {
        for job in &mut jobs {
            if job.undisturbed() < effort.runs {
                let pair = job.pair(length);
                job.pairs.push(pair);
            }
        }
    }
    println!(
        "Threads, {blocks} blocks: medians of pairs of runs of {} ms, with one thread and with two\n\
         pairs: those in which the threads began together and were not preempted, if they are enough, of all",
        effort.run_ms
    );
    println!(
        "{:<52} {:>8} {:>8} {:>8} {:>16} {:>10} {:>5}  verdict",
        "ns a block", "1 thread", "2", "times", "(10 % .. 90 %)", "pairs", "gate"
    );
    jobs.iter().for_each(Job::print);
}

fn name(what: &str, lock: Option<&Mutex<()>>) -> String {
    match lock {
        None => what.to_owned(),
        Some(_) => format!("  behind one mutex: {what}"),
    }
}

/// Held for the whole call, if there is one.
fn hold(lock: Option<&Mutex<()>>) -> Option<MutexGuard<'_, ()>> {
    lock.map(|lock| lock.lock().expect("no panic"))
}

/// Each thread finds and releases its own idle chains.
fn hits<'a>(pool: &'a BlockPool, lock: Option<&'a Mutex<()>>) -> Job<'a> {
    // The first job stores them, the second one's texts are the same.
    let mut desk = Desk::new(pool);
    let texts: Vec<Vec<u32>> = (0..WARM).map(|_| desk.fresh(CHAIN)).collect();
    for tokens in &texts {
        desk.serve(tokens);
    }
    let name = name("hit by hint + release of 128", lock);
    Job::new(name, lock.is_none().then_some(GATE), move |thread| {
        let half = WARM / 2;
        let mut texts = texts[thread * half..][..half].to_vec();
        let mut desk = Desk::new(pool);
        Box::new(move || {
            texts.rotate_left(1);
            let chain = {
                let _held = hold(lock);
                desk.find(&texts[0])
            };
            let found = chain.len();
            let _held = hold(lock);
            desk.release(chain);
            found
        })
    })
}

/// Each thread stores chains that were never seen in a pool that is full of idle ones.
fn reclaims<'a>(pool: &'a BlockPool, lock: Option<&'a Mutex<()>>) -> Job<'a> {
    const N: usize = 64;
    /// Where the next thread's prompts are numbered from, the threads of all jobs.
    static NEXT: AtomicU32 = AtomicU32::new(1 << 20);
    Desk::new(pool).fill(N, 0);
    let name = name("reclaim + take + publish + release of 64", lock);
    Job::new(name, lock.is_none().then_some(GATE), move |_| {
        let mut desk = Desk::from_number(pool, NEXT.fetch_add(1 << 20, Relaxed));
        let mut tokens = text(0, N);
        Box::new(move || {
            desk.renew(&mut tokens);
            let mut chain = desk.pool.chain(&desk.space);
            {
                let _held = hold(lock);
                chain.push(desk.take(N)).expect("its own pool");
            }
            {
                let _held = hold(lock);
                desk.publish(&mut chain, &tokens);
            }
            let _held = hold(lock);
            desk.release(chain);
            N
        })
    })
}

fn takes<'a>(pool: &'a BlockPool, n: usize, lock: Option<&'a Mutex<()>>) -> Job<'a> {
    let name = name(&format!("reserve + take + release of {n}"), lock);
    Job::new(name, None, move |_| {
        let mut desk = Desk::new(pool);
        Box::new(move || {
            let blocks = {
                let _held = hold(lock);
                desk.take(n)
            };
            let _held = hold(lock);
            blocks.release(&mut desk.worker).expect("its own pool");
            n
        })
    })
}

/// The least that an allocator can be: a list of free ids behind a mutex.
fn list_takes(list: &Mutex<Vec<u32>>, n: usize) -> Job<'_> {
    Job::new(
        format!("  mutex + Vec: take + release of {n}"),
        None,
        move |_| {
            let mut taken = Vec::with_capacity(n);
            Box::new(move || {
                {
                    let mut free = list.lock().expect("no panic");
                    let rest = free.len() - n;
                    taken.extend(free.drain(rest..));
                }
                list.lock().expect("no panic").append(&mut taken);
                n
            })
        },
    )
}

/// Shards of a [`ShardedMap`].
const SHARDS: usize = 16;

/// Chain key to a block's tokens and references, behind 16 mutexes: no credits, no order of reclaim, no parents.
struct ShardedMap {
    shards: [Mutex<Shard>; SHARDS],
}

type Shard = HashMap<u64, ([u32; BLOCK], u32), BuildHasherDefault<KeyItself>>;

/// The keys are hashes already.
#[derive(Default)]
struct KeyItself(u64);

impl Hasher for KeyItself {
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

impl ShardedMap {
    fn new() -> Self {
        Self {
            shards: core::array::from_fn(|_| Mutex::default()),
        }
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Shard> {
        self.shards[(key >> 32) as usize % SHARDS]
            .lock()
            .expect("no panic")
    }

    /// Adds a reference to each block of a prompt, and stores those that are not there.
    fn find(&self, tokens: &[u32], keys: &mut Vec<u64>) {
        let mut parent = 0_u64;
        for block in tokens.chunks_exact(BLOCK) {
            let block: &[u32; BLOCK] = block.try_into().expect("a whole block");
            let mut hash = DefaultHasher::new();
            (parent, block).hash(&mut hash);
            parent = hash.finish();
            match self.shard(parent).entry(parent) {
                Entry::Occupied(mut found) if found.get().0 == *block => found.get_mut().1 += 1,
                Entry::Occupied(_) => return,
                Entry::Vacant(place) => {
                    place.insert((*block, 1));
                }
            }
            keys.push(parent);
        }
    }

    fn hits(&self) -> Job<'_> {
        let all: Vec<Vec<u32>> = (1..).map(|i| text(i, CHAIN)).take(WARM).collect();
        let name = "  16 mutexes + HashMap: hit, hashed + release";
        Job::new(name, None, move |thread| {
            let half = WARM / 2;
            let mut texts = all[thread * half..][..half].to_vec();
            let mut keys = Vec::new();
            Box::new(move || {
                texts.rotate_left(1);
                self.find(&texts[0], &mut keys);
                let found = keys.len();
                for key in keys.drain(..).rev() {
                    if let Some(block) = self.shard(key).get_mut(&key) {
                        block.1 -= 1;
                    }
                }
                found
            })
        })
    }
}
