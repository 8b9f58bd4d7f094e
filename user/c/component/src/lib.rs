//! Components in C beside others: what `include/bulkhead.h` declares, over the runtime of components
//!
//! The program is `int main(void)` on the component's one thread. Its heap is the component's `memory`.

#![no_std]
#![expect(
    unsafe_code,
    reason = "C calls by name, and hands over pointers that its header explains"
)]
#![expect(
    clippy::missing_safety_doc,
    reason = "the contract of each function is in bulkhead.h"
)]

mod api;

use bulkhead_component::{Environment, clock, console};
use bulkhead_guest::Home;
use bulkhead_libc::Blocks;
use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};

unsafe extern "C" {
    safe fn main(count: i32, words: *const *const u8) -> i32;
}

/// A value of the component's one thread.
struct Own<T>(UnsafeCell<T>);

// SAFETY: a component has one thread.
unsafe impl<T> Sync for Own<T> {}

static BLOCKS: Own<Blocks> = Own(UnsafeCell::new(Blocks::new()));
static ENVIRONMENT: Own<Option<Environment>> = Own(UnsafeCell::new(None));

bulkhead_component::component!(run);

fn run(_: bulkhead_component::First) -> ! {
    let env = Environment::open();
    let [address, bytes] = env.memory();
    // SAFETY: the one thread's.
    unsafe { *ENVIRONMENT.0.get() = Some(env) };
    let memory = ptr::with_exposed_provenance_mut::<u8>(address as usize);
    let memory = ptr::slice_from_raw_parts_mut(memory, bytes as usize);
    if let Some(memory) = NonNull::new(memory).filter(|_| bytes != 0) {
        let blocks = blocks();
        // SAFETY: mapped for this component alone; nothing else uses it.
        unsafe { blocks.add(memory) };
    }
    let (bytes, align) = bulkhead_libc::storage_bytes();
    match <Heap as bulkhead_libc::Heap>::allocate(bytes, align) {
        Some(block) => {
            // SAFETY: a fresh block.
            unsafe { block.write_bytes(0, bytes) };
            // SAFETY: of that size, before the program.
            unsafe { bulkhead_libc::install(block) };
        }
        None => panic!("a C program needs `memory`: 4 KiB at least"),
    }
    bulkhead_libc::construct();
    let status = main(0, ptr::null());
    bulkhead_libc::flush();
    panic!("main returned {status}")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_print(text: *const u8, length: usize) {
    // SAFETY: the caller's line.
    console::print_bytes(unsafe { core::slice::from_raw_parts(text, length) });
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_thread_number() -> u32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_now_ns() -> u64 {
    clock::nanos(clock::now())
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_sleep_ns(ns: u64) {
    env().sleep_until(clock::now().saturating_add(clock::ticks(ns)));
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_exit(status: i32) -> ! {
    panic!("exit {status}")
}

/// The environment of this component.
fn env() -> &'static Environment {
    // SAFETY: written once, before the program.
    let env = unsafe { &*ENVIRONMENT.0.get() };
    env.as_ref().expect("opened before the program")
}

/// The component's `memory`.
struct Heap;

fn blocks() -> &'static mut Blocks {
    // SAFETY: one thread, and no function here calls another one with it.
    unsafe { &mut *BLOCKS.0.get() }
}

impl bulkhead_libc::Heap for Heap {
    fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>> {
        blocks().allocate(bytes, align)
    }

    unsafe fn release(block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { blocks().release(block) };
    }

    unsafe fn resize(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        unsafe { blocks().resize(block, bytes) }
    }
}

bulkhead_libc::heap!(super::Heap);
