//! `omp-conserve`: while a task is ready no worker idles; paper 004, appendix A.

use crate::report::{Report, Row};
use crate::runtime::{Bench, Runtime, Trouble, median};
use crate::trace;

/// Longest time of the appendix's program that counts as ideal, in units of its work.
const IDEAL: f64 = 1.12;

fn ratios(
    bench: &Bench,
    runtime: &Runtime,
    mode: &str,
    iterations: u32,
    work_us: u32,
) -> Result<Vec<f64>, Trouble> {
    let arguments = [mode, &iterations.to_string(), &work_us.to_string()];
    let lines = bench.run(runtime, 4, "conserve", &arguments, &[])?;
    Ok(lines.into_iter().flatten().collect())
}

fn share_within(ratios: &[f64]) -> f64 {
    ratios.iter().filter(|ratio| **ratio <= IDEAL).count() as f64 / ratios.len().max(1) as f64
}

fn appendix(bench: &Bench, mode: &str, work_us: u32) -> Result<Row, Trouble> {
    let count = if bench.quick { 50 } else { 1000 };
    let ours = ratios(bench, &bench.ours, mode, count, work_us)?;
    let worst = ours.iter().copied().fold(0.0, f64::max);
    let mut row = Row::plain(format!("appendix A, {mode}"), "W")
        .with("ours", median(ours.clone()))
        .with("ours_worst", worst)
        .with("ours_share_ideal", share_within(&ours))
        .at_most(worst, IDEAL);
    for peer in bench.peers.iter().filter(|peer| !peer.name.contains('_')) {
        let times = ratios(bench, peer, mode, count / 25, work_us)?;
        row = row.with(peer.name, median(times));
    }
    Ok(row)
}

/// Random trees of blocking tasks: any greedy schedule stays below work / threads + span.
fn trees(bench: &Bench) -> Result<Row, Trouble> {
    let count = if bench.quick { 10 } else { 60 };
    let ours = ratios(bench, &bench.ours, "tree", count, 10_000)?;
    let worst = ours.iter().copied().fold(0.0, f64::max);
    let row = Row::plain("random trees, greedy bound", "");
    Ok(row
        .with("ours", median(ours))
        .with("ours_worst", worst)
        .at_most(worst, 1.02))
}

/// The runtime's own trace of such trees.
fn traced(bench: &Bench) -> Result<Row, Trouble> {
    let file = bench.scratch("conserve.trace");
    let count = if bench.quick { "5" } else { "30" };
    let arguments = ["tree", count, "2000"];
    let variables = [("BULKHEAD_OMP_TRACE", file.as_path())];
    bench.run(&bench.traced, 4, "conserve", &arguments, &variables)?;
    let findings = trace::examine(&file)?;
    Ok(Row::plain("trace of random trees", "cycles")
        .with("tasks", findings.tasks as f64)
        .with("failed_searches", findings.failed_searches as f64)
        .with("searches_past_a_ready_task", findings.violations as f64)
        .with("longest_search", findings.longest_search as f64)
        .at_most(findings.violations as f64, 0.0)
        .at_most(1.0, findings.tasks as f64))
}

/// Makes the table.
pub(crate) fn run(bench: &Bench) -> Result<Report, Trouble> {
    let rows = vec![
        appendix(bench, "sleep", 20_000)?,
        appendix(bench, "spin", 10_000)?,
        trees(bench)?,
        traced(bench)?,
    ];
    Ok(Report::new("omp-conserve", "004 appendix A", rows))
}
