//! Figures in instructions

use crate::clock;
use core::fmt::Display;

/// Length of the cycle counter's steps.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Cycles of one instruction: from one read of the counter to the next.
    step: u64,
}

impl Counter {
    /// Calibrates the counter.
    #[must_use]
    pub fn calibrated() -> Self {
        let shortest = (0..16)
            .map(|_| {
                let start = clock::cycles();
                clock::cycles().wrapping_sub(start)
            })
            .min();
        Self {
            step: shortest.unwrap_or(1).max(1),
        }
    }

    /// With a known step, cycles.
    #[must_use]
    pub const fn of_step(step: u64) -> Self {
        Self { step }
    }

    /// Cycles of one instruction.
    #[must_use]
    pub const fn step(self) -> u64 {
        self.step
    }

    /// Cycles as instructions.
    #[must_use]
    pub const fn steps(self, cycles: u64) -> u64 {
        cycles / self.step
    }

    /// Instructions since `start`, without the reads.
    #[must_use]
    #[inline(always)]
    pub fn since(self, start: u64) -> u64 {
        self.between(start, clock::cycles())
    }

    /// Instructions between two reads.
    #[must_use]
    #[inline(always)]
    pub fn between(self, start: u64, end: u64) -> u64 {
        (end.wrapping_sub(start) / self.step).saturating_sub(1)
    }
}

/// Statistics of one measured operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figure {
    count: u64,
    sum: u64,
    worst: u64,
}

impl Figure {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            count: 0,
            sum: 0,
            worst: 0,
        }
    }

    /// Adds a measurement.
    #[inline(always)]
    pub fn add(&mut self, instructions: u64) {
        self.count += 1;
        self.sum += instructions;
        self.worst = self.worst.max(instructions);
    }

    /// Statistics that were measured on another core.
    #[must_use]
    pub const fn of(count: u64, sum: u64, worst: u64) -> Self {
        Self { count, sum, worst }
    }

    /// Prints `bench NAME N AVERAGE WORST`, the average in hundredths.
    pub fn print(&self, name: impl Display) {
        let hundredths = self.sum * 100 / self.count.max(1);
        crate::println!("bench {name} {} {hundredths} {}", self.count, self.worst);
    }
}
