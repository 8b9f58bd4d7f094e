//! `pipe-solve`: how long the solver of pipelines takes, and how much better than the paper's it is
//!
//! Made-up pipelines from a fixed seed, on four cores: by four slots and lossless ones with stages side by side, and such that have all
//! in a row. Each is solved with a requirement that is generous and with one that cannot be met, for which the nearest is looked for, too. Where very many
//! stages read several others by four slots, nothing meets a loss: each has to look twice as often as those before it.

use bulkhead_analysis::utilisation::Fraction;
use bulkhead_run::figures::Kind;
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::Pipeline;
use bulkhead_tpipe::repository::{Core, Function, MessageType, Policy, Repository};
use bulkhead_tpipe::solver::{Answer, saved, solve};
use std::time::Instant;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Report, Row};
use crate::setting::Context;

/// Stages, pipelines of that many, delay of each stage in microseconds on average, bound in milliseconds.
const SMALL: (usize, u64, u64, f64) = (20, 50, 4_000, 10.0);
const LARGE: (usize, u64, u64, f64) = (1_000, 3, 60_000, 2_000.0);
/// Shape of pipelines: their functions, the ends, and stages side by side.
const WAYS: [(&str, &str, &str, bool); 3] = [
    ("", "", "10 %", true),
    (" in a row", "", "10 %", false),
    (", lossless", "* ", "10/s", true),
];
/// Part of the delay that no solution meets.
const IMPOSSIBLE: u64 = 50;
/// The best of so many counts: what else the host does is none of the solver's time.
const TRIES: usize = 5;
const CORES: [Core<'static>; 4] = [
    core("rtos-0", Policy::RateMonotonic),
    core("rtos-1", Policy::RateMonotonic),
    core("rtos-2", Policy::Edf),
    core("linux", Policy::Deadline),
];

const fn core(name: &'static str, policy: Policy) -> Core<'static> {
    Core {
        name,
        policy,
        space: 0,
    }
}

pub(crate) struct PipeSolve;

impl Bench for PipeSolve {
    fn id(&self) -> &'static str {
        "pipe-solve"
    }

    fn reproduces(&self) -> &'static str {
        "003 §3.1.4"
    }

    fn kind(&self) -> Kind {
        Kind::Host
    }

    fn guarantee(&self) -> &'static str {
        "20 stages within 10 ms, 1,000 within 2 s, never worse than the paper's heuristic"
    }

    fn run(&self, _context: &Context) -> Result<Report, BenchError> {
        // Room for so many stages, as the tool gives it.
        let rows = WAYS.map(|way| [measure::<64>(SMALL, way), measure::<1_100>(LARGE, way)]);
        Ok(self.report(rows.into_iter().flatten().flatten().collect()))
    }
}

/// Results for pipelines of one size.
#[derive(Default)]
struct Seen {
    met_ms: f64,
    unmet_ms: f64,
    met: u64,
    heuristic: u64,
    worse: u64,
    saved: f64,
}

fn measure<const N: usize>(
    (stages, count, delay, bound): (usize, u64, u64, f64),
    (what, before, flow, beside): (&str, &str, &str, bool),
) -> [Row; 3] {
    let mut seen = Seen::default();
    for seed in 1..=count {
        let mut random = Random(seed);
        let (line, functions) = pipeline(stages, beside, &mut random);
        let delay = delay * stages as u64;
        let (answer, ms) = timed::<N>(&format!("{before}{line} [{flow}, {delay} us]"), &functions);
        seen.met_ms = seen.met_ms.max(ms);
        seen.met += u64::from(answer.best.holds());
        seen.heuristic += u64::from(answer.heuristic.holds());
        seen.worse += u64::from(answer.heuristic.better_than(&answer.best));
        seen.saved += saved(&answer).map_or(0.0, Fraction::percent);
        let impossible = format!("{before}{line} [{flow}, {} us]", delay / IMPOSSIBLE);
        seen.unmet_ms = seen.unmet_ms.max(timed::<N>(&impossible, &functions).1);
    }
    let figures = |ms| [("slowest", ms), ("pipelines", count as f64)];
    let mean = seen.saved / (seen.heuristic.max(1) as f64);
    let better = [
        ("worse", seen.worse as f64),
        ("met", seen.met as f64),
        ("met by the heuristic", seen.heuristic as f64),
        ("saved where both meet it, %", mean),
    ];
    [
        Row::at_most(
            &format!("{stages} stages{what}"),
            &figures(seen.met_ms),
            "ms",
            bound,
        ),
        Row::at_most(
            &format!("{stages} stages{what}, out of reach"),
            &figures(seen.unmet_ms),
            "ms",
            bound,
        ),
        Row::at_most(
            &format!("{stages} stages{what}, beside the heuristic"),
            &better,
            "pipelines",
            0.0,
        ),
    ]
}

/// Numbers from a seed (Lehmer).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        self.0 % end
    }
}

/// Core and WCET of each function; the pipeline goes through them in order, some side by side.
fn pipeline(
    stages: usize,
    beside: bool,
    random: &mut Random,
) -> (String, Vec<(String, usize, u64)>) {
    let functions: Vec<_> = (0..stages)
        .map(|index| {
            (
                format!("f{index}"),
                index % CORES.len(),
                1_000 + random.below(49_000),
            )
        })
        .collect();
    let mut line = functions[0].0.clone();
    for (index, (name, ..)) in functions.iter().enumerate().skip(1) {
        let beside = beside && index > 1 && random.below(5) == 0;
        line += if beside { ", " } else { " | " };
        line += name;
    }
    (line, functions)
}

fn timed<const N: usize>(line: &str, functions: &[(String, usize, u64)]) -> (Answer<N>, f64) {
    let functions: Vec<_> = functions
        .iter()
        .map(|&(ref name, core, wcet)| Function {
            name,
            core,
            wcet,
            inputs: u32::from(name != "f0") * 64,
            outputs: 64,
            messages: [MessageType::WORDS; 2],
            buffering: None,
            source: None,
            sink: None,
            period: 10_000_000,
        })
        .collect();
    let repository = Repository {
        cores: &CORES,
        functions: &functions,
        ..Repository::default()
    };
    let mut best = f64::INFINITY;
    for _ in 1..TRIES {
        best = best.min(solved::<N>(line, &repository).1);
    }
    let (answer, ms) = solved(line, &repository);
    (answer, best.min(ms))
}

/// Solves once, from the text on.
fn solved<const N: usize>(line: &str, repository: &Repository<'_>) -> (Answer<N>, f64) {
    let began = Instant::now();
    let pipeline: Pipeline<'_, N> = Pipeline::parse(line).expect("made up correctly");
    let bound = Bound::new(&pipeline, repository).expect("made up to fit");
    let answer = solve(&bound);
    (answer, began.elapsed().as_secs_f64() * 1e3)
}
