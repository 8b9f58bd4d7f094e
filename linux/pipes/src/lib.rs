//! Stages of tuned pipes as threads of a Linux program
//!
//! Each stage is a thread under SCHED_DEADLINE with the C and T that the solver gave (003 §3.1.3): runtime C, deadline and
//! period T. What it does in a job is what a stage of an rtos partition does ([`bulkhead_stages`]). First stages read frames
//! of one identifier from a CAN interface, last ones send such.
#![forbid(unsafe_code)]

mod plan;
mod stage;

pub use plan::{Pipe, Plan, PlanError, Stage};
pub use stage::run;
