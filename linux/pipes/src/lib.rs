//! Stages of tuned pipes as threads of a Linux program
//!
//! Each stage is a thread under SCHED_DEADLINE with the solved budget C and period T ("Tuned Pipes"
//! §3.1.3): runtime C, deadline and period T. Its jobs do the same as those of a stage in an rtos
//! partition ([`bulkhead_stages`]). First stages read frames of a CAN controller, take messages of
//! the bridge to other machines, or make messages by a timer. Last stages send frames, or leave
//! messages that the program records. Edges to and from stages of other partitions are channels,
//! which the reader polls every T.
#![forbid(unsafe_code)]

mod budget;
mod client_pipes;
mod device;
mod packed;
mod part;
mod plan;
mod recording;
mod reservation;
mod stage;
mod start;
mod static_pipes;
mod trace_file;

pub use client_pipes::{ClientPipes, Report};
pub use plan::{Crossing, End, Pipe, Placement, Plan, PlanError, Source, Stage};
pub use start::{Around, AtDevice, Count, StartError};
pub use static_pipes::{Stages, start};
