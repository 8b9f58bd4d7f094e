//! Trace events of one's own
//!
//! Recorded for the host tool, which computes jitter, delay, loss and tracking error from them.

use crate::home::Home;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_abi::{NAME_LEN, name_field};

/// Name as events carry it.
pub type Name = [u8; NAME_LEN];

/// Records the value of a signal at `ticks`.
pub fn signal<H: Home>(name: &str, ticks: u64, value: f64) {
    H::record(&Event {
        ticks,
        kind: EventKind::Signal as u32,
        sequence: 0,
        a: value.to_bits(),
        b: 0,
        name: name_field(name),
    });
}

/// Records that something happened; `a` and `b` are its own.
pub fn mark<H: Home>(name: &str, a: u64, b: u64) {
    H::record(&Event {
        ticks: H::now(),
        kind: EventKind::Mark as u32,
        sequence: 0,
        a,
        b,
        name: name_field(name),
    });
}

/// Records that message `number` left a path, which it had entered at the first of two ticks, at
/// the second.
pub fn delivered<H: Home>(path: &str, number: u32, [entered, exited]: [u64; 2]) {
    H::record(&Event {
        ticks: exited,
        kind: EventKind::Delivered as u32,
        sequence: number,
        a: entered,
        b: 0,
        name: name_field(path),
    });
}
