//! A strict reader of the text format that Prometheus reads.

use std::collections::BTreeMap;

/// A sample: its labels in order, and its value.
pub(crate) type Sample = (Vec<(String, String)>, u64);

/// A family: its kind, its help, its samples.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) help: String,
    pub(crate) samples: Vec<Sample>,
}

/// Reads a page that keeps every rule of the text format 0.0.4, and those of names: `# HELP` and `# TYPE` once a family and before
/// its samples, which stand together and differ; counters end in `_total`.
pub(crate) fn parse(page: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    assert!(
        page.is_empty() || page.ends_with('\n'),
        "the last line ends"
    );
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let rest = line
            .strip_prefix("# HELP ")
            .unwrap_or_else(|| panic!("help first: {line}"));
        let (name, help) = rest.split_once(' ').expect("a help text");
        assert!(is_name(name), "{name}");
        assert!(!help.is_empty() && !help.contains('\\'), "{help}");
        let line = lines.next().expect("a type follows");
        let rest = line
            .strip_prefix("# TYPE ")
            .unwrap_or_else(|| panic!("then the type: {line}"));
        let (of, kind) = rest.split_once(' ').expect("a type");
        assert_eq!(of, name);
        assert!(["gauge", "counter"].contains(&kind), "{kind}");
        assert_eq!(
            kind == "counter",
            name.ends_with("_total"),
            "{name} is a {kind}"
        );
        let mut samples: Vec<Sample> = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let (labels, value) = sample(name, line);
            assert!(
                samples.iter().all(|(other, _)| *other != labels),
                "twice: {line}"
            );
            samples.push((labels, value));
        }
        assert!(!samples.is_empty(), "{name} has samples");
        let family = Family {
            kind: kind.into(),
            help: help.into(),
            samples,
        };
        assert_eq!(
            families.insert(name.into(), family),
            None,
            "{name} is there once"
        );
    }
    families
}

fn sample(name: &str, line: &str) -> Sample {
    let rest = line
        .strip_prefix(name)
        .unwrap_or_else(|| panic!("of {name}: {line}"));
    let (mut labels, mut rest) = (Vec::new(), rest);
    if let Some(mut inner) = rest.strip_prefix('{') {
        loop {
            let (label, after) = inner.split_once("=\"").expect("a label");
            assert!(
                is_name(label) && !label.starts_with("__") && !label.contains(':'),
                "{label}"
            );
            let (value, after) = quoted(after);
            labels.push((label.to_owned(), value));
            match after.split_at(1) {
                (",", more) => inner = more,
                ("}", more) => {
                    rest = more;
                    break;
                }
                _ => panic!("neither another label nor the end: {line}"),
            }
        }
        let mut names: Vec<_> = labels.iter().map(|(name, _)| name).collect();
        names.dedup();
        assert_eq!(names.len(), labels.len(), "{line}");
    }
    let value = rest
        .strip_prefix(' ')
        .unwrap_or_else(|| panic!("a value: {line}"));
    assert!(value.bytes().all(|byte| byte.is_ascii_digit()), "{line}");
    (labels, value.parse().expect("a number"))
}

/// A value up to its closing quote, and what follows.
fn quoted(text: &str) -> (String, &str) {
    let (mut value, mut characters) = (String::new(), text.char_indices());
    loop {
        match characters.next().expect("a closing quote") {
            (at, '"') => return (value, &text[at + 1..]),
            (_, '\\') => value.push(match characters.next() {
                Some((_, '\\')) => '\\',
                Some((_, '"')) => '"',
                Some((_, 'n')) => '\n',
                other => panic!("{other:?} is not to be escaped"),
            }),
            (_, '\n') => panic!("a line end amid a value"),
            (_, other) => value.push(other),
        }
    }
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}
