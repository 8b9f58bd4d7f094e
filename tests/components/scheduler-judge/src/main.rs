//! Runs attacks on schedulers, budgets, stacks of servers and mailboxes, and measures what they get
//!
//! The root scheduler of two cores. Each attack has a line: `contained`, or by how much it was not.
#![no_std]
#![no_main]

mod flood;
mod ward;

use bulkhead_abi::kernel::{NEVER, Operation, SLOTS, Status, first as slots};
use bulkhead_component::call::call;
use bulkhead_component::{First, clock, console, println};
use core::sync::atomic::Ordering::Relaxed;
use flood::Flood;
use ward::Ward;

bulkhead_component::component!(run);

/// Identities of the address spaces of the server and the attackers; the latter are their indices,
/// too.
const SERVER: u64 = 2;
const EVADER: u64 = 3;
const VICTIM: u64 = 4;
const COLLIDER: u64 = 5;
const FLOODER: u64 = 6;
/// Index of a thread that the evader may only notify, and the slot of that right in its table.
const NOTIFIED: u64 = 29;
const NOTIFY: u64 = SLOTS - 3;
/// Budgets that an evader is given, each of so many microseconds.
const BUDGETS: u64 = 100;
const BUDGET_US: u64 = 200;
/// By so many per mille a budget may seem exceeded: the judge's own dispatch, and a path of the
/// kernel at the end.
const TOLERANCE: u64 = 25;
/// Slices of each of two clients, and microseconds of each.
const SLICES: u64 = 800;
const SLICES_US: [u64; 2] = [17, 13];

fn run(mut first: First) -> ! {
    if let Err(status) = judge(&mut first) {
        println!("stopped: {status:?}");
        let _gone = call(slots::MONITOR, Operation::Fail, [status as u64]);
    }
    loop {
        clock::wait_for_interrupt();
    }
}

fn judge(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let [_, echo, attacker, ..] = &first.archive()?.components;
    let server = first.component(echo, SERVER)?;
    let entry = first.invocation(echo, server.component, 40)?;
    let [evader, victim, collider] =
        [EVADER, VICTIM, COLLIDER].map(|index| Ward::new(first, attacker, index, entry));
    let flood = Flood::new(first, attacker, FLOODER)?;
    call(slots::MONITOR, Operation::Up, [])?;
    let evader = evader?;
    for (attack, name) in [
        (1, "past time-outs"),
        (2, "slices of one tick"),
        (3, "budget to and fro"),
    ] {
        evade(&evader, attack, name)?;
    }
    delegate(first, &evader)?;
    collide(&victim?, &collider?)?;
    flood.judge(first)?;
    println!("attacks done");
    Ok(())
}

/// Has the evader use up budgets, and compares them with the time for which it had the core.
fn evade(evader: &Ward, attack: u64, name: &str) -> Result<(), Status> {
    let [what, count, ..] = evader.shared;
    what.store(attack, Relaxed);
    let made = count.load(Relaxed);
    let budget = BUDGET_US * clock::frequency() / 1_000_000;
    let mut held = 0;
    for _ in 0..BUDGETS {
        evader.grant(budget)?;
        held += evader.run(NEVER)?;
    }
    what.store(0, Relaxed);
    let given = BUDGETS * budget;
    let contained = held <= given + given * TOLERANCE / 1000;
    println!(
        "{name}: attempts={} held_us={} of {} {}",
        count.load(Relaxed) - made,
        micros(held),
        micros(given),
        verdict(contained),
    );
    Ok(())
}

/// Has the evader delegate single cycles of no importance to the time of a thread that it may only notify.
fn delegate(first: &mut First, evader: &Ward) -> Result<(), Status> {
    const CYCLES: u64 = 1000;
    let time = first.time(CYCLES, 1)?;
    let thread = first.thread(idle, NOTIFIED, time)?;
    let send = first.slot();
    call(thread, Operation::Sender, [send])?;
    call(evader.leaf, Operation::Copy, [NOTIFY, send])?;
    let [attack, count, ..] = evader.shared;
    let made = count.load(Relaxed);
    attack.store(6, Relaxed);
    evader.grant(BUDGET_US * clock::frequency() / 1_000_000)?;
    evader.run(NEVER)?;
    attack.store(0, Relaxed);
    let remaining = call(time, Operation::Budget, [])?;
    let attempts = count.load(Relaxed) - made;
    println!(
        "delegation by the right to notify: attempts={attempts} {}",
        verdict(remaining == CYCLES && attempts > 0)
    );
    Ok(())
}

extern "C" fn idle(_: u64) -> ! {
    loop {
        clock::wait_for_interrupt();
    }
}

/// Has two clients with the same index under schedulers of their own be in the server at once.
fn collide(victim: &Ward, collider: &Ward) -> Result<(), Status> {
    let clients = [victim, collider];
    for client in clients {
        client.shared[0].store(4, Relaxed);
        client.grant(clock::frequency())?;
    }
    // They never compute the same.
    collider.shared[1].store(1 << 32, Relaxed);
    for _ in 0..SLICES {
        for (client, slice) in clients.into_iter().zip(SLICES_US) {
            client.run(clock::now() + slice * clock::frequency() / 1_000_000)?;
        }
    }
    let [_, calls, wrong, ..] = victim.shared;
    let [calls, wrong] = [calls, wrong].map(|word| word.load(Relaxed));
    println!(
        "stacks of a server: calls={calls} wrong={wrong} {}",
        verdict(wrong == 0 && calls > 100)
    );
    Ok(())
}

fn micros(ticks: u64) -> u64 {
    ticks * 1_000_000 / clock::frequency()
}

fn verdict(contained: bool) -> &'static str {
    if contained {
        "contained"
    } else {
        "NOT CONTAINED"
    }
}
