//! Links the kernel for the upper half of the address space

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/link.ld");
    println!("cargo:rerun-if-changed={script}");
    println!("cargo:rerun-if-changed=src/entry.s");
    println!("cargo:rustc-link-arg-bins=-T{script}");
}
