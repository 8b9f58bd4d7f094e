//! `omp-apps`: mini-applications, each in the manner of a known one, and `omp-constructs`: the constructs they are made of, in the manner
//! of EPCC's benchmarks. All runtimes run turn by turn, with fewer threads than cores, as many, and more.

use crate::report::{Report, Row};
use crate::runtime::{Bench, Runtime, Trouble, least};
use crate::turns::{Runs, Work, agree, settle, take_turns};

/// With what makes a turn of some milliseconds.
const APPLICATIONS: [(&str, &str); 11] = [
    ("cg", "16"),
    ("stencil", "48"),
    ("hydro", "12"),
    ("molecules", "10"),
    ("breadth", "120"),
    ("cholesky", "18"),
    ("wavefront", "30"),
    ("fractal", "160"),
    ("buckets", "300"),
    ("clusters", "12"),
    ("compress", "400"),
];

const CONSTRUCTS: [&str; 28] = [
    "parallel",
    "parallel_for",
    "for",
    "dynamic",
    "guided",
    "runtime",
    "barrier",
    "single",
    "copyprivate",
    "sections",
    "critical",
    "critical_name",
    "lock",
    "nest_lock",
    "ordered",
    "ordered_dynamic",
    "doacross",
    "reduction",
    "tasks",
    "tasks_of_one",
    "tasks_if",
    "taskwait",
    "taskgroup",
    "task_tree",
    "taskloop",
    "depend",
    "parallel_task",
    "nested",
];

/// Most time over the better peer's.
const BOUND: f64 = 1.02;
/// Turns of a process, and how often all run again, in processes of their own, while the ratio is not certain.
const TURNS: usize = 30;
const ROUNDS: usize = 3;
/// Seconds of a construct's turn: at least so many on the fastest runtime, unless it takes the slowest one longer than
/// [`LONGEST_TURN`].
const TURN: f64 = 0.0015;
const LONGEST_TURN: f64 = 0.1;
/// Repetitions of a construct in a turn.
const FEWEST: u32 = 16;
const MOST: u32 = 1 << 22;
/// Runs of which the shortest counts.
const ATTEMPTS: usize = 3;

/// The runtimes of a row: this one and its peers under their default settings.
struct Field<'b> {
    runtimes: Vec<&'b Runtime>,
    /// Peers that fail, or that compute something else than this runtime and another peer.
    left_out: Vec<&'static str>,
}

impl<'b> Field<'b> {
    fn new(bench: &'b Bench, work: &Work<'_>) -> Result<Self, Trouble> {
        let arguments: Vec<&str> = work.arguments.iter().map(String::as_str).collect();
        let checksum = |runtime| {
            let lines = bench.run(runtime, work.threads, work.kernel, &arguments, &[])?;
            let line = lines.first().and_then(|line| line.get(2));
            line.copied()
                .ok_or(Trouble(format!("{} printed nothing", work.kernel)))
        };
        let ours = checksum(&bench.ours)?;
        let peers = bench.peers.iter().filter(|peer| !peer.name.contains('_'));
        let (agreeing, left_out): (Vec<_>, Vec<_>) =
            peers.partition(|peer| checksum(peer).is_ok_and(|theirs| theirs == ours));
        if agreeing.is_empty() {
            return Err(Trouble(format!(
                "{}: no peer has the result of this runtime",
                work.kernel
            )));
        }
        Ok(Self {
            runtimes: core::iter::once(&bench.ours).chain(agreeing).collect(),
            left_out: left_out.iter().map(|peer| peer.name).collect(),
        })
    }
}

fn compare(
    bench: &Bench,
    name: String,
    work: &Work<'_>,
    Field { runtimes, left_out }: Field<'_>,
) -> Result<Row, Trouble> {
    let mut all: Vec<Runs> = runtimes.iter().map(|_| Runs::default()).collect();
    let ratio = settle(bench, ROUNDS, BOUND, &mut all, |all| {
        take_turns(bench, &runtimes, work, all)
    })?;
    agree(&all).map_err(|why| Trouble(format!("{name}: {why}")))?;
    let mut row = Row::plain(name, "ratio; s")
        .with("ratio", ratio.median)
        .with("at_least", ratio.least)
        .with("at_most", ratio.most)
        .at_most(ratio.median, BOUND)
        .without(left_out);
    for (runtime, runs) in runtimes.iter().zip(&all) {
        row = row.with(runtime.name, runs.best());
    }
    Ok(row)
}

/// Makes the table of mini-applications.
pub(crate) fn applications(bench: &Bench) -> Result<Report, Trouble> {
    let mut rows = Vec::new();
    for (kernel, argument) in APPLICATIONS {
        for threads in [1, 2, 4] {
            let name = format!("{kernel}, {threads} threads");
            if !name.contains(&bench.only) {
                continue;
            }
            let work = Work {
                kernel,
                arguments: vec![argument.into()],
                threads,
                turns: TURNS,
            };
            rows.push(compare(bench, name, &work, Field::new(bench, &work)?)?);
        }
    }
    Ok(Report::new("omp-apps", "004 fig. 10", rows))
}

/// Number of repetitions of a turn. A run's time includes the start of its threads, which may take longer on a busy machine than all
/// repetitions: what counts is how much longer four times as many take.
fn repetitions(
    bench: &Bench,
    construct: &str,
    threads: u32,
    runtimes: &[&Runtime],
) -> Result<u32, Trouble> {
    let mut repetitions = FEWEST;
    let mut before = vec![f64::INFINITY; runtimes.len()];
    loop {
        let mut now = Vec::new();
        for runtime in runtimes {
            let arguments = [construct, &repetitions.to_string()];
            let mut runs = Vec::new();
            for _ in 0..ATTEMPTS {
                runs.extend(bench.run(runtime, threads, "constructs", &arguments, &[])?);
            }
            now.push(least(runs.iter().filter_map(|line| line.first().copied())));
        }
        if are_long_enough(&before, &now) || repetitions >= MOST {
            return Ok(repetitions);
        }
        before = now;
        repetitions *= 4;
    }
}

/// Judges the runtimes' seconds for a number of repetitions by those for a quarter of it.
fn are_long_enough(before: &[f64], now: &[f64]) -> bool {
    let added = || now.iter().zip(before).map(|(now, before)| now - before);
    least(added()) >= TURN || added().any(|added| added >= LONGEST_TURN)
}

/// Makes the table of constructs.
pub(crate) fn constructs(bench: &Bench) -> Result<Report, Trouble> {
    let mut rows = Vec::new();
    for construct in CONSTRUCTS {
        for threads in [1, 2, 4, 8] {
            let name = format!("{construct}, {threads} threads");
            if !name.contains(&bench.only) {
                continue;
            }
            let work = |repetitions: u32| Work {
                kernel: "constructs",
                arguments: vec![construct.into(), repetitions.to_string()],
                threads,
                turns: TURNS,
            };
            let field = Field::new(bench, &work(FEWEST))?;
            let repetitions = repetitions(bench, construct, threads, &field.runtimes)?;
            rows.push(compare(bench, name, &work(repetitions), field)?);
        }
    }
    Ok(Report::new("omp-constructs", "004 fig. 9", rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_up_is_no_repetition() {
        let first = [f64::INFINITY; 2];
        assert!(!are_long_enough(&first, &[LONGEST_TURN * 2.0; 2]));
        assert!(!are_long_enough(&[0.01, 0.01], &[0.0101, 0.0101]));
        assert!(!are_long_enough(&[0.01, 0.01], &[0.02, 0.0101]));
        assert!(are_long_enough(&[0.01, 0.01], &[0.02, 0.0118]));
        assert!(are_long_enough(&[0.01, 0.01], &[0.2, 0.0101]));
    }
}
