//! Gives the library the name under which the dynamic linker knows the driver, so that whoever opens libcuda.so after it
//! gets this one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
}
