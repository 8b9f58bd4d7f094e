//! `SliteOS`: threads of a component and what they wait for
//!
//! [`bulkhead_threads`] over the kernel: threads, periodic tasks, timers, queues, mutexes,
//! semaphores and events; and threads on VCPUs.
//!
//! Source: paper 004 §VI, spec 20-kernel §10.

#![no_std]

pub mod cores;
mod machine;
mod vcpus;

pub use bulkhead_threads::{
    Events, Expiry, Full, Guard, LockError, Mutex, NEVER, Periodic, Queue, Semaphore, Time,
    TimedOut, Timers, Wish,
};
pub use machine::{Kernel, KernelOn, run_nested};
pub use vcpus::{Refused, VcpuThreads};

/// Threads of a component under policy `P`, at most `N`.
pub type Threads<P, const N: usize> = bulkhead_threads::Threads<Kernel, P, N>;

/// The same, of the core of that rank.
pub type CoreThreads<const RANK: usize, P, const N: usize> =
    bulkhead_threads::Threads<KernelOn<RANK>, P, N>;
