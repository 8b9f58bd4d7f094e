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

pub mod alike;
pub mod budget;
pub mod harness;
pub mod policy;
mod queue;
mod replenishments;
mod scheduler;
mod timeouts;

pub use queue::ReadyQueue;
pub use scheduler::{Account, Decision, Scheduler, Wakeup};
pub use timeouts::Timeouts;

/// Instants and spans, in cycles of the core's clock; spans of half the range never occur.
pub type Time = u64;

/// A time that never comes.
pub const NEVER: Time = Time::MAX;

/// A thread of one core's scheduler: an index below the scheduler's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u16);

impl ThreadId {
    /// As an index into per-thread tables.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a request is refused; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The thread is not, or already, known to the scheduler.
    NoSuchThread,
    /// No room for another thread.
    Full,
    /// A parameter is outside what the policy accepts (C > T, T = 0, priority out of range).
    BadParameters,
}

/// The tutorial's code is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../doc/tutorial/policy.md")]
pub struct Tutorial;
