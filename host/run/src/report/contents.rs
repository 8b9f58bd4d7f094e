//! Contents of a run's report

use super::events::RunEvent;
use super::executing::ExecutingReport;
use super::faults::FaultReport;
use super::finding::Verdict;
use super::paths::PathReport;
use super::refused::RefusedReport;
use crate::error::RunError;
use crate::figures::{Kind, Spread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// File name of the report in the run folder.
pub const REPORT_FILE: &str = "report.json";

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Name of the system.
    pub system: String,
    /// SHA-256 of the boot image.
    pub image: String,
    /// Kind of all its times.
    pub kind: Kind,
    /// Why it ended, for people.
    pub ended: String,
    /// The core that kept the machine's clock from moving, for people.
    #[serde(default)]
    pub culprit: Option<String>,
    /// Length asked for, seconds of the machine's clock.
    pub for_s: Option<f64>,
    /// Length reached, seconds of the machine's clock.
    pub length_s: f64,
    /// Wall clock of the host, seconds.
    pub wall_s: f64,
    /// SHA-256 over all that happened up to the length asked for; `None` where the run was cut off,
    /// or goes by the wall clock, or something was missed.
    pub digest: Option<String>,
    /// The digests it consists of, by source.
    pub digests: BTreeMap<String, String>,
    /// A device of the emulator that works at times of the host's clock, so that the run has no digest.
    #[serde(default)]
    pub host_timed: Option<String>,
    /// Counters.
    pub partitions: Vec<PartitionReport>,
    /// Messages.
    pub channels: Vec<ChannelReport>,
    /// Messages through pipes and round trips.
    #[serde(default)]
    pub paths: Vec<PathReport>,
    /// Periodic tasks.
    pub tasks: Vec<TaskReport>,
    /// How well values follow others: a measured one its set-point, an estimate what was so.
    pub tracking: Vec<TrackingReport>,
    /// Faults, oldest first.
    pub faults: Vec<FaultReport>,
    /// Single events, oldest first.
    #[serde(default)]
    pub events: Vec<RunEvent>,
    /// Events that are not listed because there were too many.
    #[serde(default)]
    pub unlisted: u64,
    /// Accesses of devices that the SMMU blocked, oldest first.
    pub refused: Vec<RefusedReport>,
    /// Kinds and counts of records that the tool did not see.
    pub missed: BTreeMap<String, u64>,
    /// Components that the cores executed at the end.
    #[serde(default)]
    pub executing: Vec<ExecutingReport>,
    /// Pass or fail.
    #[serde(default)]
    pub verdict: Verdict,
}

/// Counters of a partition.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PartitionReport {
    /// Its name.
    pub name: String,
    /// `down`, `starting`, `up`, or `unknown` where its monitor never spoke.
    pub state: String,
    /// When its state last changed, seconds of the machine's clock.
    pub since_s: f64,
    /// Time of the newest heartbeat, seconds of the machine's clock; nothing where none came.
    #[serde(default)]
    pub last_sign_s: Option<f64>,
    /// The partition announced that it is up, at its newest start or before.
    #[serde(default)]
    pub announced: bool,
    /// Times at which it announced that it is up, as far as the tool saw them, seconds of the machine's clock.
    #[serde(default)]
    pub ups_s: Vec<f64>,
    /// Starts.
    pub epoch: u32,
    /// Restarts.
    pub restarts: u64,
    /// Faults of the partition as a whole.
    pub faults: u64,
    /// Faults of its components, up to the run's length.
    #[serde(default)]
    pub component_faults: u64,
    /// Fault to first instruction of the new image, last restart, nanoseconds.
    pub last_restart_ns: u64,
    /// Worst of these times.
    pub worst_restart_ns: u64,
    /// Its cores.
    pub cores: Vec<CoreReport>,
    /// Its outgoing doorbells.
    pub doorbells: Vec<DoorbellReport>,
}

/// Entries to EL2 of a core.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CoreReport {
    /// Index in the machine.
    pub core: usize,
    /// Until the partition last announced itself, by cause; causes without entries left out.
    pub boot: BTreeMap<String, u64>,
    /// Since then.
    pub steady: BTreeMap<String, u64>,
}

impl CoreReport {
    /// All entries until the partition announced itself.
    #[must_use]
    pub fn boot_total(&self) -> u64 {
        self.boot.values().sum()
    }

    /// All since.
    #[must_use]
    pub fn steady_total(&self) -> u64 {
        self.steady.values().sum()
    }
}

/// Counters of an outgoing doorbell.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DoorbellReport {
    /// Its channel.
    pub channel: String,
    /// Receiver.
    pub to: String,
    /// Delivered.
    pub sent: u64,
    /// Dropped by the rate limit.
    pub dropped: u64,
}

/// Messages of a channel.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ChannelReport {
    /// Its name.
    pub name: String,
    /// Kind of buffer.
    pub kind: String,
    /// Writer.
    pub from: String,
    /// Readers.
    pub to: Vec<String>,
    /// `sent` is known: the writer records what it sends, or the buffer counts it.
    #[serde(default)]
    pub is_sent_counted: bool,
    /// `received` is known, likewise.
    #[serde(default)]
    pub is_received_counted: bool,
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Messages lost, as their receivers noticed.
    pub lost: u64,
    /// Messages that a ring's sender dropped because the ring was full.
    #[serde(default)]
    pub refused: u64,
    /// Messages received that were sent before their receiver was there.
    pub backlog: u64,
    /// From sent to read, without those.
    pub delay: Spread,
}

/// A periodic task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskReport {
    /// Its partition.
    pub partition: String,
    /// Its name.
    pub name: String,
    /// Jobs.
    pub jobs: u64,
    /// Releases that came late by whole periods or were skipped.
    pub overruns: u64,
    /// Deadline, nanoseconds after the release, if the description names one.
    #[serde(default)]
    pub deadline_ns: Option<u64>,
    /// Jobs that ended later.
    #[serde(default)]
    pub late: u64,
    /// Bound of the response that the analysis computes, nanoseconds.
    #[serde(default)]
    pub bound_ns: Option<u64>,
    /// Jobs that took longer from their release to their end.
    #[serde(default)]
    pub above_bound: u64,
    /// Spans of time in which jobs ended late or were skipped, seconds of the machine's clock.
    #[serde(default)]
    pub broken_spans_s: Vec<[f64; 2]>,
    /// Releases without a job at the end of the run.
    #[serde(default)]
    pub unserved: u64,
    /// End of the newest job, seconds of the machine's clock.
    #[serde(default)]
    pub newest_s: f64,
    /// The thread of a static task ended by itself, and its partition was not stopped since.
    #[serde(default)]
    pub has_ended: bool,
    /// Longest time from a release to the end of its job, nanoseconds.
    #[serde(default)]
    pub worst_response_ns: u64,
    /// From release to start.
    pub lateness: Spread,
    /// From start to finish.
    pub execution: Spread,
}

/// How well a signal follows another.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrackingReport {
    /// Partition with the signals.
    pub partition: String,
    /// The signal that follows.
    pub signal: String,
    /// The followed signal.
    #[serde(default)]
    pub followed: String,
    /// Values compared.
    pub samples: u64,
    /// Root of the mean squared error, in the signal's unit.
    pub rms: f64,
    /// Largest absolute error.
    pub max: f64,
    /// Unit.
    pub unit: String,
}

impl Report {
    /// Writes `report.json` into `folder`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), RunError> {
        let path = folder.join(REPORT_FILE);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        std::fs::write(&path, text).map_err(RunError::file(path))
    }

    /// Reads the report of the last run of `system` in `folder`.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn load(folder: &Path, system: &str) -> Result<Self, RunError> {
        let path = folder.join(REPORT_FILE);
        let text = std::fs::read_to_string(&path).map_err(|_| RunError::NothingThere {
            what: "report",
            system: system.into(),
            path: path.clone(),
        })?;
        serde_json::from_str(&text).map_err(|error| RunError::Damaged {
            path,
            message: error.to_string(),
        })
    }

    /// The partition of that name.
    #[must_use]
    pub fn partition(&self, name: &str) -> Option<&PartitionReport> {
        self.partitions
            .iter()
            .find(|partition| partition.name == name)
    }

    /// The channel of that name.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<&ChannelReport> {
        self.channels.iter().find(|channel| channel.name == name)
    }
}
