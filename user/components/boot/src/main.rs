//! Builds the components of a partition, then looks after their scheduler
//!
//! The kernel starts it with every capability there is. It gives each component what the archive's
//! wiring says and nothing else, runs the scheduler, and from there on is not heard of unless that
//! one faults: then the partition has failed. A component that is to be restarted it makes again, on
//! the thread of the scheduler's that asks.
#![no_std]
#![no_main]

mod build;
mod keep;
mod space;

use build::{Builder, Refusal};
use bulkhead_abi::component::{Role, interface_slot};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{NEVER, Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{next_event, scb};
use bulkhead_component::{First, clock, console, fault, println};
use bulkhead_formats::archive::{Checked, Component};
use core::convert::Infallible;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

bulkhead_component::serve!(answer, stack: 16384);

fn run(first: First) -> ! {
    let Err(refusal) = build_and_watch(first);
    println!("boot: {refusal}");
    let _gone = call(first::MONITOR, Operation::Fail, [refusal.code()]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn build_and_watch(mut first: First) -> Result<Infallible, Refusal> {
    let archive = Checked::of(first.archive()?).map_err(Refusal::Archive)?;
    let page = keep::guest(&mut first)?;
    let built = Builder::build(first, archive, page)?;
    let own = archive.of_role(Role::Boot);
    if let Some(console) = own.and_then(|own| console_of(archive, &own)) {
        console::open_through(console);
    }
    let scheduler = archive
        .of_role(Role::Scheduler)
        .ok_or(Refusal::NoScheduler)?;
    let runs = [built.scheduler_thread, built.time()];
    keep::keep(built);
    let syndrome = watch(runs, name_text(&page.info.name), &scheduler)?;
    Err(Refusal::Faulted(syndrome))
}

/// Slot of the interface by which lines are shown, if this component needs it.
fn console_of(archive: Checked<'_>, own: &Component<'_>) -> Option<u64> {
    let named = |name: &[u8; 16]| name_text(name) == bulkhead_abi::component::console::NAME;
    let (number, _) = archive.interfaces().find(|(_, one)| named(&one.name))?;
    (own.wiring.needs & 1 << number != 0).then_some(interface_slot(number))
}

/// Runs the scheduler until it faults; how.
fn watch(
    [thread, time]: [u64; 2],
    partition: &str,
    scheduler: &Component<'_>,
) -> Result<u64, Status> {
    loop {
        let mut faulted = false;
        while let Some((_, kind)) = next_event(scb()) {
            faulted |= kind == EventKind::Faulted;
        }
        if faulted {
            break;
        }
        let words = [time, NEVER, scb().epoch.load(Relaxed)];
        match call(thread, Operation::Dispatch, words) {
            Ok(_) | Err(Status::Stale) => {}
            // It waits, though it has a thread to idle with: nothing will come.
            Err(Status::NotReady) => clock::wait_for_interrupt(),
            Err(status) => return Err(status),
        }
    }
    fault::report(partition, scheduler, thread)
}

/// What the scheduler asks: a component is to be made again. The answer is a status.
fn answer(_: u64, [number, ..]: [u64; 5]) -> u64 {
    match keep::with(|builder| builder.restart(number as usize)) {
        Some(Ok(())) => 0,
        Some(Err(status)) => status as u64,
        // Asked twice at a time.
        None => Status::InUse as u64,
    }
}
