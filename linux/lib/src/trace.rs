//! The partition's trace
//!
//! A recorder of [`Event`]s that only the host tool reads; one program of the partition writes it.
//! Without a trace, or if another program writes it, events are dropped silently.

use crate::clock;
use crate::error::Error;
use crate::map::Mapping;
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind, Stamp};
use bulkhead_buffers::recorder::records::{Layout, Writer};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use zerocopy::IntoBytes;

const CONTROL_LINE_BYTES: usize = 64;

/// Writes events; clones write to the same trace.
#[derive(Clone)]
pub struct Trace {
    writer: Arc<Mutex<Option<Exclusive>>>,
}

/// The writer, and the open file that keeps other programs from being one.
struct Exclusive {
    writer: Writer<'static>,
    _file: File,
}

impl Trace {
    /// A trace that keeps nothing.
    #[must_use]
    pub fn off() -> Self {
        Self {
            writer: Arc::default(),
        }
    }

    pub(crate) fn open(path: &Path, bytes: usize) -> Result<Self, Error> {
        let file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(Error::file(path))?;
        let mapping = Mapping::new(path, &file, bytes, true)?;
        let writer = Self::attach(&mapping).map(|writer| Exclusive {
            writer,
            _file: file,
        });
        Ok(Self {
            writer: Arc::new(Mutex::new(writer)),
        })
    }

    fn attach(mapping: &Mapping) -> Option<Writer<'static>> {
        let bytes = mapping.bytes().checked_sub(CONTROL_LINE_BYTES)?;
        let layout = Layout::for_records(size_of::<Event>(), bytes / size_of::<Event>()).ok()?;
        Writer::attach(mapping.region()?.ok()?, &layout).ok()
    }

    /// Appends an event.
    pub fn write(&self, event: &Event) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Exclusive { writer, .. }) = writer.as_mut() {
            // The length is that of the layout; nothing else can be wrong.
            let _ = writer.write(event.as_bytes());
        }
    }

    /// Signal `name` has `value` now.
    pub fn signal(&self, name: &str, value: f64) {
        self.event(EventKind::Signal, name, 0, value.to_bits(), 0);
    }

    /// Something happened; `name` says what.
    pub fn mark(&self, name: &str, a: u64, b: u64) {
        self.event(EventKind::Mark, name, 0, a, b);
    }

    /// A message was sent.
    pub(crate) fn sent(&self, channel: &str, stamp: Stamp) {
        self.at(stamp.ticks, EventKind::Sent, channel, stamp.sequence, 0, 0);
    }

    /// A message was received, after `missed` that never came.
    pub(crate) fn received(&self, channel: &str, stamp: Stamp, missed: u64) {
        if missed > 0 {
            self.event(EventKind::Lost, channel, stamp.sequence, missed, 0);
        }
        self.event(EventKind::Received, channel, stamp.sequence, stamp.ticks, 0);
    }

    fn event(&self, kind: EventKind, name: &str, sequence: u64, a: u64, b: u64) {
        self.at(clock::ticks(), kind, name, sequence, a, b);
    }

    fn at(&self, ticks: u64, kind: EventKind, name: &str, sequence: u64, a: u64, b: u64) {
        let name = name_field(name);
        // Readers of traces compare sequence numbers modulo 2^32.
        self.write(&Event {
            ticks,
            kind: kind as u32,
            sequence: sequence as u32,
            a,
            b,
            name,
        });
    }
}
