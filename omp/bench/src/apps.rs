//! `omp-apps`: mini-applications, each in the manner of a known one, and `omp-constructs`: the constructs they are made of, in the manner
//! of EPCC's benchmarks. All runtimes run turn by turn, with fewer threads than cores, as many, and more.

use crate::report::{Report, Row};
use crate::runtime::{Bench, Runtime, Trouble};
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
/// Least seconds of a construct's turn on the slowest runtime.
const TURN: f64 = 0.003;

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

fn compare(bench: &Bench, name: String, work: &Work<'_>) -> Result<Row, Trouble> {
    let Field { runtimes, left_out } = Field::new(bench, work)?;
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
            rows.push(compare(bench, name, &work)?);
        }
    }
    Ok(Report::new("omp-apps", "004 fig. 10", rows))
}

/// Number of repetitions that take at least [`TURN`] on the slowest runtime.
fn repetitions(bench: &Bench, construct: &str, threads: u32) -> Result<u32, Trouble> {
    let mut repetitions = 16;
    loop {
        let mut slowest = 0.0f64;
        for runtime in core::iter::once(&bench.ours).chain(bench.peers.first()) {
            let arguments = [construct, &repetitions.to_string()];
            let mut fastest = f64::INFINITY;
            for _ in 0..3 {
                let lines = bench.run(runtime, threads, "constructs", &arguments, &[])?;
                let seconds = lines.first().and_then(|line| line.first());
                fastest = fastest.min(seconds.copied().unwrap_or(f64::NAN));
            }
            slowest = slowest.max(fastest);
        }
        if slowest >= TURN / 4.0 || repetitions > 1 << 22 {
            let factor = (TURN / slowest.max(1e-6)).clamp(0.1, 4.0);
            return Ok((f64::from(repetitions) * factor).max(16.0) as u32);
        }
        repetitions *= 4;
    }
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
            let repetitions = repetitions(bench, construct, threads)?;
            let work = Work {
                kernel: "constructs",
                arguments: vec![construct.into(), repetitions.to_string()],
                threads,
                turns: TURNS,
            };
            rows.push(compare(bench, name, &work)?);
        }
    }
    Ok(Report::new("omp-constructs", "004 fig. 9", rows))
}
