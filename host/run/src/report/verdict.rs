//! The verdict of a run
//!
//! A run passes if each promise was kept: every bound, deadline, rate and loss that the description states, every partition
//! and thread alive, and nothing unseen that a promise depends on. A promise that cannot be judged is broken. The description
//! waives by name (`run.waive`), and findings that are waived are listed, but decide nothing. The name of a partition covers
//! its components, pipes and tasks. What a requested fault (`--fault`) causes is treated the same ([`super::injection`]). A fault is
//! foreseen if the description names the action of its cause and its partition runs at the end.

use bulkhead_plan::manifest::{Manifest, PartitionManifest, PathManifest};
use std::collections::BTreeSet;

use crate::figures::{Kind, counted, duration};
use crate::report::contents::{ChannelReport, PartitionReport, Report, TaskReport};
use crate::report::executing::{ExecutingReport, at_the_end};
use crate::report::faults::FaultReport;
use crate::report::finding::{Finding, HOST_SILENCE_S, START_S, Verdict, finding, longest_silence};
use crate::report::injection::Injections;
use crate::report::path_verdict::path_findings;
use crate::run::Ended;

/// Name of the finding about a partition without guarantees, as a part of the partition.
const UNJUDGED: &str = "guarantees";

/// Judges `report`, a run of `manifest`.
pub(crate) fn judge(report: &Report, manifest: &Manifest) -> Verdict {
    let mut findings = run_findings(report);
    let injections = Injections::new(report, &manifest.injected);
    for (description, partition) in manifest.partitions.iter().zip(&report.partitions) {
        let found = partition_findings(report, description, partition, manifest);
        let is_injected = injections.ended(&description.name) && is_outage(report, partition);
        findings.extend(found.map(|one| one.injected(is_injected)));
    }
    for fault in &report.faults {
        let mut description = manifest.partitions.iter();
        let description = description.find(|one| one.name == fault.partition);
        if !description.is_some_and(|one| is_foreseen(one, fault)) {
            let found = finding(&fault.subject(), fault_text(fault));
            findings.push(found.injected(injections.caused(fault)));
        }
    }
    findings.extend(
        report
            .refused
            .iter()
            .map(|one| finding(&one.partition, one.sentence())),
    );
    if report.kind != Kind::Emulated {
        let channels = report.channels.iter();
        findings.extend(channels.filter_map(|channel| channel_finding(channel, &injections)));
    }
    let paths = report.paths.iter();
    findings.extend(paths.flat_map(|path| path_findings(report, path, &injections)));
    let tasks = report.tasks.iter();
    let tasks = tasks.filter_map(|task| match report.kind {
        Kind::Emulated => untimed(task, report.length_s),
        _ => Some(task.clone()),
    });
    findings.extend(tasks.filter_map(|task| {
        let is_injected = is_task_injected(&task, &injections, report.length_s);
        let found = task_finding(&task, &report.executing)?;
        Some(found.injected(is_injected))
    }));
    let unjudged: Vec<_> = manifest
        .partitions
        .iter()
        .filter(|one| {
            !findings
                .iter()
                .any(|found| covers(&one.name, &found.subject))
        })
        .filter_map(|one| {
            let found = unjudged(report, one, &manifest.paths)?;
            Some(found.injected(injections.has_fault(&one.name)))
        })
        .collect();
    findings.extend(unjudged);
    Verdict {
        is_untimed: report.kind == Kind::Emulated,
        ..sort(findings, manifest)
    }
}

/// Returns a finding if no guarantee shows whether the programs of a partition on the kernel, or of a Linux without the agent,
/// worked after its start. A thread
/// that never gives way starves other threads, and only tasks, pipes and heartbeats show that.
fn unjudged(
    report: &Report,
    description: &PartitionManifest,
    paths: &[PathManifest],
) -> Option<Finding> {
    let name = &description.name;
    let mut partitions = report.partitions.iter();
    let partition = partitions.find(|one| one.name == *name)?;
    let mut stages = paths.iter().flat_map(|path| &path.stages);
    let is_judged = partition.last_sign_s.is_some()
        || report
            .tasks
            .iter()
            .any(|task| task.partition == *name && task.jobs > 0)
        || stages.any(|stage| stage.partition == *name);
    // Nothing else shows that a Linux without the agent has started at all.
    let is_expected = match description.announces {
        true => partition.state == "up",
        false => description.kind == "linux" && !description.has_agent,
    };
    (is_expected && !is_judged).then(|| {
        finding(
            &format!("{name}/{UNJUDGED}"),
            format!(
                "it has no periodic task, pipe or heartbeat, so nothing after its start could be judged{}",
                at_the_end(&report.executing, name)
            ),
        )
    })
}

/// Returns `true` if a partition is down, or so early in a start that it may still be starting.
fn is_outage(report: &Report, partition: &PartitionReport) -> bool {
    partition.state == "down" || report.length_s - partition.since_s <= START_S
}

/// Findings about the run as a whole: its length, and what the tool did not see.
fn run_findings(report: &Report) -> Vec<Finding> {
    let whole = report.ended == Ended::Length.sentence()
        || report.ended == Ended::Interrupted.sentence() && report.for_s.is_none();
    let ended = (!whole).then(|| {
        finding(
            &report.system,
            format!(
                "the rest of the run could not be judged: {}{}",
                report.ended,
                report
                    .culprit
                    .as_ref()
                    .map_or_else(String::new, |culprit| format!("; {culprit}"))
            ),
        )
    });
    let missed = report.missed.iter().map(|(what, count)| {
        finding(
            &report.system,
            format!("{count} {what} were overwritten before the tool read them, so the run could not be judged as a whole"),
        )
    });
    ended.into_iter().chain(missed).collect()
}

fn partition_findings(
    report: &Report,
    description: &PartitionManifest,
    partition: &PartitionReport,
    manifest: &Manifest,
) -> Option<Finding> {
    let is_standby = manifest
        .partitions
        .iter()
        .any(|one| one.standby.as_ref() == Some(&description.name));
    let faults = report.faults.iter();
    let of_partition =
        faults.filter(|fault| fault.partition == description.name && fault.component.is_none());
    let last = of_partition.max_by(|a, b| a.last_s.total_cmp(&b.last_s));
    let handed_over = last.is_some_and(|fault| fault.action == "failover");
    let what = match partition.state.as_str() {
        "down" if handed_over => heir_finding(report, description)?,
        "down" if is_standby && partition.epoch == 0 => return None,
        "down" => match last {
            Some(fault) if fault.cause == "off" || fault.cause == "control" => return None,
            Some(fault) => {
                let reason = fault.reason().map(|reason| format!(": {reason}"));
                format!(
                    "halted after `{}` at {:.6} s{}",
                    fault.cause,
                    fault.last_s,
                    reason.unwrap_or_default()
                )
            }
            None => "halted".into(),
        },
        "starting" => unannounced(report.length_s, description, partition)?,
        "unknown" if !is_standby => "never started".into(),
        _ => silence(report, description, partition)?,
    };
    let what = match partition.state.as_str() {
        "down" => what,
        _ => what + &at_the_end(&report.executing, &description.name),
    };
    Some(finding(&description.name, what))
}

/// Returns a finding if the standby to which a partition was handed over has not started.
fn heir_finding(report: &Report, partition: &PartitionManifest) -> Option<String> {
    let heir = partition.standby.as_ref()?;
    let started = report.partition(heir).is_some_and(|heir| heir.epoch > 0);
    (!started).then(|| format!("was handed over to `{heir}`, which never started"))
}

/// Returns a finding if a partition that is starting should have announced that it is up.
fn unannounced(
    length_s: f64,
    description: &PartitionManifest,
    partition: &PartitionReport,
) -> Option<String> {
    if description.announces || description.heartbeat_ns.is_some() {
        return Some("never announced that it is up".into());
    }
    let since_s = partition.since_s;
    if description.has_agent && !partition.announced {
        return Some("had not announced that it is up by the end of the run".into());
    }
    let is_expected = partition.announced || description.has_agent;
    (is_expected && length_s - since_s > START_S)
        .then(|| format!("did not announce that it is up since its start at {since_s:.3} s"))
}

/// Returns a finding if the runtime of a partition beats no longer.
fn silence(
    report: &Report,
    description: &PartitionManifest,
    partition: &PartitionReport,
) -> Option<String> {
    let last = partition.last_sign_s.filter(|_| description.announces)?;
    let admitted = description.heartbeat_ns.map_or(0.0, |ns| 2e-9 * ns as f64);
    let silent = report.length_s - last;
    if -silent > START_S {
        return Some(format!(
            "its sign of life claims the time {last:.3} s, which never came"
        ));
    }
    (silent > admitted.max(longest_silence(report.kind)))
        .then(|| format!("hangs: its last sign of life came at {last:.3} s"))
}

/// Returns `true` if the description names the consequence of such a fault. Unseen faults of components are never foreseen,
/// because their components are unknown.
fn is_foreseen(description: &PartitionManifest, fault: &FaultReport) -> bool {
    let Some(name) = &fault.component else {
        return description.foreseen.contains(&fault.cause);
    };
    let mut components = description.components.iter();
    let component = components.find(|component| component.name == *name);
    !fault.ended && component.is_some_and(|component| component.is_fault_foreseen)
}

fn fault_text(fault: &FaultReport) -> String {
    match fault.is_unseen() {
        true => format!("{}, so they could not be judged", fault.what()),
        false => format!("no policy foresaw this fault: {}", fault.sentence()),
    }
}

/// Returns what can be judged of a task by the clock of the host: whether it has jobs at all, and whether it was served at the end.
fn untimed(task: &TaskReport, length_s: f64) -> Option<TaskReport> {
    let is_over = length_s - task.newest_s > HOST_SILENCE_S;
    is_over.then(|| TaskReport {
        late: 0,
        above_bound: 0,
        overruns: 0,
        ..task.clone()
    })
}

/// Returns `true` if a requested fault caused all that a task has broken.
fn is_task_injected(task: &TaskReport, injections: &Injections<'_>, length_s: f64) -> bool {
    let name = &task.partition;
    let is_broken = task.late > 0 || task.above_bound > 0 || task.overruns > 0;
    let silent_s = length_s - task.newest_s;
    let is_stopped = match task.unserved {
        0 => task.jobs > 0 || injections.has_fault(name),
        releases => injections.stopped(name, task.newest_s, silent_s / releases as f64),
    };
    // A fault stops a thread, but does not end it.
    is_stopped && !task.has_ended && (!is_broken || injections.explain(name, &task.broken_spans_s))
}

/// Returns a finding if a ring's sender dropped messages because its readers were too slow.
fn channel_finding(channel: &ChannelReport, injections: &Injections<'_>) -> Option<Finding> {
    let readers = || channel.to.iter();
    let is_injected = readers().any(|reader| injections.has_fault(reader));
    (channel.refused > 0).then(|| {
        let what = format!(
            "{} found no room in the ring and were dropped: {} took too few",
            counted(channel.refused, "message"),
            readers().cloned().collect::<Vec<_>>().join(", ")
        );
        finding(&format!("{}/{}", channel.from, channel.name), what).injected(is_injected)
    })
}

fn task_finding(task: &TaskReport, executing: &[ExecutingReport]) -> Option<Finding> {
    let subject = format!("{}/{}", task.partition, task.name);
    let late = (task.late > 0).then(|| {
        format!(
            "{} of {} missed the deadline of {}; the longest response took {}",
            task.late,
            counted(task.jobs, "job"),
            duration(task.deadline_ns.unwrap_or(0)),
            duration(task.worst_response_ns)
        )
    });
    let above_bound = (task.above_bound > 0).then(|| {
        format!(
            "{} of {} took longer than the bound of {}; the longest response took {}",
            task.above_bound,
            counted(task.jobs, "job"),
            duration(task.bound_ns.unwrap_or(0)),
            duration(task.worst_response_ns)
        )
    });
    let overran = (task.overruns > 0).then(|| {
        format!(
            "{} came late by whole periods or were skipped",
            counted(task.overruns, "release")
        )
    });
    let unseen = (task.jobs == 0 && task.unserved == 0 && task.deadline_ns.is_some())
        .then(|| "no job of it was seen, so its deadline could not be judged".to_owned());
    let stopped = (task.unserved > 0).then(|| {
        format!(
            "{} since {:.3} s were never served{}",
            counted(task.unserved, "release"),
            task.newest_s,
            at_the_end(executing, &task.partition)
        )
    });
    let ended = task.has_ended.then(|| {
        let newest_s = task.newest_s;
        format!(
            "its thread ended by itself before the end of the run, after the job at {newest_s:.3} s"
        )
    });
    // A job after its deadline is beyond its bound, too.
    let all: Vec<_> = [late.or(above_bound), overran, stopped, ended, unseen]
        .into_iter()
        .flatten()
        .collect();
    (!all.is_empty()).then(|| finding(&subject, all.join("; ")))
}

/// Divides findings into those that decide and those that do not. Paths of one pipe share its stages: equal findings are one.
fn sort(mut findings: Vec<Finding>, manifest: &Manifest) -> Verdict {
    let mut seen = BTreeSet::new();
    findings.retain(|one| seen.insert((one.subject.clone(), one.what.clone())));
    let is_named = |one: &Finding| manifest.waive.iter().any(|name| covers(name, &one.subject));
    let (waived, broken): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|one| one.is_injected || is_named(one));
    Verdict {
        pass: broken.is_empty(),
        is_untimed: false,
        broken,
        waived,
    }
}

/// Returns `true` if `name` is the subject of a finding, or the partition or component that the subject is a part of.
fn covers(name: &str, subject: &str) -> bool {
    let rest = subject.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiver_of_a_partition_covers_its_parts_and_no_other_partition() {
        for subject in ["control", "control/filter", "control/steering"] {
            assert!(covers("control", subject), "{subject}");
        }
        assert!(covers("control/filter", "control/filter"));
        for subject in ["control-2", "control-2/filter", "plant"] {
            assert!(!covers("control", subject), "{subject}");
        }
        assert!(!covers("control/filter", "control"));
        assert!(!covers("control/filter", "control/filter-2"));
    }

    #[test]
    fn a_task_is_late_skipped_unseen_or_well() {
        let well = TaskReport {
            jobs: 10,
            ..TaskReport::default()
        };
        assert_eq!(task_finding(&well, &[]), None);
        for bad in [
            TaskReport {
                late: 1,
                ..well.clone()
            },
            TaskReport {
                overruns: 1,
                ..well.clone()
            },
            TaskReport {
                above_bound: 1,
                ..well.clone()
            },
            TaskReport {
                has_ended: true,
                ..well.clone()
            },
            TaskReport {
                jobs: 0,
                deadline_ns: Some(1),
                ..well
            },
        ] {
            assert!(task_finding(&bad, &[]).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn messages_that_find_a_ring_full_break_its_guarantee() {
        let report = report();
        let injections = Injections::new(&report, &[]);
        let channel = |refused| ChannelReport {
            name: "stream".into(),
            from: "victim".into(),
            to: vec!["listener".into()],
            refused,
            ..ChannelReport::default()
        };
        let found = channel_finding(&channel(7), &injections).expect("broken");
        assert_eq!(found.subject, "victim/stream");
        assert!(found.what.starts_with("7 messages found no room"));
        assert!(!found.is_injected);
        assert_eq!(channel_finding(&channel(0), &injections), None);
    }

    /// A report of a run that reached its length, with nothing in it.
    fn report() -> Report {
        Report {
            system: "drive".into(),
            image: String::new(),
            kind: Kind::Virtual,
            ended: Ended::Length.sentence().into(),
            for_s: Some(1.0),
            length_s: 1.0,
            wall_s: 1.0,
            digest: None,
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
            verdict: Verdict::default(),
        }
    }

    #[test]
    fn a_partition_on_the_kernel_without_guarantees_fails() {
        let description = PartitionManifest {
            announces: true,
            ..component(false)
        };
        let partition = PartitionReport {
            name: "control".into(),
            state: "up".into(),
            ..PartitionReport::default()
        };
        let silent = Report {
            partitions: vec![partition.clone()],
            ..report()
        };
        let found = unjudged(&silent, &description, &[]).expect("nothing shows that it works");
        assert_eq!(found.subject, "control/guarantees");
        let beating = Report {
            partitions: vec![PartitionReport {
                last_sign_s: Some(1.0),
                ..partition.clone()
            }],
            ..report()
        };
        let working = Report {
            partitions: vec![partition],
            tasks: vec![TaskReport {
                partition: "control".into(),
                jobs: 1,
                ..TaskReport::default()
            }],
            ..report()
        };
        for judged in [beating, working] {
            assert_eq!(unjudged(&judged, &description, &[]), None);
        }
        let bare = PartitionManifest {
            announces: false,
            ..description
        };
        assert_eq!(unjudged(&silent, &bare, &[]), None);
        let linux = PartitionManifest {
            kind: "linux".into(),
            ..bare
        };
        let with_agent = PartitionManifest {
            has_agent: true,
            ..linux.clone()
        };
        assert!(unjudged(&silent, &linux, &[]).is_some());
        assert_eq!(unjudged(&silent, &with_agent, &[]), None);
    }

    #[test]
    fn a_partition_that_does_not_announce_itself_fails() {
        let starting = PartitionReport {
            state: "starting".into(),
            since_s: 5.5,
            announced: true,
            ..PartitionReport::default()
        };
        let linux = PartitionManifest {
            announces: false,
            heartbeat_ns: None,
            ..component(false)
        };
        // If the agent never starts, the partition never announces itself.
        let with_agent = PartitionManifest {
            has_agent: true,
            ..linux.clone()
        };
        let mute = PartitionReport {
            announced: false,
            ..starting.clone()
        };
        assert_eq!(unannounced(20.0, &linux, &mute), None);
        assert!(unannounced(20.0, &with_agent, &mute).is_some());
        let at = |length_s| unannounced(length_s, &linux, &starting);
        let late = "did not announce that it is up since its start at 5.500 s";
        assert_eq!([at(9.0), at(10.0)], [None, Some(late.into())]);
    }

    /// Judges a run with these faults of `control`, of which one was requested.
    fn judged(faults: Vec<FaultReport>, tasks: Vec<TaskReport>) -> Verdict {
        let manifest = Manifest {
            partitions: vec![component(false)],
            injected: vec!["control".into()],
            ..manifest()
        };
        let partition = PartitionReport {
            name: "control".into(),
            state: "up".into(),
            since_s: 0.6,
            ups_s: vec![0.01, 0.6],
            last_sign_s: Some(3.0),
            ..PartitionReport::default()
        };
        let report = Report {
            partitions: vec![partition],
            length_s: 3.0,
            faults,
            tasks,
            ..report()
        };
        judge(&report, &manifest)
    }

    fn manifest() -> Manifest {
        let text = r#"{"name": "drive", "image": "", "digest": "", "for_ns": null, "virtual_clock": true, "partitions": [],
            "channels": [], "confined": null, "machine": {"board": "", "emulator": null, "cores": 1, "spare_cores": [], "memory":
            [], "memory_size": 0, "counter_hz": 1000000, "rtc": null, "devices": [], "forwards": []}, "sizes": {"monitor_text":
            0, "monitor_rodata": 0, "monitor_data": 0, "stacks": 0, "boot": 0, "config": 0, "el2_tables": 0, "streams": 0,
            "stage2_tables": []}}"#;
        serde_json::from_str(text).expect("a manifest")
    }

    /// The requested fault of a component.
    fn requested() -> FaultReport {
        FaultReport {
            partition: "control".into(),
            component: Some("filter".into()),
            cause: "component".into(),
            action: "record".into(),
            count: 1,
            at_s: 0.5,
            last_s: 0.5,
            elr: 0x40_1000,
            ..FaultReport::default()
        }
    }

    /// The failure of its partition that follows.
    fn failure() -> FaultReport {
        FaultReport {
            component: None,
            cause: "panic".into(),
            action: "restart".into(),
            at_s: 0.501,
            last_s: 0.501,
            ..requested()
        }
    }

    /// A task with a late job at that time.
    fn late(broken_s: f64) -> TaskReport {
        TaskReport {
            partition: "control".into(),
            name: "filter".into(),
            jobs: 100,
            late: 1,
            deadline_ns: Some(1000),
            broken_spans_s: vec![[broken_s; 2]],
            ..TaskReport::default()
        }
    }

    #[test]
    fn a_requested_fault_waives_what_it_causes_and_no_other_fault() {
        let both = || vec![requested(), failure()];
        let verdict = judged(both(), vec![late(0.502)]);
        assert!(verdict.pass, "{verdict:?}");
        assert_eq!(verdict.waived.len(), 3);
        let with = |other| [both(), vec![other]].concat();
        let elsewhere = FaultReport {
            elr: 0x40_2000,
            at_s: 0.7,
            ..requested()
        };
        let of_another = FaultReport {
            component: Some("other".into()),
            at_s: 0.7,
            ..requested()
        };
        let by_itself = FaultReport {
            at_s: 0.8,
            ..failure()
        };
        for other in [elsewhere, of_another, by_itself] {
            let verdict = judged(with(other.clone()), vec![]);
            assert_eq!(verdict.broken.len(), 1, "{other:?}");
        }
        assert!(
            !judged(vec![], vec![late(0.4)]).pass,
            "no requested fault came"
        );
        let ended = TaskReport {
            has_ended: true,
            late: 0,
            ..late(0.502)
        };
        let verdict = judged(both(), vec![ended]);
        assert!(!verdict.pass, "a fault does not end a thread by itself");
        assert!(
            verdict.broken[0]
                .what
                .contains("its thread ended by itself")
        );
    }

    #[test]
    fn a_requested_fault_waives_nothing_before_and_nothing_long_after_it() {
        let both = || vec![requested(), failure()];
        for (at_s, when) in [(0.4, "before the fault"), (1.6, "long after it")] {
            assert!(!judged(both(), vec![late(at_s)]).pass, "late {when}");
        }
        let twice = TaskReport {
            broken_spans_s: vec![[0.502; 2], [1.6; 2]],
            ..late(0.502)
        };
        assert!(!judged(both(), vec![twice]).pass, "late once more");
        // It stopped with the fault, or long after it.
        let stopped = |newest_s| TaskReport {
            late: 0,
            unserved: 100,
            newest_s,
            ..late(0.5)
        };
        assert!(judged(both(), vec![stopped(0.499)]).pass);
        assert!(!judged(both(), vec![stopped(1.6)]).pass);
    }

    #[test]
    fn a_linux_that_is_not_up_at_the_end_and_a_false_sign_of_life_are_named() {
        let linux = PartitionManifest {
            kind: "linux".into(),
            has_agent: true,
            ..component(false)
        };
        let starting = |announced| PartitionReport {
            name: "control".into(),
            state: "starting".into(),
            since_s: 0.5,
            announced,
            ..PartitionReport::default()
        };
        let found = |partition: &PartitionReport| {
            let manifest = manifest();
            partition_findings(&report(), &linux, partition, &manifest).map(|found| found.what)
        };
        let never = found(&starting(false)).expect("nothing of it could be judged");
        assert!(never.starts_with("had not announced"), "{never}");
        assert_eq!(found(&starting(true)), None, "it starts again");
        let beating = PartitionManifest {
            announces: true,
            ..component(false)
        };
        let partition = |last| PartitionReport {
            last_sign_s: Some(last),
            ..starting(true)
        };
        assert_eq!(silence(&report(), &beating, &partition(1.2)), None);
        let false_sign = silence(&report(), &beating, &partition(1e6)).expect("it never came");
        assert!(
            false_sign.starts_with("its sign of life claims"),
            "{false_sign}"
        );
    }

    #[test]
    fn a_standby_that_never_took_over_fails() {
        let primary = PartitionManifest {
            standby: Some("spare".into()),
            ..component(false)
        };
        let with_epoch = |epoch| Report {
            partitions: vec![PartitionReport {
                name: "spare".into(),
                state: "down".into(),
                epoch,
                ..PartitionReport::default()
            }],
            ..report()
        };
        assert!(heir_finding(&with_epoch(0), &primary).is_some());
        assert_eq!(heir_finding(&with_epoch(1), &primary), None);
    }

    #[test]
    fn the_clock_of_the_host_judges_what_stopped_and_no_deadline() {
        let late = TaskReport {
            jobs: 10,
            late: 3,
            overruns: 2,
            newest_s: 9.0,
            ..TaskReport::default()
        };
        assert_eq!(
            untimed(&late, 10.0).and_then(|task| task_finding(&task, &[])),
            None
        );
        let stopped = TaskReport {
            unserved: 900,
            newest_s: 1.0,
            ..late
        };
        let found = untimed(&stopped, 10.0).and_then(|task| task_finding(&task, &[]));
        assert!(found.is_some_and(|found| found.what.starts_with("900 releases")));
        let passed = Verdict {
            pass: true,
            is_untimed: true,
            ..Verdict::default()
        };
        assert!(passed.text().contains("times aside"));
    }

    #[test]
    fn a_run_that_was_not_seen_to_its_end_is_not_judged_well() {
        assert_eq!(run_findings(&report()), []);
        for ended in [Ended::Stalled, Ended::Emulator, Ended::Interrupted] {
            let ended = Report {
                ended: ended.sentence().into(),
                ..report()
            };
            assert_eq!(run_findings(&ended).len(), 1, "{}", ended.ended);
        }
        let lossy = Report {
            missed: [("trace events of `control`".to_owned(), 7)].into(),
            ..report()
        };
        let [finding] = &run_findings(&lossy)[..] else {
            panic!("one finding")
        };
        assert!(
            finding
                .what
                .starts_with("7 trace events of `control` were overwritten")
        );
    }

    fn component(is_fault_foreseen: bool) -> PartitionManifest {
        let text = format!(
            r#"{{"name": "control", "kind": "rtos", "criticality": "A", "standby": null, "cores": [0], "memory": [], "link": 0,
            "status": 0, "heartbeat": 0, "console": null, "traces": [], "doorbells": [], "foreseen": ["hang"], "components":
            [{{"name": "filter", "program": null, "stack": 4096, "has_threads": false, "is_fault_foreseen": {is_fault_foreseen}, "has_heartbeat": true}}]}}"#
        );
        serde_json::from_str(&text).expect("a partition")
    }

    #[test]
    fn a_fault_is_foreseen_where_the_description_names_its_consequence() {
        let of_component = FaultReport {
            partition: "control".into(),
            component: Some("filter".into()),
            cause: "component".into(),
            action: "record".into(),
            count: 1,
            ..FaultReport::default()
        };
        assert!(is_foreseen(&component(true), &of_component));
        assert!(!is_foreseen(&component(false), &of_component));
        let ended = FaultReport {
            ended: true,
            ..of_component.clone()
        };
        assert!(
            !is_foreseen(&component(true), &ended),
            "restarts are used up"
        );
        let unseen = FaultReport {
            component: None,
            action: String::new(),
            ..of_component
        };
        assert!(!is_foreseen(&component(true), &unseen));
        assert!(fault_text(&unseen).ends_with("so they could not be judged"));
        let hang = FaultReport {
            cause: "hang".into(),
            action: "restart".into(),
            ..FaultReport::default()
        };
        assert!(is_foreseen(&component(false), &hang));
        let panic = FaultReport {
            cause: "panic".into(),
            ..hang
        };
        assert!(!is_foreseen(&component(false), &panic));
    }

    #[test]
    fn a_task_that_is_no_longer_served_breaks_its_guarantee() {
        let executing = ExecutingReport {
            core: 3,
            partition: "blink".into(),
            components: vec!["app".into()],
            thread: Some(1),
            place: None,
        };
        let stopped = TaskReport {
            jobs: 1,
            unserved: 98,
            newest_s: 0.011,
            partition: "blink".into(),
            ..TaskReport::default()
        };
        let finding = task_finding(&stopped, &[executing]).expect("broken");
        assert_eq!(
            finding.what,
            "98 releases since 0.011 s were never served; at the end of the run core 3 executed component `app`, thread 1"
        );
    }
}
