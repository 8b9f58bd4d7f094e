//! Whole systems under the emulator
//!
//! Each folder beside this program with an `expect.toml` is a test, or several: what is built, what
//! is typed, and what must have happened. `README.md` tells what can be said there. Runs go by
//! virtual time, so that a test that passes once passes always, however busy the host is.
#![forbid(unsafe_code)]

mod bound;
mod checks;
mod expectation;
mod figures;
mod guest;
mod outside;
mod pattern;
mod play;
mod subject;

use expectation::Case;
use libtest_mimic::{Arguments, Trial};
use std::path::Path;
use std::process::ExitCode;

/// Emulators at a time: each keeps one processor busy.
const AT_A_TIME: usize = 2;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_A_TIME);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    match expectation::discover(folder) {
        Ok(cases) => libtest_mimic::run(&arguments, trials(cases)).exit_code(),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn trials(cases: Vec<Case>) -> Vec<Trial> {
    let trial = |case: Case| {
        let (name, long) = (case.name.clone(), case.expectation.long);
        Trial::test(name, move || subject::examine(&case).map_err(Into::into))
            .with_ignored_flag(long)
    };
    cases.into_iter().map(trial).collect()
}
