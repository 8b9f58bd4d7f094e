//! The fault of the showcase: a write outside of the component's memory
//!
//! `faults=NUMBER` makes it happen in so many lives of the partition instead of the first alone,
//! `fault_after_ms=NUMBER` after so much of each instead of 5 s.
#![expect(unsafe_code, reason = "the fault is the point")]

use bulkhead_component::{Environment, println};
use bulkhead_guest::Job;
use core::arch::asm;

/// Jobs before the fault where the argument does not say: 5 s of the partition's own life.
const AFTER_JOBS: u64 = 5000;

/// A fault to inject, and its time.
pub(crate) struct Fault {
    target: Option<u64>,
    after_jobs: u64,
}

impl Fault {
    /// As the arguments say: a write just behind the component's memory.
    pub(crate) fn of(env: &Environment) -> Self {
        let named = env.argument("fault") == Some("control-wild-write");
        let armed = named && u64::from(env.link().read().epoch) <= env.number("faults", 1);
        let [start, bytes] = env.memory();
        Self {
            target: armed.then_some(start + bytes),
            after_jobs: env.number("fault_after_ms", AFTER_JOBS),
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

fn store(address: u64) {
    // SAFETY: no memory of this component lies there. If the boot component could be damaged by this store, it would
    // have failed; the fault shows that it does not.
    unsafe { asm!("str xzr, [{}]", in(reg) address, options(nostack, preserves_flags)) }
}
