//! `omp-conserve`: while a task is ready no worker idles; paper 004, appendix A.

use crate::report::{Report, Row};
use crate::runtime::{Bench, Runtime, Trouble, median};
use crate::trace;

/// Longest time of the appendix's program that counts as ideal, in units of its work.
const IDEAL: f64 = 1.12;

/// How much of W the host may withhold for an iteration's time to be the runtime's; of a tree, with its hundreds of
/// wake-ups, how much of the bound.
const WITHHELD: f64 = 0.05;
const WITHHELD_TREE: f64 = 0.25;
/// How often so many iterations are run until enough of them were undisturbed.
const ATTEMPTS: u32 = 8;

/// Iterations of a program: times of those that the host did not disturb, and how many it did.
#[derive(Default)]
struct Iterations {
    times: Vec<f64>,
    disturbed: usize,
}

impl Iterations {
    /// Runs `count` at a time until `count` were undisturbed or it was tried often enough.
    fn of(
        bench: &Bench,
        runtime: &Runtime,
        (mode, work_us, withheld): (&str, u32, f64),
        count: u32,
    ) -> Result<Self, Trouble> {
        let mut all = Self::default();
        for _ in 0..ATTEMPTS {
            let arguments = [mode, &count.to_string(), &work_us.to_string()];
            for line in bench.run(runtime, 4, "conserve", &arguments, &[])? {
                match line[..] {
                    [time, lost] if lost <= withheld => all.times.push(time),
                    _ => all.disturbed += 1,
                }
            }
            if all.times.len() >= count as usize {
                break;
            }
        }
        Ok(all)
    }

    fn worst(&self) -> f64 {
        self.times.iter().copied().fold(0.0, f64::max)
    }

    fn share_within(&self, bound: f64) -> f64 {
        let within = self.times.iter().filter(|time| **time <= bound).count();
        within as f64 / self.times.len().max(1) as f64
    }

    /// Figures about them, and the promise that enough of them all were within the bound.
    fn judge(self, row: Row, bound: f64, count: u32) -> Row {
        row.with("ours_worst", self.worst())
            .with("ours_share_within", self.share_within(bound))
            .with("ours_iterations", self.times.len() as f64)
            .with("ours_disturbed_by_host", self.disturbed as f64)
            .at_most(self.worst(), bound)
            .at_most(f64::from(count), self.times.len() as f64)
            .with("ours", median(self.times))
    }
}

fn appendix(bench: &Bench, mode: &str, work_us: u32) -> Result<Row, Trouble> {
    let count = if bench.quick { 50 } else { 1000 };
    let what = (mode, work_us, WITHHELD);
    let ours = Iterations::of(bench, &bench.ours, what, count)?;
    let row = Row::plain(format!("appendix A, {mode}"), "W");
    let mut row = ours.judge(row, IDEAL, count);
    for peer in bench.peers.iter().filter(|peer| !peer.name.contains('_')) {
        let theirs = Iterations::of(bench, peer, what, count / 25)?;
        row = row.with(peer.name, median(theirs.times));
    }
    Ok(row)
}

/// Random trees of blocking tasks: any greedy schedule stays below work / threads + span.
fn trees(bench: &Bench) -> Result<Row, Trouble> {
    let count = if bench.quick { 10 } else { 60 };
    let ours = Iterations::of(bench, &bench.ours, ("tree", 10_000, WITHHELD_TREE), count)?;
    let row = Row::plain("random trees, greedy bound", "");
    Ok(ours.judge(row, 1.02, count))
}

/// The runtime's own trace of such trees.
fn traced(bench: &Bench) -> Result<Row, Trouble> {
    let file = bench.scratch("conserve.trace");
    let count = if bench.quick { "5" } else { "30" };
    let arguments = ["tree", count, "2000"];
    let variables = [("BULKHEAD_OMP_TRACE", file.as_path())];
    bench.run(&bench.traced, 4, "conserve", &arguments, &variables)?;
    let findings = trace::examine(&file)?;
    Ok(Row::plain("trace of random trees", "")
        .with("searches_past_a_ready_task", findings.violations as f64)
        .with("tasks", findings.tasks as f64)
        .with("failed_searches", findings.failed_searches as f64)
        .with("longest_search", findings.longest_search as f64)
        .at_most(findings.violations as f64, 0.0)
        .at_most(1.0, findings.tasks as f64))
}

/// Makes the table.
pub(crate) fn run(bench: &Bench) -> Result<Report, Trouble> {
    let rows = vec![
        appendix(bench, "sleep", 20_000)?,
        appendix(bench, "spin", 20_000)?,
        trees(bench)?,
        traced(bench)?,
    ];
    Ok(Report::new("omp-conserve", "004 appendix A", rows))
}
