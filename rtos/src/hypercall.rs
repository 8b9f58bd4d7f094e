//! Calls to the monitor

use crate::registers::{hypervisor_call, relax, wait_for_interrupt};
use bulkhead_abi::hypercall::{ATTACH, CONTROL, Control, DOORBELL, FAIL, OK, UP};
use core::fmt;

/// A refusal, as the monitor numbers it ([`bulkhead_abi::hypercall`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub i64);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the monitor refuses with {}", self.0)
    }
}

fn call(function: u64, arguments: [u64; 3]) -> Result<[u64; 3], Refused> {
    let [result, x1, x2, x3] = hypervisor_call(function, arguments);
    match result.cast_signed() {
        OK => Ok([x1, x2, x3]),
        refusal => Err(Refused(refusal)),
    }
}

/// Says that the partition is up: its link rises, its steady state begins.
///
/// # Errors
/// The monitor's refusal.
pub fn announce_up() -> Result<(), Refused> {
    call(UP, [0; 3]).map(|_| ())
}

/// Rings the outgoing doorbell `index`.
///
/// # Errors
/// The partition has no such doorbell.
pub fn ring(index: u32) -> Result<(), Refused> {
    call(DOORBELL, [index.into(), 0, 0]).map(|_| ())
}

/// Has the channel of `key` mapped; gives its address and bytes.
///
/// # Errors
/// The partition has no such channel.
pub fn attach(key: u64) -> Result<[u64; 2], Refused> {
    call(ATTACH, [key, 0, 0]).map(|[address, bytes, _]| [address, bytes])
}

/// Orders the restart of partition `index`; returns even if that is the caller's own, until its next access.
///
/// # Errors
/// The partition is not privileged, or there is no such partition.
pub fn restart(index: u64) -> Result<(), Refused> {
    call(CONTROL, [index, Control::Restart as u64, 0]).map(|_| ())
}

/// Gives up with a `code` for the fault log; the partition's policy decides what follows.
pub fn fail(code: u64) -> ! {
    hypervisor_call(FAIL, [code, 0, 0]);
    stop()
}

/// Waits for ever after a call that must not return has returned.
fn stop() -> ! {
    loop {
        wait_for_interrupt();
        relax();
    }
}
