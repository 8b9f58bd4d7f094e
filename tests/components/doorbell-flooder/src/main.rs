//! Rings its first doorbell without end
//!
//! `every_us=N`: interval of the rings in microseconds. It pauses in between, so that on an
//! instruction-counted clock it takes no turns from the partition that it rings.
#![no_std]
#![no_main]

use bulkhead_abi::guest::NONE;
use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use bulkhead_slite::Threads;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

static THREADS: Threads<FixedPriority<Preemptive, 2>, 2> =
    Threads::new(FixedPriority::new(Preemptive));
static DOORBELL: AtomicU64 = AtomicU64::new(0);
/// Ticks between two rings.
static PAUSE: AtomicU64 = AtomicU64::new(0);

fn run(mut first: First) -> ! {
    if let Err(status) = start(&mut first) {
        println!("stopped: {status:?}");
        let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    }
    loop {
        THREADS.run(NEVER);
    }
}

fn start(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let ends = info.channels.iter().take(info.channel_count as usize);
    let doorbell = ends
        .map(|end| end.doorbell_out)
        .find(|&index| index != NONE);
    DOORBELL.store(doorbell.ok_or(Status::Nothing)?.into(), Relaxed);
    let every_us = argument(&info, "every_us").unwrap_or(50);
    PAUSE.store(every_us * clock::frequency() / 1_000_000, Relaxed);
    THREADS.prepare(first)?;
    THREADS.spawn(first, ring, Priority(1))?;
    call(first::MONITOR, Operation::Up, []).map(drop)
}

extern "C" fn ring(_: u64) -> ! {
    let mut next = clock::now();
    loop {
        next += PAUSE.load(Relaxed);
        THREADS.block(next);
        // Rings above the agreed rate are dropped, without a notification.
        let _rung = call(first::MONITOR, Operation::Ring, [DOORBELL.load(Relaxed)]);
    }
}
