//! Stages of tuned pipes as threads of a Linux program
//!
//! Each stage is a thread under SCHED_DEADLINE with the C and T that the solver gave (003 §3.1.3): runtime C, deadline and
//! period T. What it does in a job is what a stage of an rtos partition does ([`bulkhead_stages`]). First stages read frames
//! of a CAN controller, take what the bridge brings from other machines, or make their messages by the clock; last ones send frames, or leave what the program records. Edges to and from stages of other partitions are channels, which the reader looks at every T.
#![forbid(unsafe_code)]

mod asked;
mod begin;
mod budget;
mod described;
mod device;
mod leaving;
mod packed;
mod part;
mod plan;
mod stage;
mod start;
mod trace_file;

pub use asked::{Asked, Told};
pub use described::{Stages, start};
pub use plan::{Crossing, End, Pipe, Place, Plan, PlanError, Source, Stage};
pub use start::{Around, AtDevice, Count, StartError};
