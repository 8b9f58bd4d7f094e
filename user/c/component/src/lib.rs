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

use bulkhead_component::Environment;
use core::cell::UnsafeCell;
use core::ptr;

unsafe extern "C" {
    safe fn main(count: i32, words: *const *const u8) -> i32;
}

/// The environment, of the component's one thread.
struct Opened(UnsafeCell<Option<Environment>>);

// SAFETY: a component has one thread.
unsafe impl Sync for Opened {}

static ENVIRONMENT: Opened = Opened(UnsafeCell::new(None));

bulkhead_component::component!(run);

fn run(_: bulkhead_component::First) -> ! {
    let opened = Environment::open();
    // SAFETY: the one thread's.
    unsafe { *ENVIRONMENT.0.get() = Some(opened) };
    bulkhead_c_runtime::start(env());
    let status = main(0, ptr::null());
    bulkhead_libc::flush();
    panic!("main returned {status}")
}

/// The environment of this component.
fn env() -> &'static Environment {
    // SAFETY: written once, before the program.
    let env = unsafe { &*ENVIRONMENT.0.get() };
    env.as_ref().expect("opened before the program")
}
