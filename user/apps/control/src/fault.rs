//! The fault of the showcase: a write outside the partition's memory
//!
//! `faults=NUMBER` makes it happen in so many lives of the partition instead of the first alone,
//! `fault_after_ms=NUMBER` after so much of each instead of 5 s.
#![expect(unsafe_code, reason = "the fault is the point")]

use bulkhead_rtos::{Job, System, println};
use core::arch::asm;

/// Jobs before the fault where the argument does not say: 5 s of the partition's own life.
const AFTER_JOBS: u64 = 5000;

/// What to do wrong, and when.
pub(crate) struct Fault {
    target: Option<u64>,
    after_jobs: u64,
}

impl Fault {
    /// As the arguments say: a write just behind the partition's memory.
    pub(crate) fn of(system: &System) -> Self {
        let named = system.argument("fault") == Some("control-wild-write");
        let armed = named && u64::from(system.link().read().epoch) <= number(system, "faults", 1);
        let [start, bytes] = system.memory();
        Self {
            target: armed.then_some(start + bytes),
            after_jobs: number(system, "fault_after_ms", AFTER_JOBS),
        }
    }

    pub(crate) fn strike(&mut self, job: &Job) {
        if job.number == self.after_jobs
            && let Some(target) = self.target.take()
        {
            println!("fault: writing to {target:#x}");
            store(target);
        }
    }
}

/// An argument, or what is usual.
fn number(system: &System, key: &str, usual: u64) -> u64 {
    let given = system.argument(key).and_then(|text| text.parse().ok());
    given.unwrap_or(usual)
}

fn store(address: u64) {
    // SAFETY: nothing of this program lies there; if anything of anybody's did, the monitor would
    // have failed, which is what the fault is to show.
    unsafe { asm!("str xzr, [{}]", in(reg) address, options(nostack, preserves_flags)) }
}
