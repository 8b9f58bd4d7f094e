//! OpenMP programs in C as components
//!
//! A partition's first component, its program compiled by `gcc -fopenmp`: the runtime (`omp/`), from the
//! first instruction to `main`. The tool links it, with the C library, to
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

use bulkhead_component::{First, clock};
use bulkhead_omp::backend::Backend;
use bulkhead_omp::backend::component::{self, Component};
use core::ffi::c_char;
use core::ptr::NonNull;

unsafe extern "C" {
    safe fn main(count: i32, values: *const *const c_char) -> i32;
}

extern "C" fn program(count: i32, values: *const *const c_char) -> i32 {
    bulkhead_libc::construct();
    let status = main(count, values);
    bulkhead_libc::flush();
    status
}

bulkhead_component::component!(run);

fn run(first: First) -> ! {
    bulkhead_omp::program::run(first, program)
}

/// One line of the streams.
#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_print(line: *const u8, length: usize) {
    // SAFETY: the caller's line.
    component::print(unsafe { core::slice::from_raw_parts(line, length) });
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_thread_number() -> u32 {
    bulkhead_component::cores::rank() as u32
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_exit(status: i32) -> ! {
    component::fail(status as u64)
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_now_ns() -> u64 {
    Component::now_ns()
}

/// The thread sleeps, as a thread of a process does, and the task it runs with it.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_sleep_ns(ns: u64) {
    component::sleep_until(clock::now().saturating_add(clock::ticks(ns)));
}

/// The runtime's own heap, which all cores share.
struct Heap;

impl bulkhead_libc::Heap for Heap {
    fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>> {
        Component::allocate(bytes, align)
    }

    unsafe fn release(block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { Component::release(block) };
    }

    unsafe fn resize(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        unsafe { component::resize(block, bytes) }
    }
}

bulkhead_libc::heap!(super::Heap);

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
