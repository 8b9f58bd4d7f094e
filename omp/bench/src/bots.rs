//! `omp-bots`: task-parallel kernels in the manner of BOTS; paper 004, figure 10.
//!
//! With one thread the kernels run turn by turn, in one process for each runtime and in pieces of some milliseconds. The load of the machine is then
//! the same for each runtime, and differences of a tenth of a percent show. The figure is processor time, which
//! other programs do not affect. With two threads it is the clock's, since waiting
//! counts, and each run is a process, since some runtimes' threads spin between regions.

use crate::report::{Report, Row};
use crate::runtime::{Bench, Runtime, Trouble};
use crate::turns::{Ratio, Runs, Work, agree, closest, settle, take_turns};

/// Times all run again, in processes of their own, while it is not certain that this runtime is ahead.
const ROUNDS: usize = 12;

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

/// Turns of a process.
const TURNS: usize = 60;

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

/// All that a row says.
struct Compared<'b> {
    runtimes: Vec<&'b Runtime>,
    /// Whole runs.
    whole: Vec<Runs>,
    /// Figures of a row.
    ratio: Ratio,
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
        let work = Work {
            kernel: kernel.0,
            arguments: vec![kernel.1.into()],
            threads: 1,
            turns: TURNS,
        };
        settle(bench, ROUNDS, 1.0, &mut pieces, |all| {
            take_turns(bench, &runtimes, &work, all)
        })?
    } else {
        settle(bench, ROUNDS, 1.0, &mut whole, |all| {
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
