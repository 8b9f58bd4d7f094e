//! Lines typed into `bulkhead run` by the wall clock
//!
//! The console of the first Linux partition receives them, or that of the first partition without Linux. The tool reads
//! a terminal only in its foreground. The terminal would stop a background run at its first read.

use bulkhead_model::system::{Kind, System};
use bulkhead_plan::manifest::Manifest;
use bulkhead_run::machine::RunFolder;
use bulkhead_run::watch::type_line;
use nix::unistd::{getpgrp, tcgetpgrp};
use std::io::{BufRead, IsTerminal, stdin};
use std::thread;
use std::time::Duration;

/// Time between two looks at whether the machine runs.
const POLL: Duration = Duration::from_millis(100);

/// Forwards lines until the tool ends; nothing where no terminal is typed into.
pub(super) fn forward(system: &System, manifest: &Manifest, folder: RunFolder) {
    let is_linux = |kind: &Kind| *kind == Kind::Linux;
    let kinds: Vec<_> = system.partitions.iter().map(|one| one.kind).collect();
    let number = kinds.iter().position(is_linux).unwrap_or(0);
    let foreground = tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp());
    if !stdin().is_terminal() || !foreground || number >= manifest.partitions.len() {
        return;
    }
    eprintln!(
        "bulkhead: what you type goes to the console of `{}`; Ctrl-C ends the run",
        manifest.partitions[number].name
    );
    let manifest = manifest.clone();
    thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            while folder.running().is_err() {
                thread::sleep(POLL);
            }
            if let Err(error) = type_line(&manifest, &manifest.partitions[number], &folder, &line) {
                eprintln!("bulkhead: `{line}` was not typed: {error}");
            }
        }
    });
}
