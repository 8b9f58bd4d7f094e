//! Counters, link states and fault logs
//!
//! Each word has one writer. A fault record is whole if its sequence number is the expected one both
//! before and after the copy; the monitor writes it last. A fault is counted before its record is
//! whole: one that is not yet is looked at again.

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
        let before = self.seen;
        let first = (before + 1).max((faults + 1).saturating_sub(LOG_RECORDS as u64));
        let mut records = Vec::new();
        self.seen = first - 1;
        for sequence in first..=faults {
            match self.record(ram, sequence) {
                Found::Whole(record) => records.push(*record),
                Found::Overwritten => {}
                Found::NotYet => break,
            }
            self.seen = sequence;
        }
        let missed = self.seen - before - records.len() as u64;
        (records, missed)
    }

    fn record(&self, ram: &Ram, sequence: u64) -> Found {
        let place = (sequence - 1) as usize % LOG_RECORDS * size_of::<FaultRecord>();
        let pa = self.status_pa + (offset_of!(Status, log) + place) as u64;
        let record = ram.read::<FaultRecord>(pa);
        let after = ram.read::<u64>(pa + offset_of!(FaultRecord, sequence) as u64);
        let (Ok(record), Ok(after)) = (record, after) else {
            return Found::Overwritten;
        };
        match record.sequence.max(after) {
            newer if newer > sequence => Found::Overwritten,
            _ if record.sequence == after && after == sequence => Found::Whole(Box::new(record)),
            _ => Found::NotYet,
        }
    }
}

/// What stands in the place of a fault record.
enum Found {
    Whole(Box<FaultRecord>),
    /// A newer one, or nothing that can be read.
    Overwritten,
    /// An older one, or a part.
    NotYet,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;

    const BASE: u64 = 0x4000_0000;

    struct Log {
        ram: Ram,
        reader: StatusReader,
    }

    impl Log {
        fn new() -> Self {
            let ram = Ram::create(
                &std::env::temp_dir(),
                &[bulkhead_plan::manifest::Region {
                    pa: BASE,
                    size: 1 << 16,
                }],
                1 << 16,
                1 << 16,
            )
            .unwrap();
            let reader = StatusReader::new(BASE);
            Self { ram, reader }
        }

        fn write(&self, offset: usize, word: u64) {
            let path = format!("/proc/self/fd/{}", self.ram.fd());
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.write_all_at(&word.to_ne_bytes(), offset as u64)
                .unwrap();
        }

        fn count(&self, faults: u64) {
            self.write(offset_of!(Status, faults), faults);
        }

        fn finish(&self, sequence: u64) {
            let place = (sequence - 1) as usize % LOG_RECORDS * size_of::<FaultRecord>();
            self.write(offset_of!(Status, log) + place, sequence);
        }

        fn look(&mut self) -> (Vec<u64>, u64) {
            let (records, missed) = self.reader.new_faults(&self.ram);
            let sequences = records.iter().map(|record| record.sequence);
            (sequences.collect(), missed)
        }
    }

    #[test]
    fn a_record_that_is_not_yet_whole_is_seen_later() {
        let mut log = Log::new();
        log.count(2);
        log.finish(1);
        assert_eq!(log.look(), (vec![1], 0));
        assert_eq!(log.look(), (vec![], 0));
        log.finish(2);
        assert_eq!(log.look(), (vec![2], 0));
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let mut log = Log::new();
        (1..=20).for_each(|sequence| log.finish(sequence));
        log.count(20);
        assert_eq!(log.look(), ((5..=20).collect(), 4));
        log.count(21);
        log.finish(37);
        assert_eq!(log.look(), (vec![], 1));
    }
}
