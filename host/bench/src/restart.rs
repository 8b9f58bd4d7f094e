//! `restart`: duration of a restart, and its effect on other partitions

use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use bulkhead_run::report::{PartitionReport, Report as RunReport};

use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Report, Row};
use crate::setting::{Context, Setting};

const PROBE_SYSTEM: &str = "host/bench/systems/restart";
const SHOWCASE: &str = "systems/drive";
/// Restarts of the probe; the worst counts.
const PROBE_RESTARTS: u64 = 20;
/// From fault to the first instruction of a 64 KiB image in 256 KiB, instructions.
const INSTRUCTIONS_BOUND: f64 = 100_000.0;

pub(crate) struct Restart;

impl Bench for Restart {
    fn id(&self) -> &'static str {
        "restart"
    }

    fn reproduces(&self) -> &'static str {
        "001 section 4.4; 90 item 2"
    }

    fn kind(&self) -> Kind {
        Kind::Path
    }

    fn guarantee(&self) -> &'static str {
        "an RTOS partition of 64 KiB is restarted within 100,000 instructions"
    }

    fn takes_board(&self) -> bool {
        true
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let words = format!("restarts={PROBE_RESTARTS}");
        let setting = context.build("restart", PROBE_SYSTEM, &[], &[("probe", &words)])?;
        let usual = RunOptions::of_manifest(&setting.manifest);
        // One instruction is one nanosecond.
        let report = setting.run(&RunOptions {
            timing: Timing::path(0),
            ..usual
        })?;
        let probe = named(&report, "probe", &setting)?;
        let instructions = probe.worst_restart_ns as f64;
        let done = probe.restarts as f64;
        Ok(self.report(vec![
            Row::at_most(
                "fault to first instruction, worst",
                &[("instructions", instructions), ("restarts", done)],
                "instructions",
                INSTRUCTIONS_BOUND,
            ),
            missing("restarts missing", done, PROBE_RESTARTS),
        ]))
    }
}

/// A row that holds if `done` of `wanted` happened.
fn missing(name: &str, done: f64, expected: u64) -> Row {
    let figures = [("missing", (expected as f64 - done).abs()), ("done", done)];
    Row::at_most(name, &figures, "", 0.0)
}

fn named<'r>(
    report: &'r RunReport,
    name: &str,
    setting: &Setting,
) -> Result<&'r PartitionReport, BenchError> {
    report
        .partition(name)
        .ok_or_else(|| BenchError::Incomplete {
            what: name.into(),
            folder: setting.run_folder(),
        })
}

/// Restarts in the showcase: other partitions must not notice.
pub(crate) struct RestartShowcase;

/// Restarts of `control`, short and long version.
const CONTROL_RESTARTS: [u64; 2] = [50, 1000];
/// Pause between them, milliseconds.
const EVERY_MS: u64 = 40;
/// The monitor's part of a restart of Linux, nanoseconds.
const LINUX_BOUND_NS: f64 = 0.2e9;
/// Linux panics half a second after its agent came up, and comes up again.
const LINUX_FAULT: &str = "fault=linux-panic fault_after_ms=500";
const LINUX_SECONDS: u64 = 9;
/// Until all partitions are up, seconds.
const BOOT_SECONDS: u64 = 4;

impl Bench for RestartShowcase {
    fn id(&self) -> &'static str {
        "restart-showcase"
    }

    fn reproduces(&self) -> &'static str {
        "001 section 4.4; 90 item 2"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "restarts of control lose no message of plant and Linux and no job of plant; \
         the monitor restarts Linux within 0.2 s"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let mut rows = control(context)?;
        rows.extend(linux(context)?);
        Ok(self.report(rows))
    }
}

fn control(context: &Context) -> Result<Vec<Row>, BenchError> {
    let expected = CONTROL_RESTARTS[usize::from(context.long)];
    let limit = format!("partition.control.restart.limit={}", 2 * expected);
    let words = format!("fault=control-wild-write faults={expected} fault_after_ms={EVERY_MS}");
    let setting = context.build(
        "restart-control",
        SHOWCASE,
        &[&limit],
        &[("control", &words)],
    )?;
    let seconds = BOOT_SECONDS + 2 + expected * EVERY_MS * 2 / 1000;
    let report = setting.run(&setting.virtual_seconds(seconds))?;
    let control = named(&report, "control", &setting)?;
    let mut rows = vec![missing(
        "restarts of control missing",
        control.restarts as f64,
        expected,
    )];
    let worst = control.worst_restart_ns as f64 / 1e3;
    rows.push(Row::unbounded(
        "worst restart of control",
        &[("time", worst)],
        "us",
    ));
    rows.extend(
        report
            .channels
            .iter()
            .filter(|channel| channel.received > 0)
            .map(|channel| {
                let name = format!("messages lost on {}", channel.name);
                let figures = [
                    ("lost", channel.lost as f64),
                    ("received", channel.received as f64),
                ];
                Row::at_most(&name, &figures, "messages", 0.0)
            }),
    );
    rows.extend(
        report
            .tasks
            .iter()
            .filter(|task| task.partition == "plant")
            .map(|task| {
                let name = format!("overruns of plant/{}", task.name);
                let figures = [
                    ("overruns", task.overruns as f64),
                    ("jobs", task.jobs as f64),
                ];
                Row::at_most(&name, &figures, "jobs", 0.0)
            }),
    );
    Ok(rows)
}

fn linux(context: &Context) -> Result<Vec<Row>, BenchError> {
    let setting = context.build("restart-linux", SHOWCASE, &[], &[("linux", LINUX_FAULT)])?;
    let report = setting.run(&setting.virtual_seconds(LINUX_SECONDS))?;
    let linux = named(&report, "linux", &setting)?;
    let down = f64::from(u8::from(linux.state != "up"));
    Ok(vec![
        missing("restarts of Linux missing", linux.restarts as f64, 1),
        Row::at_most("Linux not up again", &[("partitions", down)], "", 0.0),
        Row::at_most(
            "the monitor's part of a restart of Linux",
            &[("time", linux.worst_restart_ns as f64)],
            "ns",
            LINUX_BOUND_NS,
        ),
    ])
}
