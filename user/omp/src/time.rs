//! `time.h`: one clock, the machine's

use bulkhead_component::clock;
use bulkhead_omp::backend::Backend;
use bulkhead_omp::backend::component::{Component, sleep_until};

/// `struct timespec`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

const SECOND: u64 = 1_000_000_000;

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(_: i32, time: *mut Timespec) -> i32 {
    let now = Component::now_ns();
    let value = Timespec {
        seconds: (now / SECOND) as i64,
        nanoseconds: (now % SECOND) as i64,
    };
    // SAFETY: the caller's place.
    unsafe { time.write(value) };
    0
}

/// The thread sleeps, as a thread of a process does, and the task it runs with it.
#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const Timespec, _: *mut Timespec) -> i32 {
    // SAFETY: the caller's value.
    let time = unsafe { time.read() };
    let ns = (time.seconds as u64)
        .saturating_mul(SECOND)
        .saturating_add(time.nanoseconds as u64);
    sleep_until(clock::now().saturating_add(clock::ticks(ns)));
    0
}
