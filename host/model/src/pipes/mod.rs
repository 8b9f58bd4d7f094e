//! Pipes of a description: functions, flows, and what the solver in `lib/tpipe` finds for them

pub(crate) mod advice;
pub(crate) mod catalogue;
mod client_partition;
pub(crate) mod component_functions;
pub(crate) mod crossing;
mod devices;
pub(crate) mod endpoints;
pub(crate) mod flow;
mod functions;
mod isolated_cores;
pub(crate) mod message_contents;
pub(crate) mod message_type;
pub(crate) mod network_card;
mod pipe;
pub(crate) mod remark;
mod run_time_catalogue;
pub(crate) mod schedule;
pub(crate) mod settlement;
pub(crate) mod shared_state;
pub(crate) mod solution;
pub mod solved;

pub use endpoints::{LinuxEnd, Served};
pub use functions::{Pipes, check, load};
pub use isolated_cores::Apart;
pub use pipe::{Crossing, Pipe, Place};
pub use remark::{Remark, rule_of, syntax_error, unmet};
pub use run_time_catalogue::Offered;
