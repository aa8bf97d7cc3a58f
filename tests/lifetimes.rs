//! Two engines with memory that can be looked at, over the whole of fences, leases, transfers, bad content and resizes: nobody's content
//! changes while he needs it, whatever comes in whatever order. See `lifetimes/engine.rs`.
//!
//! `PROPTEST_CASES` sets the number of cases; a failure is kept in `proptest-regressions/`.

#[path = "lifetimes/engine.rs"]
mod engine;
#[path = "support/properties.rs"]
mod properties;

use proptest::prelude::*;

proptest! {
    #![proptest_config(properties::config(20_000, "proptest-regressions/lifetimes.txt", 100_000))]
    #[test]
    fn content_stays_while_it_is_needed(bytes in proptest::collection::vec(any::<u8>(), 0..700)) {
        engine::run(&bytes);
    }
}
