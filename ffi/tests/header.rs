//! The committed C header is what the sources say, byte for byte.

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use core::fmt::Write;

/// A constant that is a C string: a macro in the header, where cbindgen writes none.
struct StringConstant {
    docs: Vec<String>,
    name: String,
    value: String,
}

/// `pub const NAME: &CStr = c"value";` with the lines of documentation above it.
fn string_constants(source: &str) -> Vec<StringConstant> {
    let mut found = Vec::new();
    let mut docs = Vec::new();
    for line in source.lines() {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.to_owned());
            continue;
        }
        let constant = line
            .strip_prefix("pub const ")
            .and_then(|rest| rest.split_once(": &CStr = c"))
            .and_then(|(name, value)| Some((name, value.strip_suffix(';')?)));
        if let Some((name, value)) = constant {
            found.push(StringConstant {
                docs: docs.clone(),
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        docs.clear();
    }
    found
}

/// These constants as macros.
fn string_macros() -> Vec<String> {
    let mut macros = Vec::new();
    for source in support::sources() {
        for constant in string_constants(&source) {
            let docs: String = constant.docs.iter().map(|l| format!(" *{l}\n")).collect();
            let (name, value) = (constant.name, constant.value);
            macros.push(format!("/**\n{docs} */\n#define {name} {value}"));
        }
    }
    macros
}

/// The header that the sources ask for.
fn generated() -> String {
    let package = support::package();
    let mut config =
        cbindgen::Config::from_file(package.join("cbindgen.toml")).expect("a valid cbindgen.toml");
    let head = config.header.take().expect("a head");
    let trailer = config.trailer.take().expect("a trailer");
    let mut declarations = Vec::new();
    cbindgen::Builder::new()
        .with_src(package.join("src/lib.rs"))
        .with_config(config)
        .generate()
        .expect("sources that cbindgen understands")
        .write(&mut declarations);
    let declarations = String::from_utf8(declarations).expect("declarations in UTF-8");
    let mut items = string_macros();
    items.extend(
        declarations
            .trim()
            .split("\n\n")
            .map(|item| item.trim().to_owned()),
    );
    let items: Vec<String> = items.iter().map(|item| tidy(item)).collect();
    format!(
        "{}\n{}\n{}",
        head.trim_start().trim_end(),
        support::order::in_order(&items),
        trailer.trim_start()
    )
}

/// Comments of one line on one line.
fn tidy(item: &str) -> String {
    let mut lines = item.lines().map(str::trim_end).peekable();
    let mut tidy = String::new();
    while let Some(line) = lines.next() {
        tidy.push_str(line);
        if line.trim_start() == "/**" {
            let body: Vec<&str> =
                core::iter::from_fn(|| lines.next_if(|line| line.trim_start() != "*/")).collect();
            if let [only] = body[..] {
                write!(tidy, "{} */", only.trim_start().trim_start_matches('*'))
                    .expect("text grows");
                lines.next();
            } else {
                for line in body {
                    write!(tidy, "\n{line}").expect("text grows");
                }
            }
        }
        tidy.push('\n');
    }
    tidy.trim_end().to_owned()
}

/// The first lines in which two texts differ.
fn difference(committed: &str, generated: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (committed.lines().collect(), generated.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same;
    let tail = (0..rest)
        .take_while(|i| old[old.len() - 1 - i] == new[new.len() - 1 - i])
        .count();
    let mut shown = format!("line {}:\n", same + 1);
    for (sign, lines) in [('-', &old), ('+', &new)] {
        let changed = &lines[same..lines.len() - tail];
        for line in changed.iter().take(12) {
            writeln!(shown, "{sign}{line}").expect("text grows");
        }
        if changed.len() > 12 {
            writeln!(shown, "{sign}... {} more lines", changed.len() - 12).expect("text grows");
        }
    }
    shown
}

#[test]
fn committed_header_is_the_generated_one() {
    let path = support::package().join("include/kvblock.h");
    let generated = generated();
    if std::env::var_os("KVB_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, &generated).expect("the header can be written");
        return;
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "include/kvblock.h is not what the sources say; to rewrite it:\n\
         KVB_BLESS=1 cargo test -p kvblock-ffi --test header\n\n{}",
        difference(&committed, &generated)
    );
}

#[test]
fn version_of_the_header_is_that_of_the_package() {
    let line = format!("\n#define KVB_VERSION {:?}", env!("CARGO_PKG_VERSION"));
    assert!(
        string_macros().iter().any(|item| item.ends_with(&line)),
        "no {}",
        line.trim()
    );
}
