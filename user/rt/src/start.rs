//! The first instructions of a component
#![expect(unsafe_code, reason = "assembly, and names that assembly calls")]

use crate::First;
use crate::environment;
use crate::first::{INVOKED, TASK};
use bulkhead_abi::timing::Task;
use core::arch::global_asm;

global_asm!(
    r#"
.section .text.start, "ax"
.global _start
_start:
    mov     x29, xzr
    mov     x30, xzr
    bl      bulkhead_start
    b       .
// Invocations arrive {invoked} bytes after the entry, at the handler that `entry!` defines.
.global _invoked
_invoked:
    b       bulkhead_invoked
// Threads of tasks begin {task} bytes after the entry.
.global _task
_task:
    mov     x29, xzr
    mov     x30, xzr
    bl      bulkhead_start_task
    b       .
.global bulkhead_not_served
bulkhead_not_served:
    udf     #3
"#,
    invoked = const INVOKED,
    task = const TASK,
);

unsafe extern "Rust" {
    /// Made by [`crate::component!`].
    safe fn bulkhead_component(first: First) -> !;
    /// Made by [`crate::component!`].
    safe fn bulkhead_component_task(task: &'static Task) -> !;
}

/// `x0` is the thread's index.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_start_task(index: u64) -> ! {
    match environment::task_of_thread(index) {
        Some(task) => bulkhead_component_task(task),
        None => panic!("thread {index} has no task"),
    }
}

/// `x0` is the thread's index; `x1` to `x3` are the guest page and the starts of window and memory,
/// in the first component of a partition.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_start(index: u64, guest_page: u64, window: u64, memory: u64) -> ! {
    bulkhead_component(First::new(index, guest_page, window, memory))
}
