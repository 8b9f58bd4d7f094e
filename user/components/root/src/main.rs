//! Divides time between a real-time subsystem and the rest
//!
//! The root scheduler of a hierarchy: each period the subsystem is notified and has a budget; what it
//! leaves goes to a best-effort component, which here loops for ever. Neither can make the other
//! late: the subsystem's budget ends it, and the end of the period ends the other.
#![no_std]
#![no_main]

use bulkhead_abi::kernel::{ALL, Operation, STACK_TOP, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{consume_events, scb};
use bulkhead_component::first::{Shared, argument};
use bulkhead_component::{First, clock, console, println};
use core::convert::Infallible;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Period and budget of the subsystem, microseconds.
const PERIOD: u64 = 1000;
const BUDGET: u64 = 500;
/// Periods from one report to the next.
const REPORT: u64 = 200;
/// Indices of the subsystem and of the best-effort thread, which by its index loops for ever.
const SUBSYSTEM: u64 = 1;
const BEST_EFFORT: u64 = 7;
/// Pages of the subsystem.
const PAGES: u64 = 32;

fn run(mut first: First) -> ! {
    let Err(status) = divide(&mut first);
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn divide(first: &mut First) -> Result<Infallible, Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let [_, periodic, culprit, ..] = &first.archive()?.components;
    let ticks = |micros: u64| micros * clock::frequency() / 1_000_000;
    let [period_ticks, budget] = [PERIOD, BUDGET].map(ticks);
    let time = first.time(budget, 1)?;
    let subsystem = first.subsystem(periodic, [2, SUBSYSTEM, time, PAGES])?;
    let rest = first.component(culprit, 3)?;
    let thread = first.make(
        Operation::MakeThread,
        [rest.component, culprit.entry, STACK_TOP],
    )?;
    let rest_time = first.time(ALL, 9)?;
    call(
        thread,
        Operation::Bind,
        [first::SCHEDULER, BEST_EFFORT, rest_time],
    )?;
    call(first::MONITOR, Operation::Up, [])?;
    let mut used = 0;
    let mut end = clock::now().next_multiple_of(period_ticks);
    let periods = argument(&info, "periods").unwrap_or(u64::MAX);
    for period in 1..=periods {
        end += period_ticks;
        let left = call(time, Operation::Budget, [])?;
        call(first::TIME, Operation::Transfer, [time, budget - left])?;
        call(subsystem.sender, Operation::Send, [])?;
        let began = clock::now();
        run_until(end, subsystem.thread, time)?;
        used += clock::now() - began;
        run_until(end, thread, rest_time)?;
        if period % REPORT == 0 {
            report(subsystem.shared, used * 100 / (REPORT * period_ticks));
            used = 0;
        }
    }
    println!("divided {periods} periods");
    loop {
        clock::wait_for_interrupt();
    }
}

/// Runs a thread once: until it waits, its time ends, or `end` comes.
fn run_until(end: u64, thread: u64, time: u64) -> Result<(), Status> {
    loop {
        consume_events(scb());
        let epoch = scb().epoch.load(Relaxed);
        match call(thread, Operation::Dispatch, [time, end, epoch]) {
            Err(Status::Stale) => {}
            Ok(_) | Err(Status::NotReady) => return Ok(()),
            Err(status) => return Err(status),
        }
    }
}

fn report(shared: &Shared, load: u64) {
    let micros = |ticks: u64| ticks * 1_000_000 / clock::frequency();
    let [jobs, worst, slow_jobs, slow_worst, ..] = shared;
    println!(
        "subsystem: load={load}% jobs={} worst_us={} slow_jobs={} slow_worst_us={}",
        jobs.load(Relaxed),
        micros(worst.load(Relaxed)),
        slow_jobs.load(Relaxed),
        micros(slow_worst.load(Relaxed)),
    );
}
