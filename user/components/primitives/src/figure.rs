//! Figures in instructions

use bulkhead_component::{clock, println};

/// What the cycle counter's steps mean.
#[derive(Clone, Copy)]
pub(crate) struct Counter {
    /// Cycles of one instruction: from one read of the counter to the next.
    step: u64,
}

impl Counter {
    pub(crate) fn calibrated() -> Self {
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

    pub(crate) const fn of_step(step: u64) -> Self {
        Self { step }
    }

    pub(crate) const fn step(self) -> u64 {
        self.step
    }

    /// Cycles as instructions.
    pub(crate) const fn steps(self, cycles: u64) -> u64 {
        cycles / self.step
    }

    /// Instructions since `start`, without the reads.
    #[inline(always)]
    pub(crate) fn since(self, start: u64) -> u64 {
        self.between(start, clock::cycles())
    }

    /// Instructions between two reads.
    #[inline(always)]
    pub(crate) fn between(self, start: u64, end: u64) -> u64 {
        (end.wrapping_sub(start) / self.step).saturating_sub(1)
    }
}

/// What has been measured of one thing.
pub(crate) struct Figure {
    count: u64,
    sum: u64,
    worst: u64,
}

impl Figure {
    pub(crate) const fn new() -> Self {
        Self {
            count: 0,
            sum: 0,
            worst: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, instructions: u64) {
        self.count += 1;
        self.sum += instructions;
        self.worst = self.worst.max(instructions);
    }

    /// `bench NAME N AVERAGE WORST`, the average in hundredths.
    pub(crate) fn print(&self, name: &str) {
        let hundredths = self.sum * 100 / self.count.max(1);
        println!("bench {name} {} {hundredths} {}", self.count, self.worst);
    }
}
