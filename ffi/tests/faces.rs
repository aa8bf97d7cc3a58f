//! Every function of the C header has a wrapper in the C++ one and is called by some test in C, and every error is provoked there.

extern crate alloc;

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use alloc::collections::BTreeSet;
use std::path::Path;

use support::order::word;
use support::prototypes::prototypes;

/// The words with a prefix in the code of the files of a directory and of those below it.
fn words_of(prefix: &str, directory: &Path, extensions: &[&str], found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry of a directory").path();
        if path.is_dir() {
            words_of(prefix, &path, extensions, found);
            continue;
        }
        let extension = path.extension().and_then(|it| it.to_str());
        if !extension.is_some_and(|it| extensions.contains(&it)) {
            continue;
        }
        let code = std::fs::read_to_string(&path).expect("a source in UTF-8");
        let code = code.lines().filter(|line| !is_comment(line));
        for after in code.flat_map(|line| line.split(prefix).skip(1)) {
            found.insert(format!("{prefix}{}", word(after)));
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
    let directory = support::package().join(directory);
    words_of("kvb_", &directory, extensions, &mut called);
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

#[test]
fn every_error_is_provoked_by_a_test_in_c() {
    // A resize in two threads at the same time; shards of registries that C makes together; an error that C does not know.
    let allowed = ["KVB_ERR_IN_PROGRESS", "KVB_ERR_SLOTS", "KVB_ERR_UNKNOWN"];
    let mut provoked = BTreeSet::new();
    let directory = support::package().join("tests");
    words_of("KVB_ERR_", &directory, &["c", "h"], &mut provoked);
    let mut missing = support::macros("KVB_ERR_");
    missing.retain(|name| !provoked.contains(name) && !allowed.contains(&name.as_str()));
    assert!(missing.is_empty(), "provoked by no test: {missing:?}");
}
