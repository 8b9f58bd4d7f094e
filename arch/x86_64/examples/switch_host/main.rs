//! Cost of a thread switch in hosted dispatch on x86-64 Linux

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[path = "measure.rs"]
mod measure;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn main() {
    measure::main();
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() {
    eprintln!("switches of threads are measured on x86-64 Linux only");
    std::process::exit(2);
}
