//! The report of a run
//!
//! Figures come from time-stamped data up to the run's length and from the monitors' counters;
//! nothing is inferred. `report.json` is this structure.

mod buffer_counts;
mod contents;
mod digest;
mod events;
mod executing;
mod faults;
mod finding;
mod injection;
mod messages;
mod path_verdict;
mod paths;
mod place;
mod recording;
mod refused;
mod snapshot;
mod spans;
mod stages;
mod text;
mod trace_figures;
mod verdict;

pub(crate) use buffer_counts::fill as fill_from_buffer;
pub use contents::{
    ChannelReport, CoreReport, DoorbellReport, PartitionReport, REPORT_FILE, Report, TaskReport,
    TrackingReport,
};
pub use digest::Digests;
pub use events::{RunEvent, Value, fields_of};
pub use executing::ExecutingReport;
pub(crate) use executing::executing;
pub(crate) use faults::report as fault_report;
pub use faults::{COMPONENT, FaultLog, FaultReport};
pub use paths::PathReport;
pub use place::Place;
pub(crate) use recording::BOOT;
pub use recording::{Live, Recording};
pub use refused::{RefusedReport, refused_reports};
pub use snapshot::partition_reports;
pub use stages::{DeviceReport, EarlyReport, FailedReport, OverrunReport};
pub use text::{counters_text, faults_text, refused_text, report_text};

pub use finding::{Finding, Verdict};
pub(crate) use verdict::judge;
