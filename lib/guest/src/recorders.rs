//! Console and trace: recorders, and the ring of what is typed, that fill the memory they were
//! given
//!
//! The guest page says how many bytes they have; what that holds is decided here as the host tool
//! decides it (`doc/interfaces/channel.md`, Recorder).

use bulkhead_abi::trace::Event;
use bulkhead_buffers::Region;
use bulkhead_buffers::recorder::{records, stream};
use bulkhead_buffers::ring;

/// Bytes that a recorder keeps before its content.
const HEAD_BYTES: usize = 64;
/// Bytes that a ring keeps before its content.
const RING_LINES: usize = 128;
/// Bytes of an event.
const EVENT_BYTES: usize = size_of::<Event>();

/// The writer of a console of `bytes` bytes; nothing where that is no console.
#[must_use]
pub fn console(region: Region<'static>, bytes: u64) -> Option<stream::Writer<'static>> {
    let capacity = (bytes as usize).saturating_sub(HEAD_BYTES) & !7;
    let layout = stream::Layout::for_bytes(capacity).ok()?;
    stream::Writer::attach(region, &layout).ok()
}

/// The reader of what is typed into a console, a ring of single bytes in `bytes` bytes;
/// nothing where that is none.
#[must_use]
pub fn console_input(region: Region<'static>, bytes: u64) -> Option<ring::Consumer<'static>> {
    let capacity = (bytes as usize).saturating_sub(RING_LINES) / size_of::<u64>();
    let layout = ring::Layout::for_messages(1, capacity).ok()?;
    ring::Consumer::attach(region, &layout).ok()
}

/// The writer of a trace of `bytes` bytes; nothing where that is no trace.
#[must_use]
pub fn trace(region: Region<'static>, bytes: u64) -> Option<records::Writer<'static>> {
    let capacity = (bytes as usize).saturating_sub(HEAD_BYTES) / EVENT_BYTES;
    let layout = records::Layout::for_records(EVENT_BYTES, capacity).ok()?;
    records::Writer::attach(region, &layout).ok()
}
