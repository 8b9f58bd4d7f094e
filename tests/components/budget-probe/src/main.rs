//! Measures the accuracy of budget enforcement, and the cost of a decision
//!
//! Threads that never wait, each on a VCPU of its own, read the cycle counter in a loop. Between a
//! thread's first read and its last before a gap it executed; the time between the last read of one
//! thread and the first of the next is the cost of the switch between VCPUs, including the
//! scheduler's decision. Prints lines `bench NAME N AVERAGE WORST`, the average in hundredths.
#![no_std]
#![no_main]

mod decision;
mod enforcement;
mod equivalence;
mod job;
mod one_vcpu;
mod threads;

use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::figure::Counter;
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use core::sync::atomic::Ordering::Relaxed;
use threads::{STEP, THREADS};

bulkhead_component::component!(run);

fn run(mut first: First) -> ! {
    if let Err(status) = measure(&mut first) {
        println!("stopped: {status:?}");
        let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    }
    loop {
        clock::wait_for_interrupt();
    }
}

fn measure(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let rounds = argument(&info, "rounds").unwrap_or(1000);
    STEP.store(Counter::calibrated().step(), Relaxed);
    THREADS.prepare(first)?;
    call(first::MONITOR, Operation::Up, [])?;
    if let Some(rounds) = argument(&info, "jobs") {
        return job::measure(first, rounds);
    }
    if let Some(rounds) = argument(&info, "switches") {
        return one_vcpu::measure(first, rounds);
    }
    match (argument(&info, "decisions"), argument(&info, "vcpus")) {
        (Some(steps), _) => equivalence::measure(steps),
        (None, Some(vcpus)) => decision::measure(first, vcpus, rounds),
        (None, None) => {
            let switch = argument(&info, "switch").unwrap_or(0);
            enforcement::measure(first, rounds, switch)
        }
    }
}
