//! Builds the components of a partition, then looks after their scheduler
//!
//! The kernel starts it with every capability there is. It gives each component what the archive's
//! wiring says and nothing else, runs the scheduler of each core, and from there on is not heard of unless
//! one of those faults: then the partition has failed. When the components of all cores work it says so to
//! the monitor. A component that is to be restarted it makes again, on
//! the thread of the scheduler's that asks.
#![no_std]
#![no_main]

mod about;
mod build;
mod keep;
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

/// Cores of which not all applications work yet, by bit of their rank.
static AWAITED: AtomicU64 = AtomicU64::new(0);

fn run(first: First) -> ! {
    let Err(refusal) = build(first).and_then(|ward| watch(&ward));
    give_up(refusal)
}

/// What begins on the other cores.
extern "C" fn further(_: u64) -> ! {
    let Err(refusal) = alone(Builder::populate).and_then(|ward| watch(&ward));
    give_up(refusal)
}

fn give_up(refusal: Refusal) -> ! {
    let say = || println!("boot: {refusal}");
    // Nobody else is there yet, or prints what comes to the same.
    keep::with(|_| say()).unwrap_or_else(say);
    let _gone = call(first::MONITOR, Operation::Fail, [refusal.code()]);
    loop {
        clock::wait_for_interrupt();
    }
}

/// Builds all components and what runs on the first core, and has the others begin.
fn build(mut first: First) -> Result<Ward, Refusal> {
    let archive = Checked::of(first.archive()?).map_err(Refusal::Archive)?;
    let page = keep::guest(&mut first)?;
    let mut built = Builder::build(first, archive, page)?;
    let own = archive.of_role(Role::Boot);
    if let Some(console) = own.and_then(|own| console_of(archive, &own)) {
        console::open_through(console);
    }
    let applications = archive
        .threads()
        .filter(|(_, one)| one.is(Role::Application));
    let cores = applications.fold(0, |cores, (_, one)| cores | 1 << one.wiring.core);
    AWAITED.store(cores, Relaxed);
    let ward = built.populate()?;
    keep::keep(built);
    alone(|builder| builder.start_cores(further))?;
    Ok(ward)
}

/// Has the builder to itself: the cores populate themselves one after the other.
fn alone<R>(act: impl Fn(&mut Builder) -> R) -> R {
    loop {
        match keep::with(&act) {
            Some(result) => return result,
            None => clock::let_others_run(),
        }
    }
}

/// Slot of the interface by which lines are shown, if this component needs it.
fn console_of(archive: Checked<'_>, own: &Component<'_>) -> Option<u64> {
    let named = |name: &[u8; 16]| name_text(name) == bulkhead_abi::component::console::NAME;
    let needed = |number: usize| own.wiring.needs & 1 << number != 0;
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
            // It waits, though it has a thread to idle with: nothing will come.
            Err(Status::NotReady) => clock::wait_for_interrupt(),
            Err(status) => return Err(status.into()),
        }
    }
    // Its threads print in turn.
    let report =
        |builder: &mut Builder| fault::report(builder.partition(), &ward.component, ward.thread);
    Err(Refusal::Faulted(alone(report)?))
}

/// What the scheduler of core `rank` asks. The answer is a status.
fn answer(rank: u64, [what, number, ..]: [u64; 5]) -> u64 {
    let done = match what {
        // Nothing: a core is being populated.
        boot::RESTART => {
            keep::with(|builder| builder.restart(number as usize)).unwrap_or(Err(Status::InUse))
        }
        boot::READY => ready(1 << rank),
        _ => Err(Status::NoOperation),
    };
    done.err().unwrap_or(Status::Ok) as u64
}

/// The components of a core work; with the last core the partition is up.
fn ready(core: u64) -> Result<(), Status> {
    let before = AWAITED.fetch_and(!core, AcqRel);
    match before == core {
        true => call(first::MONITOR, Operation::Up, []).map(|_| ()),
        false => Ok(()),
    }
}
