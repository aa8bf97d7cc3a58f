//! What the tests share: the sources and the header as text, and the shared library of this build.

extern crate alloc;

pub(crate) mod order;
pub(crate) mod prototypes;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The directory of this package.
pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of this package as text.
pub(crate) fn text(file: &str) -> String {
    let path = package().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All Rust sources of this package's library, in the order of their paths.
pub(crate) fn sources() -> Vec<String> {
    sources_below(&package().join("src"))
}

/// All Rust sources below a directory, in the order of their paths.
pub(crate) fn sources_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory of sources") {
            let path = entry.expect("an entry of a directory").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    let read = |path| std::fs::read_to_string(path).expect("a source in UTF-8");
    found.into_iter().map(read).collect()
}

/// C without its comments.
fn without_comments(c: &str) -> String {
    let mut code = String::new();
    let mut rest = c;
    while let Some((before, after)) = rest.split_once("/*") {
        code.push_str(before);
        rest = after.split_once("*/").expect("a comment that ends").1;
    }
    code.push_str(rest);
    code
}

/// What the header declares, without comments, directives and what only C++ sees.
pub(crate) fn declarations() -> String {
    let code = without_comments(&text("include/kvblock.h"));
    let mut declarations = String::new();
    let mut only_cpp = false;
    for line in code.lines() {
        if line.starts_with('#') {
            only_cpp = line == "#ifdef __cplusplus" || only_cpp && !line.starts_with("#endif");
        } else if !only_cpp {
            declarations.push_str(line);
            declarations.push('\n');
        }
    }
    declarations
}

/// The names of the header's macros that begin with a prefix.
pub(crate) fn macros(prefix: &str) -> Vec<String> {
    let header = text("include/kvblock.h");
    let names = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define "))
        .filter_map(|rest| rest.split_whitespace().next());
    names
        .filter(|name| name.starts_with(prefix))
        .map(str::to_owned)
        .collect()
}

/// The number of a macro of the header.
pub(crate) fn number(name: &str) -> u32 {
    let header = text("include/kvblock.h");
    let prefix = format!("#define {name} ");
    let mut values = header
        .lines()
        .filter_map(|line| line.strip_prefix(&*prefix));
    let value = values.next().expect("a macro of this name");
    value.parse().expect("a number")
}

/// The shared library, built as this test was. Cargo builds no library for tests that cannot link it as Rust, so this does.
pub(crate) fn shared_library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let executable = std::env::current_exe().expect("the path of this test");
        // target/PROFILE/deps/test
        let profile = executable.ancestors().nth(2).expect("a target directory");
        let target = profile.parent().expect("a target directory");
        let name = profile.file_name().expect("the name of a profile");
        let name = name.to_str().expect("the name of a profile");
        run(Command::new(env!("CARGO"))
            .current_dir(package())
            .args(["build", "--quiet", "--locked", "--lib", "--profile"])
            .arg(if name == "debug" { "dev" } else { name })
            .arg("--target-dir")
            .arg(target));
        profile.join("libkvblock_c.so")
    })
}

/// Runs a command that must succeed, and gives what it wrote.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let written = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{written}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    written
}
