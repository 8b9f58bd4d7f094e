//! `pipe-async`, `pipe-loss`, `pipe-fifo`, `pipe-mimo`: pipelines between CAN frames beside a busy Linux (paper 003 §4)
//!
//! A partition of its own sends the frames and measures when they are answered. Channels 1 to 3 are busy to 20, 30 and 40 % of
//! 500 kbit/s, and received by a Linux PREEMPT_RT that copies files and sends packets over the loopback. *Bulkhead*: the stages
//! run in an rtos partition. *Linux*: the same Linux has that partition's core and controller, too, and runs the same stages
//! as threads under SCHED_DEADLINE with the same C and T; the monitor below sleeps.
//!
//! Unlike the paper's: channels 4 and 5 are identifiers on one bus, a component driving one controller; Linux alone receives
//! channels 1 to 3; and all stages of a pipeline run in one partition. The emulated wire takes no time. Bulkhead waits as long
//! as a frame would have a real one before the next is sent, 0.27 ms, which is in what is measured; Linux's driver leaves that
//! to the wire, and has so much less.

mod background;
mod description;

use bulkhead_plan::manifest::PathManifest;
use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use bulkhead_run::report::PathReport;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::linux_peer;
use crate::report::{Report, Row};
use crate::setting::{Context, Setting};

const PIPES: &str = "systems/pipes-can/system.toml";
const BOARD: &str = "boards/qemu-virt.toml";
const LINUX: &str = "host/bench/systems/pipes-can/linux.toml";
/// A nanosecond per instruction, of which five cores have their turns, short ones: [`ROUNDS`].
const TIMING: Timing = Timing::Virtual {
    shift: 0,
    slice_us: 5,
};
/// Messages of each stream in a run; short and long version.
const PACKETS: [u64; 2] = [200, 10_000];
/// Runs, each with another chance.
const RUNS: [u64; 2] = [1, 3];
/// By then every partition works, milliseconds.
const START_MS: u64 = 1700;
/// Time until the clocks of partitions run, and until the last messages.
const SLACK_MS: u64 = 500;
/// A gap is longer by so many percent at most; the paths are told by their ends.
const JITTER: u64 = 4;
/// The probe keeps the wire's pace: a frame waits for those before it. Where answers come by the clock, ten messages fall into
/// step with nine answers (`pipe-loss`), and each gap is longer by most of a frame, microseconds.
const FRAME_US: u64 = 270;
const HEADS: [&str; 2] = ["can-read", "rt-fusion"];
const TAILS: [&str; 2] = ["can-write", "rt-control"];
/// Rounds of a loop, four instructions each, that a job computes for each microsecond of its WCET. With them a job of 100 us
/// has some 15 us to do. Each of its turns, 5 us at most, ends with the turns of the two Linux cores; the probe's and the
/// watching core are busy for some microseconds a message. So it takes less than 100 us, whatever the others do. What was
/// used of a budget comes back part by part, and a job may have to wait for the next one; the console says how often.
const ROUNDS: u64 = 10;
/// Number of the first of Linux's interfaces to the busy channels: of Bulkhead's side and of Linux's own, which has the pipes'
/// controller, too.
const FIRST_BUSY: [usize; 2] = [0, 1];

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
    gaps_us: [5000, 5000],
};
/// Table 3.
pub(crate) const LOSS: TunedPipes = TunedPipes {
    id: "pipe-loss",
    reproduces: "003 tables 3 and 6, figures 10 and 11",
    flows: &[
        "can-read | ml-process | can-write [20 %, 11 ms]",
        "rt-fusion | rt-control [20 %, 8500 us]",
    ],
    gaps_us: [5000, 5000],
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
    flows: &["(can-read | ml-process), rt-fusion | fuse | can-write, rt-control [0 %, 18 ms]"],
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

    fn guarantee(&self) -> &'static str {
        "in Bulkhead every delay is within its bound, loss and throughput are as declared; Linux PREEMPT_RT is shown as it is"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        linux_peer::fetch(context, linux_peer::FLAVOUR)?;
        let long = usize::from(context.long);
        let packets = PACKETS[long];
        let mut rows = Vec::new();
        let mut beside = Vec::new();
        for number in 1..=RUNS[long] {
            let setting = self.build(context, number)?;
            let paths = self.measure(context, &setting)?;
            let description = &setting.manifest.paths;
            rows.extend(
                description
                    .iter()
                    .map(|one| row(one, &paths, number, packets)),
            );
            rows.extend(background::rows(&setting, FIRST_BUSY[0], START_MS, number)?);
            let plan = description::plan(&setting.system.pipes);
            let peer = self.build_peer(context, number, &plan)?;
            let paths = self.measure(context, &peer)?;
            beside.extend(description.iter().map(|one| peer_row(one, &paths, number)));
            let background = background::rows(&peer, FIRST_BUSY[1], START_MS, number)?;
            beside.extend(background.into_iter().map(of_peer));
        }
        rows.extend(beside);
        Ok(self.report(rows))
    }
}

/// Name of a path in the probe's output.
fn name(path: &PathManifest) -> String {
    let [head, tail] = &path.ends;
    let second = |names: [&str; 2], name: &str| 4 + u8::from(names[1] == name);
    format!("can{}-can{}", second(HEADS, head), second(TAILS, tail))
}

impl TunedPipes {
    /// With the stages in a partition of their own.
    fn build(&self, context: &Context, number: u64) -> Result<Setting, BenchError> {
        let [example, beside] = texts(context)?;
        let text = description::with_control(&example, &beside, self.flows);
        // The jitter of the bottom half is in the distances at which frames come.
        let distance = |(end, gap): (&str, u64)| {
            let key = format!("partition.control.component.pipes.endpoint.{end}");
            format!("{key}.distance={} us", gap * 19 / 20)
        };
        let ends = ["can4-in", "can5-in"].into_iter().zip(self.gaps_us);
        let distances: Vec<String> = ends.map(distance).collect();
        let rounds = format!("rounds={ROUNDS}");
        let probe = self.probe(number);
        let arguments = [("probe", probe.as_str()), ("control", &rounds)];
        build(context, self.id, &text, &distances, &arguments)
    }

    /// With the stages of a plan in Linux.
    fn build_peer(
        &self,
        context: &Context,
        number: u64,
        plan: &str,
    ) -> Result<Setting, BenchError> {
        let [example, beside] = texts(context)?;
        let text = description::without_control(&example, &beside);
        let changes = description::peer(plan, ROUNDS);
        let probe = self.probe(number);
        let name = format!("{}-linux", self.id);
        build(context, &name, &text, &changes, &[("probe", &probe)])
    }

    /// Argument words of the probe.
    fn probe(&self, number: u64) -> String {
        let [four, five] = self.gaps_us;
        format!("gap4_us={four} gap5_us={five} jitter={JITTER} seed={number} start_ms={START_MS}")
    }

    /// Observations of the probe in a run.
    fn measure(&self, context: &Context, setting: &Setting) -> Result<Vec<PathReport>, BenchError> {
        let packets = PACKETS[usize::from(context.long)];
        let longest = self.gaps_us.into_iter().max().unwrap_or(0);
        let gap = longest * (100 + JITTER) / 100 + FRAME_US;
        let us = packets * gap + (START_MS + SLACK_MS) * 1000;
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

/// The example's description, and that of what stands beside it.
fn texts(context: &Context) -> Result<[String; 2], BenchError> {
    let read = |path: &str| {
        let path = context.root.join(path);
        std::fs::read_to_string(&path).map_err(BenchError::file(&path))
    };
    Ok([read(PIPES)?, read(LINUX)?])
}

fn build(
    context: &Context,
    name: &str,
    text: &str,
    changes: &[String],
    arguments: &[(&str, &str)],
) -> Result<Setting, BenchError> {
    let folder = context.out.join(name);
    let file = folder.join("system.toml");
    std::fs::create_dir_all(&folder).map_err(BenchError::file(&folder))?;
    std::fs::write(&file, text).map_err(BenchError::file(&file))?;
    let board = folder.join("board.toml");
    std::fs::write(&board, board_text(context)?).map_err(BenchError::file(&board))?;
    let board = format!("system.board={}", board.display());
    let changes = changes.iter().map(String::as_str);
    let changes: Vec<&str> = changes.chain([board.as_str()]).collect();
    context.build(name, &file.to_string_lossy(), &changes, arguments)
}

/// The board on which an instruction takes as long as in [`TIMING`]: the costs of scheduling depend on that.
fn board_text(context: &Context) -> Result<String, BenchError> {
    let file = context.root.join(BOARD);
    let text = std::fs::read_to_string(&file).map_err(BenchError::file(&file))?;
    let lines = text.lines().map(|line| match line.split_once(" = ") {
        Some(("instruction_ns", _)) => "instruction_ns = 1\n".to_owned(),
        _ => format!("{line}\n"),
    });
    Ok(lines.collect())
}

fn row(description: &PathManifest, paths: &[PathReport], number: u64, packets: u64) -> Row {
    let [head, tail] = &description.ends;
    let what = format!("Bulkhead, {head} to {tail}, run {number}");
    let bound = description.bound_ns as f64 / 1e6;
    let Some(path) = paths.iter().find(|path| path.name == name(description)) else {
        return Row::at_most(&what, &[("longest", f64::NAN)], "ms", bound);
    };
    let mut row = Row::at_most(&what, &figures(path), "ms", bound);
    let all = (path.delivered + path.lost).max(1) as f64;
    row.ok &= path.lost as f64 <= description.loss * all;
    row.ok &= description
        .throughput
        .is_none_or(|least| path.rate >= least);
    row.ok &= all >= packets as f64;
    row
}

/// Results of Linux on the same path; a missing answer is a figure, too.
fn peer_row(description: &PathManifest, paths: &[PathReport], number: u64) -> Row {
    let [head, tail] = &description.ends;
    let what = format!("Linux PREEMPT_RT, {head} to {tail}, run {number}");
    let seen = paths.iter().find(|path| path.name == name(description));
    let bound = ("bound in Bulkhead", description.bound_ns as f64 / 1e6);
    let Some(path) = seen else {
        return Row::unbounded(
            &what,
            &[("longest", f64::NAN), ("messages", 0.0), bound],
            "ms",
        );
    };
    let figures = [&figures(path)[..], &[bound]].concat();
    Row::unbounded(&what, &figures, "ms")
}

/// The load is as it is, too.
fn of_peer(row: Row) -> Row {
    Row {
        name: format!("Linux PREEMPT_RT, {}", row.name),
        ..row
    }
}

fn figures(path: &PathReport) -> [(&'static str, f64); 7] {
    let ms = |ns: u64| ns as f64 / 1e6;
    let all = (path.delivered + path.lost).max(1) as f64;
    [
        ("longest", ms(path.delay.max_ns)),
        ("average", path.delay.avg_ns / 1e6),
        ("99 %", ms(path.delay.p99_ns)),
        ("shortest", ms(path.delay.min_ns)),
        ("messages", path.delivered as f64),
        ("lost %", 100.0 * path.lost as f64 / all),
        ("per second", path.rate),
    ]
}
