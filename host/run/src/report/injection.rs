//! Consequences of requested faults
//!
//! A run can request a fault of a partition (`--fault`). What this fault causes does not decide the verdict; another fault of the
//! same partition does. The first fault of the partition is the requested one, together with faults that are alike: of the same
//! component, cause and place. If its component may not fault, the partition fails at once, which is a consequence.
//!
//! The consequences have a bounded time: from the fault until the partition has started anew, and [`SETTLES_S`] longer. What was late
//! or lost before or after has another cause.

use crate::report::contents::{PartitionReport, Report};
use crate::report::faults::{COMPONENT, FaultReport};

/// Time in which a partition fails after the fault of one of its components, seconds.
const FAILS_AFTER_S: f64 = 0.01;
/// Time after a fault, or after the start that follows it, in which jobs and messages may be late or lost because of it, seconds.
const SETTLES_S: f64 = 0.5;
/// Cause of a partition that its own software gives up.
const PANIC: &str = "panic";
/// Actions after which the partition starts anew.
const STARTS_ANEW: [&str; 2] = ["restart", "alternate"];

/// Requested faults that came.
pub(super) struct Injections<'a> {
    report: &'a Report,
    first: Vec<&'a FaultReport>,
}

impl<'a> Injections<'a> {
    /// Finds the first fault of each of these partitions.
    pub(super) fn new(report: &'a Report, partitions: &[String]) -> Self {
        let first = |name: &String| {
            let faults = report.faults.iter().filter(|one| one.partition == *name);
            faults.min_by(|a, b| a.at_s.total_cmp(&b.at_s))
        };
        Self {
            report,
            first: partitions.iter().filter_map(first).collect(),
        }
    }

    fn of(&self, partition: &str) -> Option<&'a FaultReport> {
        let mut all = self.first.iter();
        all.find(|fault| fault.partition == partition).copied()
    }

    /// Returns `true` if the fault is the requested one of its partition, or its consequence.
    pub(super) fn caused(&self, fault: &FaultReport) -> bool {
        let Some(first) = self.of(&fault.partition) else {
            return false;
        };
        let is_alike =
            |one: &FaultReport| one.component == first.component && one.cause == first.cause;
        if is_alike(fault) {
            return fault.elr == first.elr && !fault.scattered || fault.ended;
        }
        // Each failure of the partition follows a requested fault of a component.
        let follows = |at_s: &f64| {
            let faults = self.report.faults.iter();
            let mut faults = faults.filter(|one| {
                one.partition == fault.partition && is_alike(one) && self.caused(one)
            });
            faults.any(|one| {
                let mut times = times(one);
                times.any(|cause_s| (0.0..FAILS_AFTER_S).contains(&(at_s - cause_s)))
            })
        };
        first.cause == COMPONENT
            && fault.component.is_none()
            && fault.cause == PANIC
            && fault.times_s.iter().chain([&fault.at_s]).all(follows)
    }

    /// Returns `true` if a requested fault of the partition came.
    pub(super) fn has_fault(&self, partition: &str) -> bool {
        self.of(partition).is_some()
    }

    /// Returns `true` if all of these spans lie within the consequences of requested faults of the partition.
    pub(super) fn explain(&self, partition: &str, spans: &[[f64; 2]]) -> bool {
        let windows = self.windows(partition);
        let is_explained = |[from, to]: &[f64; 2]| {
            let mut windows = windows.iter();
            windows.any(|[begin, end]| begin <= from && to <= end)
        };
        !spans.is_empty() && spans.iter().all(is_explained)
    }

    /// Returns `true` if what came last at that time, and should have come every `period_s`, stopped because of a requested fault of the
    /// partition.
    pub(super) fn stopped(&self, partition: &str, last_s: f64, period_s: f64) -> bool {
        let windows = self.windows(partition);
        let mut windows = windows.iter();
        windows.any(|[begin, end]| *begin - 2.0 * period_s <= last_s && last_s <= *end)
    }

    /// Returns the seconds up to `end_s` and from `begin_s` on that lie within the consequences of requested faults of the partition.
    pub(super) fn seconds(&self, partition: &str, begin_s: f64, end_s: f64) -> f64 {
        let windows = self.windows(partition).into_iter();
        windows
            .map(|[from, to]| (to.min(end_s) - from.max(begin_s)).max(0.0))
            .sum()
    }

    /// Returns the times of the consequences, without overlaps.
    fn windows(&self, partition: &str) -> Vec<[f64; 2]> {
        let faults = self.report.faults.iter();
        let caused = faults.filter(|one| one.partition == partition && self.caused(one));
        let mut windows: Vec<_> = caused
            .flat_map(|fault| times(fault).map(|at_s| [*at_s, self.settled_s(fault, *at_s)]))
            .collect();
        windows.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let mut merged: Vec<[f64; 2]> = Vec::new();
        for [from, to] in windows {
            match merged.last_mut() {
                Some([_, end]) if from <= *end => *end = end.max(to),
                _ => merged.push([from, to]),
            }
        }
        merged
    }

    /// Returns the time at which the consequences of a fault have ended.
    fn settled_s(&self, fault: &FaultReport, at_s: f64) -> f64 {
        if fault.component.is_some() {
            return at_s + SETTLES_S;
        }
        let partition = self.report.partition(&fault.partition);
        let starts_anew = STARTS_ANEW.contains(&fault.action.as_str());
        let up_s = partition
            .filter(|_| starts_anew)
            .and_then(|one| next_up_s(one, at_s));
        up_s.map_or(f64::INFINITY, |up_s| up_s + SETTLES_S)
    }

    /// Returns `true` if the newest fault of the partition as a whole is the requested one or its consequence.
    pub(super) fn ended(&self, partition: &str) -> bool {
        let faults = self.report.faults.iter();
        let failures = faults.filter(|one| one.partition == partition && one.component.is_none());
        let newest = failures.max_by(|a, b| a.last_s.total_cmp(&b.last_s));
        newest.is_some_and(|fault| self.caused(fault))
    }
}

/// Returns the times of faults that are alike, as far as they are known.
fn times(fault: &FaultReport) -> impl Iterator<Item = &f64> {
    fault.times_s.iter().chain([&fault.at_s, &fault.last_s])
}

/// Returns the first time after `at_s` at which the partition announced that it is up.
fn next_up_s(partition: &PartitionReport, at_s: f64) -> Option<f64> {
    let newest = (partition.state == "up").then_some(partition.since_s);
    let ups = partition.ups_s.iter().copied().chain(newest);
    ups.filter(|up_s| *up_s > at_s).min_by(f64::total_cmp)
}
