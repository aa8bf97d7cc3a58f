//! Fleets under random calls: admissions, growth, moves that end in every order, loans, instances that come and go. See
//! `fleet_model/walk.rs`.
//!
//! `PROPTEST_CASES` sets the number of cases; a failure is kept in `proptest-regressions/`.
#![cfg(not(loom))]

#[path = "support/properties.rs"]
mod properties;
#[path = "fleet_model/walk.rs"]
mod walk;

use proptest::prelude::*;

proptest! {
    #![proptest_config(properties::config(1_500, "proptest-regressions/fleet_model.txt", 100_000))]
    #[test]
    fn a_fleet_keeps_its_accounts(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        walk::run(&bytes);
    }
}
