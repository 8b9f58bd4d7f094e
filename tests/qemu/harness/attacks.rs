//! Table of all attacks: each case with `attack = true`, with the delays of its neighbours
//!
//! `bulkhead bench attack` prints it. A row holds if its case passes: the figures and consoles of
//! the case require that the attack is contained, that logs, counters or consoles name the attacker
//! for each violation, and that no task of a neighbour is later than the case allows.

use crate::expectation::{Case, Expectation};
use crate::figures::Figures;
use crate::subject;
use bulkhead_bench::Row;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The argument that selects the table.
pub(crate) const ARGUMENT: &str = "--attacks";
/// Attacks that run at the same time; an emulator keeps one processor busy.
const AT_A_TIME: usize = 2;

/// Rows, in the format of experiments.
#[derive(Serialize)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

/// Runs all attacks. Failures are explained on the standard error stream.
pub(crate) fn run(cases: &[Case], long: bool) -> Table {
    let is_due = |case: &&Case| case.expectation.attack && (long || !case.expectation.long);
    let attacks: Vec<&Case> = cases.iter().filter(is_due).collect();
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(case) = attacks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = row(case);
                    rows.lock().expect("no runner panics").push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no runner panics");
    rows.sort_by(|one: &Row, other: &Row| one.name.cmp(&other.name));
    Table { rows }
}

fn row(case: &Case) -> Row {
    let outcome = subject::examine(case);
    if let Err(trouble) = &outcome {
        eprintln!("{}: {trouble}", case.name);
    }
    let report = subject::folder(case)
        .and_then(|folder| read(&folder.join("run/report.json")).ok_or("no report".to_owned()));
    let report = report.unwrap_or(Value::Null);
    let expected = &case.expectation;
    let broken = f64::from(outcome.is_err());
    let mut figures = vec![("broken", broken)];
    figures.extend(delays(&report, expected));
    figures.extend(recorded(&report).map(|count| ("recorded", count)));
    Row::at_most(&case.name, &figures, "", 0.0)
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The latest start of a neighbour's job, and the maximum that the case allows, in microseconds.
fn delays(report: &Value, expected: &Expectation) -> Vec<(&'static str, f64)> {
    let tasks = report["tasks"].as_array().into_iter().flatten();
    let latest = tasks.filter_map(|task| task["lateness"]["max_ns"].as_f64());
    let worst = latest.reduce(f64::max);
    let worst = worst.map(|worst| ("neighbour's worst delay, us", worst / 1e3));
    let bounds = expected.figures.iter();
    let bounds = bounds.filter(|(name, _)| name.ends_with(".latest-ns"));
    let none = Figures::new();
    let admitted = bounds.filter_map(|(_, bound)| bound.most(&none).ok()).max();
    let admitted = admitted.map(|most| ("admitted, us", most as f64 / 1e3));
    worst.into_iter().chain(admitted).collect()
}

/// Number of violations that the monitor attributes to a partition: entries of the fault log, traps
/// after boot, dropped doorbells. `None`: the system never started, so that no partition was observed.
fn recorded(report: &Value) -> Option<f64> {
    let all = report["partitions"].as_array()?;
    let partitions = || all.iter();
    let faults = partitions().filter_map(|one| one["faults"].as_f64());
    let cores = partitions()
        .filter_map(|one| one["cores"].as_array())
        .flatten();
    let traps = cores.filter_map(|core| core["steady"].as_object());
    let traps = traps.flat_map(|causes| causes.values().filter_map(Value::as_f64));
    let bells = partitions()
        .filter_map(|one| one["doorbells"].as_array())
        .flatten();
    let dropped = bells.filter_map(|bell| bell["dropped"].as_f64());
    let counts = faults.chain(traps).chain(dropped);
    // An empty `sum` of floating-point numbers is -0.
    Some(counts.fold(0.0, |sum, count| sum + count))
}
