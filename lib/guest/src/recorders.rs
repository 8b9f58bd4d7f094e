//! Console and trace: recorders that fill the memory they were given
//!
//! The guest page says how many bytes they have; what that holds is decided here as the host tool
//! decides it (`doc/interfaces/channel.md`, Recorder).

use bulkhead_abi::trace::Event;
use bulkhead_buffers::Region;
use bulkhead_buffers::recorder::{records, stream};

/// Bytes that a recorder keeps before its content.
const HEAD_BYTES: usize = 64;
/// Bytes of an event.
const EVENT_BYTES: usize = size_of::<Event>();

/// The writer of a console of `bytes` bytes; nothing where that is no console.
#[must_use]
pub fn console(region: Region<'static>, bytes: u64) -> Option<stream::Writer<'static>> {
    let capacity = (bytes as usize).saturating_sub(HEAD_BYTES) & !7;
    let layout = stream::Layout::for_bytes(capacity).ok()?;
    stream::Writer::attach(region, &layout).ok()
}

/// The writer of a trace of `bytes` bytes; nothing where that is no trace.
#[must_use]
pub fn trace(region: Region<'static>, bytes: u64) -> Option<records::Writer<'static>> {
    let capacity = (bytes as usize).saturating_sub(HEAD_BYTES) / EVENT_BYTES;
    let layout = records::Layout::for_records(EVENT_BYTES, capacity).ok()?;
    records::Writer::attach(region, &layout).ok()
}
