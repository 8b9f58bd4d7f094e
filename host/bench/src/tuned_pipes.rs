//! `pipe-async`, `pipe-loss`, `pipe-fifo`, `pipe-mimo`: pipelines between CAN frames beside a busy Linux (paper 003 §4)
//!
//! A partition of its own sends the frames and measures when they are answered. Channels 1 to 3 are busy to 20, 30 and 40 % of
//! 500 kbit/s, and received by a Linux PREEMPT_RT that copies files and sends packets over the loopback. *Bulkhead*: the stages
//! run in an rtos partition. *Linux*: the same Linux, with two cores, owns the pipes' controller, too, and runs the
//! same stages as threads under SCHED_DEADLINE with the same C and T.
//!
//! Unlike the paper's: channels 4 and 5 are identifiers on one bus, a component driving one controller; Linux alone receives
//! channels 1 to 3; and all stages of a pipeline run in one partition. The wait for a free bus is in what is measured.

use bulkhead_model::pipes::Pipe;
use bulkhead_plan::manifest::PathManifest;
use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use bulkhead_run::report::PathReport;
use bulkhead_tpipe::language::Buffering;
use std::path::PathBuf;

use crate::setting::Setting;
use crate::{Bench, BenchError, Context, Report, Row};

const PIPES: &str = "systems/pipes-can/system.toml";
const LINUX: &str = "host/bench/systems/pipes-can/linux.toml";
/// Where the parts of the description begin.
const CONTROL: &str = "[partition.control]";
const PROBE: &str = "[partition.probe]";
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
/// A gap is longer by so many percent at most; the paths are told by their ends.
const JITTER: u64 = 4;
const HEADS: [&str; 2] = ["can-read", "rt-fusion"];
const TAILS: [&str; 2] = ["can-write", "rt-control"];
/// Of its WCET, what each job computes: the rest is for what stages need besides while other cores have their turns.
const LOAD: &str = "load=10";
const PERCENT: &str = "bulkhead.percent=10";

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
        "in Bulkhead every delay is within its bound, loss and throughput are as declared; Linux PREEMPT_RT is shown as it is"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let long = usize::from(context.long);
        let mut rows = Vec::new();
        let mut words = String::new();
        for number in 1..=RUNS[long] {
            let setting = self.build(context, number, None)?;
            words = plan(&setting.system.pipes);
            let paths = self.measure(context, &setting)?;
            for known in &setting.manifest.paths {
                let seen = paths.iter().find(|path| path.name == name(known));
                rows.push(row(known, seen, number, PACKETS[long]));
            }
        }
        for number in 1..=RUNS[long] {
            let setting = self.build(context, number, Some(&words))?;
            for path in self.measure(context, &setting)? {
                let what = format!("Linux PREEMPT_RT, {}, run {number}", path.name);
                rows.push(Row::shown(&what, &figures(&path), "ms"));
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

/// Stages as the program in Linux reads them (`bulkhead_linux_pipes::Plan`).
fn plan(pipes: &[Pipe]) -> String {
    let pipe = |pipe: &Pipe| {
        let kind = match pipe.solved.buffering {
            Buffering::Fifo => "each",
            Buffering::FourSlot => "newest",
        };
        let stages = pipe.solved.stages.iter().zip(&pipe.places);
        stages.fold(kind.to_owned(), |text, (stage, place)| {
            let identifier = place.identifiers.iter().flatten().next();
            let identifier = identifier.map_or_else(String::new, |id| format!(",{id:x}"));
            format!(
                "{text}/{},{},{},{},{},{},{}{identifier}",
                place.function,
                stage.capacity_ns,
                stage.period_ns,
                stage.from,
                stage.to,
                stage.messages,
                stage.buffer
            )
        })
    };
    pipes.iter().map(pipe).collect::<Vec<_>>().join("+")
}

/// The Linux that runs the stages, too.
fn peer(plan: &str) -> Vec<String> {
    vec![
        "partition.linux.cores=2".into(),
        "partition.linux.devices=[\"can4\", \"can1\", \"can2\", \"can3\"]".into(),
        format!(
            "partition.linux.command_line=cryptomgr.notests nokaslr bulkhead.takes=can1,can2,can3 \
             bulkhead.load=traffic {PERCENT} bulkhead.stages={plan}"
        ),
    ]
}

impl TunedPipes {
    /// The description's text, with the control partition or without.
    fn text(&self, context: &Context, with_control: bool) -> Result<String, BenchError> {
        let read = |path: &str| {
            let path = context.root.join(path);
            std::fs::read_to_string(&path).map_err(BenchError::file(&path))
        };
        let (pipes, linux) = (read(PIPES)?, read(LINUX)?);
        let part = |from: &str, to: &str| {
            let start = pipes.find(from).unwrap_or(0);
            let end = pipes.find(to).unwrap_or(pipes.len());
            pipes.get(start..end).unwrap_or_default()
        };
        let mut text = match with_control {
            true => part("", FLOWS).to_owned(),
            false => part("", CONTROL).to_owned() + part(PROBE, FLOWS),
        };
        text += &linux;
        for (number, flow) in self.flows.iter().enumerate().filter(|_| with_control) {
            text += &format!("\n[pipe.p{}]\nflow = \"{flow}\"\n", number + 1);
        }
        Ok(text)
    }

    /// With the control partition, or with a Linux that runs the stages of a plan.
    fn build(
        &self,
        context: &Context,
        number: u64,
        plan: Option<&str>,
    ) -> Result<Setting, BenchError> {
        let with_control = plan.is_none();
        let who = if with_control { "bulkhead" } else { "linux" };
        let changes = plan.map(peer).unwrap_or_default();
        let folder = context.out.join(format!("{}-{who}", self.id));
        let file: PathBuf = folder.join("system.toml");
        std::fs::create_dir_all(&folder).map_err(BenchError::file(&folder))?;
        std::fs::write(&file, self.text(context, with_control)?)
            .map_err(BenchError::file(&file))?;
        let ends = ["can4-in", "can5-in"].into_iter().zip(self.gaps_us);
        // Frames can come a little closer together than they were sent.
        let distance = |(end, gap): (&str, u64)| {
            let key = format!("partition.control.component.pipes.endpoint.{end}");
            format!("{key}.distance={} us", gap - 50)
        };
        let distances: Vec<String> = ends.filter(|_| with_control).map(distance).collect();
        let changes = distances.iter().chain(&changes).map(String::as_str);
        let [four, five] = self.gaps_us;
        let probe = format!(
            "gap4_us={four} gap5_us={five} jitter={JITTER} seed={number} start_ms={START_MS}"
        );
        let arguments = [("probe", probe.as_str()), ("control", LOAD)];
        let arguments = &arguments[..1 + usize::from(with_control)];
        let name = format!("{}-{who}", self.id);
        context.build(
            &name,
            &file.to_string_lossy(),
            &changes.collect::<Vec<_>>(),
            arguments,
        )
    }

    /// What the probe saw in a run.
    fn measure(&self, context: &Context, setting: &Setting) -> Result<Vec<PathReport>, BenchError> {
        let packets = PACKETS[usize::from(context.long)];
        let longest = self.gaps_us.into_iter().max().unwrap_or(0);
        let us = packets * longest * (100 + JITTER) / 100 + START_MS * 1000;
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
    let what = format!("Bulkhead, {head} to {tail}, run {number}");
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
