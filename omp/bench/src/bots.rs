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
/// What is not told apart: between the peers, who run the same kernels, it is as much.
const RESOLUTION: f64 = 0.01;

/// One runtime's runs of one kernel.
#[derive(Default)]
struct Runs {
    seconds: Vec<f64>,
    checksum: f64,
    peak_kib: f64,
}

/// One runtime over another, run by run: both ran at nearly the same time, so what else the machine does
/// cancels out, and the median ignores the run in which only one of them met it.
#[derive(Clone, Copy)]
struct Ratio {
    median: f64,
    /// The median of ever so many runs is in between, with 95 %.
    least: f64,
    most: f64,
}

impl Runs {
    fn best(&self) -> f64 {
        least(self.seconds.iter().copied())
    }

    fn over(&self, other: &Self) -> Ratio {
        let both = self.seconds.iter().zip(&other.seconds);
        let mut ratios: Vec<f64> = both.map(|(own, other)| own / other).collect();
        ratios.sort_by(f64::total_cmp);
        let from = outside(ratios.len());
        let at = |place: usize| ratios.get(place).copied().unwrap_or(f64::NAN);
        Ratio {
            median: f64::midpoint(at(ratios.len().saturating_sub(1) / 2), at(ratios.len() / 2)),
            least: at(from),
            most: at(ratios.len().saturating_sub(1 + from)),
        }
    }
}

/// How many of the least of `count` sorted values, and of the greatest, are outside the interval that has the
/// median with 95 %: as many as a fair coin shows heads, or fewer, in at most 2.5 % of `count` throws.
fn outside(count: usize) -> usize {
    let mut term = 0.5f64.powi(count as i32);
    let mut sum = term;
    for heads in 0..count / 2 {
        term *= (count - heads) as f64 / (heads + 1) as f64;
        sum += term;
        if sum > 0.025 {
            return heads;
        }
    }
    0
}

/// Runs every runtime in turn, some times more; each time another one begins, since who follows whom makes a difference.
fn measure(
    bench: &Bench,
    runtimes: &[&Runtime],
    (kernel, threads): (&str, u32),
    all: &mut [Runs],
) -> Result<(), Trouble> {
    for round in 0..if bench.quick { 2 } else { 7 } {
        for place in 0..runtimes.len() {
            let place = (place + round) % runtimes.len();
            let (Some(runtime), Some(runs)) = (runtimes.get(place), all.get_mut(place)) else {
                continue;
            };
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

/// The first one over that of the others which it is ahead of least, or behind most.
fn closest(all: &[Runs]) -> Option<Ratio> {
    let (ours, peers) = all.split_first()?;
    let ratios = peers.iter().map(|peer| ours.over(peer));
    ratios.max_by(|a, b| a.median.total_cmp(&b.median))
}

/// The rows of one kernel, and libgomp's best at this number of threads.
fn compare(bench: &Bench, kernel: &str, threads: u32) -> Result<(Row, f64, f64), Trouble> {
    let peers = bench
        .peers
        .iter()
        .filter(|peer| threads > 1 || !peer.name.contains('_'));
    let runtimes: Vec<&Runtime> = core::iter::once(&bench.ours).chain(peers).collect();
    let mut all: Vec<Runs> = runtimes.iter().map(|_| Runs::default()).collect();
    // Whoever is ahead: while that is not certain, all run again.
    for _ in 0..if bench.quick { 1 } else { ROUNDS } {
        measure(bench, &runtimes, (kernel, threads), &mut all)?;
        if closest(&all).is_some_and(|ratio| ratio.most < 1.0 || ratio.least > 1.0) {
            break;
        }
    }
    let ratio = closest(&all).ok_or(Trouble("no peer".into()))?;
    let (ours, peers) = all.split_first().ok_or(Trouble("no runtime".into()))?;
    if let Some(other) = peers.iter().find(|peer| peer.checksum != ours.checksum) {
        let (a, b) = (ours.checksum, other.checksum);
        return Err(Trouble(format!(
            "{kernel} with {threads} threads: {a} on ours, {b} on a peer"
        )));
    }
    let gcc_peak = peers.first().map_or(0.0, |gcc| gcc.peak_kib);
    let mut row = Row::plain(format!("{kernel}, {threads} threads"), "ratio; s")
        .with("ratio", ratio.median)
        .with("at_least", ratio.least)
        .with("at_most", ratio.most)
        .with("ours", ours.best())
        .with("memory_ratio", ours.peak_kib / gcc_peak)
        .at_most(
            ratio.median,
            1.0 + RESOLUTION.max(ratio.median - ratio.least),
        )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_sign_test() {
        assert_eq!([6, 7, 8, 9, 14, 21].map(outside), [0, 0, 0, 1, 2, 5]);
    }

    #[test]
    fn what_both_met_cancels_out() {
        let runs = |seconds: [f64; 7]| Runs {
            seconds: seconds.to_vec(),
            ..Runs::default()
        };
        let ours = runs([1.0, 2.0, 3.0, 1.0, 1.0, 9.0, 1.0]);
        let peer = runs([2.0, 4.0, 6.0, 2.0, 2.0, 2.0, 2.0]);
        let ratio = ours.over(&peer);
        assert_eq!([ratio.least, ratio.median, ratio.most], [0.5, 0.5, 4.5]);
    }
}
