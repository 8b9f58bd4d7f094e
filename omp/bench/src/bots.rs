//! `omp-bots`: task-parallel kernels in the manner of BOTS; paper 004, figure 10.
//!
//! With one thread the time is the processor's: what the run takes on an idle machine, and nothing of
//! what other programs take meanwhile. With two it is the clock's, since waiting counts.

use crate::report::{Report, Row};
use crate::runtime::{Bench, Runtime, Trouble, least};

const KERNELS: [&str; 10] = [
    "fib",
    "sort",
    "strassen",
    "sparselu",
    "nqueens",
    "health",
    "floorplan",
    "alignment",
    "fft",
    "uts",
];

/// Times seven runs of each, at most.
const ROUNDS: usize = 3;
/// What bests do not tell apart: between the peers, who run the same kernels, it is as much.
const RESOLUTION: f64 = 0.01;

/// One runtime's runs of one kernel.
#[derive(Default)]
struct Runs {
    seconds: Vec<f64>,
    checksum: f64,
    peak_kib: f64,
}

impl Runs {
    fn best(&self) -> f64 {
        least(self.seconds.iter().copied())
    }

    /// How much the best of every other run differs from the best of the rest: what a comparison
    /// of bests cannot tell apart.
    fn noise(&self) -> f64 {
        let half = |offset: usize| least(self.seconds.iter().skip(offset).step_by(2).copied());
        let (even, odd) = (half(0), half(1));
        if odd.is_finite() {
            (even - odd).abs() / even.min(odd)
        } else {
            0.0
        }
    }
}

/// Runs every runtime in turn, some times more.
fn measure(
    bench: &Bench,
    runtimes: &[&Runtime],
    (kernel, threads): (&str, u32),
    all: &mut [Runs],
) -> Result<(), Trouble> {
    for _ in 0..if bench.quick { 2 } else { 7 } {
        for (runtime, runs) in runtimes.iter().zip(all.iter_mut()) {
            let lines = bench.run(runtime, threads, kernel, &[], &[])?;
            let [seconds, processor, checksum, peak_kib] =
                lines.first().map(Vec::as_slice).unwrap_or_default()
            else {
                return Err(Trouble(format!("{kernel} printed nothing")));
            };
            runs.seconds
                .push(if threads == 1 { *processor } else { *seconds });
            runs.checksum = *checksum;
            runs.peak_kib = runs.peak_kib.max(*peak_kib);
        }
    }
    Ok(())
}

/// The machine's, which does not care who runs: one difference says little of it, the greatest of all more.
fn noise(all: &[Runs]) -> f64 {
    all.iter().map(Runs::noise).fold(RESOLUTION, f64::max)
}

/// Whether the first one's best and the best of all others differ by more than noise.
fn is_decided(all: &[Runs]) -> bool {
    let Some((ours, peers)) = all.split_first() else {
        return true;
    };
    let best = peers.iter().min_by(|a, b| a.best().total_cmp(&b.best()));
    best.is_none_or(|best| (ours.best() / best.best() - 1.0).abs() > 2.0 * noise(all))
}

/// The rows of one kernel, and libgomp's best at this number of threads.
fn compare(bench: &Bench, kernel: &str, threads: u32) -> Result<(Row, f64, f64), Trouble> {
    let peers = bench
        .peers
        .iter()
        .filter(|peer| threads > 1 || !peer.name.contains('_'));
    let runtimes: Vec<&Runtime> = core::iter::once(&bench.ours).chain(peers).collect();
    let mut all: Vec<Runs> = runtimes.iter().map(|_| Runs::default()).collect();
    // Whoever is ahead: where others' work may have decided, all run again.
    for _ in 0..if bench.quick { 1 } else { ROUNDS } {
        measure(bench, &runtimes, (kernel, threads), &mut all)?;
        if is_decided(&all) {
            break;
        }
    }
    let (ours, peers) = all.split_first().ok_or(Trouble("no runtime".into()))?;
    if let Some(other) = peers.iter().find(|peer| peer.checksum != ours.checksum) {
        let (a, b) = (ours.checksum, other.checksum);
        return Err(Trouble(format!(
            "{kernel} with {threads} threads: {a} on ours, {b} on a peer"
        )));
    }
    let best = peers.iter().min_by(|a, b| a.best().total_cmp(&b.best()));
    let best = best.ok_or(Trouble("no peer".into()))?;
    let gcc_peak = peers.first().map_or(0.0, |gcc| gcc.peak_kib);
    let noise = noise(&all);
    let mut row = Row::plain(format!("{kernel}, {threads} threads"), "ratio; s")
        .with("ratio", ours.best() / best.best())
        .with("noise", noise)
        .with("ours", ours.best())
        .with("memory_ratio", ours.peak_kib / gcc_peak)
        .at_most(ours.best() / best.best(), 1.0 + noise)
        .at_most(ours.peak_kib / gcc_peak, 1.5);
    for (runtime, runs) in runtimes.iter().zip(&all).skip(1) {
        row = row.with(runtime.name, runs.best());
    }
    Ok((row, ours.best(), peers.first().map_or(f64::NAN, Runs::best)))
}

/// Makes the table.
pub(crate) fn run(bench: &Bench) -> Result<Report, Trouble> {
    let mut rows = Vec::new();
    for kernel in KERNELS {
        let (alone, _, gcc_alone) = compare(bench, kernel, 1)?;
        let (both, ours_both, _) = compare(bench, kernel, 2)?;
        rows.extend([alone, both]);
        if kernel == "fib" {
            let ratio = ours_both / gcc_alone;
            let row = Row::plain("fib: 2 threads over libgomp's 1", "");
            rows.push(row.with("ratio", ratio).at_most(ratio, 0.5));
        }
    }
    Ok(Report::new("omp-bots", "004 fig. 10", rows))
}
