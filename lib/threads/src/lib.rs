//! Threads of one core and their wait queues
//!
//! [`Threads`] joins the state machine of decisions (`bulkhead_sched::Scheduler`) with a [`Machine`]
//! for switching: the kernel of a partition, or a process on Linux with signals as interrupts.
//! Thread 0 is the scheduler's own: the machine runs it at time-outs, and it runs when no other thread is
//! ready. Thread `n` of the policy has index `n + 1`.
//!
//! Every waiting call takes the instant of its time-out, in ticks of [`Machine::now`] ([`NEVER`]: none).
//! A thread that was granted the object has it, even if its time-out passed before it ran. Among several
//! waiting threads the most important is served first, then the one that has waited longest.
//!
//! Source: paper 004 §III-B (`SchedLib`) and §VI (`SliteOS`), spec 20-kernel §8 and §10.

#![no_std]

mod accounts;
mod attribute_mutex;
mod block_pool;
mod condition;
mod events;
mod held;
mod lock;
mod machine;
mod message_queue;
mod mutex;
mod periodic;
mod queue;
mod read_write_lock;
mod run_time_meter;
mod semaphore;
mod stream_buffer;
mod threads;
mod timers;
mod wait;

pub use attribute_mutex::{AttributeMutex, Attributes};
pub use block_pool::{BlockPool, NoBlock};
pub use bulkhead_sched::{NEVER, Time};
pub use condition::ConditionVariable;
pub use events::{Events, Wish};
pub use machine::{Machine, Moved};
pub use message_queue::{Link, MessageQueue};
pub use mutex::{Guard, LockError, Mutex};
pub use periodic::Periodic;
pub use queue::{Full, Queue};
pub use read_write_lock::ReadWriteLock;
pub use semaphore::Semaphore;
pub use stream_buffer::{Framing, StreamBuffer, StreamError};
pub use threads::{Condition, Threads};
pub use timers::{Expiry, Timers};
pub use wait::{TimedOut, WaitError};
