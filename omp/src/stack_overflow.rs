//! Stack overflow, told as such.

#![expect(unsafe_code, reason = "runs in a signal handler")]

use crate::arch;
use crate::backend::{Backend, Stack, System};
use crate::report;
use crate::worker::Worker;

/// How far below a stack's end a fault still counts as its overflow: large frames skip the guard.
const REACH: usize = 64 << 10;

/// Lets the calling kernel thread explain the exhaustion of the stacks it runs.
pub fn watch() {
    System::watch_faults(explain);
}

/// Called in the signal handler: says so and ends the program if the fault is an overflow of the
/// stack that the thread was on.
fn explain(address: usize) {
    // SAFETY: the thread's word is null or its worker.
    let Some(worker) = (unsafe { arch::current_worker().cast::<Worker>().as_ref() }) else {
        return;
    };
    let Stack { low, high } = worker.fiber().bounds();
    if (low.saturating_sub(REACH)..low).contains(&address) {
        report::fatal(format_args!(
            "stack overflow in a task: its stack of {} KiB is full; \
             OMP_STACKSIZE sets the size (now {} KiB for new stacks)",
            (high - low) >> 10,
            crate::fiber::stack_bytes() >> 10
        ));
    }
}
