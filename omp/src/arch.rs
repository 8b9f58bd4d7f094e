//! The instructions: thread pointer, stack switch, pause, cycle counter; one module per machine.
#![expect(unsafe_code, reason = "registers and stacks have no safe spelling")]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::{
    count_lock, current_worker, cycles, exceptions_function, locks, pause, set_current_worker,
    set_locks, stack_pointer, start_frame, switch,
};

#[cfg(all(target_arch = "aarch64", feature = "trace"))]
pub use aarch64::cycles_in_order;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(all(target_arch = "x86_64", feature = "trace"))]
pub use x86_64::cycles_in_order;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{
    count_lock, current_worker, cycles, exceptions_function, locks, pause, set_current_worker,
    set_locks, stack_pointer, start_frame, switch,
};
