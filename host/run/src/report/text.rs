//! The report as tables for people

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt::Write;

use crate::figures::{Kind, Spread};
use crate::report::contents::{
    ChannelReport, CoreReport, DoorbellReport, PartitionReport, Report, TaskReport,
};
use crate::report::faults::FaultReport;
use crate::report::paths::PathReport;
use crate::report::refused::RefusedReport;
use crate::report::stages::{DeviceReport, OverrunReport};
use crate::run::Ended;

/// The whole report.
#[must_use]
pub fn report_text(report: &Report) -> String {
    let mut text = headline(report);
    let sections = [
        ("Partitions", counters_text(&report.partitions, report.kind)),
        ("Channels", channels_text(&report.channels, report.kind)),
        ("Paths", paths_text(&report.paths, report.kind)),
        ("Periodic tasks", tasks_text(&report.tasks, report.kind)),
        ("Tracking", tracking_text(report)),
        ("Faults", faults_text(&report.faults, false)),
        ("Refused to devices", refused_text(&report.refused)),
        ("Not seen", missed_text(report)),
    ];
    for (title, body) in sections.into_iter().filter(|(_, body)| !body.is_empty()) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{title}\n{body}\n");
    }
    text.push('\n');
    text.push_str(&report.verdict.text());
    text
}

fn headline(report: &Report) -> String {
    // A machine at rest runs on past its length in one step; what comes later counts nowhere.
    let length = match report.for_s {
        Some(length) if report.length_s >= length => format!("{length} s"),
        Some(length) => format!("{:.3} s of {length} s", report.length_s),
        None => format!("{:.1} s", report.length_s),
    };
    let digest = report.digest.as_ref();
    let digest = digest.map_or_else(|| no_digest(report), |digest| format!("digest {digest}"));
    format!(
        "{}: {length} ({}) in {:.1} s of the host; {}\n{digest}\n",
        report.system, report.kind, report.wall_s, report.ended
    )
}

fn no_digest(report: &Report) -> String {
    let why = if report.kind == Kind::Emulated {
        "real time does not repeat"
    } else if let Some(device) = &report.host_timed {
        return format!("no digest: `{device}` of the emulator works at times of the host's clock");
    } else if report.ended == Ended::Length.sentence() {
        "not all of the run was seen"
    } else {
        "the run was cut off"
    };
    format!("no digest: {why}")
}

/// A table without lines, first column left, others right.
fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().copied());
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    if table.row_count() == 0 {
        return String::new();
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

/// States, restarts and entries to EL2.
#[must_use]
pub fn counters_text(partitions: &[PartitionReport], kind: Kind) -> String {
    let restart = format!("restart [us, {kind}]");
    let head = [
        "partition",
        "state",
        "starts",
        "faults",
        &restart,
        "EL2 boot",
        "EL2 steady",
    ];
    let details = partitions.iter().flat_map(details);
    table(&head, partitions.iter().map(counters_row)) + &details.collect::<String>()
}

fn counters_row(partition: &PartitionReport) -> Vec<String> {
    let sum = |total: fn(&CoreReport) -> u64| partition.cores.iter().map(total).sum::<u64>();
    let restart = us(partition.worst_restart_ns);
    vec![
        partition.name.clone(),
        partition.state.clone(),
        partition.epoch.to_string(),
        (partition.faults + partition.component_faults).to_string(),
        if partition.restarts > 0 {
            restart
        } else {
            "-".into()
        },
        sum(CoreReport::boot_total).to_string(),
        sum(CoreReport::steady_total).to_string(),
    ]
}

/// Entries by cause and doorbells, each on a line of its own.
fn details(partition: &PartitionReport) -> Vec<String> {
    let name = &partition.name;
    let core = |core: &CoreReport| format!("\n  {name} core {}: {}", core.core, causes(core));
    let bell = |bell: &DoorbellReport| {
        format!(
            "\n  {name} doorbell of {} to {}: {} sent, {} dropped",
            bell.channel, bell.to, bell.sent, bell.dropped
        )
    };
    let cores = partition.cores.iter().map(core);
    cores.chain(partition.doorbells.iter().map(bell)).collect()
}

fn causes(core: &CoreReport) -> String {
    let list = |causes: &std::collections::BTreeMap<String, u64>| {
        let named: Vec<_> = causes
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        if named.is_empty() {
            "0".to_owned()
        } else {
            named.join(", ")
        }
    };
    format!("boot {}; steady {}", list(&core.boot), list(&core.steady))
}

fn channels_text(channels: &[ChannelReport], kind: Kind) -> String {
    let delay = format!("delay avg [us, {kind}]");
    let head = [
        "channel", "kind", "from", "to", "sent", "received", "backlog", "lost", "refused", &delay,
        "worst",
    ];
    let rows = channels
        .iter()
        .filter(|channel| channel.kind != "memory")
        .map(|channel| {
            let delayed = channel.delay.count > 0;
            vec![
                channel.name.clone(),
                channel.kind.clone(),
                channel.from.clone(),
                channel.to.join(" "),
                count(channel.sent, channel.is_sent_counted),
                count(channel.received, channel.is_received_counted),
                channel.backlog.to_string(),
                channel.lost.to_string(),
                match channel.kind.as_str() {
                    "ring" => channel.refused.to_string(),
                    _ => "-".into(),
                },
                if delayed {
                    average_us(&channel.delay)
                } else {
                    "-".into()
                },
                if delayed {
                    us(channel.delay.max_ns)
                } else {
                    "-".into()
                },
            ]
        });
    table(&head, rows)
}

/// A number of messages, or a dash where nothing counts them.
fn count(messages: u64, is_counted: bool) -> String {
    if messages > 0 || is_counted {
        messages.to_string()
    } else {
        "-".into()
    }
}

fn paths_text(paths: &[PathReport], kind: Kind) -> String {
    let delay = format!("delay min [us, {kind}]");
    let head = [
        "path",
        "through",
        "lost",
        "per second",
        &delay,
        "avg",
        "p99",
        "max",
        "bound",
        "",
    ];
    let rows = paths.iter().map(|path| {
        let ends = match &path.ends {
            [first, last] if first.is_empty() && last.is_empty() => String::new(),
            [first, last] => format!(" {first} -> {last}"),
        };
        vec![
            format!("{}/{}{ends}", path.partition, path.name),
            path.delivered.to_string(),
            path.lost.to_string(),
            format!("{:.1}", path.rate),
            us(path.delay.min_ns),
            average_us(&path.delay),
            us(path.delay.p99_ns),
            us(path.delay.max_ns),
            path.bound_ns.map_or_else(|| "-".into(), us),
            match (path.bound_ns, path.holds()) {
                (None, _) => String::new(),
                _ if path.delivered + path.lost == 0 => {
                    format!("nothing came{}", stage_anomalies(path))
                }
                (_, true) => format!("kept{}", stage_anomalies(path)),
                (_, false) => format!("NOT KEPT{}", stage_anomalies(path)),
            },
        ]
    });
    table(&head, rows)
}

/// Anomalies of the pipe and its stages.
fn stage_anomalies(path: &PathReport) -> String {
    let before = (path.before > 0).then(|| {
        let lost = match path.lost_at_start {
            0 => String::new(),
            count => format!(", of which {count} are lost"),
        };
        format!(", {} before the first that came{lost}", path.before)
    });
    let by_restarts = (path.lost_by_restarts > 0)
        .then(|| format!(", {} lost by restarts", path.lost_by_restarts));
    let fell_back = (path.fell_back > 0).then(|| {
        format!(
            ", fell back {} times, up to {} us old",
            path.fell_back,
            us(path.oldest_ns)
        )
    });
    let overran = path.overruns.iter().map(|one| {
        let stopped = if one.stopped { " and stopped it" } else { "" };
        let OverrunReport {
            partition,
            stage,
            jobs,
            ..
        } = one;
        format!(", {stage} of {partition} overran {jobs} times{stopped}")
    });
    let failed = path
        .failed
        .iter()
        .map(|one| format!(", {}", one.sentence()));
    let early = path.early.iter().map(|one| format!(", {}", one.sentence()));
    let devices = path.devices.iter().map(device_facts);
    before
        .into_iter()
        .chain(by_restarts)
        .chain(fell_back)
        .chain(overran)
        .chain(failed)
        .chain(early)
        .chain(devices)
        .collect()
}

/// Assumptions about a stage's devices, beside what was observed.
fn device_facts(one: &DeviceReport) -> String {
    let (stage, partition) = (&one.stage, &one.partition);
    let read = one.assumed_ns.map(|assumed| {
        let (slowest, assumed) = (us(one.slowest_ns), us(assumed));
        format!(", {stage} of {partition} had frames within {slowest} us, {assumed} us are assumed")
    });
    let downs = (one.downs > 0).then(|| {
        format!(
            ", the device of {stage} of {partition} could not be used {} times",
            one.downs
        )
    });
    read.into_iter().chain(downs).collect()
}

fn tasks_text(tasks: &[TaskReport], kind: Kind) -> String {
    // Columns of a row about responses.
    const RESPONSE: usize = 3;
    const MAX: usize = 7;
    const BOUND: usize = 9;
    let time = format!("[us, {kind}]");
    let head = [
        "task", "jobs", "overruns", "", "min", "avg", "p99", "max", "jitter", "bound", &time,
    ];
    let rows = tasks.iter().flat_map(|task| {
        let name = format!("{}/{}", task.partition, task.name);
        // A task without a job has no times.
        let us = |ns| if task.jobs > 0 { us(ns) } else { "-".into() };
        let average = |spread: &Spread| {
            if task.jobs > 0 {
                average_us(spread)
            } else {
                "-".into()
            }
        };
        let spread = |name: String, counts: [String; 2], what: &str, spread: &Spread| {
            let [jobs, overruns] = counts;
            let times = [
                spread.min_ns,
                spread.p99_ns,
                spread.max_ns,
                spread.jitter_ns(),
            ]
            .map(us);
            let [min, p99, max, jitter] = times;
            vec![
                name,
                jobs,
                overruns,
                what.into(),
                min,
                average(spread),
                p99,
                max,
                jitter,
            ]
        };
        let counts = [task.jobs.to_string(), task.overruns.to_string()];
        let response = task.bound_ns.map(|bound_ns| {
            let mut row = vec![String::new(); BOUND];
            row[RESPONSE] = "release to finish".into();
            row[MAX] = us(task.worst_response_ns);
            row.push(self::us(bound_ns));
            row
        });
        [
            spread(name, counts, "release to start", &task.lateness),
            spread(
                String::new(),
                Default::default(),
                "start to finish",
                &task.execution,
            ),
        ]
        .into_iter()
        .chain(response)
    });
    table(&head, rows)
}

fn tracking_text(report: &Report) -> String {
    let line = |tracking: &super::TrackingReport| {
        format!(
            "{}/{} follows {} within {:.3} {unit} rms, {:.3} {unit} at most ({} samples, {})",
            tracking.partition,
            tracking.signal,
            tracking.followed,
            tracking.rms,
            tracking.max,
            tracking.samples,
            report.kind,
            unit = tracking.unit,
        )
    };
    report
        .tracking
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn missed_text(report: &Report) -> String {
    let line = |(what, count): (&String, &u64)| format!("{count} {what}");
    report
        .missed
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Faults, one a line; with `registers` all that was recorded.
#[must_use]
pub fn faults_text(faults: &[FaultReport], registers: bool) -> String {
    let mut lines = Vec::new();
    for fault in faults {
        lines.push(fault.sentence());
        if registers {
            lines.push(register_text(fault));
        }
    }
    lines.join("\n")
}

/// Accesses that the SMMU blocked, one line each.
#[must_use]
pub fn refused_text(refused: &[RefusedReport]) -> String {
    let lines: Vec<_> = refused.iter().map(RefusedReport::sentence).collect();
    lines.join("\n")
}

fn register_text(fault: &FaultReport) -> String {
    let mut text = format!(
        "    syndrome {:#x}  elr {:#018x}  spsr {:#x}",
        fault.esr, fault.elr, fault.spsr
    );
    for (number, value) in fault.x.iter().enumerate() {
        let separator = if number % 4 == 0 { "\n    " } else { "  " };
        let _ = write!(text, "{separator}x{number:<2} {value:#018x}");
    }
    text
}

fn us(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e3)
}

fn average_us(spread: &Spread) -> String {
    format!("{:.2}", spread.avg_ns / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stages_did_wrong_stands_behind_their_path() {
        let overran = |stage: &str, jobs, stopped| OverrunReport {
            partition: "linux".into(),
            stage: stage.into(),
            jobs,
            stopped,
            broken_spans_s: Vec::new(),
        };
        let mut path = PathReport::default();
        assert_eq!(stage_anomalies(&path), "");
        path.overruns = vec![overran("filter", 3, false), overran("emit", 1, true)];
        (path.fell_back, path.oldest_ns) = (2, 5_000);
        assert_eq!(
            stage_anomalies(&path),
            ", fell back 2 times, up to 5.00 us old, filter of linux overran 3 times, emit of linux overran 1 times and stopped it"
        );
    }

    #[test]
    fn what_is_assumed_of_devices_stands_beside_what_was_seen() {
        let device = |assumed_ns, downs| DeviceReport {
            partition: "linux".into(),
            stage: "can-read".into(),
            downs,
            slowest_ns: 118_000,
            assumed_ns,
        };
        assert_eq!(
            device_facts(&device(Some(1_000_000), 0)),
            ", can-read of linux had frames within 118.00 us, 1000.00 us are assumed"
        );
        assert_eq!(device_facts(&device(None, 0)), "");
        assert_eq!(
            device_facts(&device(None, 2)),
            ", the device of can-read of linux could not be used 2 times"
        );
    }

    #[test]
    fn an_empty_report_has_only_a_headline() {
        let report = Report {
            system: "drive".into(),
            image: String::new(),
            kind: Kind::Virtual,
            ended: "reached its length".into(),
            for_s: Some(20.0),
            length_s: 20.5,
            wall_s: 41.0,
            digest: Some("abc".into()),
            digests: Default::default(),
            host_timed: None,
            culprit: None,
            partitions: Vec::new(),
            channels: Vec::new(),
            paths: Vec::new(),
            tasks: Vec::new(),
            tracking: Vec::new(),
            faults: Vec::new(),
            events: Vec::new(),
            unlisted: 0,
            refused: Vec::new(),
            executing: Vec::new(),
            missed: Default::default(),
            verdict: Default::default(),
        };
        assert_eq!(
            report_text(&report),
            "drive: 20 s (virtual) in 41.0 s of the host; reached its length\ndigest abc\n\nPASS: every promise was kept\n"
        );
    }

    #[test]
    fn tables_line_up() {
        let text = table(
            &["name", "n"],
            [vec!["a".into(), "1".into()], vec!["b".into(), "100".into()]],
        );
        assert_eq!(text, " name    n\n a       1\n b     100");
    }
}
