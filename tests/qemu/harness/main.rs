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
mod events;
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
    let has = |word: &str| std::env::args().any(|argument| argument == word);
    if has(attacks::ARGUMENT) {
        return print_attacks();
    }
    if has(BOARDS) {
        return print_boards();
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_A_TIME);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    match expectation::discover(folder) {
        Ok(mut cases) => {
            if let Some(filter) = &arguments.filter {
                cases.retain(|case| case.name.contains(filter.as_str()));
            }
            let chosen = arguments
                .filter
                .as_deref()
                .is_some_and(|name| name.contains('@'));
            let cases = fitting(cases, arguments.include_ignored || chosen);
            libtest_mimic::run(&arguments, trials(cases)).exit_code()
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The argument that prints which case runs on which board, and why not.
const BOARDS: &str = "--boards";

/// The cases of the usual run, and with `all` those that fit further boards.
fn fitting(mut cases: Vec<Case>, all: bool) -> Vec<Case> {
    cases.retain(|case| {
        let on_its_own = case.on.is_none();
        let is_due = on_its_own || all || !case.expectation.long;
        is_due && case.impossible.is_none() && (on_its_own || subject::misfit(case).is_none())
    });
    cases
}

/// Prints the cases on further boards, and why some are missing.
fn print_boards() -> ExitCode {
    match expectation::discover(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        Ok(cases) => {
            for case in cases.iter().filter(|case| case.on.is_some()) {
                let reason = case.impossible.clone().or_else(|| subject::misfit(case));
                println!("{}: {}", case.name, reason.unwrap_or_else(|| "runs".into()));
            }
            ExitCode::SUCCESS
        }
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
    let table =
        expectation::discover(folder).map(|cases| attacks::run(&fitting(cases, long), long));
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
