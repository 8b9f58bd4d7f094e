//! OpenMP programs in C as components
//!
//! A partition's first component, its program compiled by `gcc -fopenmp`: the runtime (`omp/`), from the
//! first instruction to `main`, and as much of the C library as `include/` declares. The tool links it to
//! a folder of C files that use OpenMP (`host/image/src/sources.rs`).

#![no_std]
#![expect(
    unsafe_code,
    reason = "C calls by name, and hands over pointers that its headers explain"
)]
#![expect(
    clippy::missing_safety_doc,
    reason = "the contract of each function is the C standard's, or in bulkhead-omp.h"
)]

mod mathematics;
mod memory;
mod sort;
mod text;
mod time;

use bulkhead_component::First;
use bulkhead_omp::backend::component;
use core::ffi::c_char;

unsafe extern "C" {
    safe fn main(count: i32, values: *const *const c_char) -> i32;
}

extern "C" fn program(count: i32, values: *const *const c_char) -> i32 {
    main(count, values)
}

bulkhead_component::component!(run);

fn run(first: First) -> ! {
    component::run(first, program)
}

/// One line of `printf`.
#[unsafe(no_mangle)]
unsafe extern "C" fn slite_print(line: *const u8, length: usize) {
    // SAFETY: the caller's line.
    component::print(unsafe { core::slice::from_raw_parts(line, length) });
}

#[unsafe(no_mangle)]
extern "C" fn exit(status: i32) -> ! {
    component::fail(status as u64)
}

#[unsafe(no_mangle)]
extern "C" fn abort() -> ! {
    component::print(b"abort");
    component::fail(1)
}

/// Longest time in which work of `work_ns` is done that comes to the VCPU of a core, nanoseconds;
/// 2⁶⁴ − 1 where there is no bound.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_omp_bound_ns(core: u32, work_ns: u64) -> u64 {
    component::bound_ns(core as usize, work_ns).unwrap_or(u64::MAX)
}

/// Budget and period of the VCPU of a core, nanoseconds.
#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_omp_vcpu(core: u32, capacity_ns: *mut u64, period_ns: *mut u64) {
    let [capacity, period] = component::budget_ns(core as usize);
    // SAFETY: the caller's places.
    unsafe { capacity_ns.write(capacity) };
    // SAFETY: as above.
    unsafe { period_ns.write(period) };
}
