//! Output that cannot be written: no panic, and a status

use nix::pty::openpty;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the tool with that standard output; its status and what it says on standard error.
fn explain(stdout: Stdio) -> (Option<i32>, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.args(["explain", "all"]).env("BULKHEAD_ROOT", root);
    let output = command.stdout(stdout).stderr(Stdio::piped()).output();
    let output = output.expect("the tool starts");
    let text = String::from_utf8(output.stderr).expect("text");
    (output.status.code(), text)
}

#[test]
fn a_closed_terminal_ends_the_tool_without_a_panic() {
    let pair = openpty(None, None).expect("a terminal");
    drop(pair.master);
    let (status, text) = explain(pair.slave.into());
    assert_eq!(status, Some(130), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn a_full_disk_is_reported() {
    let full = OpenOptions::new().write(true).open("/dev/full");
    let (status, text) = explain(full.expect("there").into());
    assert_eq!(status, Some(130), "{text}");
    assert!(text.contains("No space left"), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}
