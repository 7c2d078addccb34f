//! How the library is linked.

fn main() {
    // libfabric unloads its providers at exit, when threads and handlers of fork may still be ours: it stays.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
