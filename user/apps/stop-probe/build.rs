//! Links for the memory of a partition

fn main() {
    println!("cargo:rustc-link-arg-bins=-Tbulkhead-rtos.ld");
}
