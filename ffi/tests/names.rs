//! The same names in the sources, in the header and in the library; each status number with its own name.
#![cfg(target_os = "linux")]

extern crate alloc;

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use alloc::collections::BTreeSet;
use std::process::Command;

use support::order::word;

type Names = BTreeSet<String>;

/// The functions that the sources export.
fn exported_by_sources() -> Names {
    let mut names = Names::new();
    for source in support::sources() {
        for after in source.split("#[unsafe(no_mangle)]").skip(1) {
            let (_, function) = after.split_once("fn ").expect("an exported function");
            assert!(
                names.insert(word(function).to_owned()),
                "{} is there twice",
                word(function)
            );
        }
    }
    names
}

/// The functions that the header declares; those that it defines itself are no names of the library.
fn declared_by_header() -> Names {
    let mut names = Names::new();
    let mut depth = 0;
    for statement in support::declarations().split_inclusive([';', '{', '}']) {
        let head = statement.split('(').next().unwrap_or_default();
        let is_type = head.trim_start().starts_with("typedef");
        if depth == 0 && !is_type && statement.ends_with(");") {
            let name = head.rsplit([' ', '*', '\n']).next().unwrap_or_default();
            assert!(names.insert(name.to_owned()), "{name} is declared twice");
        }
        depth += i32::from(statement.ends_with('{')) - i32::from(statement.ends_with('}'));
    }
    assert_eq!(depth, 0, "braces of the header");
    names
}

fn assert_same(left: (&str, &Names), right: (&str, &Names)) {
    let only = |a: &Names, b: &Names| a.difference(b).cloned().collect::<Vec<_>>();
    assert!(
        left.1 == right.1,
        "only in {}: {:?}\nonly in {}: {:?}",
        left.0,
        only(left.1, right.1),
        right.0,
        only(right.1, left.1)
    );
}

#[test]
fn header_declares_what_the_sources_export() {
    let (sources, header) = (exported_by_sources(), declared_by_header());
    assert!(!sources.is_empty());
    assert_same(("the sources", &sources), ("the header", &header));
    let foreign: Vec<_> = header
        .iter()
        .filter(|name| !name.starts_with("kvb_"))
        .collect();
    assert!(foreign.is_empty(), "without the prefix: {foreign:?}");
}

#[test]
fn library_exports_what_the_header_declares_and_nothing_else() {
    let symbols = support::run(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(support::shared_library()),
    );
    let exported = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .map(str::to_owned)
        .collect();
    let header = declared_by_header();
    assert_same(("the library", &exported), ("the header", &header));
}

#[test]
fn header_has_every_public_constant() {
    let header: Names = support::macros("KVB_").into_iter().collect();
    let mut sources = Names::new();
    for source in support::sources() {
        for constant in source
            .lines()
            .filter_map(|line| line.strip_prefix("pub const "))
        {
            sources.insert(word(constant).to_owned());
        }
    }
    assert_same(("the sources", &sources), ("the header", &header));
}

#[test]
fn header_speaks_c_and_not_rust() {
    let header = support::text("include/kvblock.h");
    for (number, line) in header.lines().enumerate() {
        for rust in [
            "[`", "](", "::", "&mut ", "Option<", "Result<", "`None`", "`Err",
        ] {
            let cmake = line.contains("kvblock::static") || line.contains("kvblock::shared");
            assert!(!line.contains(rust) || cmake, "line {}: {line}", number + 1);
        }
    }
}

/// `(number, name, sentence)` of each row of the table of status numbers, the number as it is written there.
fn table() -> Vec<(String, String, String)> {
    let source = support::text("src/status.rs");
    let (_, table) = source.split_once("const TABLE: ").expect("the table");
    let (table, _) = table.split_once("];").expect("the end of the table");
    let rows = table.split("(KVB_").skip(1).map(|row| {
        let mut texts = row.split("c\"").skip(1).map(|text| text.split('"').next());
        let mut text = || {
            texts
                .next()
                .flatten()
                .expect("two texts in a row")
                .to_owned()
        };
        (format!("KVB_{}", word(row)), text(), text())
    });
    rows.collect()
}

#[test]
fn every_status_has_one_row_with_its_own_name() {
    let source = support::text("src/status.rs");
    let mut constants = Names::new();
    let mut numbers = BTreeSet::new();
    for line in source
        .lines()
        .filter_map(|line| line.strip_prefix("pub const "))
    {
        let Some((name, value)) = line.split_once(": kvb_status = ") else {
            continue;
        };
        let number: i32 = value.trim_end_matches(';').parse().expect("a number");
        assert!(numbers.insert(number), "{name}: {number} is there twice");
        assert!(
            name == "KVB_OK" && number == 0 || number >= 100,
            "{name}: {number}"
        );
        constants.insert(name.to_owned());
    }
    let mut rows = Names::new();
    for (number, name, sentence) in table() {
        assert_eq!(number, name);
        assert!(
            !sentence.is_empty() && !sentence.ends_with('.'),
            "{name}: {sentence:?}"
        );
        assert!(rows.insert(name.clone()), "{name} has two rows");
    }
    assert_same(("the constants", &constants), ("the table", &rows));
}
