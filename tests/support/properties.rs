//! How the property tests run: with so many cases unless `PROPTEST_CASES` says otherwise, and failures kept in a file.

use proptest::test_runner::{Config, FileFailurePersistence};

/// An event ring from which nothing is lost.
#[allow(dead_code, reason = "not every test keeps events")]
pub(crate) const ALL_EVENTS: usize = 1 << 12;

pub(crate) fn config(cases: u32, kept: &'static str, max_shrink_iters: u32) -> Config {
    let standard = Config::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        standard.cases
    } else {
        cases
    };
    Config {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(kept))),
        max_shrink_iters,
        ..standard
    }
}
