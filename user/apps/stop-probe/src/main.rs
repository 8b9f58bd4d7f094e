//! Orders restarts of a partition, for measuring how long a stop takes
//!
//! Argument words: `target=INDEX` is the partition, `orders=NUMBER` how many restarts, `every_us=TIME` the distance
//! between two. Each order is announced with the counter value at which it will be given, so that nothing but the
//! call itself lies between. A partition that orders its own restart counts by its starts.
#![no_std]
#![no_main]

use bulkhead_rtos::{Period, System, clock, hypercall, println};
use core::convert::Infallible;
use core::ops::ControlFlow;

bulkhead_rtos::application!(run);

/// From the announcement to the order: printing takes a part of it.
const LEAD_US: u64 = 500;

fn run(system: &System) -> Result<Infallible, hypercall::Refused> {
    system.announce_up()?;
    let number = |key| system.argument(key).and_then(|text| text.parse().ok());
    let target = number("target").unwrap_or(0);
    let orders = number("orders").unwrap_or(0);
    let every = clock::ticks(number("every_us").unwrap_or(10_000));
    let given = u64::from(system.link().read().epoch) - 1;
    let mut next = clock::now() + every;
    for order in given..orders {
        // Not in step with the turns of an emulator's cores.
        next += every + order * 7919 % clock::ticks(50);
        system.wait_until(next - clock::ticks(LEAD_US));
        println!("order {order} at {next}");
        while clock::now() < next {}
        hypercall::restart(target)?;
    }
    println!("ordered {orders} times");
    system.run_periodic("idle", Period::from_micros(1000), |_| {
        ControlFlow::Continue(())
    })
}
