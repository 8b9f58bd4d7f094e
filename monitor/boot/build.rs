//! Links at the place where the boot image is loaded

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/link.ld");
    println!("cargo:rerun-if-changed={script}");
    println!("cargo:rustc-link-arg-bins=-T{script}");
}
