//! What the tests on the stand-in driver share.

#![allow(dead_code, reason = "each test program uses a part")]

pub mod driver;
pub mod random;
pub mod rig;
pub mod seeds;
pub mod stand_in;
