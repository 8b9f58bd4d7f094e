//! Owns a PCIe function, and tries to reach functions of other partitions
//!
//! The intruder enables its function, an SJA1000 behind a Kvaser bridge, and keeps the controller
//! in reset mode, in which its acceptance filter is plain memory. Each millisecond it checks that
//! the filter still holds the values that it wrote. Argument words select attacks:
//!
//! - `move-to=PORT`: moves the function's ports to that address of the bus, which belongs to
//!   another function;
//! - `touch=ADDRESS`: reads an address that is not its own;
//! - `listen=INTID`: requests an interrupt that is not its own.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "looks at addresses that are not its own")]

use bulkhead_abi::guest::Function;
use bulkhead_abi::kernel::{ALL, Operation, Rights, Status, WAIT, first};
use bulkhead_abi::{PAGE_SIZE, name_text};
use bulkhead_component::call::call;
use bulkhead_component::device::{Device, Registers};
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use core::convert::Infallible;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Slots of a bus, and bytes of configuration space of each.
const SLOTS: u64 = 32;
const SLOT: u64 = 1 << 15;
const BUS: u64 = SLOT * SLOTS;
/// Base address register of the controller.
const CONTROLLER: usize = 1;
/// Registers of the controller (SJA1000 data sheet, 6.4).
const MODE: usize = 0;
const ACCEPTANCE: usize = 16;
const CLOCK_DIVIDER: usize = 31;
const RESET_MODE: u8 = 1;
const PELICAN: u8 = 1 << 7;
const FILTER: usize = 8;
/// Checks per line of output.
const REPORT_EVERY: u64 = 100;
const LISTENER: u64 = 1;

static RECEIVE: AtomicU64 = AtomicU64::new(0);
static HEARD: AtomicU64 = AtomicU64::new(0);

fn run(mut first: First) -> ! {
    let Err(status) = look(&mut first);
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn map(first: &mut First, address: u64, bytes: u64) -> Result<u64, Status> {
    let offset = address % PAGE_SIZE;
    let pages = (offset + bytes).div_ceil(PAGE_SIZE);
    let mapped = first.map(first::DEVICES, address / PAGE_SIZE, pages, Rights::Write)?;
    Ok(mapped + offset)
}

fn look(first: &mut First) -> Result<Infallible, Status> {
    let page = first.guest()?;
    let info = page.info;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let [mut function, ..] = page.functions;
    println!("functions on the bus: {}", present(first, &function)?);
    function.configuration = map(first, function.configuration, PAGE_SIZE)?;
    for bar in function.bars.iter_mut().filter(|bar| bar.size != 0) {
        bar.address = map(first, bar.address, bar.size.into())?;
    }
    // SAFETY: mapped above, for good.
    let Ok(device) = (unsafe { Device::open(&function) }) else {
        return Err(Status::BadArgument);
    };
    let name = name_text(&function.name);
    println!("{name}: {:#010x}", function.identity);
    let filter = device.bar(CONTROLLER);
    filter.write(MODE, RESET_MODE);
    filter.write(CLOCK_DIVIDER, PELICAN);
    let pattern = |byte: usize| info.name[byte % 16] ^ byte as u8;
    (0..FILTER).for_each(|byte| filter.write(ACCEPTANCE + byte, pattern(byte)));
    let intact = |registers: Registers| {
        (0..FILTER).all(|byte| registers.read(ACCEPTANCE + byte) == pattern(byte))
    };
    println!("{name}: filter intact={}", intact(filter));
    if let Some(intid) = argument(&info, "listen") {
        listen(first, intid)?;
    }
    call(first::MONITOR, Operation::Up, [])?;
    let mut next = clock::now();
    for number in 1_u64.. {
        next += clock::frequency() / 1000;
        while clock::now() < next {
            core::hint::spin_loop();
        }
        if number.is_multiple_of(REPORT_EVERY) {
            let heard = HEARD.load(Relaxed);
            println!(
                "{name}: looks={number} intact={} heard={heard}",
                intact(filter)
            );
        }
        if number == REPORT_EVERY {
            attack(first, &device, &function, intact(filter))?;
        }
    }
    Err(Status::Nothing)
}

/// Functions that answer on its bus.
fn present(first: &mut First, function: &Function) -> Result<usize, Status> {
    let bus = function.configuration / BUS * BUS;
    let mut found = 0;
    for slot in 0..SLOTS {
        let page = map(first, bus + slot * SLOT, PAGE_SIZE)?;
        // SAFETY: mapped above, for good.
        let page = unsafe { Registers::at(page, PAGE_SIZE) };
        found += usize::from(page.read_word(0) != u32::MAX);
    }
    Ok(found)
}

fn attack(
    first: &mut First,
    device: &Device,
    function: &Function,
    intact: bool,
) -> Result<(), Status> {
    const FIRST_BAR: usize = 0x10;
    let info = first.guest_info()?;
    if let Some(port) = argument(&info, "move-to") {
        let bar = FIRST_BAR + 4 * CONTROLLER;
        device.configuration().write_word(bar, port as u32 | 1);
        let there = device.configuration().read_word(bar);
        println!("moved to {:#x}: own registers answer {intact}", there & !3);
        // It writes as if the other function's ports were its own.
        let registers = device.bar(CONTROLLER);
        (0..FILTER).for_each(|byte| registers.write(ACCEPTANCE + byte, 0));
        device
            .configuration()
            .write_word(bar, function.bars[CONTROLLER].value);
    }
    if let Some(address) = argument(&info, "touch") {
        let place = map(first, address, 4)?;
        println!("touching {address:#x}");
        // SAFETY: mapped; the attack is to find out whether the monitor allows the access.
        let word = unsafe { Registers::at(place, 4) }.read_word(0);
        println!("touched: {word:#x}");
    }
    Ok(())
}

/// Requests an interrupt.
fn listen(first: &mut First, intid: u64) -> Result<(), Status> {
    let time = first.time(ALL, 10)?;
    let thread = first.thread(listener, LISTENER, time)?;
    let [receive, send] = [first.slot(), first.slot()];
    call(thread, Operation::Receiver, [receive])?;
    call(thread, Operation::Sender, [send])?;
    RECEIVE.store(receive, Relaxed);
    println!(
        "listen: {:?}",
        call(first::INTERRUPT, Operation::Listen, [intid, send])
    );
    Ok(())
}

extern "C" fn listener(_: u64) -> ! {
    loop {
        if call(RECEIVE.load(Relaxed), Operation::Receive, [WAIT]).is_ok() {
            HEARD.fetch_add(1, Relaxed);
        }
    }
}
