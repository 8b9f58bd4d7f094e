//! Pipes of a description: functions, flows, and what the solver in `lib/tpipe` finds for them

pub(crate) mod card;
pub(crate) mod catalogue;
mod client_partition;
pub(crate) mod crossing;
mod devices;
pub(crate) mod ends;
pub(crate) mod flow;
mod functions;
mod isolated_cores;
mod pipe;
mod remark;
mod run_time_catalogue;
pub(crate) mod scheduled;
pub(crate) mod settlement;
pub(crate) mod shared_state;
pub(crate) mod solution;
pub mod solved;

pub use ends::{LinuxEnd, Served};
pub use functions::{Pipes, check, load};
pub use isolated_cores::Apart;
pub use pipe::{Crossing, Pipe, Place};
pub use remark::{Remark, rule_of, syntax_error, unmet};
pub use run_time_catalogue::Offered;
