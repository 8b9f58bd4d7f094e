//! Ways into the monitor, and back to the guest
//!
//! While a guest runs, SP_EL2 is the address of the core's state. Its first member is the frame of guest registers; the
//! stack is below it. All exceptions are masked at EL2.
#![expect(unsafe_code, reason = "called by the vectors with the core's state")]

use crate::processor::Processor;
use bulkhead_monitor_core::{Core, Entry, Frame, Monitor};
use core::arch::global_asm;

global_asm!(include_str!("vectors.s"), X = const Frame::X_OFFSET);

const fn monitor(core: &'static Core) -> Monitor<Processor> {
    Monitor {
        machine: Processor,
        core,
    }
}

/// First instructions with translation on.
#[unsafe(no_mangle)]
extern "C" fn monitor_start(core: &'static Core) -> ! {
    monitor(core).idle()
}

/// An exception.
#[unsafe(no_mangle)]
extern "C" fn monitor_enter(core: &'static Core, entry: Entry) {
    monitor(core).enter(entry);
}

unsafe extern "C" {
    /// The panic handler's end: no such symbol exists, so that linking proves nothing panics.
    fn the_monitor_must_not_panic() -> !;
}

pub(crate) fn unreachable() -> ! {
    // SAFETY: never linked, hence never called.
    unsafe { the_monitor_must_not_panic() }
}
