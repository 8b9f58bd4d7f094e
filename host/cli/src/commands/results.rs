//! `bulkhead log`, `counters`, `report`: the running or the last system

use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Session;
use bulkhead_run::ram::Ram;
use bulkhead_run::report::{
    FaultLog, FaultReport, PartitionReport, RefusedReport, Report, RunEvent, counters_text,
    faults_text, partition_reports, refused_reports, refused_text, report_text,
};
use bulkhead_run::watch::{Clock, ComponentLogReader, RecordedFault, Snapshot};
use serde_json::json;
use std::process::ExitCode;

use crate::arguments::Shown;
use crate::commands::loading::Built;
use crate::failure::Failure;

pub(super) fn log(arguments: &Shown) -> Result<ExitCode, Failure> {
    let State {
        faults,
        events,
        refused,
        ..
    } = state(arguments)?;
    if arguments.json {
        println!(
            "{:#}",
            json!({ "faults": faults, "events": events, "refused": refused })
        );
    } else if faults.is_empty() && refused.is_empty() {
        println!("no faults");
    } else {
        let both = [faults_text(&faults, true), refused_text(&refused)];
        both.iter()
            .filter(|text| !text.is_empty())
            .for_each(|text| println!("{text}"));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn counters(arguments: &Shown) -> Result<ExitCode, Failure> {
    let State {
        partitions, kind, ..
    } = state(arguments)?;
    if arguments.json {
        println!("{:#}", json!(partitions));
    } else {
        println!("{}", counters_text(&partitions, kind));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn report(arguments: &Shown) -> Result<ExitCode, Failure> {
    let built = super::built(arguments.system.as_deref())?;
    let report = Report::load(built.folder.path(), &built.name)?;
    if arguments.json {
        println!("{:#}", json!(report));
    } else {
        print!("{}", report_text(&report));
    }
    Ok(super::run::status(&report))
}

/// Counters and faults.
struct State {
    partitions: Vec<PartitionReport>,
    faults: Vec<FaultReport>,
    /// Of a finished run.
    events: Vec<RunEvent>,
    refused: Vec<RefusedReport>,
    kind: Kind,
}

/// From the machine's memory while it runs, else from the last report.
fn state(arguments: &Shown) -> Result<State, Failure> {
    let built = super::built(arguments.system.as_deref())?;
    match built.folder.running() {
        Ok(session) => running_state(&built, &session),
        Err(_) => {
            let report = Report::load(built.folder.path(), &built.name)?;
            let Report {
                partitions,
                faults,
                events,
                refused,
                kind,
                ..
            } = report;
            Ok(State {
                partitions,
                faults,
                events,
                refused,
                kind,
            })
        }
    }
}

fn running_state(built: &Built, session: &Session) -> Result<State, Failure> {
    let manifest = &built.manifest;
    let ram = Ram::of_process(session.pid, session.ram_fd, &manifest.machine.memory)?;
    let clock = Clock::new(manifest.machine.counter_hz);
    let snapshots: Vec<_> = manifest
        .partitions
        .iter()
        .map(|partition| Snapshot::read(&ram, partition))
        .collect();
    let mut faults = FaultLog::default();
    for (index, partition) in manifest.partitions.iter().enumerate() {
        let mut log = partition.component_log.map(ComponentLogReader::new);
        let found = log.as_mut().map(|log| log.new_faults(&ram));
        let (found, missed) = found.unwrap_or_default();
        for fault in found {
            faults.add(index, &RecordedFault::Component(fault));
        }
        if missed > 0 {
            faults.add_unseen(index, None, missed);
        }
    }
    for (index, snapshot) in snapshots.iter().enumerate() {
        for fault in snapshot.log() {
            faults.add(index, &RecordedFault::Partition(fault));
        }
        for (cause, count) in snapshot.overwritten().into_iter().enumerate() {
            if count > 0 {
                faults.add_unseen(index, Some(cause), count);
            }
        }
    }
    Ok(State {
        partitions: partition_reports(manifest, &snapshots, &clock),
        faults: faults.reports(manifest, &clock),
        events: Vec::new(),
        refused: refused_reports(manifest, &ram),
        kind: session.kind,
    })
}
