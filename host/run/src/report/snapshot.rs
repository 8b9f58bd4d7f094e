//! Counters, in words

use bulkhead_abi::status::{CoreCounters, State, TRAP_NAMES, TRAPS};
use bulkhead_plan::manifest::{Manifest, PartitionManifest};
use std::collections::BTreeMap;

use crate::report::contents::{CoreReport, DoorbellReport, PartitionReport};
use crate::watch::{Clock, Snapshot};

/// Counters of all partitions of `manifest`; `snapshots` have the same order.
#[must_use]
pub fn partition_reports(
    manifest: &Manifest,
    snapshots: &[Snapshot],
    clock: &Clock,
) -> Vec<PartitionReport> {
    let report = |(partition, snapshot)| partition_report(partition, snapshot, clock);
    manifest
        .partitions
        .iter()
        .zip(snapshots)
        .map(report)
        .collect()
}

fn partition_report(
    partition: &PartitionManifest,
    snapshot: &Snapshot,
    clock: &Clock,
) -> PartitionReport {
    let mut report = PartitionReport {
        name: partition.name.clone(),
        state: "unknown".into(),
        cores: core_reports(partition, snapshot),
        announced: announced(snapshot),
        doorbells: doorbell_reports(partition, snapshot),
        ..PartitionReport::default()
    };
    if let Some(link) = &snapshot.link {
        report.state = state_name(link.state).into();
        report.epoch = link.epoch;
        report.since_s = clock.ns(link.since_ticks) as f64 / 1e9;
    }
    if let Some(status) = &snapshot.status {
        report.restarts = status.restarts;
        report.faults = status.faults();
        report.last_restart_ns = clock.ns(status.last_restart_ticks);
        report.worst_restart_ns = clock.ns(status.worst_restart_ticks);
    }
    report
}

fn announced(snapshot: &Snapshot) -> bool {
    let cores = snapshot.cores();
    let mut cores = cores.iter();
    cores.any(|counters| counters.traps_at_up != [0; TRAPS])
}

/// A partition that never announced itself is still booting: it has no steady state.
fn core_reports(partition: &PartitionManifest, snapshot: &Snapshot) -> Vec<CoreReport> {
    let cores = snapshot.cores();
    let announced = announced(snapshot);
    let report = |(&core, counters): (&usize, &CoreCounters)| {
        let boot = if announced {
            counters.traps_at_up
        } else {
            counters.traps
        };
        let since = |cause: usize| counters.traps[cause].saturating_sub(boot[cause]);
        let steady = std::array::from_fn(since);
        CoreReport {
            core,
            boot: by_cause(&boot),
            steady: by_cause(&steady),
        }
    };
    partition.cores.iter().zip(cores).map(report).collect()
}

fn doorbell_reports(partition: &PartitionManifest, snapshot: &Snapshot) -> Vec<DoorbellReport> {
    let counters = snapshot.doorbells(partition.doorbells.len());
    let report =
        |((channel, to), (sent, dropped)): (&(String, String), (u64, u64))| DoorbellReport {
            channel: channel.clone(),
            to: to.clone(),
            sent,
            dropped,
        };
    partition
        .doorbells
        .iter()
        .zip(counters)
        .map(report)
        .collect()
}

fn by_cause(traps: &[u64; TRAPS]) -> BTreeMap<String, u64> {
    let named = TRAP_NAMES
        .iter()
        .zip(traps)
        .filter(|(_, count)| **count > 0);
    named
        .map(|(name, &count)| ((*name).to_owned(), count))
        .collect()
}

const fn state_name(state: u32) -> &'static str {
    const DOWN: u32 = State::Down as u32;
    const STARTING: u32 = State::Starting as u32;
    const UP: u32 = State::Up as u32;
    match state {
        DOWN => "down",
        STARTING => "starting",
        UP => "up",
        _ => "unknown",
    }
}
