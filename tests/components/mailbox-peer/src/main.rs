//! One end of a transaction buffer between partitions, on a VCPU ("A Real-Time Scheduling
//! Framework…" §4.2, §4.6.1)
//!
//! The end that writes the channel sends requests, the other one answers. Bytes cost time,
//! `delta_ns` each, as if shared memory were not cached. An end that waits for its peer uses up its
//! budget, like one that polls: a second thread on the same VCPU stays awake, but executes nothing
//! in the meantime. The sender pauses for random times, so that periods and budgets meet in every
//! phase.
#![no_std]
#![no_main]

mod end;

use bulkhead_abi::guest::{ChannelEnd, Role};
use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::Binding;
use bulkhead_slite::{Mutex, VcpuThreads, capacity, jobs_on};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use end::End;

bulkhead_component::component!(run);

static CORE: VcpuThreads<4, 2, 16> = VcpuThreads::new(false);

/// Settings of the experiment, from the argument words.
#[derive(Clone, Copy)]
struct Settings {
    /// True for one-way transfers of many slots, false for round trips.
    one_way: bool,
    /// Number of exchanges.
    exchanges: u64,
    /// Slots of a transfer.
    slots: u64,
    /// Time to move a byte.
    delta_ns: u64,
    /// Longest pause before an exchange.
    pause_ticks: u64,
}

static SETTINGS: Mutex<Settings> = Mutex::new(Settings {
    one_way: false,
    exchanges: 0,
    slots: 0,
    delta_ns: 0,
    pause_ticks: 1,
});
static END: Mutex<Option<End>> = Mutex::new(None);
static RECEIVE: AtomicU64 = AtomicU64::new(0);

fn run(mut first: First) -> ! {
    if let Err(status) = start(&mut first) {
        println!("stopped: {status:?}");
        let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    }
    loop {
        CORE.threads.run(NEVER);
    }
}

fn start(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let archive = first.archive()?;
    let timing = first.timing(archive)?;
    let word = |key, usual| argument(&info, key).unwrap_or(usual);
    CORE.threads.prepare(first)?;
    let counted = CORE.configure(&timing, 0);
    counted.map_err(|_| Status::BadArgument)?;
    let vcpu = timing.vcpus.first().ok_or(Status::Nothing)?;
    let limits = capacity([vcpu.capacity_ns, vcpu.period_ns]);
    let settings = Settings {
        one_way: word("one_way", 0) != 0,
        exchanges: word("exchanges", 100),
        slots: word("slots", 1024),
        delta_ns: word("delta_ns", 0),
        pause_ticks: limits.period,
    };
    let _kept = SETTINGS.with(&CORE.threads, |kept| *kept = settings);
    let vcpu = CORE.create_main(first, limits, jobs_on(&timing, 0));
    let binding = Binding::main(vcpu.map_err(|_| Status::BadArgument)?);
    let channel = info.channels.first().ok_or(Status::Nothing)?;
    let entry = match channel.role {
        role if role == Role::Writer as u32 => ask,
        _ => answer,
    };
    let end = open(first, channel)?;
    let _kept = END.with(&CORE.threads, |place| *place = Some(end));
    let index = CORE.threads.spawn(first, entry, binding)?;
    CORE.threads.spawn(first, stay_awake, binding)?;
    let [receive, send] = CORE.threads.receive_end(first, index)?;
    RECEIVE.store(receive, Relaxed);
    let listen = [channel.doorbell_in.into(), send];
    call(first::INTERRUPT, Operation::Listen, listen)?;
    call(first::MONITOR, Operation::Up, []).map(drop)
}

fn open(first: &mut First, channel: &ChannelEnd) -> Result<End, Status> {
    let region = first.window([channel.ipa, channel.size])?;
    End::open(region, channel).ok_or(Status::BadArgument)
}

/// Uses up the budget while there is no work.
extern "C" fn stay_awake(_: u64) -> ! {
    loop {
        clock::wait_for_interrupt();
        CORE.threads.yield_now();
    }
}

/// Takes the parameters of the working thread.
fn means() -> (End, Settings) {
    let settings = SETTINGS.with(&CORE.threads, |settings| *settings);
    let end = END.with(&CORE.threads, Option::take);
    match (end, settings) {
        (Ok(Some(end)), Ok(settings)) => (end, settings),
        _ => panic!("no channel"),
    }
}

extern "C" fn ask(_: u64) -> ! {
    let (end, settings) = means();
    end.ask(settings)
}

extern "C" fn answer(_: u64) -> ! {
    let (end, settings) = means();
    end.answer(settings)
}
