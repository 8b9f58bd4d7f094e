//! All tests, as parts that report how many passed and how many failed
//!
//! Each part is a command; its whole output goes to `target/suite/PART.log`, its counts are read from
//! the lines that test runners end with. A check is one test; a runner that counts nothing has failed.

mod count;
mod parts;

use crate::workspace::Workspace;
use count::Count;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use parts::{Order, Part};
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

/// Lines of a failed part that are shown.
const SHOWN: usize = 40;

/// Runs all parts, or those with `only` in their names; the last line is `N passed, N failed`.
pub(crate) fn run(workspace: &Workspace, long: bool, only: Option<&str>) -> Result<()> {
    let logs = workspace
        .metadata
        .target_directory
        .as_std_path()
        .join("suite");
    fs::create_dir_all(&logs).into_diagnostic()?;
    let chosen = |part: &Part| only.is_none_or(|only| part.name.contains(only));
    let (mut in_turn, mut beside, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts::all(workspace, long).into_iter().filter(chosen) {
        match part.order {
            Order::InTurn => in_turn.push(part),
            Order::Beside => beside.push(part),
            Order::Last => last.push(part),
        }
    }
    let mut total = thread::scope(|scope| {
        let beside = scope.spawn(|| run_parts(beside, &logs));
        let in_turn = run_parts(in_turn, &logs);
        let beside = beside
            .join()
            .map_err(|_| miette!("a part of the suite ended early"))?;
        Ok::<_, miette::Report>(in_turn? + beside?)
    })?;
    total = total + run_parts(last, &logs)?;
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed > 0 || total.passed == 0 {
        return Err(miette!("the test suite did not pass"));
    }
    Ok(())
}

fn run_parts(parts: Vec<Part>, logs: &Path) -> Result<Count> {
    parts.into_iter().try_fold(Count::default(), |total, part| {
        Ok(total + run_part(part, logs)?)
    })
}

fn run_part(mut part: Part, logs: &Path) -> Result<Count> {
    let path = logs.join(format!("{}.log", part.name));
    let log = File::create(&path).into_diagnostic()?;
    let errors = log.try_clone().into_diagnostic()?;
    eprint!("{} …\r", part.name);
    let began = Instant::now();
    let command = part.command.stdin(Stdio::null()).stdout(log).stderr(errors);
    let status = command
        .status()
        .into_diagnostic()
        .wrap_err_with(|| format!("{command:?}"))?;
    let text = String::from_utf8_lossy(&fs::read(&path).into_diagnostic()?).into_owned();
    let count = Count::of(&text, status.success(), part.counts);
    eprintln!(
        "{:<22}{:4} passed {:3} failed  {:4} s",
        part.name,
        count.passed,
        count.failed,
        began.elapsed().as_secs()
    );
    if count.failed > 0 {
        show_end(&text, &path);
    }
    Ok(count)
}

fn show_end(text: &str, path: &Path) {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .iter()
        .skip(lines.len().saturating_sub(SHOWN))
        .for_each(|line| eprintln!("    {line}"));
    eprintln!("    (the whole output is in {})", path.display());
}
