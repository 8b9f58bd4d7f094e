//! A recorder of fixed-size records, read as they come

use bulkhead_abi::trace::Event;
use bulkhead_buffers::View;
use bulkhead_buffers::recorder::records::{Layout, Reader};

use super::console::damaged;
use crate::error::RunError;

/// Control line of a recorder, bytes.
const CONTROL_BYTES: u64 = 64;
/// Records copied at a time.
const BATCH: usize = 1024;

/// Bytes of an event and events of a trace that fills a region of `size` bytes.
pub(super) const fn trace_shape(size: u64) -> (usize, usize) {
    let record = size_of::<Event>();
    (
        record,
        (size.saturating_sub(CONTROL_BYTES)) as usize / record,
    )
}

/// A reader and its buffer.
pub(super) struct Records<'m> {
    reader: Reader<'m>,
    record_bytes: usize,
    buffer: Vec<u8>,
}

impl<'m> Records<'m> {
    /// `shape`: bytes of a record, records held.
    pub(super) fn new(view: View<'m>, shape: (usize, usize)) -> Result<Self, RunError> {
        let (record_bytes, capacity) = shape;
        let layout = Layout::for_records(record_bytes, capacity).map_err(damaged)?;
        let reader = Reader::attach(view, &layout).map_err(damaged)?;
        Ok(Self {
            reader,
            record_bytes,
            buffer: vec![0; record_bytes * BATCH],
        })
    }

    /// Gives each new record to `take`, with how many were lost directly before it; returns how many were lost behind
    /// the last one.
    pub(super) fn poll(&mut self, mut take: impl FnMut(u64, &[u8])) -> u64 {
        let mut lost = 0_u64;
        loop {
            let Ok(read) = self.reader.read(&mut self.buffer) else {
                return lost.saturating_add(1);
            };
            lost = lost.saturating_add(read.lost);
            let bytes = &self.buffer[..read.count * self.record_bytes];
            for record in bytes.chunks_exact(self.record_bytes) {
                take(std::mem::take(&mut lost), record);
            }
            if read.count < BATCH {
                return lost;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_buffers::recorder::records::Writer;
    use bulkhead_buffers::{AtomicU64, Region};

    #[test]
    fn every_record_arrives_once_or_is_counted() {
        let words: Vec<AtomicU64> = (0..1024).map(|_| AtomicU64::new(0)).collect();
        let region = Region::from_words(&words);
        let (bytes, capacity) = trace_shape(8192);
        assert_eq!((bytes, capacity), (48, 169));
        let layout = Layout::for_records(bytes, capacity).unwrap();
        let mut writer = Writer::attach(region, &layout).unwrap();
        let mut records = Records::new(region.view(), (bytes, capacity)).unwrap();
        let mut write = |value: u8| writer.write(&[value; 48]).unwrap();
        (0..100).for_each(&mut write);
        let mut seen = Vec::new();
        assert_eq!(records.poll(|_, record| seen.push(record[0])), 0);
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
        (0..200).for_each(&mut write);
        seen.clear();
        let mut gaps = Vec::new();
        let behind = records.poll(|lost, record| {
            gaps.push(lost);
            seen.push(record[0]);
        });
        assert_eq!((behind, gaps[0], gaps[1..].iter().sum::<u64>()), (0, 31, 0));
        assert_eq!(seen, (31..200).collect::<Vec<_>>());
    }
}
