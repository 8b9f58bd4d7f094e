//! SCB and DCB, shared by a user-level scheduler and the kernel
//!
//! A scheduler switches between its threads without the kernel; the kernel learns of it at its next
//! entry by reading [`Scb::current`]. Paper 004 §III–IV. These six invariants hold before and after
//! every instruction of the switch; `models/dispatch.pml` checks them, and its steps S1–S7 name the
//! instructions in `arch/*/switch`:
//!
//! 1. A thread's `sp` is zero while it executes, and when it was preempted.
//! 2. A thread stores its `ip` before its `sp`: a non-zero `sp` implies a valid `ip`.
//! 3. Only the thread itself stores non-zero values into its own block.
//! 4. The thread that dispatches sets the target's `sp` to zero on arrival.
//! 5. If and only if `sp` is non-zero, `ip` and `sp` are what the thread is resumed from.
//! 6. [`Scb::current`] always names a thread that can be activated.
//!
//! The kernel believes nothing here: a wrong `current` names at most another thread of the same
//! scheduler, wrong `ip`/`sp` are used only for a thread that last ran in that scheduler's own user
//! mode, and the event queue is only ever written by the kernel.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes from a thread's stored `ip` to where the *kernel* resumes it. A user-level switch arrives
/// at `ip` with the block's address in a register and clears `sp`; the kernel clears it itself.
pub const KERNEL_RESUME_OFFSET: u64 = 8;

/// Events the queue holds; more are fetched by a system call.
pub const EVENTS: usize = 32;

/// Threads one scheduler can dispatch on one core.
pub const MAX_THREADS: usize = 128;

/// Dispatch control block of one thread.
#[repr(C, align(16))]
#[derive(Debug, Default)]
pub struct Dcb {
    /// Address at which it resumes.
    pub ip: AtomicU64,
    /// Its stack pointer, or 0.
    pub sp: AtomicU64,
}

/// Kind of a thread's event, [`Event::kind`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The kernel activated it (an interrupt, a notification).
    Activated = 0,
    /// The thread blocked in the kernel, waiting for a notification.
    Blocked = 1,
    /// Its budget ended.
    Expired = 2,
    /// The thread faulted and was not resumed.
    Faulted = 3,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Activated, Self::Blocked, Self::Expired, Self::Faulted];
}

/// A scheduler event.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Event {
    /// Thread, as in [`Scb::current`].
    pub thread: AtomicU32,
    /// An [`EventKind`].
    pub kind: AtomicU32,
    /// Cycles it executed since the last event about it.
    pub cycles: AtomicU64,
}

/// Scheduler control block of one core.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Scb {
    /// The running thread, an index into the array of [`Dcb`]s. Written by the scheduler (S5) and
    /// by the kernel when it activates a thread itself.
    pub current: AtomicU64,
    /// Number of activations by the kernel. A decision made under another epoch is stale.
    pub epoch: AtomicU64,
    /// Events written, by the kernel.
    pub produced: AtomicU32,
    /// Events read, by the scheduler.
    pub consumed: AtomicU32,
    /// Non-zero: further events wait in the kernel.
    pub overflow: AtomicU32,
    /// Zero.
    pub reserved: AtomicU32,
    /// Event `n` is at `n % EVENTS`.
    pub events: [Event; EVENTS],
    /// The limited time of this scheduler that was in force last, written by the kernel. While it is in force, this is the
    /// instant at which it ends; otherwise its remaining cycles, marked [`NOT_IN_FORCE`].
    pub budget: AtomicU64,
    /// Number of dispatches that moved time, counted by the kernel. A scheduler that noted a grant before its call reads
    /// here if the kernel made it.
    pub grants: AtomicU64,
}

/// Mark of [`Scb::budget`].
pub const NOT_IN_FORCE: u64 = 1 << 63;

impl Scb {
    /// No thread, no event.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            current: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            produced: AtomicU32::new(0),
            consumed: AtomicU32::new(0),
            overflow: AtomicU32::new(0),
            reserved: AtomicU32::new(0),
            events: [const {
                Event {
                    thread: AtomicU32::new(0),
                    kind: AtomicU32::new(0),
                    cycles: AtomicU64::new(0),
                }
            }; EVENTS],
            budget: AtomicU64::new(NOT_IN_FORCE),
            grants: AtomicU64::new(0),
        }
    }

    /// The next event, taken as read: the thread's index, and what happened to it. `None` where there is none, or one
    /// of no known kind. For the scheduler alone.
    #[inline(always)]
    pub fn next_event(&self) -> Option<(u64, EventKind)> {
        let consumed = self.consumed.load(Relaxed);
        if consumed == self.produced.load(Relaxed) {
            return None;
        }
        let event = self.events.get(consumed as usize % EVENTS)?;
        let (thread, kind) = (event.thread.load(Relaxed), event.kind.load(Relaxed));
        self.consumed.store(consumed.wrapping_add(1), Relaxed);
        let kind = EventKind::ALL.into_iter().find(|one| *one as u32 == kind)?;
        Some((thread.into(), kind))
    }
}

impl Default for Scb {
    fn default() -> Self {
        Self::new()
    }
}

const _: () = assert!(size_of::<Scb>() + MAX_THREADS * size_of::<Dcb>() <= 4096);
