//! Faults of components, from the log of their partition's kernel
//!
//! The kernel counts a fault before it writes the record, and writes the record's number last.

use bulkhead_abi::component_log::{ComponentFault, ComponentLog, PLACES, RECORDS};
use std::mem::offset_of;

use crate::ram::Ram;

/// Follows the log of a partition.
#[derive(Debug)]
pub struct ComponentLogReader {
    pa: u64,
    /// Records read or missed, by place.
    seen: [u64; PLACES],
}

impl ComponentLogReader {
    /// Follows the log at `pa`.
    #[must_use]
    pub const fn new(pa: u64) -> Self {
        Self {
            pa,
            seen: [0; PLACES],
        }
    }

    /// Returns faults since the last call, and how many were overwritten unseen.
    pub fn new_faults(&mut self, ram: &Ram) -> (Vec<ComponentFault>, u64) {
        let mut faults = Vec::new();
        let mut missed = 0;
        for place in 0..PLACES {
            missed += self.new_of_place(ram, place, &mut faults);
        }
        (faults, missed)
    }

    /// Adds the new faults of a component; returns how many were overwritten.
    fn new_of_place(&mut self, ram: &Ram, place: usize, faults: &mut Vec<ComponentFault>) -> u64 {
        let count = self.pa + (offset_of!(ComponentLog, faults) + 8 * place) as u64;
        let count: u64 = ram.read(count).unwrap_or(0);
        let before = self.seen[place];
        if count <= before {
            return 0;
        }
        let first = (before + 1).max((count + 1).saturating_sub(RECORDS as u64));
        let mut missed = first - 1 - before;
        self.seen[place] = first - 1;
        for sequence in first..=count {
            let number = place * RECORDS + (sequence - 1) as usize % RECORDS;
            let number = number * size_of::<ComponentFault>();
            let pa = self.pa + (offset_of!(ComponentLog, records) + number) as u64;
            let fault = ram.read::<ComponentFault>(pa);
            let after = ram.read::<u64>(pa + offset_of!(ComponentFault, sequence) as u64);
            match (fault, after) {
                (Ok(fault), Ok(after)) if fault.sequence == sequence && after == sequence => {
                    faults.push(fault);
                }
                // Not whole yet: it is read later.
                (Ok(fault), Ok(after)) if fault.sequence.max(after) < sequence => return missed,
                _ => missed += 1,
            }
            self.seen[place] = sequence;
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;
    use zerocopy::IntoBytes;

    const BASE: u64 = 0x4000_0000;

    struct Log {
        ram: Ram,
        reader: ComponentLogReader,
    }

    impl Log {
        fn new() -> Self {
            let region = bulkhead_plan::manifest::Region {
                pa: BASE,
                size: 1 << 16,
            };
            let ram = Ram::create(&std::env::temp_dir(), &[region], 1 << 16, 1 << 16);
            Self {
                ram: ram.expect("memory"),
                reader: ComponentLogReader::new(BASE),
            }
        }

        fn write(&self, offset: usize, bytes: &[u8]) {
            let path = format!("/proc/self/fd/{}", self.ram.fd());
            let file = OpenOptions::new().write(true).open(path).expect("open");
            file.write_all_at(bytes, offset as u64).expect("written");
        }

        fn count(&self, place: usize, count: u64) {
            let offset = offset_of!(ComponentLog, faults) + 8 * place;
            self.write(offset, count.as_bytes());
        }

        fn record(&self, place: usize, sequence: u64) {
            let number = place * RECORDS + (sequence - 1) as usize % RECORDS;
            let fault = ComponentFault {
                sequence,
                pc: 0x40_0000 + place as u64,
                ..ComponentFault::default()
            };
            let offset = number * size_of::<ComponentFault>();
            self.write(offset_of!(ComponentLog, records) + offset, fault.as_bytes());
        }
    }

    #[test]
    fn each_fault_is_read_once_and_a_flood_of_one_component_leaves_the_others() {
        let mut log = Log::new();
        log.record(2, 1);
        log.count(2, 1);
        let flood = RECORDS as u64 + 5;
        (1..=flood).for_each(|sequence| log.record(1, sequence));
        log.count(1, flood);
        let (faults, missed) = log.reader.new_faults(&log.ram);
        let read: Vec<_> = faults
            .iter()
            .map(|one| (one.pc & 0xF, one.sequence))
            .collect();
        let expected = (6..=flood).map(|sequence| (1, sequence)).chain([(2, 1)]);
        assert_eq!(read, expected.collect::<Vec<_>>());
        assert_eq!(missed, 5);
        assert_eq!(log.reader.new_faults(&log.ram), (Vec::new(), 0));
    }

    #[test]
    fn a_record_that_is_not_whole_is_read_later() {
        let mut log = Log::new();
        log.count(3, 1);
        assert_eq!(log.reader.new_faults(&log.ram), (Vec::new(), 0));
        log.record(3, 1);
        assert_eq!(log.reader.new_faults(&log.ram).0.len(), 1);
    }
}
