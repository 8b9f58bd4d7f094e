//! User-level dispatch on x86-64 Linux: the switch, and signals in the place of interrupts
//!
//! A host thread plays a core. Its signal handler plays the kernel: it enters at any instruction,
//! makes its record of the running thread coherent with the SCB, keeps the interrupted registers,
//! activates another thread, and leaves to that one. What is dispatched in user mode between two
//! signals is exactly what runs between two interrupts on a board; the scheduler above is the same.
//!
//! Source: paper 004 §III–IV; `models/dispatch.pml`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod context;
mod core;
mod machine;
mod stack;
mod switch;

pub use crate::core::{Activation, Core, Entry};
pub use machine::{Hosted, Threads};
pub use stack::Stack;
pub use switch::{Outcome, dispatch};
