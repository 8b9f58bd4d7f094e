//! `pipe-async`, `pipe-loss`, `pipe-fifo`, `pipe-mimo`: pipelines between CAN frames beside a busy Linux (paper 003 §4)
//!
//! A partition of its own sends the frames and measures when they are answered. Channels 1 to 3 are busy to 20, 30 and 40 % of
//! 500 kbit/s, and received by a Linux PREEMPT_RT that copies files and sends packets over the loopback.
//!
//! Unlike the paper's: channels 4 and 5 are identifiers on one bus, a component driving one controller; Linux alone receives
//! channels 1 to 3; and all stages of a pipeline run in one partition. The wait for a free bus is in what is measured.

use bulkhead_plan::manifest::PathManifest;
use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use bulkhead_run::report::PathReport;

use crate::setting::Setting;
use crate::{Bench, BenchError, Context, Report, Row};

const PIPES: &str = "systems/pipes-can/system.toml";
const LINUX: &str = "host/bench/systems/pipes-can/linux.toml";
/// Where the pipes of the description begin: each set-up has its own.
const FLOWS: &str = "[pipe.first]";
/// 2 ns per instruction, of which five cores have their turns.
const TIMING: Timing = Timing::Virtual {
    shift: 1,
    slice_us: 20,
};
/// Messages of each stream in a run; short and long version.
const PACKETS: [u64; 2] = [400, 10_000];
/// Runs, each with another chance.
const RUNS: [u64; 2] = [1, 3];
/// By then every partition works, milliseconds.
const START_MS: u64 = 8000;
/// What partitions take until their clocks run, and the last messages.
const SLACK_MS: u64 = 500;
/// A gap is longer by so many percent at most; the paths are told by their ends.
const JITTER: u64 = 4;
const HEADS: [&str; 2] = ["can-read", "rt-fusion"];
const TAILS: [&str; 2] = ["can-write", "rt-control"];
/// Of its WCET, what each job computes: the rest is for what stages need besides while other cores have their turns.
const LOAD: &str = "load=10";

/// A set-up of the paper.
pub(crate) struct TunedPipes {
    id: &'static str,
    reproduces: &'static str,
    flows: &'static [&'static str],
    /// From one message to the next by stream, microseconds.
    gaps_us: [u64; 2],
}

/// Tables 1 and 2.
pub(crate) const ASYNC: TunedPipes = TunedPipes {
    id: "pipe-async",
    reproduces: "003 tables 1, 2 and 5, figures 7 and 8",
    flows: &[
        "can-read | ml-process | can-write [0 %, 10 ms]",
        "rt-fusion | rt-control [0 %, 8 ms]",
    ],
    gaps_us: [2550, 2550],
};
/// Table 3.
pub(crate) const LOSS: TunedPipes = TunedPipes {
    id: "pipe-loss",
    reproduces: "003 tables 3 and 6, figures 10 and 11",
    flows: &[
        "can-read | ml-process | can-write [20 %, 11 ms]",
        "rt-fusion | rt-control [20 %, 8500 us]",
    ],
    gaps_us: [2550, 2550],
};
/// Table 4.
pub(crate) const FIFO: TunedPipes = TunedPipes {
    id: "pipe-fifo",
    reproduces: "003 tables 4, 7 and 8, figures 13 and 14",
    flows: &[
        "* can-read | ml-process | can-write [100/s, 14 ms]",
        "* rt-fusion | rt-control [125/s, 8500 us]",
    ],
    gaps_us: [9700, 7750],
};
/// Figure 15.
pub(crate) const MIMO: TunedPipes = TunedPipes {
    id: "pipe-mimo",
    reproduces: "003 tables 9 and 10, figure 15",
    flows: &["(can-read | ml-process), rt-fusion | fuse | can-write, rt-control [0 %, 10 ms]"],
    gaps_us: [9700, 7750],
};

impl Bench for TunedPipes {
    fn id(&self) -> &'static str {
        self.id
    }

    fn reproduces(&self) -> &'static str {
        self.reproduces
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn promise(&self) -> &'static str {
        "every delay is within its bound, loss and throughput are as declared"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let long = usize::from(context.long);
        let mut rows = Vec::new();
        for number in 1..=RUNS[long] {
            let setting = self.build(context, number)?;
            let paths = self.measure(context, &setting)?;
            for known in &setting.manifest.paths {
                let seen = paths.iter().find(|path| path.name == name(known));
                rows.push(row(known, seen, number, PACKETS[long]));
            }
        }
        Ok(self.report(rows))
    }
}

/// What the probe calls a path.
fn name(path: &PathManifest) -> String {
    let [head, tail] = &path.ends;
    let second = |names: [&str; 2], name: &str| 4 + u8::from(names[1] == name);
    format!("can{}-can{}", second(HEADS, head), second(TAILS, tail))
}

impl TunedPipes {
    /// The description's text: the pipes of this set-up, and what stands beside them.
    fn text(&self, context: &Context) -> Result<String, BenchError> {
        let read = |path: &str| {
            let path = context.root.join(path);
            std::fs::read_to_string(&path).map_err(BenchError::file(&path))
        };
        let (pipes, linux) = (read(PIPES)?, read(LINUX)?);
        let mut text = pipes.split(FLOWS).next().unwrap_or_default().to_owned() + &linux;
        for (number, flow) in self.flows.iter().enumerate() {
            text += &format!("\n[pipe.p{}]\nflow = \"{flow}\"\n", number + 1);
        }
        Ok(text)
    }

    fn build(&self, context: &Context, number: u64) -> Result<Setting, BenchError> {
        let folder = context.out.join(self.id);
        let file = folder.join("system.toml");
        std::fs::create_dir_all(&folder).map_err(BenchError::file(&folder))?;
        std::fs::write(&file, self.text(context)?).map_err(BenchError::file(&file))?;
        // Frames can come a little closer together than they were sent.
        let distance = |(end, gap): (&str, u64)| {
            let key = format!("partition.control.component.pipes.endpoint.{end}");
            format!("{key}.distance={} us", gap - 50)
        };
        let ends = ["can4-in", "can5-in"].into_iter().zip(self.gaps_us);
        let distances: Vec<String> = ends.map(distance).collect();
        let changes: Vec<&str> = distances.iter().map(String::as_str).collect();
        let [four, five] = self.gaps_us;
        let probe = format!(
            "gap4_us={four} gap5_us={five} jitter={JITTER} seed={number} start_ms={START_MS}"
        );
        let arguments = [("probe", probe.as_str()), ("control", LOAD)];
        context.build(self.id, &file.to_string_lossy(), &changes, &arguments)
    }

    /// What the probe saw in a run.
    fn measure(&self, context: &Context, setting: &Setting) -> Result<Vec<PathReport>, BenchError> {
        let packets = PACKETS[usize::from(context.long)];
        let longest = self.gaps_us.into_iter().max().unwrap_or(0);
        let us = packets * longest * (100 + JITTER) / 100 + (START_MS + SLACK_MS) * 1000;
        let options = RunOptions {
            for_ns: Some(us * 1000),
            timing: TIMING,
            ..RunOptions::of_manifest(&setting.manifest)
        };
        let report = setting.run(&options)?;
        let mut paths = report.paths;
        paths.retain(|path| path.partition == "probe");
        Ok(paths)
    }
}

fn row(known: &PathManifest, seen: Option<&PathReport>, number: u64, packets: u64) -> Row {
    let [head, tail] = &known.ends;
    let what = format!("{head} to {tail}, run {number}");
    let bound = known.bound_ns as f64 / 1e6;
    let Some(path) = seen else {
        return Row::at_most(&what, &[("longest", f64::NAN)], "ms", bound);
    };
    let mut row = Row::at_most(&what, &figures(path), "ms", bound);
    let all = (path.delivered + path.lost).max(1) as f64;
    row.ok &= path.lost as f64 <= known.loss * all;
    row.ok &= known.throughput.is_none_or(|least| path.rate >= least);
    row.ok &= all >= packets as f64;
    row
}

fn figures(path: &PathReport) -> [(&'static str, f64); 6] {
    let ms = |ns: u64| ns as f64 / 1e6;
    let all = (path.delivered + path.lost).max(1) as f64;
    [
        ("longest", ms(path.delay.max_ns)),
        ("average", path.delay.avg_ns / 1e6),
        ("shortest", ms(path.delay.min_ns)),
        ("messages", path.delivered as f64),
        ("lost %", 100.0 * path.lost as f64 / all),
        ("per second", path.rate),
    ]
}
