//! Names the shared library as its users will look for it, after the version of the binary interface, and makes an unresolved symbol an error
//! here rather than there.

use std::path::Path;

/// The number in `pub const KVB_ABI_VERSION: u32 = 0;`.
fn abi_version() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/version.rs");
    let source = std::fs::read_to_string(path).expect("src/version.rs");
    let (_, rest) = source
        .split_once("const KVB_ABI_VERSION: u32 = ")
        .expect("KVB_ABI_VERSION in src/version.rs");
    let (number, _) = rest.split_once(';').expect("its number");
    number.to_owned()
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/version.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        let soname = format!("-Wl,-soname,libkvblock.so.{}", abi_version());
        for argument in [&*soname, "-Wl,-z,defs", "-lc"] {
            println!("cargo:rustc-cdylib-link-arg={argument}");
        }
    }
}
