//! The figures of a report by their names
//!
//! `partition.P.…` (`up`, `epoch`, `restarts`, `faults`, `component-faults`, `worst-restart-ns`, `boot`, `steady`,
//! `boot.CAUSE`, `steady.CAUSE`), `fault.P.CAUSE.ACTION`, `doorbell.P.CHANNEL.sent|dropped`,
//! `channel.C.sent|received|lost|refused|longest-delay-ns`, `task.P.TASK.jobs|overruns|latest-ns|longest-response-ns|bound-ns`,
//! `follows.P.SIGNAL.samples|rms-thousandths` (of the signal's unit),
//! `path.P.NAME.FIRST-LAST.delivered|lost|lost-by-restarts|before|lost-at-start|late|longest-ns|bound-ns|kept|fell-back|oldest-ns|overruns|early`,
//! `path.P.NAME.FIRST-LAST.P.STAGE.overruns|stopped|downs|slowest-ns|assumed-ns` (`path.P.NAME` where the
//! description does not know the path), `refused.P` (accesses of its devices that the SMMU
//! recorded), `missed`.

use bulkhead_abi::status::{ACTION_NAMES, CAUSE_NAMES, TRAP_NAMES};
use bulkhead_run::report::{
    ChannelReport, CoreReport, PartitionReport, PathReport, Report, TaskReport,
};
use std::collections::BTreeMap;

/// Figures by name.
pub(crate) type Figures = BTreeMap<String, u64>;

/// All figures of `report`.
pub(crate) fn of(report: &Report) -> Figures {
    let mut figures = Figures::new();
    report.partitions.iter().for_each(|partition| {
        add_partition(&mut figures, partition);
        add_faults(&mut figures, report, &partition.name);
    });
    report
        .channels
        .iter()
        .for_each(|channel| add_channel(&mut figures, channel));
    report
        .tasks
        .iter()
        .for_each(|task| add_task(&mut figures, task));
    for partition in &report.partitions {
        let entries = report.refused.iter();
        let entries = entries.filter(|refused| refused.partition == partition.name);
        let count = entries.map(|refused| refused.count).sum();
        figures.insert(format!("refused.{}", partition.name), count);
    }
    report
        .paths
        .iter()
        .for_each(|path| add_path(&mut figures, path));
    for tracking in &report.tracking {
        let named = [
            ("samples", tracking.samples),
            ("rms-thousandths", (tracking.rms * 1e3).ceil() as u64),
        ];
        let prefix = format!("follows.{}.{}", tracking.partition, tracking.signal);
        add(&mut figures, &prefix, &named);
    }
    figures.insert("missed".into(), report.missed.values().sum());
    figures
}

fn add(figures: &mut Figures, prefix: &str, named: &[(&str, u64)]) {
    let named = named
        .iter()
        .map(|(name, value)| (format!("{prefix}.{name}"), *value));
    figures.extend(named);
}

fn add_partition(figures: &mut Figures, partition: &PartitionReport) {
    let prefix = format!("partition.{}", partition.name);
    let total = |count: fn(&CoreReport) -> u64| partition.cores.iter().map(count).sum();
    let named = [
        ("up", u64::from(partition.state == "up")),
        ("down", u64::from(partition.state == "down")),
        ("epoch", partition.epoch.into()),
        ("restarts", partition.restarts),
        ("faults", partition.faults),
        ("component-faults", partition.component_faults),
        ("worst-restart-ns", partition.worst_restart_ns),
        ("boot", total(CoreReport::boot_total)),
        ("steady", total(CoreReport::steady_total)),
    ];
    add(figures, &prefix, &named);
    for cause in TRAP_NAMES {
        let sum = |phase: fn(&CoreReport) -> &BTreeMap<String, u64>| {
            partition
                .cores
                .iter()
                .filter_map(|core| phase(core).get(cause))
                .sum()
        };
        add(
            figures,
            &format!("{prefix}.boot"),
            &[(cause, sum(|core| &core.boot))],
        );
        add(
            figures,
            &format!("{prefix}.steady"),
            &[(cause, sum(|core| &core.steady))],
        );
    }
    for doorbell in &partition.doorbells {
        let prefix = format!("doorbell.{}.{}", partition.name, doorbell.channel);
        add(
            figures,
            &prefix,
            &[("sent", doorbell.sent), ("dropped", doorbell.dropped)],
        );
    }
}

fn add_faults(figures: &mut Figures, report: &Report, partition: &str) {
    for (cause, action) in CAUSE_NAMES
        .iter()
        .flat_map(|c| ACTION_NAMES.iter().map(move |a| (c, a)))
    {
        let alike = report.faults.iter().filter(|fault| {
            fault.partition == partition && fault.cause == **cause && fault.action == **action
        });
        figures.insert(
            format!("fault.{partition}.{cause}.{action}"),
            alike.map(|fault| fault.count).sum(),
        );
    }
}

fn add_channel(figures: &mut Figures, channel: &ChannelReport) {
    let subject = format!("channel.{}", channel.name);
    let counted = [
        ("sent", channel.sent, channel.is_sent_counted),
        ("received", channel.received, channel.is_received_counted),
    ];
    for (name, messages, is_counted) in counted {
        if messages > 0 || is_counted {
            add(figures, &subject, &[(name, messages)]);
        }
    }
    let named = [
        ("lost", channel.lost),
        ("refused", channel.refused),
        ("longest-delay-ns", channel.delay.max_ns),
    ];
    add(figures, &subject, &named);
}

fn add_path(figures: &mut Figures, path: &PathReport) {
    let named = [
        ("delivered", path.delivered),
        ("before", path.before),
        ("lost-at-start", path.lost_at_start),
        ("lost", path.lost),
        ("lost-by-restarts", path.lost_by_restarts),
        ("late", path.late),
        ("longest-ns", path.delay.max_ns),
        ("kept", u64::from(path.holds())),
        ("fell-back", path.fell_back),
        ("oldest-ns", path.oldest_ns),
        ("overruns", path.overruns.iter().map(|one| one.jobs).sum()),
        ("early", path.early.iter().map(|one| one.messages).sum()),
    ];
    let ends = match path.ends.each_ref().map(String::as_str) {
        ["", ""] => String::new(),
        [first, last] => format!(".{first}-{last}"),
    };
    let prefix = format!("path.{}.{}{ends}", path.partition, path.name);
    add(figures, &prefix, &named);
    figures.extend(
        path.bound_ns
            .map(|bound| (format!("{prefix}.bound-ns"), bound)),
    );
    for one in &path.overruns {
        let prefix = format!("{prefix}.{}.{}", one.partition, one.stage);
        let named = [("overruns", one.jobs), ("stopped", u64::from(one.stopped))];
        add(figures, &prefix, &named);
    }
    for one in &path.devices {
        let prefix = format!("{prefix}.{}.{}", one.partition, one.stage);
        let named = [("downs", one.downs), ("slowest-ns", one.slowest_ns)];
        add(figures, &prefix, &named);
        figures.extend(
            one.assumed_ns
                .map(|assumed| (format!("{prefix}.assumed-ns"), assumed)),
        );
    }
}

fn add_task(figures: &mut Figures, task: &TaskReport) {
    let named = [
        ("jobs", task.jobs),
        ("overruns", task.overruns),
        ("latest-ns", task.lateness.max_ns),
        ("longest-response-ns", task.worst_response_ns),
    ];
    let subject = format!("task.{}.{}", task.partition, task.name);
    add(figures, &subject, &named);
    if let Some(bound_ns) = task.bound_ns {
        add(figures, &subject, &[("bound-ns", bound_ns)]);
    }
}
