//! Measures the kernel's primitives
//!
//! Every figure is the difference of the cycle counter, in units of one instruction (the counter's
//! step from one instruction to the next, which is constant on an instruction-counted clock),
//! without the cost of reading it. Prints lines `bench NAME N AVERAGE WORST`, the average in
//! hundredths. Argument words `address` and `intid` name a PL011: then its interrupt alone is measured.
#![no_std]
#![no_main]
#![expect(
    unsafe_code,
    reason = "user-level switches between its own threads, and registers of a device"
)]

mod interrupt;
mod one_way;
mod slite;

use bulkhead_abi::kernel::{ALL, Operation, SAME_TIME, Status, WAIT, first};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{self, Target, consume_events, dcb, scb, switch};
use bulkhead_component::figure::{Counter, Figure};
use bulkhead_component::first::argument;
use bulkhead_component::invocation::invoke;
use bulkhead_component::{First, clock, console, println};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};
use one_way::primitives_timed_switch;

bulkhead_component::component!(run);

/// Indices of the threads under the root scheduler.
const PARTNER: u64 = 16;
const HIGH: u64 = 17;
const LOW: u64 = 18;
const SPINNER: u64 = 19;

/// Instructions of a call and its return.
const CALL_AND_RETURN: u64 = 2;

/// Slots that threads use: their receive ends and the partner's thread.
static RECEIVE: AtomicU64 = AtomicU64::new(0);
static SEND: AtomicU64 = AtomicU64::new(0);
/// Start and end of a measurement that spans threads.
static BEGAN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
/// True if the partner switches back in user mode, false if through the kernel.
static IN_USER_MODE: AtomicBool = AtomicBool::new(false);

fn run(mut first: First) -> ! {
    let Err(status) = measure(&mut first);
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn measure(first: &mut First) -> Result<core::convert::Infallible, Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let rounds = argument(&info, "rounds").unwrap_or(1000);
    let counter = Counter::calibrated();
    call(first::MONITOR, Operation::Up, [])?;
    let [address, intid] = ["address", "intid"].map(|key| argument(&info, key));
    if let (Some(address), Some(intid)) = (address, intid) {
        interrupt::measure(first, counter, rounds, [address, intid])?;
        println!("bench done");
        loop {
            clock::wait_for_interrupt();
        }
    }
    null_call(counter, rounds)?;
    invocations(first, counter, rounds)?;
    // A "trusting" kernel does not read which thread runs, so it does not support switches
    // in user mode.
    if argument(&info, "trusting").is_none() {
        switches(first, counter, rounds)?;
        notifications(first, counter, rounds)?;
        time_outs(first, counter, rounds)?;
        slite::measure(first, counter, rounds)?;
    }
    println!("bench done");
    loop {
        clock::wait_for_interrupt();
    }
}

fn null_call(counter: Counter, rounds: u64) -> Result<(), Status> {
    let mut figure = Figure::new();
    for _ in 0..rounds {
        let start = clock::cycles();
        call(first::COMPONENT, Operation::Identify, [])?;
        figure.add(counter.since(start));
    }
    figure.print("null-call");
    Ok(())
}

fn invocations(first: &mut First, counter: Counter, rounds: u64) -> Result<(), Status> {
    let archive = first.archive()?;
    let [_, echo, ..] = &archive.components;
    let server = first.component(echo, 2)?;
    let entry = first.invocation(echo, server.component, 40)?;
    let mut figure = Figure::new();
    for _ in 0..rounds {
        let start = clock::cycles();
        let reply = invoke(entry, [0, 2, 0, 0, 0]);
        figure.add(counter.since(start));
        if reply.value != 42 || reply.status != 0 {
            return Err(Status::Faulted);
        }
    }
    figure.print("invoke-return");
    let mut figure = Figure::new();
    let mut product = 1.0;
    for round in 0..rounds {
        product *= 1.5;
        let start = clock::cycles();
        let reply = invoke(entry, [1, 6, 7, 0, 0]);
        let cycles = counter.since(start);
        if round > 0 {
            // The first use of floating point traps once.
            figure.add(cycles);
        }
        if reply.value != 42 || product < 1.0 {
            return Err(Status::Faulted);
        }
    }
    figure.print("invoke-return-fp");
    let faulted = invoke(entry, [2, 0, 0, 0, 0]);
    println!("a fault of the server: status {}", faulted.status);
    Ok(())
}

/// Switches to the first thread and back, in the selected way.
extern "C" fn partner(_: u64) -> ! {
    loop {
        let epoch = scb().epoch.load(Relaxed);
        if IN_USER_MODE.load(Relaxed) {
            let main = Target {
                dcb: dcb(0),
                index: 0,
                thread: first::THREAD,
            };
            // SAFETY: this is thread PARTNER, the other one is thread 0.
            let _decided_again = unsafe { switch(dcb(PARTNER as usize), main, scb(), epoch) };
            ENDED.store(clock::cycles(), Relaxed);
        } else {
            let _decided_again = dispatch::through_kernel(first::THREAD, SAME_TIME, epoch);
        }
    }
}

fn switches(first: &mut First, counter: Counter, rounds: u64) -> Result<(), Status> {
    let partner = first.thread(partner, PARTNER, first::TIME)?;
    let mut figure = Figure::new();
    for _ in 0..rounds {
        let epoch = scb().epoch.load(Relaxed);
        let start = clock::cycles();
        dispatch::through_kernel(partner, SAME_TIME, epoch)?;
        figure.add(counter.since(start) / 2);
    }
    figure.print("switch-kernel");
    IN_USER_MODE.store(true, Relaxed);
    let nothing = one_way::nothing();
    let mut figure = Figure::new();
    for round in 0..=rounds {
        consume_events(scb());
        let epoch = scb().epoch.load(Relaxed);
        let mut began = 0;
        // SAFETY: this is thread 0.
        let refused = unsafe {
            primitives_timed_switch(
                dcb(0),
                dcb(PARTNER as usize),
                PARTNER,
                scb(),
                epoch,
                partner,
                &mut began,
            )
        };
        if refused != 0 {
            return Err(Status::Stale);
        }
        if round > 0 {
            // The first switch goes through the kernel, because the partner has not left in user
            // mode yet.
            // The figure contains the call and the return; they are subtracted.
            let cycles = ENDED.load(Relaxed) - began;
            figure.add(counter.steps(cycles - nothing) + CALL_AND_RETURN);
        }
    }
    figure.print("switch-user");
    Ok(())
}

/// Waits for notifications, and stores the time of each.
extern "C" fn high(_: u64) -> ! {
    loop {
        let _count = call(RECEIVE.load(Relaxed), Operation::Receive, [WAIT]);
        ENDED.store(clock::cycles(), Relaxed);
    }
}

/// Notifies, and returns to the scheduler.
extern "C" fn low(_: u64) -> ! {
    loop {
        BEGAN.store(clock::cycles(), Relaxed);
        let _sent = call(SEND.load(Relaxed), Operation::Send, []);
        let epoch = scb().epoch.load(Relaxed);
        let _decided_again = dispatch::through_kernel(first::THREAD, first::TIME, epoch);
    }
}

fn notifications(first: &mut First, counter: Counter, rounds: u64) -> Result<(), Status> {
    let [high_time, low_time] = [first.time(ALL, 10)?, first.time(ALL, 20)?];
    let high = first.thread(high, HIGH, high_time)?;
    let low = first.thread(low, LOW, low_time)?;
    let (receive, send) = (first.slot(), first.slot());
    call(high, Operation::Receiver, [receive])?;
    call(high, Operation::Sender, [send])?;
    RECEIVE.store(receive, Relaxed);
    SEND.store(send, Relaxed);
    dispatch::through_kernel(high, SAME_TIME, scb().epoch.load(Relaxed))?;
    let mut figure = Figure::new();
    for _ in 0..rounds {
        consume_events(scb());
        let epoch = scb().epoch.load(Relaxed);
        dispatch::through_kernel(low, low_time, epoch)?;
        figure.add(counter.between(BEGAN.load(Relaxed), ENDED.load(Relaxed)));
    }
    figure.print("notify-low-high");
    Ok(())
}

/// Stores the time, over and over.
extern "C" fn spinner(_: u64) -> ! {
    loop {
        BEGAN.store(clock::cycles(), Relaxed);
    }
}

fn time_outs(first: &mut First, counter: Counter, rounds: u64) -> Result<(), Status> {
    /// Ticks until the time-out: more than the dispatch takes.
    const PAUSE: u64 = 500;
    let time = first.time(ALL, 10)?;
    let spinner = first.thread(spinner, SPINNER, time)?;
    let mut figure = Figure::new();
    for _ in 0..rounds {
        consume_events(scb());
        let epoch = scb().epoch.load(Relaxed);
        let timeout = clock::now() + PAUSE;
        call(spinner, Operation::Dispatch, [time, timeout, epoch])?;
        let ended = clock::cycles();
        figure.add(counter.between(BEGAN.load(Relaxed), ended));
    }
    figure.print("timer-user");
    Ok(())
}
