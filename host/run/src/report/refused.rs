//! Accesses of devices that the SMMU blocked
//!
//! The hardware alone writes the SMMU's event queue, and no program in the machine reads it: the queue holds the
//! first events; later accesses are blocked all the same, but not recorded.

use bulkhead_abi::PAGE_SIZE;
use bulkhead_formats::smmu::{EVENT_SIZE, Event};
use bulkhead_plan::manifest::{Confined, Manifest};
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

use crate::ram::Ram;

/// A transaction of a device that was refused, or several alike in a row, of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedReport {
    /// Owner of the device; empty if the device has no owner.
    pub partition: String,
    /// The devices with that stream: the SMMU does not know which of them it was.
    pub devices: Vec<String>,
    /// First address; `None` if the event has no address.
    pub address: Option<u64>,
    /// The access was a write.
    pub write: bool,
    /// Why, in words.
    pub why: String,
    /// How many alike followed each other.
    pub count: u64,
}

/// Blocked accesses so far, oldest first.
#[must_use]
pub fn refused_reports(manifest: &Manifest, ram: &Ram) -> Vec<RefusedReport> {
    let Some(confined) = &manifest.confined else {
        return Vec::new();
    };
    let words = ram.words(confined.events).unwrap_or_default();
    let records = words.chunks_exact(EVENT_SIZE as usize / 8);
    let records = records.map(|record| [0, 1, 2, 3].map(|at| record[at].load(Ordering::Relaxed)));
    let mut reports: Vec<RefusedReport> = Vec::new();
    for event in records.map_while(|record| Event::decode(&record)) {
        let report = report(confined, event);
        match reports.last_mut() {
            Some(last) if last.is_like(&report) => last.count += 1,
            _ => reports.push(report),
        }
    }
    reports
}

fn report(confined: &Confined, event: Event) -> RefusedReport {
    let mut streams = confined.streams.iter();
    let stream = streams.find(|stream| stream.id == event.stream);
    RefusedReport {
        partition: stream.map_or_else(String::new, |stream| stream.partition.clone()),
        devices: stream.map_or_else(Vec::new, |stream| stream.devices.clone()),
        address: event.access.map(|(address, _)| address),
        write: event.access.is_some_and(|(_, write)| write),
        why: event.name().into(),
        count: 1,
    }
}

impl RefusedReport {
    /// A device moves what it moves in pieces.
    fn is_like(&self, other: &Self) -> bool {
        let page = |report: &Self| report.address.map(|address| address / PAGE_SIZE);
        let this = Self {
            count: other.count,
            address: other.address,
            ..self.clone()
        };
        this == *other && page(self) == page(other)
    }

    /// Describes the access in one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let device = match self.partition.as_str() {
            "" => "a device without owner".to_owned(),
            name => format!("{name}: {}", self.devices.join(" or ")),
        };
        let access = if self.write { "write to" } else { "read from" };
        let what = match self.address {
            Some(address) => format!("{access} {address:#x}"),
            None => "an access".to_owned(),
        };
        let times = match self.count {
            1 => String::new(),
            count => format!(", {count} times"),
        };
        format!("{device}: {what} refused, {}{times}", self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_a_sentence() {
        let report = RefusedReport {
            partition: "attacker".into(),
            devices: vec!["lan0".into()],
            address: Some(0x4060_0000),
            write: true,
            why: "not mapped".into(),
            count: 2,
        };
        assert_eq!(
            report.sentence(),
            "attacker: lan0: write to 0x40600000 refused, not mapped, 2 times"
        );
        let unowned = RefusedReport {
            count: 1,
            why: "of a stream without owner".into(),
            ..RefusedReport::default()
        };
        assert_eq!(
            unowned.sentence(),
            "a device without owner: an access refused, of a stream without owner"
        );
    }
}
