//! The atomics of this crate, and the only file that knows of loom.
//!
//! [`AtomicU64`] and its kin are loom's under `--cfg loom`, so that the model checker sees every access that carries
//! meaning. What carries none (statistics, reference counts of the pool handle itself) uses [`unmodelled`], so that it does not
//! multiply the executions to explore.

pub(crate) use core::sync::atomic::Ordering;

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, fence};

/// Atomics that loom does not see: their values decide nothing, or others of the same protocol stand for them.
pub(crate) mod unmodelled {
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
}

/// Called in the rare loops that wait for a block whose credit is in hand: another thread is making progress.
#[cold]
pub(crate) fn relax() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    core::hint::spin_loop();
}

/// A value alone on its cache lines (two of 64 bytes: adjacent lines are fetched in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// Whether the named hazard is put back (`KVB_MUTANT=name`, only under loom). The model suite must fail on each.
#[cfg(loom)]
pub(crate) fn mutant(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<std::string::String> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("KVB_MUTANT").unwrap_or_default()) == name
}
/// Without loom there are no mutants; the branches disappear.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn mutant(_name: &str) -> bool {
    false
}
