//! Tries mutants of the PTX on the same shapes: how well do these tests see a change of one instruction?
//!
//! Not a test by itself: `tests/cuda/mutants/run.py` gives it a list of mutants and reads the verdicts.

use std::collections::HashMap;
use std::ffi::CString;
use std::io::Write;

use crate::check::check;
use crate::shapes::{Shape, shapes};
use crate::support::driver::Driver;

/// Instructions after which a launch counts as hanging: many times more than any shape takes.
const INSTRUCTIONS: u64 = 20_000_000;

/// Reads `KVB_MUTANTS`, lines of `line number <tab> kernel <tab> kind <tab> new text` for the file `KVB_PTX`, and writes
/// to `KVB_VERDICTS` a line `verdict <tab> why` for each: killed, survives, or invalid where the stand-in refuses the PTX.
#[test]
#[ignore = "started by tests/cuda/mutants/run.py"]
fn verdicts() {
    let read = |name: &str| {
        let path = std::env::var(name).unwrap_or_else(|_| panic!("{name} names a file"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let ptx = read("KVB_PTX");
    let lines: Vec<&str> = ptx.lines().collect();
    let path = std::env::var("KVB_VERDICTS").expect("KVB_VERDICTS names a file");
    let mut verdicts = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .expect("a file for the verdicts");
    let driver = Driver::new(1);
    let mut cases = HashMap::new();
    for mutant in read("KVB_MUTANTS").lines() {
        let fields: Vec<&str> = mutant.splitn(4, '\t').collect();
        let [number, kernel, _, text] = fields[..] else {
            panic!("not a mutant: {mutant}")
        };
        let number: usize = number.parse().expect("a line number");
        let (before, after) = (&lines[..number - 1], &lines[number..]);
        let mutated = [before, &[text], after].concat().join("\n") + "\n";
        let shapes = cases
            .entry(kernel.to_owned())
            .or_insert_with(|| shapes_of(kernel));
        let (verdict, why) = match judge(&driver, &mutated, kernel, shapes) {
            Ok(()) => ("survives", String::new()),
            Err((verdict, why)) => (verdict, why.replace(['\t', '\n'], " ")),
        };
        writeln!(verdicts, "{verdict}\t{why}").expect("the verdict is written");
    }
}

fn shapes_of(kernel: &str) -> Vec<Shape> {
    let mut words = kernel.split('_').skip(1);
    let (Some(kind), Some(width)) = (words.next(), words.next()) else {
        panic!("not a kernel: {kernel}")
    };
    shapes(kind, width.parse().expect("a width"))
}

fn judge(
    driver: &Driver,
    ptx: &str,
    kernel: &str,
    shapes: &[Shape],
) -> Result<(), (&'static str, String)> {
    driver.again(1);
    driver.stand_in.set_instruction_limit(INSTRUCTIONS);
    let ptx = CString::new(ptx).expect("no zero in the text");
    let name = CString::new(kernel).expect("no zero in the name");
    let module = driver
        .load(&ptx)
        .map_err(|_| ("invalid", driver.stand_in.module_log()))?;
    let function = driver
        .function(module, &name)
        .map_err(|code| ("invalid", format!("no kernel: {code}")))?;
    shapes
        .iter()
        .try_for_each(|shape| check(driver, function, shape))
        .map_err(|why| ("killed", why))
}
