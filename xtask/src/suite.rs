//! All tests, as parts that report how many passed and how many failed
//!
//! Each part is a command; its whole output goes to `target/suite/PART.log`, its counts are read from
//! the lines that test runners end with. A check is one test; a runner that counts nothing has failed.

mod count;
mod parts;

use crate::workspace::Workspace;
use count::Count;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use parts::Part;
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
    let mut total = Count::default();
    let chosen = |part: &Part| only.is_none_or(|only| part.name.contains(only));
    let mut parts = parts::all(workspace, long).into_iter().filter(chosen);
    let mut next = parts.next();
    while let Some(part) = next {
        // Those that leave a processor idle run beside each other.
        let mut group = vec![part];
        next = parts.next();
        while let Some(part) = next.take_if(|part| part.narrow && group[0].narrow) {
            group.push(part);
            next = parts.next();
        }
        total += run_group(group, &logs)?;
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed > 0 || total.passed == 0 {
        return Err(miette!("the test suite did not pass"));
    }
    Ok(())
}

fn run_group(group: Vec<Part>, logs: &Path) -> Result<Count> {
    let names: Vec<&str> = group.iter().map(|part| part.name).collect();
    eprint!("{} …\r", names.join(", "));
    thread::scope(|scope| {
        let running: Vec<_> = group
            .into_iter()
            .map(|part| scope.spawn(move || run_part(part, logs)))
            .collect();
        let mut total = Count::default();
        for part in running {
            total += part
                .join()
                .map_err(|_| miette!("a part of the suite ended early"))??;
        }
        Ok(total)
    })
}

fn run_part(mut part: Part, logs: &Path) -> Result<Count> {
    let path = logs.join(format!("{}.log", part.name));
    let log = File::create(&path).into_diagnostic()?;
    let errors = log.try_clone().into_diagnostic()?;
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
