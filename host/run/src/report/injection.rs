//! Consequences of requested faults
//!
//! A run can request a fault of a partition (`--fault`). What this fault causes does not decide the verdict; another fault of the
//! same partition does. The first fault of the partition is the requested one, together with faults that are alike: of the same
//! component, cause and place. If its component may not fault, the partition fails at once, which is a consequence. What was late
//! or lost before the first fault has another cause.

use crate::report::contents::Report;
use crate::report::faults::{COMPONENT, FaultReport};

/// Time in which a partition fails after the fault of one of its components, seconds.
const FAILS_AFTER_S: f64 = 0.01;
/// Cause of a partition that its own software gives up.
const PANIC: &str = "panic";

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
                let mut times = one.times_s.iter().chain([&one.at_s, &one.last_s]);
                times.any(|cause_s| (0.0..FAILS_AFTER_S).contains(&(at_s - cause_s)))
            })
        };
        first.cause == COMPONENT
            && fault.component.is_none()
            && fault.cause == PANIC
            && fault.times_s.iter().chain([&fault.at_s]).all(follows)
    }

    /// Returns `true` if a requested fault of the partition came, and nothing that is broken since `since_s` was broken before.
    pub(super) fn precedes(&self, partition: &str, since_s: Option<f64>) -> bool {
        let first = self.of(partition);
        first.is_some_and(|first| since_s.is_none_or(|since_s| since_s >= first.at_s))
    }

    /// Returns `true` if the newest fault of the partition as a whole is the requested one or its consequence.
    pub(super) fn ended(&self, partition: &str) -> bool {
        let faults = self.report.faults.iter();
        let failures = faults.filter(|one| one.partition == partition && one.component.is_none());
        let newest = failures.max_by(|a, b| a.last_s.total_cmp(&b.last_s));
        newest.is_some_and(|fault| self.caused(fault))
    }
}
