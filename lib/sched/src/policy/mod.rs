//! Policies: the choice among ready threads
//!
//! A policy has four duties: take in and drop threads, keep their parameters, follow blocks and
//! wake-ups, and choose the thread to run, with the time until which the choice holds. `doc/tutorial/policy.md` writes one step
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
pub use vcpus::{BACKGROUND, Binding, Order, Place, VcpuBudget, Vcpus};
