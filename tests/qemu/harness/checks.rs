//! Compares a run with its expectation, and reports all differences

use crate::events;
use crate::expectation::{Console, Expectation};
use crate::figures::{self, Figures};
use crate::pattern::Pattern;
use crate::play::Lines;
use bulkhead_run::Ended;
use bulkhead_run::report::Report;

/// Console lines that are shown with a failure.
const SHOWN: usize = 12;

/// All differences between the run and the expectation.
pub(crate) fn differences(expected: &Expectation, report: &Report, lines: &Lines) -> Vec<String> {
    let mut wrong = Vec::new();
    let end = match expected.gives_up_after {
        None if expected.host.is_some() || expected.desk.is_some() => Ended::Interrupted,
        None => Ended::Length,
        Some(_) => Ended::Stalled,
    };
    if report.ended != end.sentence() {
        wrong.push(format!("the run did not end as expected: {}", report.ended));
    }
    if let Some(broken) = &expected.broken {
        wrong.extend(verdict_differences(broken, report));
    }
    let figures = figures::of(report);
    let bounds = expected.figures.iter();
    wrong.extend(bounds.filter_map(|(name, bound)| match figures.get(name) {
        Some(value) => match bound.holds(*value, &figures) {
            Ok(true) => None,
            Ok(false) => Some(format!("{name} is {value}, expected {bound}")),
            Err(other) => Some(unknown(other, &figures)),
        },
        None => Some(unknown(name, &figures)),
    }));
    wrong.extend(events::differences(&expected.events, report, &figures));
    for (name, console) in &expected.console {
        let output = lines.get(name).map_or(&[][..], Vec::as_slice);
        let mut differences = console_differences(console, output);
        if !differences.is_empty() {
            differences.push(format!("it printed at the end:\n{}", last(output)));
        }
        wrong.extend(
            differences
                .iter()
                .map(|what| format!("console of {name}: {what}")),
        );
    }
    wrong
}

/// Broken promises that were not expected, and expected ones that were kept.
fn verdict_differences(expected: &[Pattern], report: &Report) -> Vec<String> {
    let broken = report.verdict.broken.iter();
    let lines: Vec<_> = broken
        .map(|one| format!("{}: {}", one.subject, one.what))
        .collect();
    let kept = expected
        .iter()
        .filter(|pattern| !lines.iter().any(|line| pattern.is_in(line)))
        .map(|pattern| format!("the verdict has no broken promise `{pattern}`"));
    let surplus = lines
        .iter()
        .filter(|line| !expected.iter().any(|pattern| pattern.is_in(line)))
        .map(|line| format!("the verdict has an unexpected broken promise: {line}"));
    kept.chain(surplus).collect()
}

fn unknown(name: &str, figures: &Figures) -> String {
    let family = name.rsplit_once('.').map_or("", |(family, _)| family);
    let alike: Vec<_> = figures
        .keys()
        .filter(|key| key.starts_with(family))
        .map(String::as_str)
        .collect();
    format!("there is no figure {name}; there are {}", alike.join(", "))
}

fn console_differences(console: &Console, output: &[String]) -> Vec<String> {
    let mut wrong: Vec<String> = missing(&console.order, output).into_iter().collect();
    for pattern in &console.never {
        let lines = output.iter().filter(|line| pattern.is_in(line)).take(1);
        wrong.extend(lines.map(|line| format!("`{pattern}` should never come: {line}")));
    }
    for each in &console.each {
        let of: Vec<_> = output.iter().filter(|line| each.of.is_in(line)).collect();
        if of.is_empty() {
            wrong.push(format!("no line with `{}`", each.of));
        }
        let without = of.iter().find(|line| !each.has.is_in(line));
        wrong.extend(without.map(|line| format!("without `{}`: {line}", each.has)));
    }
    wrong
}

/// The first pattern of which no line follows those of the patterns before it.
fn missing(order: &[Pattern], output: &[String]) -> Option<String> {
    let mut lines = output.iter();
    let absent = order
        .iter()
        .find(|pattern| !lines.any(|line| pattern.is_in(line)))?;
    let somewhere = output.iter().any(|line| absent.is_in(line));
    let place = if somewhere {
        "in its place"
    } else {
        "anywhere"
    };
    Some(format!("`{absent}` did not come {place}"))
}

fn last(output: &[String]) -> String {
    let from = output.len().saturating_sub(SHOWN);
    output[from..]
        .iter()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
