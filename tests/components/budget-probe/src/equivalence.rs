//! Checks that a scheduler with support for time partitions and bands, but without any, decides
//! like one without that support

use crate::threads::DONE;
use bulkhead_abi::kernel::Status;
use bulkhead_abi::timing::{MAX_CHUNKS, MAX_SLOTS, MAX_TIME_PARTITIONS};
use bulkhead_component::figure::Figure;
use bulkhead_component::println;
use bulkhead_sched::budget::{Capacity, Utilisation};
use bulkhead_sched::policy::{Binding, ServerId, Vcpus};
use bulkhead_sched::policy_comparison::first_difference;
use bulkhead_sched::{Refusal, Scheduler};
use bulkhead_slite::Mutex;

/// Simulated threads.
const THREADS: u16 = 4;
/// Seed of the simulation.
const SEED: u64 = 0x30;

type Plain = Vcpus<4, 4, MAX_CHUNKS>;
type Able = Vcpus<4, 4, MAX_CHUNKS, MAX_TIME_PARTITIONS, MAX_SLOTS>;

/// The two schedulers, too large for a stack.
static BOTH: Mutex<(Scheduler<Plain, 4>, Scheduler<Able, 4>)> = Mutex::new((
    Scheduler::new(Vcpus::new(false)),
    Scheduler::new(Vcpus::new(false)),
));

/// Prints how many of so many decisions differed: none, or the one that ended the run.
pub(crate) fn measure(steps: u64) -> Result<(), Status> {
    let compared = BOTH.with(&crate::threads::THREADS, |(plain, able)| {
        describe(plain)?;
        describe(able)?;
        Ok(first_difference(plain, able, THREADS, SEED, steps))
    });
    let found: Result<_, Refusal> = compared.map_err(|_| Status::BadArgument)?;
    let found = found.map_err(|_| Status::BadArgument)?;
    if let Some((step, decisions)) = found {
        println!("step {step}: {decisions:?}");
    }
    let differences = found.is_some().into();
    Figure::of(steps, differences, differences).print("differences");
    println!("{DONE}");
    Ok(())
}

/// Three Main VCPUs and one I/O VCPU.
fn describe<const P: usize, const S: usize>(
    scheduler: &mut Scheduler<Vcpus<4, 4, MAX_CHUNKS, P, S>, 4>,
) -> Result<(), Refusal> {
    let policy = scheduler.policy_mut(0);
    for (capacity, period) in [(4, 20), (10, 50), (15, 90)] {
        policy.add_main(Capacity { capacity, period }, 0)?;
    }
    policy.add_io(Utilisation::ratio(1, 10)?, [20, 90], 0)?;
    let [fast, middle, slow, io] = [0, 1, 2, 3].map(ServerId);
    let mains = [fast, middle, slow].map(Binding::main);
    let half = Binding {
        vcpu: io,
        cause: slow,
    };
    for binding in mains.into_iter().chain([half]) {
        scheduler.add(binding, 0)?;
    }
    Ok(())
}
