//! The fault of the showcase: a loop without end
//!
//! A component cannot mask interrupts; what it can do is keep the core from all that is less
//! important, the heart of the partition among it. `faults=NUMBER` makes it happen in so many lives
//! of the partition instead of the first alone, `fault_after_ms=NUMBER` after so much of each instead
//! of 5 s.

use bulkhead_component::{Environment, clock, println};
use bulkhead_guest::Job;
use core::hint::black_box;

/// Jobs before the fault where the argument does not say: 5 s of the partition's own life.
const AFTER_JOBS: u64 = 5000;

/// When to do wrong.
pub(crate) struct Fault {
    at_job: Option<u64>,
}

impl Fault {
    /// As the arguments say.
    pub(crate) fn of(env: &Environment) -> Self {
        let named = env.argument("fault") == Some("plant-hang");
        let armed = named && u64::from(env.link().read().epoch) <= env.number("faults", 1);
        Self {
            at_job: armed.then(|| env.number("fault_after_ms", AFTER_JOBS)),
        }
    }

    pub(crate) fn strike(&self, job: &Job) {
        if self.at_job == Some(job.number) {
            println!("fault: looping for ever");
            loop {
                black_box(clock::now());
            }
        }
    }
}
