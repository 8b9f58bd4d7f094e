//! Links at the place the boot image has for the resident part

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/link.ld");
    println!("cargo:rerun-if-changed={script}");
    println!("cargo:rustc-link-arg-bins=-T{script}");
}
