//! Runs call fuzzers, and checks their effects on other components
//!
//! The root scheduler of its partition. One component after the other gets the capabilities of a
//! scheduler and calls the kernel with random words, for one slice of time after the other.
//! Capabilities that it removed are replaced between slices. After each slice a witness component
//! next to it checks its own memory. Once the kernel's table of schedulers is full, the supervisor
//! prints the results, and the partition restarts with another seed.
#![no_std]
#![no_main]

use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{ALL, IMAGE, LEAVES, Operation, Packed, SLOTS, Status, first as slots};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::scb;
use bulkhead_component::first::{Component, Subsystem};
use bulkhead_component::invocation::call_or_invoke;
use bulkhead_component::{First, clock, console, println};
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Interrupt lines that the fuzzer may receive.
const FIRST_LINE: u64 = 40;
const LINES: u64 = 8;
/// Identities of the address spaces; that of the n-th fuzzer is greater by n.
const SERVER: u64 = 2;
const BYSTANDER: u64 = 3;
const ATTACKER: u64 = 4;
/// Priorities of their time.
const IMPORTANT: u64 = 5;
const UNIMPORTANT: u64 = 9;
/// Pages with which a fuzzer may do anything.
const OWN_PAGES: u64 = 24;
/// Maximum slices of a fuzzer, and ticks of each.
const SLICES: u64 = 40;
const SLICE: u64 = 50_000;
/// Slot of its capability to invoke the server.
const INVOKE: u64 = SLOTS - 1;
/// Slot of the supervisor's own table in which the fuzzer's leaf hangs in the meantime.
const HUNG: u64 = LEAVES - 1;
/// Code with which the partition fails in order to restart.
const AGAIN: u64 = 0x4147_4149;

fn run(mut first: First) -> ! {
    let code = match watch(&mut first) {
        Ok(()) => AGAIN,
        Err(status) => {
            println!("stopped: {status:?}");
            status as u64
        }
    };
    let _gone = call(slots::MONITOR, Operation::Fail, [code]);
    loop {
        clock::wait_for_interrupt();
    }
}

/// Results.
#[derive(Default)]
struct Seen {
    attackers: u64,
    calls: u64,
    faulted: u64,
    /// Slices after which the witness had not run.
    missed: u64,
}

fn watch(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let [_, echo, bystander, reckless, ..] = &first.archive()?.components;
    let server = first.component(echo, SERVER)?;
    let entry = first.invocation(echo, server.component, 40)?;
    let time = first.time(ALL, IMPORTANT)?;
    let bystander = first.subsystem(bystander, [BYSTANDER, BYSTANDER, time, 8])?;
    let mut bystander = Ward {
        time,
        of: bystander,
    };
    bystander.run(BYSTANDER)?;
    call(slots::MONITOR, Operation::Up, [])?;
    let mut seen = Seen::default();
    while let Ok(mut attacker) = Attacker::new(first, reckless, ATTACKER + seen.attackers, entry) {
        seen.attackers += 1;
        attacker.attack(&mut bystander, &mut seen)?;
    }
    let [looks, wrong, notified, ..] = bystander.of.shared;
    println!(
        "attackers={} calls={} faulted={} looks={} notified={} missed={} wrong={}",
        seen.attackers,
        seen.calls,
        seen.faulted,
        looks.load(Relaxed),
        notified.load(Relaxed),
        seen.missed,
        wrong.load(Relaxed),
    );
    Ok(())
}

/// A component that is notified and runs for a slice.
struct Ward {
    time: u64,
    of: Subsystem,
}

impl Ward {
    /// Runs it. Returns whether it faulted; `index` is its own.
    fn run(&mut self, index: u64) -> Result<bool, Status> {
        call(self.of.sender, Operation::Send, [])?;
        let end = clock::now() + SLICE;
        loop {
            let mut faulted = false;
            while let Some((of, kind)) = scb().next_event() {
                faulted |= of == index && kind == EventKind::Faulted;
            }
            if scb().overflow.load(Relaxed) != 0 {
                call(slots::SCHEDULER, Operation::Fetch, [])?;
                continue;
            }
            if faulted || clock::now() >= end {
                return Ok(faulted);
            }
            let words = [self.time, end, scb().epoch.load(Relaxed)];
            match call(self.of.thread, Operation::Dispatch, words) {
                Ok(_) | Err(Status::Stale) => {}
                // It waits.
                Err(Status::NotReady) => return Ok(false),
                Err(status) => return Err(status),
            }
        }
    }
}

struct Attacker {
    index: u64,
    ward: Ward,
    table: u64,
    leaf: u64,
    /// Its capabilities: slot and object.
    given: [[u64; 2]; 10],
    memory: u64,
}

impl Attacker {
    fn new(first: &mut First, packed: &Packed, index: u64, server: u64) -> Result<Self, Status> {
        let made = first.component(packed, index)?;
        let Component {
            component,
            table,
            leaf,
            pages,
        } = made;
        let shared = first.share(&made)?;
        let time = first.time(0, UNIMPORTANT)?;
        let memory = first.position().page + 1;
        let place = [slots::SCHEDULER, index, time, OWN_PAGES];
        let [thread, sender, scheduler] = first.schedule(&made, packed, place)?;
        let receive = first.slot();
        call(thread, Operation::Receiver, [receive])?;
        // It translates the addresses behind the image; the fuzzer cannot unmap its own image.
        let further = first.make(Operation::MakePages, [3])?;
        call(pages[1], Operation::Attach, [(IMAGE >> 21) + 1, further])?;
        let spare = first.make(Operation::MakePages, [2])?;
        let attacker = Self {
            index,
            ward: Ward {
                time,
                of: Subsystem {
                    thread,
                    sender,
                    shared,
                },
            },
            table,
            leaf,
            given: [
                [slots::TABLE, table],
                [slots::LEAF, leaf],
                [slots::COMPONENT, component],
                [slots::PAGES[1], spare],
                [slots::PAGES[2], further],
                [slots::THREAD, thread],
                [slots::SCHEDULER, scheduler],
                [slots::RECEIVE, receive],
                [slots::TIME, time],
                [INVOKE, server],
            ],
            memory,
        };
        attacker.ward.of.shared[1].store(clock::now(), Relaxed);
        Ok(attacker)
    }

    /// Runs the fuzzer and the witness in turn.
    fn attack(&mut self, bystander: &mut Ward, seen: &mut Seen) -> Result<(), Status> {
        for _ in 0..SLICES {
            self.furnish()?;
            let remaining = call(self.ward.time, Operation::Budget, [])?;
            if remaining < SLICE {
                let words = [self.ward.time, SLICE - remaining];
                call(slots::TIME, Operation::Transfer, words)?;
            }
            let faulted = self.ward.run(self.index)?;
            let before = bystander.of.shared[0].load(Relaxed);
            let fell = bystander.run(BYSTANDER)?;
            let looked = bystander.of.shared[0].load(Relaxed) == before + 1;
            seen.missed += u64::from(fell || !looked);
            if faulted {
                seen.faulted += 1;
                break;
            }
        }
        seen.calls += self.ward.of.shared[0].load(Relaxed);
        Ok(())
    }

    /// Retires everything that it has created, and restores its first capabilities.
    fn furnish(&self) -> Result<(), Status> {
        call(slots::TABLE, Operation::Copy, [HUNG, self.leaf])?;
        for place in slots::FREE..INVOKE {
            while retire(HUNG * SLOTS + place) == Status::Resting as u64 {}
        }
        call(slots::TABLE, Operation::Remove, [HUNG])?;
        for place in 1..SLOTS {
            call(self.leaf, Operation::Remove, [place])?;
        }
        // An object that another one refers to is released in the second round, or is lost to it.
        for page in (0..2).flat_map(|_| self.memory..self.memory + OWN_PAGES) {
            let _in_use = call(slots::MEMORY, Operation::Reclaim, [page]);
        }
        let _it_is_there = call(self.table, Operation::Copy, [0, self.leaf]);
        for [place, from] in self.given {
            call(self.leaf, Operation::Copy, [place, from])?;
        }
        let lines = [slots::INTERRUPT, slots::INTERRUPT, FIRST_LINE, LINES];
        call(self.leaf, Operation::Copy, lines)?;
        let memory = [slots::MEMORY, slots::MEMORY, self.memory, OWN_PAGES];
        call(self.leaf, Operation::Copy, memory).map(|_| ())
    }
}

/// Retires the object that the fuzzer left in a slot.
fn retire(slot: u64) -> u64 {
    call_or_invoke(slot, Operation::Retire as u64, [0; 5]).status
}
