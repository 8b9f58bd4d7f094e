//! An empty libdl for guests
//!
//! Zenoh's dependencies request libdl by name. In musl libc contains all of it, and the toolchain, which links guest programs
//! without a C compiler, has no file of that name.

use std::env;
use std::fs;
use std::path::PathBuf;

/// An archive of nothing.
const EMPTY: &str = "!<arch>\n";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "musl") {
        let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
        fs::write(folder.join("libdl.a"), EMPTY).expect("cargo's folder can be written");
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
}
