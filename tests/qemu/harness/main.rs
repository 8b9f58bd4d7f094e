//! Whole systems under the emulator
//!
//! Each folder beside this program with an `expect.toml` contains one test or several: what to
//! build, which lines to enter, and the expected results. `README.md` documents the keys. Runs use
//! virtual time, so that a test that passes once always passes, however busy the host is.
#![forbid(unsafe_code)]

mod attacks;
mod board;
mod boards;
mod bound;
mod checks;
mod desk;
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

/// Tests that run at the same time. An emulator keeps one of two processors busy; of two tests that
/// need the compiler one waits.
const AT_A_TIME: usize = 3;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == attacks::ARGUMENT) {
        return print_attacks();
    }
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

/// Prints the table of all attacks as an experiment does.
fn print_attacks() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let long = std::env::var_os("BULKHEAD_LONG").is_some();
    let table = expectation::discover(folder).map(|cases| attacks::run(&cases, long));
    match table.map(|table| serde_json::to_string(&table)) {
        Ok(Ok(text)) => println!("{text}"),
        Ok(Err(error)) => eprintln!("{error}"),
        Err(message) => eprintln!("{message}"),
    }
    ExitCode::SUCCESS
}

/// Sorts the longest cases first, so that none of them runs alone in the end.
fn trials(mut cases: Vec<Case>) -> Vec<Trial> {
    let length = |case: &Case| case.expectation.length();
    cases.sort_by(|one, other| length(other).total_cmp(&length(one)));
    let trial = |case: Case| {
        let (name, long) = (case.name.clone(), case.expectation.long);
        Trial::test(name, move || subject::examine(&case).map_err(Into::into))
            .with_ignored_flag(long)
    };
    cases.into_iter().map(trial).collect()
}
