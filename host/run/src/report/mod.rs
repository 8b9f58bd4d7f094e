//! What a run showed
//!
//! Figures come from time-stamped data up to the run's length and from the monitors' counters;
//! nothing is inferred. `report.json` is this structure.

mod contents;
mod digest;
mod events;
mod messages;
mod paths;
mod recording;
mod refused;
mod snapshot;
mod stages;
mod text;
mod verdict;

pub use contents::{
    ChannelReport, CoreReport, DoorbellReport, FaultReport, PartitionReport, REPORT_FILE, Report,
    TaskReport, TrackingReport,
};
pub use digest::Digests;
pub use paths::PathReport;
pub(crate) use recording::BOOT;
pub use recording::{Live, Recording};
pub use refused::{RefusedReport, refused_reports};
pub use snapshot::{fault_reports, partition_reports};
pub use stages::{DeviceReport, OverrunReport};
pub use text::{counters_text, faults_text, refused_text, report_text};

pub(crate) use verdict::judge;
pub use verdict::{Finding, Verdict};
