//! Compiles what is loaded into the emulator: `src/machine/turns.c`

use std::path::PathBuf;

const SOURCE: &str = "src/machine/turns.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names it"));
    let mut compiler = cc::Build::new().opt_level(2).get_compiler().to_command();
    compiler
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", SOURCE, "-o"])
        .arg(output.join("turns.so"))
        .arg("-ldl");
    let status = compiler.status().expect("a C compiler runs");
    assert!(status.success(), "{SOURCE} does not compile");
}
