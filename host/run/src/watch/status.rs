//! Counters, link states and fault logs
//!
//! Each word has one writer. A fault record is whole if its sequence number is the expected one both
//! before and after the copy; the monitor writes it last. A fault is counted before its record is
//! whole: one that is not yet is looked at again.

use bulkhead_abi::status::{
    CAUSES, CauseLog, CoreCounters, FaultRecord, LINK_MAGIC, LOG_RECORDS, LinkPage, MAX_CORES,
    MAX_DOORBELLS, STATUS_MAGIC, Status,
};
use bulkhead_plan::manifest::PartitionManifest;
use std::mem::offset_of;

use crate::ram::Ram;

/// Follows a partition's fault log.
#[derive(Debug)]
pub struct StatusReader {
    status_pa: u64,
    /// Records read or missed, by cause.
    seen: [u64; CAUSES],
}

impl StatusReader {
    /// Follows the status region at `status_pa`.
    #[must_use]
    pub const fn new(status_pa: u64) -> Self {
        Self {
            status_pa,
            seen: [0; CAUSES],
        }
    }

    /// Returns faults since the last call, oldest first, and by cause how many were overwritten unseen.
    pub fn new_faults(&mut self, ram: &Ram) -> (Vec<FaultRecord>, [u64; CAUSES]) {
        let mut records = Vec::new();
        let missed = std::array::from_fn(|cause| self.new_of_cause(ram, cause, &mut records));
        records.sort_by_key(|record| record.ticks);
        (records, missed)
    }

    /// Adds the new records of a cause; returns how many were overwritten.
    fn new_of_cause(&mut self, ram: &Ram, cause: usize, records: &mut Vec<FaultRecord>) -> u64 {
        let faults: u64 = ram.read(self.log_pa(cause)).unwrap_or(0);
        let before = self.seen[cause];
        if faults <= before {
            return 0;
        }
        let first = (before + 1).max((faults + 1).saturating_sub(LOG_RECORDS as u64));
        let count = records.len();
        let mut seen = first - 1;
        for sequence in first..=faults {
            match self.record(ram, cause, sequence) {
                Found::Whole(record) => records.push(*record),
                Found::Overwritten => {}
                Found::NotYet => break,
            }
            seen = sequence;
        }
        self.seen[cause] = seen;
        seen - before - (records.len() - count) as u64
    }

    const fn log_pa(&self, cause: usize) -> u64 {
        self.status_pa + (offset_of!(Status, log) + cause * size_of::<CauseLog>()) as u64
    }

    fn record(&self, ram: &Ram, cause: usize, sequence: u64) -> Found {
        let place = (sequence - 1) as usize % LOG_RECORDS * size_of::<FaultRecord>();
        let pa = self.log_pa(cause) + (offset_of!(CauseLog, records) + place) as u64;
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

/// State of the place of a fault record.
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

    /// Faults without a record any more, by cause.
    #[must_use]
    pub fn overwritten(&self) -> [u64; CAUSES] {
        let status = self.status.as_deref();
        let counts = |status: &Status| status.log.map(|log| log.faults);
        let faults = status.map_or([0; CAUSES], counts);
        faults.map(|count| count.saturating_sub(LOG_RECORDS as u64))
    }

    /// The fault log, oldest first.
    #[must_use]
    pub fn log(&self) -> Vec<FaultRecord> {
        let status = self.status.as_ref();
        let mut log: Vec<_> =
            status.map_or_else(Vec::new, |status| status.records().copied().collect());
        log.sort_by_key(|record| record.ticks);
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_abi::status::Cause;
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;

    const BASE: u64 = 0x4000_0000;

    const fn log_of(cause: Cause) -> usize {
        offset_of!(Status, log) + cause as usize * size_of::<CauseLog>()
    }

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

        fn count(&self, cause: Cause, faults: u64) {
            self.write(log_of(cause), faults);
        }

        fn finish(&self, cause: Cause, sequence: u64) {
            let number = (sequence - 1) as usize % LOG_RECORDS;
            let place = offset_of!(CauseLog, records) + number * size_of::<FaultRecord>();
            let place = log_of(cause) + place;
            self.write(place + offset_of!(FaultRecord, ticks), sequence);
            self.write(place, sequence);
        }

        fn look(&mut self) -> (Vec<u64>, u64) {
            let (records, missed) = self.reader.new_faults(&self.ram);
            let sequences = records.iter().map(|record| record.sequence);
            (sequences.collect(), missed.iter().sum())
        }
    }

    #[test]
    fn a_record_that_is_not_yet_whole_is_seen_later() {
        let mut log = Log::new();
        log.count(Cause::Hang, 2);
        log.finish(Cause::Hang, 1);
        assert_eq!(log.look(), (vec![1], 0));
        assert_eq!(log.look(), (vec![], 0));
        log.finish(Cause::Hang, 2);
        assert_eq!(log.look(), (vec![2], 0));
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let mut log = Log::new();
        (1..=12).for_each(|sequence| log.finish(Cause::Violation, sequence));
        log.count(Cause::Violation, 12);
        assert_eq!(log.look(), ((5..=12).collect(), 4));
        log.count(Cause::Violation, 13);
        log.finish(Cause::Violation, 21);
        assert_eq!(log.look(), (vec![], 1));
    }

    #[test]
    fn a_flood_of_one_cause_leaves_the_records_of_others() {
        let mut log = Log::new();
        log.finish(Cause::Panic, 1);
        log.count(Cause::Panic, 1);
        (2..=100_000).for_each(|sequence| log.finish(Cause::Violation, sequence));
        log.count(Cause::Violation, 100_000);
        let (sequences, missed) = log.look();
        assert_eq!(sequences.first(), Some(&1), "the panic");
        assert_eq!((sequences.len(), missed), (9, 99_992));
    }
}
