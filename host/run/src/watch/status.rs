//! Counters, link states and fault logs
//!
//! Each word has one writer. A fault record is whole if its sequence number is the expected one both
//! before and after the copy; the monitor writes it last.

use bulkhead_abi::status::{
    CoreCounters, FaultRecord, LINK_MAGIC, LOG_RECORDS, LinkPage, MAX_CORES, MAX_DOORBELLS,
    STATUS_MAGIC, Status,
};
use bulkhead_plan::manifest::PartitionManifest;
use std::mem::offset_of;

use crate::ram::Ram;

/// Follows a partition's fault log.
#[derive(Debug)]
pub struct StatusReader {
    status_pa: u64,
    seen: u64,
}

impl StatusReader {
    /// Follows the status region at `status_pa`.
    #[must_use]
    pub const fn new(status_pa: u64) -> Self {
        Self { status_pa, seen: 0 }
    }

    /// Faults since the last call, oldest first, and how many were overwritten unseen.
    pub fn new_faults(&mut self, ram: &Ram) -> (Vec<FaultRecord>, u64) {
        let faults = ram
            .read(self.status_pa + offset_of!(Status, faults) as u64)
            .unwrap_or(0);
        if faults <= self.seen {
            return (Vec::new(), 0);
        }
        let first = (self.seen + 1).max((faults + 1).saturating_sub(LOG_RECORDS as u64));
        let records: Vec<_> = (first..=faults)
            .filter_map(|sequence| self.record(ram, sequence))
            .collect();
        let missed = faults - self.seen - records.len() as u64;
        self.seen = faults;
        (records, missed)
    }

    fn record(&self, ram: &Ram, sequence: u64) -> Option<FaultRecord> {
        let place = (sequence - 1) as usize % LOG_RECORDS * size_of::<FaultRecord>();
        let pa = self.status_pa + (offset_of!(Status, log) + place) as u64;
        let record: FaultRecord = ram.read(pa).ok()?;
        let after: u64 = ram
            .read(pa + offset_of!(FaultRecord, sequence) as u64)
            .ok()?;
        (record.sequence == sequence && after == sequence).then_some(record)
    }
}

/// A partition's counters at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// State and epoch; `None` where its monitor has not set it up.
    pub link: Option<LinkPage>,
    /// Counters and fault log; `None` where its monitor has not set them up.
    pub status: Option<Box<Status>>,
}

impl Snapshot {
    /// Reads them.
    #[must_use]
    pub fn read(ram: &Ram, partition: &PartitionManifest) -> Self {
        let link = ram.read::<LinkPage>(partition.link).ok();
        let status = ram.read::<Status>(partition.status).ok();
        Self {
            link: link.filter(|link| link.magic == LINK_MAGIC),
            status: status
                .filter(|status| status.magic == STATUS_MAGIC)
                .map(Box::new),
        }
    }

    /// Counters of the cores there are.
    #[must_use]
    pub fn cores(&self) -> &[CoreCounters] {
        self.status.as_ref().map_or(&[], |status| {
            &status.cores[..(status.core_count as usize).min(MAX_CORES)]
        })
    }

    /// Doorbell counters: sent and dropped, of the first `count` outgoing doorbells.
    #[must_use]
    pub fn doorbells(&self, count: usize) -> Vec<(u64, u64)> {
        self.status.as_ref().map_or_else(Vec::new, |status| {
            let counters = &status.doorbells[..count.min(MAX_DOORBELLS)];
            counters
                .iter()
                .map(|counter| (counter.sent, counter.dropped))
                .collect()
        })
    }

    /// The fault log, oldest first.
    #[must_use]
    pub fn log(&self) -> Vec<FaultRecord> {
        let mut log = self
            .status
            .as_ref()
            .map_or_else(Vec::new, |status| status.log.to_vec());
        log.retain(|record| record.sequence > 0);
        log.sort_by_key(|record| record.sequence);
        log
    }
}
