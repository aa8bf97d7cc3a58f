//! Every function of the C header has a wrapper in the C++ one, and every one is called by some test in C.

extern crate alloc;

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use alloc::collections::BTreeSet;
use std::path::Path;

use support::order::word;
use support::prototypes::prototypes;

/// The words that are called in the files of a directory and of those below it.
fn called_in(directory: &Path, extensions: &[&str], called: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry of a directory").path();
        if path.is_dir() {
            called_in(&path, extensions, called);
            continue;
        }
        let extension = path.extension().and_then(|it| it.to_str());
        if !extension.is_some_and(|it| extensions.contains(&it)) {
            continue;
        }
        let code = std::fs::read_to_string(&path).expect("a source in UTF-8");
        let code = code.lines().filter(|line| !is_comment(line));
        for after in code.flat_map(|line| line.split("kvb_").skip(1)) {
            called.insert(format!("kvb_{}", word(after)));
        }
    }
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("/*") || line.starts_with("* ")
}

/// The functions that are called nowhere there.
fn missing(directory: &str, extensions: &[&str]) -> Vec<String> {
    let mut called = BTreeSet::new();
    called_in(&support::package().join(directory), extensions, &mut called);
    let names = prototypes().into_iter().map(|function| function.name);
    // The header itself asks `kvb_abi_version`.
    names
        .filter(|name| !called.contains(name) && name != "kvb_abi_version")
        .collect()
}

#[test]
fn every_function_has_a_wrapper_in_cpp() {
    let missing = missing("include/kvblock", &["hpp"]);
    assert!(missing.is_empty(), "without a wrapper: {missing:?}");
}

#[test]
fn every_function_is_called_by_a_test_in_c() {
    let missing = missing("tests", &["c", "h"]);
    assert!(missing.is_empty(), "called by no test: {missing:?}");
}
