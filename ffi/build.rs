//! Names the shared library as its users will look for it, and makes an unresolved symbol an error here rather than there.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        for argument in ["-Wl,-soname,libkvblock.so.0", "-Wl,-z,defs", "-lc"] {
            println!("cargo:rustc-cdylib-link-arg={argument}");
        }
    }
}
