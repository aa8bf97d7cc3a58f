//! Each call timed alone: how long the longest one takes.

use core::time::Duration;
use std::time::Instant;

use kvblock::Chain;

use crate::Effort;
use crate::measure::{median, nanoseconds, preemptions, quantile};
use crate::workload::{Branching, CHAIN, Desk, WARM, pool, text};

/// The times of single calls, by kind.
#[derive(Default)]
struct Calls {
    kinds: Vec<(String, Vec<f64>)>,
    /// Kind and time of the calls since the last look at the scheduler.
    recent: Vec<(usize, f64)>,
    /// The longest call of each kind while the thread was not preempted.
    undisturbed: Vec<f64>,
}

impl Calls {
    fn time<T>(&mut self, kind: &str, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = call();
        let time: Duration = start.elapsed();
        let known = self.kinds.iter().position(|(name, _)| name == kind);
        let at = known.unwrap_or_else(|| {
            self.kinds.push((kind.into(), Vec::new()));
            self.undisturbed.push(f64::NAN);
            self.kinds.len() - 1
        });
        self.kinds[at].1.push(nanoseconds(time));
        self.recent.push((at, nanoseconds(time)));
        result
    }

    /// Does one round of calls. If the thread kept its processor all the time, they count as undisturbed.
    fn round(&mut self, calls: impl FnOnce(&mut Self)) {
        let before = preemptions();
        calls(self);
        let undisturbed = before.is_some() && before == preemptions();
        for (at, time) in self.recent.drain(..) {
            if undisturbed {
                self.undisturbed[at] = self.undisturbed[at].max(time);
            }
        }
    }

    fn print(&self, title: &str) {
        println!("{title}");
        println!(
            "{:<44} {:>7} {:>10} {:>10} {:>10} {:>12}",
            "one call, ns", "calls", "median", "99.9 %", "largest", "undisturbed"
        );
        for ((name, times), undisturbed) in self.kinds.iter().zip(&self.undisturbed) {
            println!(
                "{name:<44} {:>7} {:>10.0} {:>10.0} {:>10.0} {undisturbed:>12.0}",
                times.len(),
                median(times),
                quantile(times, 999),
                quantile(times, 1000),
            );
        }
    }
}

pub(crate) fn run(effort: &Effort) {
    let blocks = effort.sizes[0];
    let mut calls = Calls::default();
    let (warm, branching, full) = (pool(blocks), pool(blocks), pool(blocks));
    let mut warm = Warm::new(Desk::new(&warm));
    let mut branching = Spoilt::new(Desk::new(&branching));
    let mut full = Desk::new(&full);
    full.fill(CHAIN, 0);
    for round in 0..effort.calls {
        calls.round(|calls| {
            calls.time("nothing, for comparison", || {});
            warm.round(calls);
            reclaim(&mut full, calls, 1);
        });
        if round % 4 == 0 {
            calls.round(|calls| reclaim(&mut full, calls, CHAIN));
        }
        if round % 16 == 0 {
            branching.round(&mut calls);
        }
    }
    calls.print(&format!(
        "Single calls, {blocks} blocks: undisturbed = the largest while the scheduler let this thread run"
    ));
    println!();
    let mut calls = Calls::default();
    for _ in 0..(effort.calls / 1000).max(2) {
        worst(blocks, &mut calls);
    }
    calls.print(&format!("The worst for reclaim, {blocks} blocks"));
}

/// Free blocks, and idle chains that are found by hint.
struct Warm<'p> {
    desk: Desk<'p>,
    texts: Vec<Vec<u32>>,
    unknown: Vec<u32>,
}

impl<'p> Warm<'p> {
    fn new(mut desk: Desk<'p>) -> Self {
        let texts = desk.warm(WARM);
        Self {
            desk,
            texts,
            unknown: text(u32::MAX, CHAIN),
        }
    }

    fn round(&mut self, calls: &mut Calls) {
        let desk = &mut self.desk;
        for n in [1, 64] {
            let mut promise = calls
                .time("reserve", || desk.pool.reserve(n))
                .expect("room");
            let taken = calls.time(&format!("take of {n} free"), || {
                promise.take(&mut desk.worker, n)
            });
            let blocks = taken.expect("a promise");
            calls
                .time(&format!("release of {n} private"), || {
                    blocks.release(&mut desk.worker)
                })
                .expect("its own pool");
        }
        self.texts.rotate_left(1);
        let chain = calls.time("reserve + find of 128 by hint", || {
            desk.find(&self.texts[0])
        });
        assert_eq!(chain.len(), CHAIN);
        let fork = calls.time("fork of 128", || chain.fork(&mut desk.worker));
        calls.time("release of 128 held elsewhere", || fork.map(drop).is_ok());
        calls.time("release of 128, idle then", || desk.release(chain));
        calls.time("reserve + find that misses", || {
            drop(desk.find(&self.unknown))
        });
    }
}

/// Chains that are found by hashing.
struct Spoilt<'p> {
    desk: Desk<'p>,
    chains: Vec<Branching>,
}

impl<'p> Spoilt<'p> {
    fn new(mut desk: Desk<'p>) -> Self {
        let chains = Branching::several(&mut desk, 8);
        Self { desk, chains }
    }

    fn round(&mut self, calls: &mut Calls) {
        self.chains.rotate_left(1);
        let (desk, chain) = (&mut self.desk, &mut self.chains[0]);
        chain.spoil_hints(desk);
        calls.round(|calls| {
            let found = calls.time("reserve + find of 128 with hashing", || {
                desk.find(chain.tokens())
            });
            desk.release(found);
        });
    }
}

fn reclaim(desk: &mut Desk<'_>, calls: &mut Calls, n: usize) {
    let tokens = desk.fresh(n);
    let mut chain = desk.pool.chain(&desk.space);
    let mut promise = desk.pool.reserve(n).expect("room");
    let taken = calls.time(&format!("take of {n}, reclaimed"), || {
        promise.take(&mut desk.worker, n)
    });
    chain.push(taken.expect("a promise")).expect("its own pool");
    calls.time(&format!("publish of {n}"), || {
        desk.publish(&mut chain, &tokens)
    });
    calls.time(&format!("release of {n} new, idle then"), || {
        desk.release(chain)
    });
}

/// A pool full of idle chains, all of which were hit: every token asks for a second chance. Then all of them but one are held: every
/// token in front of that one's is stale.
fn worst(blocks: usize, calls: &mut Calls) {
    let pool = pool(blocks);
    let mut desk = Desk::new(&pool);
    let texts = desk.warm(blocks / CHAIN);
    desk.fill(CHAIN, 0);
    for tokens in &texts {
        desk.find_and_release(tokens);
    }
    let mut promise = pool.reserve(2).expect("room");
    let mut taken = Vec::new();
    calls.round(|calls| {
        let name = "take of 1, all idle blocks were hit";
        taken.push(calls.time(name, || promise.take(&mut desk.worker, 1)));
    });

    let held: Vec<Chain<'_>> = texts[1..].iter().map(|t| desk.find(t)).collect();
    let stale: usize = held.iter().map(Chain::len).sum();
    calls.round(|calls| {
        let name = "maintain of 1000 steps";
        calls
            .time(name, || pool.maintain(&mut desk.worker, 1000))
            .expect("its own pool");
        let name = format!("take of 1 behind {} stale tokens", stale - 1000);
        taken.push(calls.time(&name, || promise.take(&mut desk.worker, 1)));
    });
    assert!(taken.iter().all(Result::is_ok), "promises are kept");
    held.into_iter().for_each(|chain| desk.release(chain));
}
