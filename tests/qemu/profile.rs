//! `bulkhead profile`: `check` uses the measured times

mod tool;

use std::fs;
use std::path::PathBuf;
use std::process::Output;
use tool::Fresh;

const DESCRIPTION: &str = include_str!("profile.toml");

/// A system with functions that were not measured.
struct Measured {
    fresh: Fresh,
}

impl Measured {
    fn new() -> Self {
        let fresh = Fresh::new("profile");
        let folder = fresh.0.join("measured");
        fs::create_dir_all(&folder).expect("its own");
        fs::write(folder.join("system.toml"), DESCRIPTION).expect("its own");
        Self { fresh }
    }

    fn file(&self) -> PathBuf {
        self.fresh.0.join("measured/profile.toml")
    }

    /// Returns the exit status and the messages of `check`.
    fn check(&self, changes: &[&str]) -> (Option<i32>, String) {
        let arguments = [&["check", "measured"], changes].concat();
        let Output {
            status,
            stdout,
            stderr,
        } = self.fresh.bulkhead(&arguments);
        let both = [stdout, stderr].concat();
        (status.code(), String::from_utf8_lossy(&both).into_owned())
    }
}

#[test]
fn functions_are_measured_and_held_to_it() {
    let system = Measured::new();
    let (status, output) = system.check(&[]);
    assert!(
        status == Some(3) && output.contains("function-wcet"),
        "{output}"
    );

    let profiled = system
        .fresh
        .bulkhead(&["profile", "measured", "--jobs", "200"]);
    assert!(profiled.status.success(), "{profiled:?}");
    let (status, output) = system.check(&[]);
    assert!(
        status == Some(0) && !output.contains("function-"),
        "{output}"
    );

    let short = "partition.control.function.filter.wcet=\"10 ns\"";
    let (status, output) = system.check(&["--set", short]);
    assert!(
        status == Some(3) && output.contains("was seen to take"),
        "{output}"
    );

    let written = fs::read_to_string(system.file()).expect("it was written");
    let other = written.replace("digest = \"", "digest = \"0");
    fs::write(system.file(), other).expect("its own");
    let (status, output) = system.check(&[]);
    assert!(
        status == Some(0) && output.contains("function-changed"),
        "{output}"
    );
}
