//! Every kernel of the committed PTX, executed by the stand-in, against a copy written plainly: sizes around every edge
//! of the loops, permutations and head slices, grids from one thread block to many, and bad lists.
//!
//! The stand-in (CPU) shows what the PTX computes, not what a GPU does with it.

mod check;
mod copies;
mod mutants;
mod shapes;
#[path = "../support/mod.rs"]
mod support;

use std::ffi::CString;

use check::check;
use shapes::shapes;
use support::driver::Driver;

const PTX: &str = include_str!("../../../../src/cuda/kernels/kv_copy.ptx");

fn check_all(kind: &str) {
    let driver = Driver::new(1);
    let ptx = CString::new(PTX).expect("no zero in the text");
    for width in [16, 8, 4, 2, 1] {
        let name = CString::new(format!("kvb_{kind}_{width}")).expect("no zero in the name");
        let kernel = driver.kernel(&ptx, &name);
        for shape in shapes(kind, width) {
            if let Err(what) = check(&driver, kernel, &shape) {
                panic!("{name:?}: {what}");
            }
        }
    }
    driver.stand_in.assert_clean();
}

#[test]
fn block_copies_move_every_byte_and_no_other() {
    check_all("copy");
}

#[test]
fn permuting_copies_move_every_byte_and_no_other() {
    check_all("permute");
}
