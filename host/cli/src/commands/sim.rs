//! `bulkhead sim`

use bulkhead_model::time_text;
use bulkhead_model::timing::Timing;
use bulkhead_sim::gantt::{self, Beginning, Drawn};
use bulkhead_sim::{Options, Outcome, simulate};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::arguments::{Length, Sim};
use crate::checkout::Checkout;
use crate::failure::Failure;

/// Nanoseconds simulated where neither the command nor the description says.
const USUAL_NS: u64 = 10_000_000_000;

/// A partition, simulated.
struct Simulated<'s> {
    name: &'s str,
    timing: &'s Timing,
    outcome: Outcome,
    beginning: Beginning,
}

pub(super) fn execute(arguments: &Sim) -> Result<ExitCode, Failure> {
    let checkout = Checkout::find()?;
    let path = arguments.system.as_deref();
    let (system, remarks) = super::load(&checkout, path, &arguments.changes, arguments.json)?;
    super::show_remarks(&remarks, false);
    let for_ns = match (arguments.length, system.run.for_ns) {
        (Some(Length::Ns(ns)), _) | (None, Some(ns)) => ns,
        (Some(Length::Forever), _) => return Err(Failure::EndlessSimulation),
        (None, None) => USUAL_NS,
    };
    let options = Options {
        for_ns,
        seed: arguments.seed,
        critical: arguments.critical,
        background: arguments.background,
    };
    let scheduled = system
        .partitions
        .iter()
        .filter(|partition| !partition.timing.vcpus.is_empty());
    let started = Instant::now();
    let all = scheduled
        .map(|partition| {
            let mut beginning = Beginning::new(arguments.window().min(for_ns));
            let outcome = simulate(&partition.timing, options, &mut beginning)?;
            Ok(Simulated {
                name: &partition.name,
                timing: &partition.timing,
                outcome,
                beginning,
            })
        })
        .collect::<Result<Vec<_>, bulkhead_sim::SetUpError>>()?;
    let seconds = started.elapsed().as_secs_f64();
    if all.is_empty() {
        return Err(Failure::NothingScheduled {
            system: system.name,
        });
    }
    pictures(arguments, &all)?;
    match arguments.json {
        true => println!("{:#}", as_json(&all, options, seconds)),
        false => print(&all, options, seconds),
    }
    let kept = all.iter().all(|simulated| broken(simulated).is_none());
    Ok(ExitCode::from(u8::from(!kept)))
}

/// Returns the first task with a response beyond its bound.
fn broken<'s>(simulated: &'s Simulated<'_>) -> Option<&'s str> {
    let exceeds = |&(index, bound): &(usize, Option<u64>)| {
        bound.is_some_and(|bound| simulated.outcome.tasks[index].worst > bound)
    };
    let (index, _) = bounds(simulated.timing).into_iter().find(exceeds)?;
    Some(&simulated.timing.tasks[index].name)
}

/// Bounds by task.
fn bounds(timing: &Timing) -> Vec<(usize, Option<u64>)> {
    let cores = timing.analyse();
    cores.into_iter().flat_map(|core| core.tasks).collect()
}

fn events_per_second(all: &[Simulated<'_>], seconds: f64) -> (u64, f64) {
    let events = all.iter().map(|simulated| simulated.outcome.events).sum();
    (events, events as f64 / seconds.max(1e-9))
}

fn print(all: &[Simulated<'_>], options: Options, seconds: f64) {
    for simulated in all {
        println!(
            "{}: {} simulated, seed {}",
            simulated.name,
            time_text(options.for_ns),
            options.seed
        );
        println!(
            "  {:<16} {:>8} {:>6} {:>12} {:>12} {:>12} {:>12} {:>12}",
            "task", "jobs", "late", "mean us", "99 % us", "longest us", "bound us", "deadline us"
        );
        for (index, bound) in bounds(simulated.timing) {
            let (task, seen) = (
                &simulated.timing.tasks[index],
                &simulated.outcome.tasks[index],
            );
            let us = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
            println!(
                "  {:<16} {:>8} {:>6} {:>12} {:>12} {:>12} {:>12} {:>12}",
                task.name,
                seen.jobs,
                seen.late,
                us(seen.mean()),
                us(seen.quantile(99)),
                us(seen.worst),
                bound.map_or("none".into(), us),
                us(task.deadline_ns)
            );
        }
        if let Some(task) = broken(simulated) {
            println!("  BROKEN: task `{task}` took longer than its bound");
        }
    }
    let (events, rate) = events_per_second(all, seconds);
    println!(
        "{events} scheduling events, {rate:.2e} per second (host); times are of the simulated clock"
    );
}

fn as_json(all: &[Simulated<'_>], options: Options, seconds: f64) -> Value {
    let task = |simulated: &Simulated<'_>, index: usize, bound: Option<u64>| {
        let (task, seen) = (
            &simulated.timing.tasks[index],
            &simulated.outcome.tasks[index],
        );
        json!({"name": task.name, "jobs": seen.jobs, "late": seen.late, "mean_ns": seen.mean(),
               "p99_ns": seen.quantile(99), "longest_ns": seen.worst, "bound_ns": bound,
               "deadline_ns": task.deadline_ns})
    };
    let partition = |simulated: &Simulated<'_>| {
        let tasks = bounds(simulated.timing).into_iter();
        let tasks: Vec<_> = tasks
            .map(|(index, bound)| task(simulated, index, bound))
            .collect();
        json!({"name": simulated.name, "tasks": tasks, "events": simulated.outcome.events})
    };
    let (_, rate) = events_per_second(all, seconds);
    json!({"for_ns": options.for_ns, "seed": options.seed, "events_per_second_host": rate,
           "partitions": all.iter().map(partition).collect::<Vec<_>>()})
}

/// Writes the pictures asked for.
fn pictures(arguments: &Sim, all: &[Simulated<'_>]) -> Result<(), Failure> {
    let drawn = all.iter().map(|simulated| Drawn {
        name: simulated.name,
        timing: simulated.timing,
        beginning: &simulated.beginning,
    });
    let drawn: Vec<_> = drawn.collect();
    if let Some(path) = &arguments.svg {
        write(path, &gantt::svg(&drawn))?;
    }
    if let Some(path) = &arguments.perfetto {
        write(path, &gantt::perfetto(&drawn).to_string())?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|source| Failure::File {
        path: path.into(),
        source,
    })
}
