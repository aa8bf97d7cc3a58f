//! Which seeds a random test runs, and which it was that failed.

use std::ops::Range;

/// So many seeds from 0 on, or the one that `KVB_SEED` names.
pub fn seeds(all: u64) -> Range<u64> {
    let chosen = std::env::var("KVB_SEED").ok();
    match chosen.map(|seed| seed.parse().expect("KVB_SEED is a number")) {
        Some(seed) => seed..seed + 1,
        None => 0..all,
    }
}

/// Says which seed it was if the test fails while it is there.
#[derive(Debug)]
pub struct Named(pub u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("KVB_SEED={}", self.0);
        }
    }
}
