//! Is the emulator there, new enough and able?
//!
//! The version is looked at before each run; features only when it refused to start, to say what it
//! lacks in one sentence.

use std::io;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use super::command::Command;
use crate::error::RunError;

/// Checks that `program` is installed and at least version `minimum` (`major.minor`).
///
/// # Errors
/// [`RunError::EmulatorMissing`], [`RunError::EmulatorTooOld`].
pub fn check_program(program: &str, minimum: &str) -> Result<(), RunError> {
    let text = answer(program, &["--version"])?;
    let found = version(&text).unwrap_or("unknown");
    if numbers(found) >= numbers(minimum) {
        return Ok(());
    }
    Err(RunError::EmulatorTooOld {
        program: program.into(),
        found: found.into(),
        needed: minimum.into(),
    })
}

/// Why the emulator refused `command`.
pub(super) fn diagnose(command: &Command, log_file: &Path, command_file: &Path) -> RunError {
    let program = &command.program;
    for (arguments, feature, what) in command.features() {
        let Ok(text) = answer(program, &arguments) else {
            continue;
        };
        if !lists(&text, feature) {
            return RunError::FeatureMissing {
                program: program.clone(),
                feature: what,
            };
        }
    }
    RunError::EmulatorRefused {
        message: last_words(log_file),
        command_file: command_file.into(),
        log_file: log_file.into(),
    }
}

/// Returns whether a list of the emulator has that name; it writes names of devices between quotes.
fn lists(text: &str, name: &str) -> bool {
    let mut words = text.split_whitespace();
    words.any(|word| word.trim_matches(['"', ',']) == name)
}

fn last_words(log_file: &Path) -> String {
    let text = std::fs::read_to_string(log_file).unwrap_or_default();
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("it said nothing").trim().to_owned()
}

fn answer(program: &str, arguments: &[&str]) -> Result<String, RunError> {
    let output = Process::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(RunError::EmulatorMissing {
            program: program.into(),
        }),
        Err(source) => Err(RunError::File {
            path: program.into(),
            source,
        }),
    }
}

/// `7.2.22` out of `QEMU emulator version 7.2.22 (Debian …)`.
fn version(text: &str) -> Option<&str> {
    text.split_whitespace()
        .skip_while(|&word| word != "version")
        .nth(1)
}

fn numbers(version: &str) -> Vec<u32> {
    version
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        let text = "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright";
        assert_eq!(version(text), Some("10.0.2"));
        assert!(numbers("10.0.2") > numbers("7.2"));
        assert!(numbers("7.2.22") >= numbers("7.2"));
        assert!(numbers("7.1.9") < numbers("7.2"));
        assert!(numbers("unknown") < numbers("7.2"));
    }

    #[test]
    fn a_device_is_found_in_the_emulators_list() {
        let text = "name \"e1000\", bus PCI, alias \"e1000-82540em\"\nvirt-7.2             QEMU 7.2 ARM Virtual Machine";
        for name in ["e1000", "virt-7.2"] {
            assert!(lists(text, name), "{name}");
        }
        assert!(!lists(text, "e10"));
    }

    #[test]
    fn a_missing_program_is_said_to_be_missing() {
        let error = check_program("no-such-emulator", "7.2").unwrap_err();
        assert!(matches!(error, RunError::EmulatorMissing { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            "the emulator `no-such-emulator` is not installed"
        );
    }

    #[test]
    fn something_else_under_its_name_is_too_old() {
        let error = check_program("echo", "7.2").unwrap_err();
        assert!(matches!(error, RunError::EmulatorTooOld { .. }), "{error}");
    }
}
