//! `SliteOS`: threads of a component and what they wait for
//!
//! [`bulkhead_threads`] over the kernel: threads, periodic tasks, timers, queues, mutexes,
//! semaphores and events; threads on VCPUs; and threads of one component on several cores.
//!
//! Source: paper 004 §VI, spec 20-kernel §10.

#![no_std]

mod cores;
mod machine;
mod task_trace;
mod vcpus;

pub use bulkhead_threads::{
    AttributeMutex, Attributes, BlockPool, Condition, ConditionVariable, Events, Expiry, Framing,
    Full, Guard, Link, LockError, MessageQueue, Mutex, NEVER, NoBlock, Periodic, Queue,
    ReadWriteLock, Semaphore, StreamBuffer, StreamError, Time, TimedOut, Timers, WaitError, Wish,
};
pub use cores::{CoreThreads, EachCore, Parker, start_core};
pub use machine::{Kernel, Metered, MeteredThreads, OneCore, Place, Threads, bind, run_nested};
pub use task_trace::TaskTrace;
pub use vcpus::{Jobs, Refused, VcpuThreads, capacity, io_periods, is_by_priority, jobs_on};
