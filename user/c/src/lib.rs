//! `SliteOS` for C programs
//!
//! The functions of `include/slite.h`, over [`bulkhead_slite`]: they only convert numbers to types
//! and errors to numbers. The header documents them.

#![no_std]
#![expect(
    unsafe_code,
    reason = "C calls by name, and hands over pointers that its header explains"
)]
#![expect(
    clippy::missing_safety_doc,
    reason = "the contract of each function is in slite.h"
)]

mod cmsis;
mod guard;
mod heap;
mod objects;
mod program;
mod resources;
mod rtos_objects;
mod threads;

use bulkhead_sched::policy::{Chosen, Task};
use bulkhead_sched::{Refusal, Wakeup};
use bulkhead_slite::{Full, LockError, MeteredThreads, WaitError};

/// The constants of the header.
const THREAD_COUNT: usize = 32;
const TIMER_COUNT: usize = 32;
const MESSAGE_WORDS: usize = 4;
const QUEUE_MESSAGES: usize = 16;

/// All threads of the program.
static THREADS: MeteredThreads<Chosen<THREAD_COUNT>, THREAD_COUNT> =
    MeteredThreads::new(Chosen::new());

const OK: i32 = 0;
const TIMED_OUT: i32 = -1;
const FULL: i32 = -2;
const DEADLOCK: i32 = -3;
const NOT_OWNER: i32 = -4;
const REFUSED: i32 = -5;
const NO_MEMORY: i32 = -6;
const DELETED: i32 = -7;

/// The error number of the header.
trait Number {
    fn number(self) -> i32;
}

impl Number for WaitError {
    fn number(self) -> i32 {
        match self {
            Self::TimedOut => TIMED_OUT,
            Self::Deleted => DELETED,
        }
    }
}

impl Number for Full {
    fn number(self) -> i32 {
        FULL
    }
}

impl Number for LockError {
    fn number(self) -> i32 {
        match self {
            Self::TimedOut => TIMED_OUT,
            Self::Deadlock => DEADLOCK,
            Self::Deleted => DELETED,
        }
    }
}

impl Number for Refusal {
    fn number(self) -> i32 {
        match self {
            Self::Full => NO_MEMORY,
            Self::NoSuchThread | Self::BadParameters => REFUSED,
        }
    }
}

fn answer<E: Number>(result: Result<(), E>) -> i32 {
    result.map_or_else(Number::number, |()| OK)
}

const fn woken(how: Wakeup) -> i32 {
    match how {
        Wakeup::Woken => OK,
        Wakeup::TimedOut => TIMED_OUT,
    }
}

/// Requirements that C states for a thread.
///
/// # Safety
/// `task` points to one.
unsafe fn task_of(task: *const Task) -> Task {
    // SAFETY: the caller guarantees it.
    unsafe { task.read() }
}
