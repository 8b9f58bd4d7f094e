//! Measures how exactly budgets are enforced, and what a decision costs
//!
//! Threads that never wait, each on a VCPU of its own, read the cycle counter all the time. What one of
//! them sees from its first read to its last before a gap is what it executed; what lies between the
//! last read of one and the first of the next is what the switch from VCPU to VCPU costs, the
//! scheduler's decision included. A line `bench NAME N AVERAGE WORST` each, the average in hundredths.
#![no_std]
#![no_main]

mod alike;
mod decision;
mod enforcement;
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
    match (argument(&info, "decisions"), argument(&info, "vcpus")) {
        (Some(steps), _) => alike::measure(steps),
        (None, Some(vcpus)) => decision::measure(first, vcpus, rounds),
        (None, None) => enforcement::measure(first, rounds),
    }
}
