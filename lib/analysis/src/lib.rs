//! Schedulability and communication bounds
//!
//! Each formula names its source and answers with numbers, not with a yes or no: what does not fit,
//! and by how much. All arithmetic is in integers, in any unit of time that the caller uses
//! consistently. A result that would overflow or does not exist is `None`, never a wrapped number.
//! The host tool, the simulator and the admission test on target use the same portable code.

#![no_std]
#![forbid(unsafe_code)]

pub mod admission;
pub mod communication;
pub mod core_overhead;
pub mod edf;
pub mod overhead;
pub mod pipeline;
pub mod placement;
pub mod time_partitions;
pub mod utilisation;
pub mod vcpu;

/// Spans and instants, in the caller's unit.
pub type Time = u64;

/// A budget of `capacity` in every `period`: a VCPU, a server, a task with its deadline at its
/// period's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// C.
    pub capacity: Time,
    /// T, not 0 and not less than C.
    pub period: Time,
}

impl Reservation {
    /// Checks 0 < C ≤ T.
    #[must_use]
    pub const fn new(capacity: Time, period: Time) -> Option<Self> {
        if capacity > 0 && capacity <= period {
            Some(Self { capacity, period })
        } else {
            None
        }
    }

    /// Longest wait for budget once it is used up: T − C.
    #[must_use]
    pub const fn gap(self) -> Time {
        self.period.saturating_sub(self.capacity)
    }

    /// Time from the start of `work` on a full budget to its end: ⌊w/C⌋·T + w mod C (the form of
    /// 001 eq. 4.1, 4.5, 4.6, 4.8).
    #[must_use]
    pub const fn span(self, work: Time) -> Option<Time> {
        match (work / self.capacity).checked_mul(self.period) {
            Some(periods) => periods.checked_add(work % self.capacity),
            None => None,
        }
    }
}
