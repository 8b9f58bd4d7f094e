//! Serves a level-triggered interrupt: a PL011 that has sent a byte
//!
//! The line is raised when the transmitter has sent, and stays raised until it is cleared at the
//! device (Arm DDI 0183, 2.8). A thread serves it. A thread with a lower priority counts how often
//! time-outs interrupt it while the line is raised.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "registers of a device")]

use bulkhead_abi::kernel::{ALL, Operation, Rights, Status, WAIT, first};
use bulkhead_component::call::{Answer, call};
use bulkhead_component::dispatch::{consume_events, scb};
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use core::convert::Infallible;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};

bulkhead_component::component!(run);

const DRIVER: u64 = 1;
const SLEEPER: u64 = 2;
/// Registers of the PL011 (Arm DDI 0183, 3.2).
const DATA: usize = 0x00;
const CONTROL: usize = 0x30;
const MASK: usize = 0x38;
const CLEAR: usize = 0x44;
/// UARTEN and TXE.
const ENABLED: u32 = 1 | 1 << 8;
/// TXIM and TXIC.
const TRANSMIT: u32 = 1 << 5;
/// Ticks between two checks.
const PAUSE: u64 = 20_000;

static DEVICE: AtomicUsize = AtomicUsize::new(0);
static RECEIVE: AtomicU64 = AtomicU64::new(0);
/// Notifications that the driver received.
static SERVED: AtomicU64 = AtomicU64::new(0);

fn write(register: usize, value: u32) {
    let address: *mut u32 = core::ptr::with_exposed_provenance_mut(DEVICE.load(Relaxed) + register);
    // SAFETY: a register of the device, mapped before.
    unsafe { address.write_volatile(value) };
}

fn run(mut first: First) -> ! {
    let Err(status) = drive(&mut first);
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    sleep(0)
}

extern "C" fn sleep(_: u64) -> ! {
    loop {
        clock::wait_for_interrupt();
    }
}

extern "C" fn driver(_: u64) -> ! {
    loop {
        if call(RECEIVE.load(Relaxed), Operation::Receive, [WAIT]).is_ok() {
            SERVED.fetch_add(1, Relaxed);
        }
    }
}

fn drive(first: &mut First) -> Result<Infallible, Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let number = |key| argument(&info, key).ok_or(Status::BadArgument);
    let (address, intid) = (number("address")?, number("intid")?);
    let page = address / bulkhead_abi::PAGE_SIZE;
    let device = first.map(first::DEVICES, page, 1, Rights::Write)?;
    DEVICE.store(device as usize, Relaxed);
    let [driver_time, sleeper_time] = [first.time(ALL, 10)?, first.time(ALL, 20)?];
    let driver = first.thread(driver, DRIVER, driver_time)?;
    let sleeper = first.thread(sleep, SLEEPER, sleeper_time)?;
    let [receive, sender] = [first.slot(), first.slot()];
    call(driver, Operation::Receiver, [receive])?;
    call(driver, Operation::Sender, [sender])?;
    RECEIVE.store(receive, Relaxed);
    let level = call(first::INTERRUPT, Operation::Listen, [intid, sender])?;
    println!("level: {level}");
    call(first::MONITOR, Operation::Up, [])?;
    dispatch(driver, driver_time, ALL)?;
    write(CONTROL, ENABLED);
    write(MASK, TRANSMIT);
    write(DATA, u32::from(b'!'));
    let look = |looks: u64| -> Answer {
        for _ in 0..looks {
            // The interrupt also preempts this thread, which has a higher priority and has to let
            // the other one run.
            match dispatch(driver, driver_time, ALL) {
                Ok(_) | Err(Status::NotReady) => {}
                Err(status) => return Err(status),
            }
            dispatch(sleeper, sleeper_time, clock::now() + PAUSE)?;
        }
        Ok(SERVED.load(Relaxed))
    };
    println!("raised, ten time-outs later: served {}", look(10)?);
    complete(intid)?;
    println!("completed without serving: served {}", look(10)?);
    write(CLEAR, TRANSMIT);
    complete(intid)?;
    println!("cleared and completed: served {}", look(10)?);
    let status = call(first::INTERRUPT, Operation::Complete, [intid]);
    println!("nothing to complete: {status:?}");
    write(DATA, u32::from(b'!'));
    println!("raised again: served {}", look(1)?);
    loop {
        clock::wait_for_interrupt();
    }
}

fn complete(intid: u64) -> Answer {
    call(first::INTERRUPT, Operation::Complete, [intid])
}

/// Runs a thread until it waits or the time-out expires; interruptions in between are ignored.
fn dispatch(thread: u64, time: u64, timeout: u64) -> Answer {
    consume_events(scb());
    let epoch = scb().epoch.load(Relaxed);
    call(thread, Operation::Dispatch, [time, timeout, epoch])
}
