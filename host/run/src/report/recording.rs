//! Everything seen in a run, up to its length
//!
//! Lines and events with later time stamps are shown but counted nowhere: how far the machine ran on until the
//! tool stopped it depends on the host.

use bulkhead_abi::trace::{Event, Stamp};
use bulkhead_plan::manifest::{ChannelManifest, Manifest};
use std::collections::BTreeMap;
use zerocopy::{FromBytes, IntoBytes};

use super::events::{EventLog, RunEvent, of_faults};
use super::trace_figures::TraceFigures;
use crate::error::RunError;
use crate::report::contents::{ChannelReport, TaskReport, TrackingReport};
use crate::report::digest::Digests;
use crate::report::faults::{FaultLog, FaultReport};
use crate::report::paths::PathReport;
use crate::run::Files;
use crate::watch::{Clock, RecordedFault, Sight};

/// Label of what the boot part prints.
pub(crate) const BOOT: &str = "boot";
/// Lines kept to tell why nothing started.
const FIRST_LINES: usize = 20;
/// First line of a Linux kernel's log.
const LINUX_STARTS: &str = "Booting Linux on physical CPU";

/// Values of a live display.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The machine's time, nanoseconds.
    pub now_ns: u64,
    /// Newest value of each traced signal.
    pub signals: BTreeMap<String, f64>,
    /// Largest lateness of a periodic job, nanoseconds.
    pub worst_lateness_ns: Option<u64>,
    /// Faults so far.
    pub faults: u64,
}

/// The recording of a run.
#[derive(Debug)]
pub struct Recording {
    names: Vec<String>,
    channels: Vec<ChannelReport>,
    cut_ticks: u64,
    cut_ns: u64,
    figures: TraceFigures,
    events: EventLog,
    digests: Digests,
    faults: FaultLog,
    missed: BTreeMap<String, u64>,
    digests_are_whole: bool,
    first_lines: Vec<String>,
    linux_starts_ns: BTreeMap<usize, u64>,
    /// Times at which partitions announced themselves, seconds.
    ups_s: BTreeMap<usize, Vec<f64>>,
    files: Files,
}

impl Recording {
    /// For a run of `manifest` that counts up to `cut_ticks`, with its files in `files`.
    #[must_use]
    pub fn new(manifest: &Manifest, cut_ticks: u64, clock: &Clock, files: Files) -> Self {
        let names: Vec<_> = manifest.partitions.iter().map(|p| p.name.clone()).collect();
        let mut digests = Digests::default();
        names
            .iter()
            .for_each(|name| digests.add_source(&format!("console {name}")));
        Self {
            names,
            channels: channel_reports(manifest),
            cut_ticks,
            cut_ns: clock.ns(cut_ticks),
            figures: TraceFigures::new(manifest),
            events: EventLog::default(),
            digests,
            faults: FaultLog::default(),
            missed: BTreeMap::new(),
            digests_are_whole: true,
            first_lines: Vec::new(),
            linux_starts_ns: BTreeMap::new(),
            ups_s: BTreeMap::new(),
            files,
        }
    }

    /// Takes what was seen.
    ///
    /// # Errors
    /// A result file cannot be written.
    pub fn take(&mut self, sight: &Sight, clock: &Clock) -> Result<(), RunError> {
        match sight {
            Sight::Line { partition, text } => self.line(*partition, text, clock),
            Sight::Event {
                partition,
                recorder,
                event,
            } => self.event((*partition, *recorder), event, clock),
            Sight::Record { channel, message } => self.record(*channel, message),
            Sight::Fault { partition, fault } => {
                if matches!(**fault, RecordedFault::Partition(_)) {
                    self.figures
                        .stop(*partition, clock.ns(fault.ticks()), fault.restarts());
                }
                if fault.ticks() <= self.cut_ticks {
                    self.faults.add(*partition, fault);
                }
                Ok(())
            }
            Sight::Up { partition, ticks } => {
                let at_ns = clock.ns(*ticks);
                self.figures.up(*partition, at_ns);
                self.ups_s
                    .entry(*partition)
                    .or_default()
                    .push(at_ns as f64 / 1e9);
                Ok(())
            }
            Sight::Unseen {
                partition,
                cause,
                count,
            } => {
                self.faults.add_unseen(*partition, *cause, *count);
                Ok(())
            }
            Sight::Gap { partition } => {
                self.figures.gap(*partition);
                Ok(())
            }
            Sight::Missed {
                what,
                count,
                in_digest,
            } => {
                *self.missed.entry(what.clone()).or_default() += count;
                self.digests_are_whole &= !in_digest;
                Ok(())
            }
        }
    }

    fn line(
        &mut self,
        partition: Option<usize>,
        text: &str,
        clock: &Clock,
    ) -> Result<(), RunError> {
        let name = partition
            .map_or(BOOT, |index| &self.names[index])
            .to_owned();
        let offset_ns = partition.map_or(0, |index| self.console_offset_ns(index, text, clock));
        if self.first_lines.len() < FIRST_LINES {
            self.first_lines.push(text.into());
        }
        self.digests
            .add_line(&format!("console {name}"), text, offset_ns, self.cut_ns);
        self.files.console_line(&name, text)
    }

    /// Machine time at which the clock of the printing partition stood at 0: Linux counts from its own
    /// start, all others print the machine's time.
    fn console_offset_ns(&mut self, partition: usize, text: &str, clock: &Clock) -> u64 {
        if text.contains(LINUX_STARTS) {
            let newest = self.faults.newest_start(partition);
            let start_ns = newest.map_or(0, |ticks| clock.ns(ticks));
            self.linux_starts_ns.insert(partition, start_ns);
        }
        self.linux_starts_ns.get(&partition).copied().unwrap_or(0)
    }

    fn event(
        &mut self,
        (partition, recorder): (usize, usize),
        event: &Event,
        clock: &Clock,
    ) -> Result<(), RunError> {
        if event.ticks > self.cut_ticks {
            return Ok(());
        }
        self.figures.take(partition, event, clock);
        let name = &self.names[partition];
        self.events.take(name, event, clock);
        let source = match recorder {
            0 => format!("trace {name}"),
            // The order of events of different recorders depends on when the tool reads them.
            _ => format!("trace {name} {recorder}"),
        };
        self.digests.add(&source, event.as_bytes());
        self.files.event(name, event, clock)
    }

    fn record(&mut self, channel: usize, message: &[u8]) -> Result<(), RunError> {
        let Ok((stamp, body)) = Stamp::read_from_prefix(message) else {
            return Ok(());
        };
        if stamp.ticks > self.cut_ticks {
            return Ok(());
        }
        let name = &self.channels[channel].name;
        self.figures.received_by_host(name);
        self.digests.add(&format!("channel {name}"), message);
        self.files.record(name, body)
    }

    /// For a live display.
    #[must_use]
    pub fn live(&self, clock: &Clock) -> Live {
        let signals = self.figures.signals().iter();
        Live {
            now_ns: clock.now_ns(),
            signals: signals
                .map(|((_, name), value)| (name.clone(), *value))
                .collect(),
            worst_lateness_ns: self.figures.worst_lateness_ns(),
            faults: self.faults.total(),
        }
    }

    /// Times at which a partition announced that it is up, seconds.
    #[must_use]
    pub fn ups_s(&self, partition: usize) -> Vec<f64> {
        self.ups_s.get(&partition).cloned().unwrap_or_default()
    }

    /// Faults so far.
    #[must_use]
    pub const fn faults(&self) -> &FaultLog {
        &self.faults
    }

    /// The first lines of all consoles.
    #[must_use]
    pub fn first_lines(&self) -> &[String] {
        &self.first_lines
    }

    /// Kinds and counts of records that were not seen.
    #[must_use]
    pub const fn missed(&self) -> &BTreeMap<String, u64> {
        &self.missed
    }

    /// Returns `true` if no record that the digests are made of was missed.
    #[must_use]
    pub const fn digests_are_whole(&self) -> bool {
        self.digests_are_whole
    }

    /// The digests.
    #[must_use]
    pub const fn digests(&self) -> &Digests {
        &self.digests
    }

    /// Messages by channel.
    #[must_use]
    pub fn channels(&self) -> Vec<ChannelReport> {
        let mut channels = self.channels.clone();
        channels
            .iter_mut()
            .for_each(|channel| self.figures.fill(channel));
        channels
    }

    /// Messages through pipes and round trips.
    #[must_use]
    pub fn paths(&self, clock: &Clock) -> Vec<PathReport> {
        let end_ns = self.cut_ns.min(clock.now_ns());
        self.figures.paths(&self.names, end_ns)
    }

    /// Periodic tasks.
    #[must_use]
    pub fn tasks(&self, clock: &Clock) -> Vec<TaskReport> {
        let end_ns = self.cut_ns.min(clock.now_ns());
        self.figures.tasks(&self.names, end_ns)
    }

    /// All events in the order of the machine's clock, those of `faults` among them.
    #[must_use]
    pub fn events(&self, faults: &[FaultReport]) -> Vec<RunEvent> {
        let mut events = self.events.list().to_vec();
        events.extend(of_faults(faults));
        events.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        events
    }

    /// Events that were left out of the list because their partition had too many.
    #[must_use]
    pub const fn unlisted(&self) -> u64 {
        self.events.unlisted()
    }

    /// Set-points and how they were followed.
    #[must_use]
    pub fn tracking(&self) -> Vec<TrackingReport> {
        self.figures.tracking(&self.names)
    }

    /// Completes the result files.
    ///
    /// # Errors
    /// No space.
    pub fn finish(&mut self) -> Result<(), RunError> {
        self.files.finish()
    }
}

/// Channels without figures yet, in the manifest's order.
fn channel_reports(manifest: &Manifest) -> Vec<ChannelReport> {
    let is_traced = |name: &String| {
        let mut partitions = manifest.partitions.iter();
        let partition = partitions.find(|partition| partition.name == *name);
        partition.is_none_or(|partition| !partition.traces.is_empty())
    };
    // Stages record no message of the channels between them; a dot is in no name of a description.
    let is_derived = |channel: &ChannelManifest| channel.name.contains('.');
    let report = |channel: &ChannelManifest| ChannelReport {
        name: channel.name.clone(),
        kind: channel.kind.clone(),
        from: channel.from.clone(),
        to: channel.to.clone(),
        is_sent_counted: is_traced(&channel.from) && !is_derived(channel),
        is_received_counted: channel.to.iter().all(is_traced) && !is_derived(channel),
        ..ChannelReport::default()
    };
    manifest.channels.iter().map(report).collect()
}
