//! The fault of the showcase: a hang with all interrupts masked
//!
//! `faults=NUMBER` makes it happen in so many lives of the partition instead of the first alone,
//! `fault_after_ms=NUMBER` after so much of each instead of 5 s.
#![expect(unsafe_code, reason = "the fault is the point")]

use bulkhead_rtos::{Job, System, println};
use core::arch::asm;

/// Jobs before the fault where the argument does not say: 5 s of the partition's own life.
const AFTER_JOBS: u64 = 5000;

/// When to do wrong.
pub(crate) struct Fault {
    at_job: Option<u64>,
}

impl Fault {
    /// As the arguments say.
    pub(crate) fn of(system: &System) -> Self {
        let named = system.argument("fault") == Some("plant-hang");
        let armed = named && u64::from(system.link().read().epoch) <= number(system, "faults", 1);
        Self {
            at_job: armed.then(|| number(system, "fault_after_ms", AFTER_JOBS)),
        }
    }

    pub(crate) fn strike(&self, job: &Job) {
        if self.at_job == Some(job.number) {
            println!("fault: hanging with all interrupts masked");
            hang();
        }
    }
}

/// An argument, or what is usual.
fn number(system: &System, key: &str, usual: u64) -> u64 {
    let given = system.argument(key).and_then(|text| text.parse().ok());
    given.unwrap_or(usual)
}

fn hang() -> ! {
    // SAFETY: nothing runs after it on this core, which is what a hang is.
    unsafe { asm!("msr daifset, #15", "1:", "b 1b", options(noreturn)) }
}
