//! Fails again and again, for measuring restarts
//!
//! An image of 64 KiB that gives up as soon as it is up, as often as the argument word
//! `restarts=NUMBER` says, and then lives on. Marks in its trace tell when it came and went.
#![no_std]
#![no_main]

use bulkhead_rtos::{Period, System, clock, println, trace};
use core::convert::Infallible;
use core::hint::black_box;
use core::ops::ControlFlow;

bulkhead_rtos::application!(run);

/// Content that makes the image as large as the promise is made for, bytes.
const BULK: usize = 40 << 10;

static CONTENT: [u8; BULK] = [0xa5; BULK];

fn run(system: &System) -> Result<Infallible, &'static str> {
    let started = clock::now();
    trace::mark("started", started, 0);
    black_box(&CONTENT);
    let _counted_from_here = system.announce_up();
    let requested = system
        .argument("restarts")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    if system.link().read().epoch <= requested {
        trace::mark("failing", clock::now(), 0);
        return Err("on purpose");
    }
    println!("restarted {requested} times");
    system.run_periodic("idle", Period::from_micros(1000), |_| {
        ControlFlow::Continue(())
    })
}
