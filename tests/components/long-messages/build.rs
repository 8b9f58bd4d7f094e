//! Links as a component

fn main() {
    println!("cargo:rustc-link-arg-bins=-Tbulkhead-component.ld");
}
