//! Threads, time and why a parameter is refused

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
