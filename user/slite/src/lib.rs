//! Threads of a component: a policy of `lib/sched` over the user-level switch
//!
//! [`Threads`] joins the state machine that decides (`bulkhead_sched::Scheduler`) with the switch
//! that does (`bulkhead_component::dispatch`) for the first component of a partition. Thread 0 is the
//! scheduler's own: the kernel runs it at time-outs, and it runs when nobody else is ready. Thread
//! `n` of the policy has index `n + 1`.
//!
//! Source: paper 004 §III-B (`SchedLib`) and §VI (`SliteOS` queues and mutexes).

#![no_std]

mod accounts;
mod lock;
mod mutex;
mod queue;
mod threads;
mod vcpus;

pub use mutex::Mutex;
pub use queue::{Full, Queue};
pub use threads::Threads;
pub use vcpus::{Refused, VcpuThreads};
