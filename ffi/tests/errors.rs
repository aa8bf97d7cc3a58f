//! Every error of the library has its number in C, and tells its figures: one that is new must be given them.
//!
//! The library's errors may grow, so the compiler demands a wildcard of whoever reads them in another crate, and says nothing of a variant
//! that fell into it. This test reads the sources instead; `errors.txt` says which number each variant has, and keeps it.

extern crate alloc;

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use alloc::collections::{BTreeMap, BTreeSet};

use support::order::word;

/// The variants of an enum, and whether each has fields.
type Variants = BTreeMap<String, bool>;

/// Lines of code, without comments and attributes.
fn code(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("#[")
    })
}

/// The name that a line begins with, if it stands so far from the margin.
fn at_indent(line: &str, spaces: usize) -> Option<&str> {
    let name = word(line.get(spaces..)?);
    let is_here = line[..spaces].trim().is_empty() && name.starts_with(char::is_uppercase);
    is_here.then_some(name)
}

/// The enums of a source: those that are written as such, and those of the macro `one_of`, one level deeper.
fn enums_of(source: &str, found: &mut BTreeMap<String, Variants>) {
    let mut open: Option<(String, Variants, usize)> = None;
    let mut in_macro = false;
    for line in code(source) {
        if let Some(name) = line.trim_start_matches("pub ").strip_prefix("enum ") {
            open = Some((word(name).to_owned(), Variants::new(), 4));
            continue;
        }
        in_macro |= line == "one_of! {";
        let Some((name, variants, spaces)) = &mut open else {
            if let Some(name) = at_indent(line, 4).filter(|_| in_macro) {
                open = Some((name.to_owned(), Variants::new(), 8));
            }
            continue;
        };
        let end = format!("{}}}", &"    "[..*spaces - 4]);
        if let Some(behind) = line.strip_prefix(&*end) {
            if let Some(unit) = behind.strip_prefix(" or ") {
                variants.insert(word(unit).to_owned(), false);
            }
            found.entry(name.clone()).or_default().append(variants);
            (open, in_macro) = (None, false);
        } else if let Some(variant) = at_indent(line, *spaces) {
            let has_fields = !line[*spaces + variant.len()..].starts_with(',');
            variants.insert(variant.to_owned(), has_fields);
        }
    }
}

/// All enums of the library, and the few of this package.
fn enums() -> BTreeMap<String, Variants> {
    let mut found = BTreeMap::new();
    let library = support::sources_below(&support::package().join("../src"));
    for source in library.into_iter().chain(support::sources()) {
        enums_of(&source, &mut found);
    }
    found
}

/// What C is told of an error: its number for each variant (`*` for all others), and the variants whose figures are told.
struct Told {
    error: String,
    numbers: BTreeMap<String, String>,
    figures: BTreeSet<String>,
}

/// The arms of a match on an error: each variant with what stands behind its arrow.
fn arms(body: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pieces = body.split("=>");
    let mut patterns = pieces.next().unwrap_or_default();
    for piece in pieces {
        let answer = word(piece.trim_start_matches(['{', ' ', '\n']));
        for variant in patterns.split("Self::").skip(1) {
            found.insert(word(variant).to_owned(), answer.to_owned());
        }
        if patterns.trim_end().ends_with(" _") {
            found.insert("*".to_owned(), answer.to_owned());
        }
        patterns = piece;
    }
    found
}

/// The function of a block, if it has it.
fn function<'a>(block: &'a str, name: &str) -> Option<&'a str> {
    let (_, behind) = block.split_once(&format!("    fn {name}("))?;
    behind.split("\n    }").next()
}

/// An error with functions of its own: an enum, or a struct, which has one number and no arms.
fn by_its_functions(block: &str) -> Told {
    let arms_of = |name| function(block, name).map(arms).unwrap_or_default();
    Told {
        error: word(block).to_owned(),
        numbers: arms_of("status"),
        figures: arms_of("figures").into_keys().collect(),
    }
}

/// A row of the macro for errors that are one of several others.
fn by_its_parts(row: &str) -> Told {
    let (name, parts) = row.split_once('{').expect("the parts of an error");
    let parts = parts.split(|c: char| !c.is_alphanumeric());
    let parts = parts.filter(|it| it.starts_with(char::is_uppercase));
    let figures: BTreeSet<_> = parts.map(str::to_owned).collect();
    let numbers = figures.iter().map(|it| (it.clone(), "its".to_owned()));
    Told {
        error: name.trim().to_owned(),
        numbers: numbers.collect(),
        figures,
    }
}

/// Everything that C is told of.
fn told() -> Vec<Told> {
    let mut found = Vec::new();
    for source in support::sources() {
        let code: Vec<_> = code(&source).collect();
        let code = code.join("\n");
        let blocks = |head| {
            let blocks = code.split(head).skip(1);
            blocks.map(|block| block.split("\n}").next().unwrap_or_default())
        };
        found.extend(blocks("\nimpl Told for ").map(by_its_functions));
        for rows in blocks("\ntold_by_its_parts! {") {
            let rows = rows.split(';').filter(|row| !row.trim().is_empty());
            found.extend(rows.map(by_its_parts));
        }
    }
    found
}

/// `Error::Variant number` for each variant, as it is written down.
fn written_down() -> BTreeSet<String> {
    let lines = include_str!("errors.txt").lines();
    lines
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_variant_of_an_error_has_the_number_that_is_written_down() {
    let enums = enums();
    let mut mapped = BTreeSet::new();
    for told in told() {
        for (variant, number) in &told.numbers {
            // Others are what they are made of, which has its own number.
            let is_number = number.starts_with("KVB_") && number != "KVB_ERR_UNKNOWN";
            if is_number {
                mapped.insert(format!("{}::{variant} {number}", told.error));
            }
        }
        let variants = enums.get(&told.error);
        assert!(
            told.numbers.is_empty() || variants.is_some(),
            "no enum {}",
            told.error
        );
        let of_all = told
            .numbers
            .get("*")
            .is_some_and(|it| it != "KVB_ERR_UNKNOWN");
        for variant in variants.into_iter().flat_map(BTreeMap::keys) {
            assert!(
                told.numbers.is_empty() || of_all || told.numbers.contains_key(variant),
                "{}::{variant} is KVB_ERR_UNKNOWN in C",
                told.error
            );
        }
    }
    let written_down = written_down();
    let only =
        |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    assert!(
        mapped == written_down,
        "only in the sources: {:#?}\nonly in errors.txt: {:#?}",
        only(&mapped, &written_down),
        only(&written_down, &mapped)
    );
}

#[test]
fn every_variant_with_fields_tells_its_figures() {
    // What they have are names, and blocks of which there are several kinds: the message has them.
    let allowed = ["MetricsError", "Inconsistency"];
    let enums = enums();
    let mut seen = 0;
    for told in told() {
        let variants = enums.get(&told.error).into_iter().flatten();
        for (variant, _) in variants.filter(|(_, has_fields)| **has_fields) {
            seen += 1;
            assert!(
                told.figures.contains(variant) || allowed.contains(&told.error.as_str()),
                "{}::{variant}: its fields are told to nobody in C",
                told.error
            );
        }
    }
    assert!(seen > 100, "only {seen} variants with fields seen");
}
