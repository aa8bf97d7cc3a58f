//! What the tests share: the sources as text, and what they say.

use std::path::{Path, PathBuf};

/// The directory of this package.
pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of this package as text.
pub(crate) fn text(file: &str) -> String {
    let path = package().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All Rust sources of the library, by path.
pub(crate) fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![package().join("src")];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory of sources") {
            let path = entry.expect("an entry of a directory").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = std::fs::read_to_string(&path).expect("a source in UTF-8");
                found.push((path, source));
            }
        }
    }
    found.sort();
    found
}
