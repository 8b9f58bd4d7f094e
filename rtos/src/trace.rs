//! Trace events of this partition
//!
//! The recorder overwrites its oldest events and never waits.

use crate::lock::Lock;
use crate::{System, shared};
use bulkhead_abi::trace::Event;
use bulkhead_buffers::recorder::records::Writer;
use bulkhead_guest::recorders;
use zerocopy::IntoBytes;

static RECORDER: Lock<Option<Writer<'static>>> = Lock::new(None);

pub(crate) fn open(system: &System) {
    let place = system.info().trace;
    if let Ok(region) = shared::region(place) {
        RECORDER.with(|recorder| *recorder = recorders::trace(region, place[1]));
    }
}

/// Records an event; nothing where the partition has no trace.
pub fn emit(event: &Event) {
    RECORDER.with(|recorder| {
        if let Some(recorder) = recorder {
            let _whole = recorder.write(event.as_bytes());
        }
    });
}

/// Records that something happened; `a` and `b` are its own.
pub fn mark(name: &str, a: u64, b: u64) {
    bulkhead_guest::trace::mark::<System>(name, a, b);
}
