//! Builds the components of a partition, then runs their schedulers
//!
//! The kernel starts it with every capability there is. It gives each component exactly what the
//! archive's wiring demands, runs the scheduler of each core, and stays inactive unless a scheduler
//! faults: then the partition has failed. When the components of all cores work, it reports this to
//! the monitor. It rebuilds a component that is to be restarted on the scheduler's thread that
//! requests it.
#![no_std]
#![no_main]

mod build;
mod environment;
mod shared_builder;
mod space;

use build::{Builder, Refusal, Ward};
use bulkhead_abi::component::{Role, boot, interface_slot};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{NEVER, Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_component::call::call;
use bulkhead_component::{First, clock, console, fault, println};
use bulkhead_formats::archive::{Checked, Component};
use core::convert::Infallible;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

bulkhead_component::component!(run);

bulkhead_component::serve!(answer, stack: 16384);

/// Cores on which not all applications, or not the scheduler's own work, have begun yet, by bit of their rank.
static AWAITED: AtomicU64 = AtomicU64::new(0);

fn run(first: First) -> ! {
    let Err(refusal) = build(first).and_then(|ward| watch(&ward));
    give_up(refusal)
}

/// First thread of the other cores.
extern "C" fn further(_: u64) -> ! {
    let Err(refusal) = alone(Builder::populate).and_then(|ward| watch(&ward));
    give_up(refusal)
}

fn give_up(refusal: Refusal) -> ! {
    let say = || println!("boot: {refusal}");
    // If another thread has the builder, this one prints the same line.
    shared_builder::with(|_| say()).unwrap_or_else(say);
    let _gone = call(first::MONITOR, Operation::Fail, [refusal.code()]);
    loop {
        clock::wait_for_interrupt();
    }
}

/// Builds all components and the threads of the first core, and starts the other cores.
fn build(mut first: First) -> Result<Ward, Refusal> {
    let page = shared_builder::guest(&mut first)?;
    // Until the owner of the console exists, a refusal is printed without it.
    let output = page.info.console_out;
    if let Ok(region) = first.window(output) {
        console::open(region, output[1]);
    }
    let archive = Checked::of(first.archive()?).map_err(Refusal::Archive)?;
    let mut built = Builder::build(first, archive, page)?;
    let boot = archive.of_role(Role::Boot);
    match boot.and_then(|boot| console_of(archive, &boot)) {
        Some(console) => console::open_through(console),
        None => console::close(),
    }
    let applications = archive
        .threads()
        .map(|thread| thread.component)
        .filter(|one| one.is(Role::Application));
    let schedulers = archive.components().filter(|one| one.wiring.has_work != 0);
    let awaited = applications.chain(schedulers);
    let cores = awaited.fold(0, |cores, one| cores | 1 << one.wiring.core);
    AWAITED.store(cores, Relaxed);
    let ward = built.populate()?;
    shared_builder::keep(built);
    alone(|builder| builder.start_cores(further))?;
    Ok(ward)
}

/// Waits for the builder: the cores populate themselves one after the other.
fn alone<R>(act: impl Fn(&mut Builder) -> R) -> R {
    loop {
        match shared_builder::with(&act) {
            Some(result) => return result,
            None => clock::let_others_run(),
        }
    }
}

/// Slot of the console interface, if this component uses it.
fn console_of(archive: Checked<'_>, boot: &Component<'_>) -> Option<u64> {
    let named = |name: &[u8; 16]| name_text(name) == bulkhead_abi::component::console::NAME;
    let needed = |number: usize| boot.wiring.needs & 1 << number != 0;
    let mut interfaces = archive.interfaces();
    let (number, _) = interfaces.find(|(number, one)| needed(*number) && named(&one.name))?;
    Some(interface_slot(number))
}

/// Runs a scheduler until it faults.
fn watch(ward: &Ward) -> Result<Infallible, Refusal> {
    let scb = ward.root.scb;
    loop {
        let mut faulted = false;
        while let Some((_, kind)) = scb.next_event() {
            faulted |= kind == EventKind::Faulted;
        }
        if faulted {
            break;
        }
        let words = [ward.time, NEVER, scb.epoch.load(Relaxed)];
        match call(ward.thread, Operation::Dispatch, words) {
            Ok(_) | Err(Status::Stale) => {}
            // It waits, although it has an idle thread: it will never run again.
            Err(Status::NotReady) => clock::wait_for_interrupt(),
            Err(status) => return Err(status.into()),
        }
    }
    // Threads of the scheduler print in turn.
    let report =
        |builder: &mut Builder| fault::report(builder.partition(), &ward.component, 0, ward.thread);
    Err(Refusal::Faulted(alone(report)?))
}

/// Handles a request of the scheduler of core `rank`. Returns a status.
fn answer(rank: u64, [what, number, ..]: [u64; 5]) -> u64 {
    let done = match what {
        // The builder is in use: a core is being populated.
        boot::RESTART => shared_builder::with(|builder| builder.restart(number as usize))
            .unwrap_or(Err(Status::InUse)),
        boot::READY => ready(1 << rank),
        _ => Err(Status::NoOperation),
    };
    done.err().unwrap_or(Status::Ok) as u64
}

/// Marks the components of a core as working; with the last core the partition is up.
fn ready(core: u64) -> Result<(), Status> {
    let before = AWAITED.fetch_and(!core, AcqRel);
    match before == core {
        true => call(first::MONITOR, Operation::Up, []).map(|_| ()),
        false => Ok(()),
    }
}
