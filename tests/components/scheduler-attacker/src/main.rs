//! Tries to get time that is not its own, and disturbs threads that share a server or a core's
//! mailbox with it
//!
//! A component with a scheduler. Words of the page that it shares with the judge: the attack, how
//! often it was made, and how many answers of the server were wrong.
#![no_std]
#![no_main]

use bulkhead_abi::kernel::{ALL, LEAST, NEVER, Operation, SAME_TIME, SLOTS, first as slots};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{consume_events, scb};
use bulkhead_component::invocation::invoke;
use bulkhead_component::{First, first};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Slots of the capability to invoke the server, and of the sending side of a thread of another
/// core.
const INVOKE: u64 = SLOTS - 1;
const SEND: u64 = SLOTS - 2;
/// Slot of the sending side of a thread of this core.
const NOTIFY: u64 = SLOTS - 3;
/// The server's operation, and the words on its stack meanwhile.
const DIGEST: u64 = 3;
const WORDS: u64 = 48;

fn run(mut first: First) -> ! {
    let [attack, count, wrong, ..] = first::shared();
    // Time of its own without any budget; a thread without a scheduler makes none.
    let slice = first.make(Operation::MakeTime, [slots::TIME, 0, 9]);
    let slice = slice.unwrap_or(slots::TIME);
    loop {
        match attack.load(Relaxed) {
            1 => dispatch(SAME_TIME, 1),
            2 => {
                transfer(slots::TIME, slice, 1);
                dispatch(slice, NEVER);
            }
            3 => {
                transfer(slots::TIME, slice, ALL);
                dispatch(slice, NEVER);
                transfer(slice, slots::TIME, ALL);
            }
            4 => query(count.load(Relaxed), wrong),
            5 => _ = call(SEND, Operation::Send, []),
            6 => _ = call(slots::TIME, Operation::Delegate, [NOTIFY, 1, LEAST, 0]),
            _ => continue,
        }
        count.store(count.load(Relaxed) + 1, Relaxed);
    }
}

/// Dispatches to itself.
fn dispatch(time: u64, timeout: u64) {
    consume_events(scb());
    let words = [time, timeout, scb().epoch.load(Relaxed)];
    let _stale = call(slots::THREAD, Operation::Dispatch, words);
}

fn transfer(from: u64, into: u64, cycles: u64) {
    let _none_left = call(from, Operation::Transfer, [into, cycles]);
}

/// Has the server work on its stack, and compares what it answers.
fn query(number: u64, wrong: &AtomicU64) {
    let reply = invoke(INVOKE, [DIGEST, number, 0, 0, 0]);
    let expected = (0..WORDS).fold(0, |sum: u64, word| sum.wrapping_add(number ^ word));
    if reply.status != 0 || reply.value != expected {
        wrong.store(wrong.load(Relaxed) + 1, Relaxed);
    }
}
