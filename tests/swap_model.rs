//! Sequences that grow, branch, go to a host tier and come back, are called off and forgotten, in any order, while the device that copies
//! gets to it when it likes, tiers shrink, grow and forget, and content turns out bad. What each sequence has computed is compared position
//! by position after every call, wherever it is, and both tiers are audited; in the end everything is given back, and both are empty.
//!
//! A failure says which seed it was; `KVB_SEED` runs that one alone.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "swap_model/chance.rs"]
mod chance;
#[path = "swap_model/checks.rs"]
mod checks;
#[path = "swap_model/device.rs"]
mod device;
#[path = "swap_model/swaps.rs"]
mod swaps;
#[path = "swap_model/upsets.rs"]
mod upsets;
#[path = "swap_model/world.rs"]
mod world;

use chance::Saw;
use world::World;

const SEEDS: u64 = 600;
const CALLS: usize = 500;

/// Says which seed it was, if the test fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("KVB_SEED={}", self.0);
        }
    }
}

fn run(seed: u64) -> Saw {
    let _seed = Seed(seed);
    let mut world = World::new(seed);
    for _ in 0..CALLS {
        world.call();
        world.check();
    }
    world.finish()
}

#[test]
fn contents_survive_swaps_in_any_order_and_nothing_leaks() {
    if let Ok(seed) = std::env::var("KVB_SEED") {
        run(seed.parse().expect("a number"));
        return;
    }
    let mut saw = Saw::default();
    for seed in 0..SEEDS {
        saw.add(&run(seed));
    }
    // What the test is about has happened, each thing often.
    for (what, count) in saw.all() {
        assert!(count >= SEEDS / 20, "{what}: {count}");
    }
}
