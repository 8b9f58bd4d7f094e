//! Scheduling as a library: threads, time-outs, policies, budgets
//!
//! The part of a user-level scheduler that decides, without the part that switches. A [`Scheduler`]
//! is a plain state machine: its input is events with their times (a thread blocked, was woken, was
//! activated by the kernel, ran for so long), and returns the thread that should run, and until when. The switch
//! itself, the per-core lock and the event queue belong to the dispatcher around it. The same code
//! therefore runs on target, hosted on Linux, and in the simulator in virtual time.
//!
//! Source: paper 004 §III-B (`SchedLib`), spec 20-kernel §8, 30-scheduling §1–4.
//! Nothing here allocates; every operation is bounded by the number of threads of the core.

#![no_std]
#![forbid(unsafe_code)]

pub mod budget;
pub mod harness;
pub mod policy;
pub mod policy_comparison;
mod queue;
mod replenishments;
mod scheduler;
mod thread;
mod timeouts;

pub use queue::ReadyQueue;
pub use scheduler::{Account, Decision, Scheduler, Wakeup};
pub use thread::{NEVER, Refusal, ThreadId, Time};
pub use timeouts::Timeouts;

/// The tutorial's code is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../doc/tutorial/policy.md")]
pub struct Tutorial;
