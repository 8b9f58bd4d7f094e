//! Runtime of a C program that is a component: memory, output and clock
//!
//! The heap is the component's `memory`. One thread allocates: the component's first one.

#![no_std]
#![expect(
    unsafe_code,
    reason = "the C library calls by name, and gets memory that its program has alone"
)]

use bulkhead_component::{Environment, clock, console};
use bulkhead_guest::Home;
use bulkhead_libc::Blocks;
use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// The component's `memory`, of which only its first thread allocates.
struct Memory(UnsafeCell<Blocks>);

// SAFETY: used by the component's first thread alone.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new(Blocks::new()));
/// Further threads execute functions of the program.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Gives the heap the component's `memory`, installs thread-local storage and runs the program's constructors: once, before anything
/// else of the program.
///
/// # Panics
/// The component has no `memory`.
pub fn start(env: &Environment) {
    let [address, bytes] = env.memory();
    let memory = ptr::with_exposed_provenance_mut::<u8>(address as usize);
    let memory = ptr::slice_from_raw_parts_mut(memory, bytes as usize);
    if let (Some(memory), Some(blocks)) = (NonNull::new(memory).filter(|_| bytes != 0), blocks()) {
        // SAFETY: mapped for this component alone; nothing else uses it.
        unsafe { blocks.add(memory) };
    }
    let (bytes, align) = bulkhead_libc::storage_bytes();
    match <Heap as bulkhead_libc::Heap>::allocate(bytes, align) {
        Some(block) => {
            // SAFETY: a fresh block of that size, before the program.
            unsafe { block.write_bytes(0, bytes) };
            // SAFETY: as above.
            unsafe { bulkhead_libc::install(block) };
        }
        None => panic!("a C program needs `memory`: 4 KiB at least"),
    }
    bulkhead_libc::construct();
}

/// Closes the heap before several threads execute functions of the program: allocations fail from then on, and released blocks stay
/// allocated.
pub fn close_heap() {
    IS_CLOSED.store(true, Relaxed);
}

/// # Safety
/// `text` has `length` bytes.
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
    let until = clock::now().saturating_add(clock::ticks(ns));
    Environment::of_thread().sleep_until(until);
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_exit(status: i32) -> ! {
    panic!("exit {status}")
}

/// The memory; `None` once the heap is closed.
fn blocks() -> Option<&'static mut Blocks> {
    let is_open = !IS_CLOSED.load(Relaxed);
    // SAFETY: one thread until then, and no function here calls another one with it.
    is_open.then(|| unsafe { &mut *MEMORY.0.get() })
}

/// The heap of the program.
struct Heap;

impl bulkhead_libc::Heap for Heap {
    fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>> {
        blocks()?.allocate(bytes, align)
    }

    unsafe fn release(block: NonNull<u8>) {
        if let Some(blocks) = blocks() {
            // SAFETY: the caller's promise.
            unsafe { blocks.release(block) };
        }
    }

    unsafe fn resize(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        unsafe { blocks()?.resize(block, bytes) }
    }
}

bulkhead_libc::heap!(super::Heap);
