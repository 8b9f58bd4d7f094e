//! Attacks by a device: what the processor may not reach, a network card is told to

use crate::attack::{Attack, Context, Fate};
use crate::guard;
use crate::nic::{self, Buffer, Nic};
use bulkhead_abi::guest::Function;
use bulkhead_rtos::{clock, hypercall};

static SENT: Buffer = Buffer::new();
static RECEIVED: Buffer = Buffer::new();

/// A value that the victim's memory does not contain.
const MARK: u64 = 0xa5a5_a5a5_a5a5_a5a5;
/// Guest-physical address of this guest's memory.
const OWN: u64 = 0x4000_0000;
const PAGE: u64 = 0x1000;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "dma-outside",
        fate: Fate::Lives,
        what: "tells a device to read and write every page from `from` to `to` outside its own, and registers",
        run: outside,
    },
    Attack {
        name: "dma-one",
        fate: Fate::Lives,
        what: "tells a device to read and write what a guest like it guards at the address `memory`",
        run: one,
    },
    Attack {
        name: "dma-stale",
        fate: Fate::Dies,
        what: "dies while a device writes into its memory (`lives=2`: and looks in its next life)",
        run: stale,
    },
    Attack {
        name: "dma-send",
        fate: Fate::Lives,
        what: "sends a packet each millisecond, `count` times",
        run: send,
    },
];

/// Registers of QEMU `virt`: distributor, UART, SMMU, a bridge.
const REGISTERS: [u64; 5] = [
    0x0800_0000,
    0x0900_0000,
    0x0905_0020,
    0x3eff_0000,
    0x40_1000_8000,
];

fn function<'c>(context: &'c Context<'_>) -> &'c Function {
    &context.system.functions()[0]
}

/// An unconfined device does not find this guest's memory where the guest does, but at `here`.
fn open(context: &Context<'_>) -> Option<Nic> {
    let nic = Nic::open(function(context), context.number("here", OWN) - OWN);
    if nic.is_none() {
        context.say(format_args!("no card"));
    }
    nic
}

/// Looped back, with what it should be able to do done once; nothing where it was not.
fn looped(context: &Context<'_>) -> Option<Nic> {
    let mut nic = open(context)?;
    nic.loop_back();
    let end = clock::now() + 2 * clock::frequency();
    let mut moved = false;
    while !moved && clock::now() < end {
        context.beat();
        context
            .system
            .wait_until(clock::now() + clock::ticks(10_000));
        moved = moves(&mut nic);
    }
    context.say(format_args!("own={moved}"));
    moved.then_some(nic)
}

/// Returns whether the device copies a packet within this guest's memory.
fn moves(nic: &mut Nic) -> bool {
    transfer(nic, nic.seen(&SENT), nic.seen(&RECEIVED))
}

/// Moves a packet; whether what was marked arrived in this guest's buffer.
fn transfer(nic: &mut Nic, from: u64, to: u64) -> bool {
    SENT.fill(MARK);
    RECEIVED.fill(0);
    nic.receive_at(to);
    let _sent = nic.send_from(from);
    RECEIVED.content() == Some(MARK)
}

/// Returns whether the device delivered data that this guest did not have before.
fn reads(nic: &mut Nic, address: u64) -> bool {
    // What the card holds of the packet before is what it sends if it cannot read the next.
    let _marked = moves(nic);
    let arrived = transfer(nic, address, nic.seen(&RECEIVED));
    !arrived && RECEIVED.first() != 0
}

fn outside(context: &mut Context<'_>) {
    let Some(mut nic) = looped(context) else {
        return;
    };
    let [from, to] = [
        context.number("from", 0x4020_0000),
        context.number("to", 0x4100_0000),
    ];
    let memory = context.system.memory()[1];
    let pages = (from..to).step_by(PAGE as usize);
    let places = pages.filter(|at| !(OWN..OWN + memory).contains(at));
    let [mut tried, mut read] = [0_u64; 2];
    for place in places.chain(REGISTERS) {
        tried += 1;
        if reads(&mut nic, place) {
            read += 1;
            context.say(format_args!("read={place:#x}"));
        }
        let from = nic.seen(&SENT);
        let _refused = transfer(&mut nic, from, place);
        context.beat();
    }
    let memory = moves(&mut nic);
    context.say(format_args!("tried={tried} read={read} own={memory}"));
}

fn one(context: &mut Context<'_>) {
    let Some(mut nic) = looped(context) else {
        return;
    };
    let place = context.number("memory", 0) + (guard::address() - OWN);
    let read = reads(&mut nic, place);
    let from = nic.seen(&SENT);
    let _refused = transfer(&mut nic, from, place);
    context.say(format_args!("place={place:#x} read={read}"));
}

fn stale(context: &mut Context<'_>) {
    let function = *function(context);
    if context.system.link().read().epoch == 1 {
        let Some(mut nic) = open(context) else { return };
        nic.receive_at(nic.seen(&RECEIVED));
        let wait = |micros| {
            context
                .system
                .wait_until(clock::now() + clock::ticks(micros))
        };
        while nic::ring_is_untouched() {
            wait(1000);
        }
        // What waited for the card has come once it has room left; then it is given room anew.
        while !nic::ring_is_untouched() {
            nic.receive_at(nic.seen(&RECEIVED));
        }
        nic.receive_at(nic.seen(&RECEIVED));
        context.say(format_args!(
            "received, master={}",
            Nic::is_master(&function)
        ));
        hypercall::fail(0);
    }
    context
        .system
        .wait_until(clock::now() + clock::ticks(50_000));
    context.say(format_args!(
        "master={} untouched={} memory={:?}",
        Nic::is_master(&function),
        nic::ring_is_untouched(),
        RECEIVED.content(),
    ));
}

fn send(context: &mut Context<'_>) {
    let Some(mut nic) = open(context) else { return };
    SENT.fill(MARK);
    let mut next = clock::now();
    let mut done = 0_u64;
    for _ in 0..context.number("count", 1000) {
        next += clock::ticks(1000);
        done += u64::from(nic.send_from(nic.seen(&SENT)));
        context.system.wait_until(next);
    }
    context.say(format_args!("sent={done}"));
}
