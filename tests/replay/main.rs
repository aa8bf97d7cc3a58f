//! `kvblock replay`: exact figures on small traces made here, runs over the published traces, errors. `kvblock plan`: exact plans,
//! errors, and what README shows of it.
//!
//! The tests of the workspace don't build the program (its features are off by default), so this builds and runs it as a
//! user would, in a target directory of its own. The published traces lie beside the checkout, in `../shared/traces`, and
//! are not part of the repository; where they are absent, their tests are not run, and say so.
#![cfg(not(loom))]

mod fleet;
mod lifetimes;
mod plan;
mod program;
mod sequential;
mod serve;
mod swap;
