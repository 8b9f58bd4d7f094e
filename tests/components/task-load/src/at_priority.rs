//! A task at the priority of its component
//!
//! No task of the component has a VCPU, so that the program learns its times from the argument word `TASK=WCET/PERIOD`, in
//! nanoseconds. All components begin at one time after the start, the critical instant.

use bulkhead_abi::name_field;
use bulkhead_component::Environment;
use bulkhead_component::clock::{self, ticks};
use bulkhead_guest::{Home, Job};

use super::LOAD;

/// First release after the start of the clock: by then all components have calibrated their loads, each within its budget.
const START_NS: u64 = 2_000_000_000;

/// WCET and period of the task `name`.
pub(crate) fn times(env: &Environment, name: &str) -> Option<[u64; 2]> {
    let (wcet, period) = env.argument(name)?.split_once('/')?;
    Some([wcet.parse().ok()?, period.parse().ok()?])
}

/// Executes the task `name`, and traces its jobs.
pub(crate) fn run(env: &Environment, name: &str, [wcet_ns, period_ns]: [u64; 2]) -> ! {
    if let Err(status) = env.ready() {
        panic!("{name}: does not begin: {status:?}");
    }
    let mut release = ticks(START_NS);
    // The budget that the start used is replenished by then.
    assert!(
        clock::now() + ticks(period_ns) < release,
        "{name}: the start takes too long"
    );
    for number in 0.. {
        env.sleep_until(release);
        let start = clock::now();
        LOAD.compute(wcet_ns);
        let job = Job {
            number,
            release,
            start,
            skipped: 0,
        };
        Environment::record(&job.event(name_field(name), clock::now()));
        release += ticks(period_ns);
    }
    unreachable!("there is always another job")
}
