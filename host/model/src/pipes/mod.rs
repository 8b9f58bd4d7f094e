//! Pipes of a description: functions, flows, and what the solver in `lib/tpipe` finds for them

pub(crate) mod advice;
pub(crate) mod card;
mod catalogue;
mod client_partition;
pub(crate) mod crossing;
pub(crate) mod described;
mod devices;
pub(crate) mod ends;
pub(crate) mod flow;
mod functions;
mod isolated_cores;
mod pipe;
pub(crate) mod remark;
pub(crate) mod scheduled;
pub(crate) mod settlement;
pub(crate) mod shared_state;
pub(crate) mod solution;
pub mod solved;

pub use catalogue::Offered;
pub use ends::{LinuxEnd, Served};
pub use functions::{Pipes, check, load};
pub use isolated_cores::Apart;
pub use pipe::{Crossing, Pipe, Place};
pub use remark::{Said, rule_of, syntax_error, unmet};
