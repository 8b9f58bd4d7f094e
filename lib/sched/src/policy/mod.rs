//! Policies: who runs among the ready
//!
//! A policy has four duties: take in and drop threads, keep their parameters, follow blocks and
//! wake-ups, and say who runs and when that answer expires. `doc/tutorial/policy.md` writes one step
//! by step; [`crate::harness`] is the test every policy must pass.

mod chosen;
#[cfg(test)]
mod decisions;
mod edf;
mod fixed_priority;
mod interface;
mod server;
mod time_table;
mod vcpus;

pub use chosen::{Chosen, Task};
pub use edf::{Deadline, EarliestDeadlineFirst};
pub use fixed_priority::{FixedPriority, NonPreemptive, Preemptive, Priority, RoundRobin, Rule};
pub use interface::{Pick, Policy};
pub use server::{Membership, ServerId, Servers};
pub use time_table::{Slot, TimeTable};
pub use vcpus::{Binding, Order, Place, VcpuBudget, Vcpus};
