//! Runs fault injectors, and checks that their faults are contained
//!
//! The root scheduler of its partition. It runs one fault injector after the other, each in a
//! component of its own; the kernel stops each by a fault or by the end of its time, and the
//! supervisor names it. Afterwards it checks its own state: a server still answers, and its memory
//! is unchanged.
#![no_std]
#![no_main]

use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{NEVER, Operation, Packed, STACK_TOP, Status, ThreadWord, first};
use bulkhead_abi::name_text;
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{Target, dcb, scb};
use bulkhead_component::first::Component;
use bulkhead_component::invocation::invoke;
use bulkhead_component::{First, clock, console, println};
use core::convert::Infallible;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Names of the faults, numbered from 1 as in the fault injector.
const MISDEEDS: [&str; 8] = [
    "stack overflow",
    "wild jump",
    "read of the kernel",
    "write to text",
    "execution of data",
    "privileged instruction",
    "infinite loop",
    "division by zero",
];
/// Time of each, ticks of 16 ns.
const SLICE: u64 = 6_000_000;
/// Identities of the address spaces.
const SERVER: u64 = 2;
const CULPRIT: u64 = 3;

fn run(mut first: First) -> ! {
    let Err(status) = watch(&mut first);
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn watch(first: &mut First) -> Result<Infallible, Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let [_, echo, culprit, ..] = &first.archive()?.components;
    let server = first.component(echo, SERVER)?;
    let entry = first.invocation(echo, server.component, 40)?;
    let Component { component, .. } = first.component(culprit, CULPRIT)?;
    let slice = first.make(Operation::MakeTime, [first::TIME, 0, 9])?;
    call(first::MONITOR, Operation::Up, [])?;
    for (index, misdeed) in (1..).zip(MISDEEDS) {
        let thread = first.make(Operation::MakeThread, [component, culprit.entry, STACK_TOP])?;
        call(thread, Operation::Bind, [first::SCHEDULER, index, slice])?;
        call(first::TIME, Operation::Transfer, [slice, SLICE])?;
        let how = stopped(
            Target {
                dcb: dcb(index as usize),
                index,
                thread,
            },
            slice,
        )?;
        say(culprit, misdeed, how, thread)?;
        let reply = invoke(entry, [0, 2, 0, 0, 0]);
        println!(
            "the server answers {} with status {}",
            reply.value, reply.status
        );
        let remaining = call(slice, Operation::Budget, [])?;
        call(slice, Operation::Transfer, [first::TIME, remaining])?;
    }
    println!("all {} stopped", MISDEEDS.len());
    loop {
        clock::wait_for_interrupt();
    }
}

/// Runs a thread until it is stopped. Returns how it stopped.
fn stopped(culprit: Target, slice: u64) -> Result<EventKind, Status> {
    loop {
        while let Some((index, kind)) = scb().next_event() {
            let is_end = [EventKind::Faulted, EventKind::Expired].contains(&kind);
            if index == culprit.index && is_end {
                return Ok(kind);
            }
        }
        let epoch = scb().epoch.load(Relaxed);
        match call(culprit.thread, Operation::Dispatch, [slice, NEVER, epoch]) {
            Ok(_) | Err(Status::Stale) => {}
            Err(status) => return Err(status),
        }
    }
}

fn say(culprit: &Packed, misdeed: &str, how: EventKind, thread: u64) -> Result<(), Status> {
    let word = |word: ThreadWord| call(thread, Operation::Inspect, [word as u64]);
    let name = name_text(&culprit.name);
    if how == EventKind::Expired {
        println!("{name}: {misdeed}: out of time");
        return Ok(());
    }
    println!(
        "{name}: {misdeed}: fault {:#04x} of component {} at {:#x}, address {:#x}",
        word(ThreadWord::FaultSyndrome)? >> 26,
        word(ThreadWord::FaultComponent)?,
        word(ThreadWord::FaultPc)?,
        word(ThreadWord::FaultAddress)?,
    );
    Ok(())
}
