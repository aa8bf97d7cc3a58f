//! The declarations of the header in the order of the sources: file by file as `lib.rs` and its modules name them, in each file what
//! is there first, and before everything the types and constants that it is made of.
//!
//! cbindgen writes all constants, then all types, then all functions, which nobody can read.

use std::path::Path;

use super::alloc::collections::{BTreeMap, BTreeSet};

/// What a source file has for C.
struct SourceFile {
    /// What the file says that it is about.
    heading: Vec<String>,
    /// Names, in the order in which they are there.
    names: Vec<String>,
    /// Those of them whose fields are nobody's business.
    opaque: BTreeSet<String>,
}

/// The word that a text begins with.
pub(crate) fn word(text: &str) -> &str {
    let end = text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

/// The name that a line of source declares for C.
fn declared(line: &str) -> Option<&str> {
    const KINDS: [&str; 5] = [
        "pub const ",
        "pub type ",
        "pub struct ",
        "pub extern \"C\" fn ",
        "pub unsafe extern \"C\" fn ",
    ];
    KINDS
        .iter()
        .find_map(|kind| line.strip_prefix(kind))
        .map(word)
}

fn read(path: &Path) -> SourceFile {
    let source = std::fs::read_to_string(path).expect("a source");
    let mut file = SourceFile {
        heading: Vec::new(),
        names: Vec::new(),
        opaque: BTreeSet::new(),
    };
    let paragraph = source
        .lines()
        .map_while(|line| line.strip_prefix("//! "))
        .map(|line| line.replace("[`", "`").replace("`]", "`"));
    file.heading.extend(paragraph);
    let mut fields_of = None;
    for line in source.lines() {
        if let Some(name) = declared(line) {
            file.names.push(name.to_owned());
            let is_struct = line.starts_with("pub struct ") && line.ends_with('{');
            fields_of = is_struct.then_some(name);
        } else if line.starts_with('}') {
            fields_of = None;
        }
        // A field that other crates cannot see is none for C.
        let field = line.strip_prefix("    ").unwrap_or_default();
        let is_field = field.starts_with(|c: char| c.is_ascii_alphabetic());
        if let (Some(name), true, false) = (fields_of, is_field, field.starts_with("pub ")) {
            file.opaque.insert(name.to_owned());
        }
    }
    file
}

/// Reads a file and then the modules that it names; their files are in `below`.
fn walk(path: &Path, below: &Path, files: &mut Vec<SourceFile>) {
    files.push(read(path));
    let source = std::fs::read_to_string(path).expect("a source");
    for line in source.lines() {
        let module = ["mod ", "pub mod ", "pub(crate) mod "]
            .iter()
            .find_map(|kind| line.strip_prefix(kind)?.strip_suffix(';'));
        let Some(module) = module else { continue };
        let children = below.join(module);
        let beside = below.join(format!("{module}.rs"));
        let file = if beside.exists() {
            beside
        } else {
            children.join("mod.rs")
        };
        walk(&file, &children, files);
    }
}

/// The comment before a declaration, and the declaration.
fn split(item: &str) -> (&str, &str) {
    if !item.starts_with("/**") {
        return ("", item);
    }
    let end = item.find("*/\n").expect("a comment that ends") + 3;
    item.split_at(end)
}

/// The name that a declaration in C is of.
fn name(item: &str) -> &str {
    let code = split(item).1;
    if let Some(rest) = code.strip_prefix("#define ") {
        return word(rest);
    }
    if !code.starts_with("typedef") {
        let head = code.split('(').next().unwrap_or_default();
        return head.rsplit([' ', '*']).next().unwrap_or_default();
    }
    if let (false, Some((_, pointer))) = (code.contains('{'), code.split_once("(*")) {
        return word(pointer);
    }
    let name = code.trim_end_matches(';').rsplit([' ', '*']).next();
    name.unwrap_or_default()
}

/// Items on their way into the header.
struct Output {
    items: BTreeMap<String, String>,
    text: String,
}

impl Output {
    /// Writes an item, and first what its code names and is not written yet.
    fn write(&mut self, name: &str) {
        let Some(item) = self.items.remove(name) else {
            return;
        };
        let code = super::without_comments(split(&item).1);
        let words = code.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        for needed in words.filter(|word| word.starts_with("kvb_") || word.starts_with("KVB_")) {
            self.write(needed);
        }
        self.text.push('\n');
        self.text.push_str(&item);
        self.text.push('\n');
    }
}

/// Puts items, each with its comment, into the order of the sources, below the headings of the files that have any.
pub(crate) fn in_order(items: &[String]) -> String {
    let mut files = Vec::new();
    let sources = super::package().join("src");
    walk(&sources.join("lib.rs"), &sources, &mut files);
    let opaque: BTreeSet<&String> = files.iter().flat_map(|file| &file.opaque).collect();

    let mut output = Output {
        items: BTreeMap::new(),
        text: String::new(),
    };
    for item in items {
        let name = name(item).to_owned();
        let (comment, code) = split(item);
        let code = if opaque.contains(&name) && code.contains('{') {
            format!("typedef struct {name} {name};")
        } else if code.starts_with("typedef struct") {
            // Its own name needs the word, the others have been defined.
            let tag = format!("struct {name}");
            let own = code.replace(&tag, "struct-itself");
            let others = own.replace("struct kvb_", "kvb_");
            others.replace("struct-itself", &tag)
        } else {
            code.replace("struct kvb_", "kvb_")
        };
        let twice = output.items.insert(name, format!("{comment}{code}"));
        assert!(twice.is_none(), "{twice:?} is declared twice");
    }
    for file in &files {
        if file
            .names
            .iter()
            .any(|name| output.items.contains_key(name))
        {
            output.text.push_str("\n/* ---------------------------------------------------------------------------\n");
            for line in &file.heading {
                output.text.push_str(" * ");
                output.text.push_str(line);
                output.text.push('\n');
            }
            output.text.push_str(" */\n");
        }
        for name in &file.names {
            output.write(name);
        }
    }
    let left: Vec<_> = output.items.keys().collect();
    assert!(
        left.is_empty(),
        "declared by no file of the sources: {left:?}"
    );
    output.text
}
