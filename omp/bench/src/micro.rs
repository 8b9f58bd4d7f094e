//! `omp-micro`: cost of regions, tasks, barriers; paper 004, figures 8 and 9.

use crate::report::{Report, Row};
use crate::runtime::{Bench, Runtime, Trouble, least, median};

/// How much worse than the host's a worst case may be that is the host's: medians of so few runs differ by that.
const HOST_NOISE: f64 = 1.25;

/// Medians over the rounds of one runtime's figures for one construct.
struct Cost {
    average: f64,
    worst: f64,
}

impl Cost {
    fn of(lines: &[Vec<f64>]) -> Self {
        let column =
            |index: usize| median(lines.iter().filter_map(|l| l.get(index).copied()).collect());
        Self {
            average: column(0),
            worst: column(2),
        }
    }
}

/// Costs of one construct on several runtimes, ours first, and of one that takes as long as ours on average and is
/// late only when the host is: no runtime's worst case can be below that.
struct Costs {
    runtimes: Vec<Cost>,
    host: Cost,
}

fn measure(
    bench: &Bench,
    runtimes: &[&Runtime],
    threads: u32,
    construct: &str,
    iterations: u32,
) -> Result<Costs, Trouble> {
    let rounds = if bench.quick { 3 } else { 9 };
    let iterations = iterations.to_string();
    let mut all: Vec<Vec<Vec<f64>>> = runtimes.iter().map(|_| Vec::new()).collect();
    let mut host = Vec::new();
    for _ in 0..rounds {
        for (runtime, figures) in runtimes.iter().zip(&mut all) {
            figures.extend(bench.run(runtime, threads, "micro", &[construct, &iterations], &[])?);
        }
        let last = all.first().and_then(|ours| ours.last()?.first());
        let length = last.map_or(0.0, |average| average.round()).to_string();
        let arguments = ["host", &iterations, &length];
        host.extend(bench.run(&bench.ours, threads, "micro", &arguments, &[])?);
    }
    Ok(Costs {
        runtimes: all.iter().map(|lines| Cost::of(lines)).collect(),
        host: Cost::of(&host),
    })
}

fn compared(bench: &Bench, construct: &str, threads: u32) -> Result<Row, Trouble> {
    let iterations = if threads <= 2 { 100_000 } else { 20_000 };
    let runtimes: Vec<&Runtime> = core::iter::once(&bench.ours).chain(&bench.peers).collect();
    // A policy that needs more threads than cores to spin takes minutes: it is not a fair peer.
    let fair: Vec<&Runtime> = runtimes
        .into_iter()
        .filter(|runtime| threads <= 2 || runtime.name != "libgomp_active")
        .collect();
    let Costs {
        runtimes: costs,
        host,
    } = measure(bench, &fair, threads, construct, iterations)?;
    let (ours, peers) = costs.split_first().ok_or(Trouble("no runtime".into()))?;
    let best = least(peers.iter().map(|cost| cost.average));
    let is_gcc = |runtime: &&&Runtime| runtime.name.starts_with("libgomp");
    let gcc = fair
        .iter()
        .zip(&costs)
        .filter(|(runtime, _)| is_gcc(runtime))
        .map(|(_, cost)| cost);
    let gcc_worst = gcc
        .min_by(|a, b| a.average.total_cmp(&b.average))
        .map_or(0.0, |c| c.worst);
    let mut row = Row::plain(format!("{construct}, {threads} threads"), "cycles")
        .with("ours", ours.average)
        .with("ours_worst", ours.worst)
        .with("libgomp_worst", gcc_worst)
        .with("host_worst", host.worst)
        .at_most(ours.average, best)
        .at_most(ours.worst, (gcc_worst / 2.0).max(host.worst * HOST_NOISE));
    for (runtime, cost) in fair.iter().zip(&costs).skip(1) {
        row = row.with(runtime.name, cost.average);
    }
    Ok(row)
}

fn informative(bench: &Bench, construct: &str, threads: u32) -> Result<Row, Trouble> {
    let runtimes: Vec<&Runtime> = core::iter::once(&bench.ours)
        .chain(
            bench
                .peers
                .iter()
                .filter(|peer| !peer.name.contains("ssive")),
        )
        .collect();
    let costs = measure(bench, &runtimes, threads, construct, 10_000)?.runtimes;
    let mut row = Row::plain(format!("{construct}, {threads} threads"), "cycles");
    for (runtime, cost) in runtimes.iter().zip(&costs) {
        row = row.with(runtime.name, cost.average);
    }
    Ok(row)
}

fn alone(bench: &Bench, construct: &str) -> Result<Row, Trouble> {
    let costs = measure(bench, &[&bench.ours], 2, construct, 10_000)?;
    let ours = costs.runtimes.first();
    let ours = ours.ok_or(Trouble("no runtime".into()))?;
    let row = Row::plain(construct, "cycles");
    Ok(row
        .with("ours", ours.average)
        .with("ours_worst", ours.worst)
        .with("host_worst", costs.host.worst))
}

/// Makes the table.
pub(crate) fn run(bench: &Bench) -> Result<Report, Trouble> {
    let mut rows = Vec::new();
    for construct in ["parallel", "parallel_task"] {
        for threads in [1, 2, 4, 8] {
            rows.push(compared(bench, construct, threads)?);
        }
    }
    for construct in ["task", "barrier"] {
        for threads in [1, 2] {
            rows.push(informative(bench, construct, threads)?);
        }
    }
    for construct in ["start", "steal", "resume"] {
        rows.push(alone(bench, construct)?);
    }
    Ok(Report::new("omp-micro", "004 fig. 8, 9", rows))
}
