//! Budgets of VCPUs, and of priorities

use crate::budget::{BandwidthPreserving, Budget, Sporadic};
use crate::thread::{NEVER, Time};

/// Budget of a VCPU of any kind.
#[derive(Clone, Copy, Debug)]
pub enum VcpuBudget<const K: usize> {
    /// A priority without a limit.
    Whole,
    /// A Main VCPU.
    Main(Sporadic<K>),
    /// An I/O VCPU.
    Io(BandwidthPreserving),
}

macro_rules! limited {
    ($budget:expr, $name:ident => $call:expr, $whole:expr) => {
        match $budget {
            VcpuBudget::Whole => $whole,
            VcpuBudget::Main($name) => $call,
            VcpuBudget::Io($name) => $call,
        }
    };
}

impl<const K: usize> Budget for VcpuBudget<K> {
    fn ready(&mut self, now: Time) {
        limited!(self, budget => budget.ready(now), {});
    }
    fn stop(&mut self, now: Time) {
        limited!(self, budget => budget.stop(now), {});
    }
    fn idle(&mut self, now: Time) {
        limited!(self, budget => budget.idle(now), {});
    }
    fn charge(&mut self, from: Time, until: Time) {
        limited!(self, budget => budget.charge(from, until), {});
    }
    fn available(&self, now: Time) -> Time {
        limited!(self, budget => budget.available(now), NEVER)
    }
    fn next_replenishment(&self, now: Time) -> Time {
        limited!(self, budget => budget.next_replenishment(now), NEVER)
    }
    fn deadline(&self) -> Time {
        limited!(self, budget => budget.deadline(), NEVER)
    }
}
