//! Trace events of this partition
//!
//! Recorded for the host tool, which computes jitter, delay, loss and tracking error from them. The
//! recorder overwrites its oldest events and never waits.

use crate::lock::Lock;
use crate::{System, clock, shared};
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_buffers::recorder::records::{Layout, Writer};
use zerocopy::IntoBytes;

/// Bytes of an event.
const EVENT_BYTES: usize = size_of::<Event>();
/// Bytes that the recorder keeps before the events.
const HEAD_BYTES: usize = 64;

static RECORDER: Lock<Option<Writer<'static>>> = Lock::new(None);

/// Name as events carry it.
pub type Name = [u8; bulkhead_abi::NAME_LEN];

pub(crate) fn open(system: &System) {
    let place = system.info().trace;
    let capacity = (place[1] as usize).saturating_sub(HEAD_BYTES) / EVENT_BYTES;
    let (Ok(layout), Ok(region)) = (
        Layout::for_records(EVENT_BYTES, capacity),
        shared::region(place),
    ) else {
        return;
    };
    RECORDER.with(|recorder| *recorder = Writer::attach(region, &layout).ok());
}

/// Records an event; nothing where the partition has no trace.
pub fn emit(event: &Event) {
    RECORDER.with(|recorder| {
        if let Some(recorder) = recorder {
            let _whole = recorder.write(event.as_bytes());
        }
    });
}

/// Records the value of a signal at `ticks`.
pub fn signal(name: &str, ticks: u64, value: f64) {
    let kind = EventKind::Signal as u32;
    emit(&Event {
        ticks,
        kind,
        sequence: 0,
        a: value.to_bits(),
        b: 0,
        name: name_field(name),
    });
}

/// Records that something happened; `a` and `b` are its own.
pub fn mark(name: &str, a: u64, b: u64) {
    let kind = EventKind::Mark as u32;
    emit(&Event {
        ticks: clock::now(),
        kind,
        sequence: 0,
        a,
        b,
        name: name_field(name),
    });
}
