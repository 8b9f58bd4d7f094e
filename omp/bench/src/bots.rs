//! `omp-bots`: task-parallel kernels in the manner of BOTS; paper 004, figure 10.
//!
//! With one thread the kernels run turn by turn, in one process for each runtime and in pieces of some milliseconds: the machine is then
//! the same for all, and what a runtime takes or saves is seen to a tenth of a percent. What is compared is the processor's time: what a run
//! takes on an idle machine, and nothing of what other programs take meanwhile. With two threads it is the clock's, since waiting
//! counts, and each run is a process, since some runtimes' threads spin between regions.

use crate::report::{Report, Row};
use crate::runtime::{Bench, Player, Runtime, Trouble, least};

/// With what makes a piece of each.
const KERNELS: [(&str, &str); 10] = [
    ("fib", "25"),
    ("sort", "131072"),
    ("strassen", "256"),
    ("sparselu", "14"),
    ("nqueens", "10"),
    ("health", "400"),
    ("floorplan", "100"),
    ("alignment", "20"),
    ("fft", "16"),
    ("uts", "42"),
];

/// Times all run again, in processes of their own, while it is not certain that ours is ahead.
const ROUNDS: usize = 12;
/// Turns of a process, and those before them that find pages and caches as the start left them.
const TURNS: usize = 60;
const WARMING: usize = 3;
/// How likely the median is below its interval, and how likely above. Several rows are of kernels in which the runtime
/// hardly matters, and of these, too, all have to hold.
const TAIL: f64 = 0.005;

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
    /// The median of ever so many runs is in between, but for [`TAIL`] on each side.
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
/// median: as many as a fair coin shows heads, or fewer, in at most [`TAIL`] of `count` throws.
fn outside(count: usize) -> usize {
    let mut term = 0.5f64.powi(count as i32);
    let mut sum = term;
    for heads in 0..count / 2 {
        term *= (count - heads) as f64 / (heads + 1) as f64;
        sum += term;
        if sum > TAIL {
            return heads;
        }
    }
    0
}

/// Adds a process for each runtime, and their turns; each time another one begins, since who follows whom makes a difference.
fn take_turns(
    bench: &Bench,
    runtimes: &[&Runtime],
    (kernel, argument): (&str, &str),
    all: &mut [Runs],
) -> Result<(), Trouble> {
    let players = runtimes
        .iter()
        .map(|runtime| bench.player(runtime, kernel, argument));
    let mut players = players.collect::<Result<Vec<Player>, _>>()?;
    for turn in 0..WARMING + if bench.quick { 7 } else { TURNS } {
        for place in 0..players.len() {
            let place = (place + turn) % players.len();
            let (Some(player), Some(runs)) = (players.get_mut(place), all.get_mut(place)) else {
                continue;
            };
            let line = player.play()?;
            let [_, processor, checksum, _] = line.as_slice() else {
                return Err(Trouble(format!("{kernel} {argument} printed nothing")));
            };
            if turn >= WARMING {
                runs.seconds.push(*processor);
            }
            runs.checksum = *checksum;
        }
    }
    Ok(())
}

/// Runs every runtime in turn, some times more, as processes.
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

/// All that a row says.
struct Compared<'b> {
    runtimes: Vec<&'b Runtime>,
    /// Whole runs.
    whole: Vec<Runs>,
    /// What is judged.
    ratio: Ratio,
}

/// Runs again and again what gives a ratio.
fn settle(
    bench: &Bench,
    all: &mut [Runs],
    mut again: impl FnMut(&mut [Runs]) -> Result<(), Trouble>,
) -> Result<Ratio, Trouble> {
    // Only that ours is ahead ends the runs early: who looks often enough for a peer that is ahead finds one.
    for _ in 0..if bench.quick { 1 } else { ROUNDS } {
        again(all)?;
        if closest(all).is_some_and(|ratio| ratio.most < 1.0) {
            break;
        }
    }
    closest(all).ok_or(Trouble("no peer".into()))
}

fn compare<'b>(
    bench: &'b Bench,
    kernel: (&str, &str),
    threads: u32,
) -> Result<Compared<'b>, Trouble> {
    let peers = bench
        .peers
        .iter()
        .filter(|peer| threads > 1 || !peer.name.contains('_'));
    let runtimes: Vec<&Runtime> = core::iter::once(&bench.ours).chain(peers).collect();
    let nothing = || runtimes.iter().map(|_| Runs::default()).collect::<Vec<_>>();
    let (mut whole, mut pieces) = (nothing(), nothing());
    let ratio = if threads == 1 {
        measure(bench, &runtimes, (kernel.0, 1), &mut whole)?;
        settle(bench, &mut pieces, |all| {
            take_turns(bench, &runtimes, kernel, all)
        })?
    } else {
        settle(bench, &mut whole, |all| {
            measure(bench, &runtimes, (kernel.0, threads), all)
        })?
    };
    for all in [&whole, &pieces] {
        agree(all).map_err(|why| Trouble(format!("{}, {threads} threads: {why}", kernel.0)))?;
    }
    Ok(Compared {
        runtimes,
        whole,
        ratio,
    })
}

/// All computed the same.
fn agree(all: &[Runs]) -> Result<(), String> {
    let (ours, peers) = all.split_first().ok_or("no runtime")?;
    match peers.iter().find(|peer| peer.checksum != ours.checksum) {
        Some(peer) => Err(format!(
            "{} on ours, {} on a peer",
            ours.checksum, peer.checksum
        )),
        None => Ok(()),
    }
}

impl Compared<'_> {
    /// The best whole run of ours, and libgomp's.
    fn best(&self) -> [f64; 2] {
        let at = |place: usize| self.whole.get(place).map_or(f64::NAN, Runs::best);
        [at(0), at(1)]
    }

    fn row(&self, name: String) -> Row {
        let peak = |place: usize| self.whole.get(place).map_or(0.0, |runs| runs.peak_kib);
        let memory = peak(0) / peak(1);
        let Ratio {
            median,
            least,
            most,
        } = self.ratio;
        let mut row = Row::plain(name, "ratio; s")
            .with("ratio", median)
            .with("at_least", least)
            .with("at_most", most)
            .with(
                "whole",
                closest(&self.whole).map_or(f64::NAN, |ratio| ratio.median),
            )
            .with("memory_ratio", memory)
            .at_most(least, 1.0)
            .at_most(memory, 1.5);
        for (runtime, runs) in self.runtimes.iter().zip(&self.whole) {
            row = row.with(runtime.name, runs.best());
        }
        row
    }
}

/// Makes the table.
pub(crate) fn run(bench: &Bench) -> Result<Report, Trouble> {
    let mut rows = Vec::new();
    for kernel in KERNELS {
        let [alone, both] = [1, 2].map(|threads| compare(bench, kernel, threads));
        let (alone, both) = (alone?, both?);
        rows.push(alone.row(format!("{}, 1 thread", kernel.0)));
        rows.push(both.row(format!("{}, 2 threads", kernel.0)));
        if kernel.0 == "fib" {
            let ([_, gcc_alone], [ours_both, _]) = (alone.best(), both.best());
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
        assert_eq!([7, 8, 14, 21, 84].map(outside), [0, 0, 1, 4, 29]);
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
