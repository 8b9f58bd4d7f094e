//! Stages that overran or fell back, as the partitions that run them report it
//!
//! A partition is believed about a pipe if it runs the last stage, and about its own stages of other partitions' pipes. Other
//! partitions may have a different pipe of the same name.

use bulkhead_abi::trace::{Event, PORT};
use bulkhead_plan::manifest::{Manifest, PathManifest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::spans::Spans;
use crate::figures::counted;
use crate::report::paths::PathReport;
use crate::watch::Clock;

/// Stages of which something is kept, of all partitions.
const MOST_STAGES: usize = 128;

/// Jobs of a stage that needed more than their budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverrunReport {
    /// The partition that runs it.
    pub partition: String,
    /// Its function; of a pipe that was typed its place, from 1, as in `stage 2`.
    pub stage: String,
    /// The jobs.
    pub jobs: u64,
    /// The pipe was stopped for one.
    pub stopped: bool,
    /// Spans of time in which they were reported, seconds of the machine's clock.
    #[serde(default)]
    pub broken_spans_s: Vec<[f64; 2]>,
}

impl OverrunReport {
    /// Names the stage and what happened.
    #[must_use]
    pub fn sentence(&self) -> String {
        let stopped = match self.stopped {
            true => ", which stopped the pipe",
            false => "",
        };
        let jobs = counted(self.jobs, "job");
        let (stage, partition) = (&self.stage, &self.partition);
        format!("{jobs} of stage {stage} of {partition} overran the budget{stopped}")
    }
}

/// Jobs of a stage without output, because the component of their function did not work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedReport {
    /// The partition that runs it.
    pub partition: String,
    /// Its function, or its place.
    pub stage: String,
    /// The jobs.
    pub jobs: u64,
}

impl FailedReport {
    /// Returns the sentence of the report.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self {
            partition,
            stage,
            jobs,
        } = self;
        let jobs = counted(*jobs, "job");
        format!("{jobs} of {stage} of {partition} failed in the component of the function")
    }
}

/// Messages that came closer to a stage than the declared distance, and were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlyReport {
    /// Partition of the stage.
    pub partition: String,
    /// Function of the stage, as in [`OverrunReport`].
    pub stage: String,
    /// CAN identifier or port of the messages.
    pub sender: u64,
    /// True for a port: any node may send there, and the distance is a filter.
    pub is_port: bool,
    /// Number of messages.
    pub messages: u64,
}

impl EarlyReport {
    /// Names the sender and its violation.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (sender, stage, partition) = (self.sender, &self.stage, &self.partition);
        let sender = match self.is_port {
            true => format!("a sender to port {sender}"),
            false => format!("the sender of identifier {sender:#x}"),
        };
        format!(
            "{sender} sent {} messages to {stage} of {partition} closer together than `distance`, which were dropped",
            self.messages
        )
    }
}

/// State of the devices that a stage in Linux reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// The partition that runs it.
    pub partition: String,
    /// Its function.
    pub stage: String,
    /// Times that one of them could not be used.
    pub downs: u64,
    /// Longest time from a driver's interrupt to the stage that waited, nanoseconds, what others took of its core in between included.
    pub slowest_ns: u64,
    /// Longest such time that the bound assumes; `None` if the stage reads no device.
    pub assumed_ns: Option<u64>,
}

/// All stages.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// Of partitions, by index.
    names: Vec<String>,
    /// By partition, pipe and place.
    seen: BTreeMap<(usize, String, u64), Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    fell_back: Total,
    /// Greatest age of what such a job read.
    oldest_ns: u64,
    overran: Total,
    overran_at: Spans,
    stopped: bool,
    failed: Total,
    /// Messages that came too close, and their sender.
    early: Total,
    sender: u64,
    /// Of its devices, if anything was said of them.
    downs: Option<Total>,
    slowest_ns: u64,
}

/// A count that begins anew with each start of the partition that counts.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    before: u64,
    newest: u64,
}

impl Total {
    fn take(&mut self, count: u32) {
        let count = count.into();
        if count < self.newest {
            self.before = self.before.saturating_add(self.newest);
        }
        self.newest = count;
    }

    const fn sum(self) -> u64 {
        self.before.saturating_add(self.newest)
    }
}

impl Stages {
    /// None seen yet.
    pub(super) fn new(manifest: &Manifest) -> Self {
        let all = manifest.partitions.iter();
        Self::of(all.map(|one| one.name.clone()).collect())
    }

    pub(super) const fn of(names: Vec<String>) -> Self {
        Self {
            names,
            seen: BTreeMap::new(),
        }
    }

    fn seen(&mut self, tracer: usize, pipe: String, event: &Event) -> Option<&mut Seen> {
        let stage = (tracer, pipe, event.b);
        let has_room = self.seen.len() < MOST_STAGES || self.seen.contains_key(&stage);
        has_room.then(|| self.seen.entry(stage).or_default())
    }

    /// Partition `tracer` says that a stage of its pipe fell back.
    pub(super) fn fell_back(&mut self, tracer: usize, pipe: String, event: &Event, clock: &Clock) {
        if let Some(seen) = self.seen(tracer, pipe, event) {
            seen.fell_back.take(event.sequence);
            seen.oldest_ns = seen.oldest_ns.max(clock.ns(event.a));
        }
    }

    /// Partition `tracer` says that jobs of a stage of its pipe overran.
    pub(super) fn overran(&mut self, tracer: usize, pipe: String, event: &Event, clock: &Clock) {
        if let Some(seen) = self.seen(tracer, pipe, event) {
            seen.overran_at.add(clock.ns(event.ticks));
            seen.overran.take(event.sequence);
            seen.stopped |= event.a != 0;
        }
    }

    /// Partition `tracer` reports jobs of a stage of its pipe without output.
    pub(super) fn jobs_failed(&mut self, tracer: usize, pipe: String, event: &Event) {
        if let Some(seen) = self.seen(tracer, pipe, event) {
            seen.failed.take(event.sequence);
        }
    }

    /// Partition `tracer` reports messages that came too close to a stage of its pipe.
    pub(super) fn came_early(&mut self, tracer: usize, pipe: String, event: &Event) {
        if let Some(seen) = self.seen(tracer, pipe, event) {
            seen.early.take(event.sequence);
            seen.sender = event.a;
        }
    }

    /// Partition `tracer` says how the devices of a stage of its pipe are.
    pub(super) fn at_devices(&mut self, tracer: usize, pipe: String, event: &Event, clock: &Clock) {
        if let Some(seen) = self.seen(tracer, pipe, event) {
            seen.downs
                .get_or_insert_with(Total::default)
                .take(event.sequence);
            seen.slowest_ns = seen.slowest_ns.max(clock.ns(event.a));
        }
    }

    /// Adds the figures of the stages of the pipe of `report` to it; `tracer` runs the last stage. `description` is the path of the description,
    /// `current` the path in force.
    pub(super) fn fill(
        &self,
        report: &mut PathReport,
        tracer: usize,
        [description, current]: [Option<&PathManifest>; 2],
    ) {
        for ((partition, pipe, place), seen) in &self.seen {
            let who = self.names.get(*partition).map_or("", String::as_str);
            let stage = |path: Option<&PathManifest>| {
                let place = usize::try_from(*place).ok()?;
                path?.stages.get(place).cloned()
            };
            let is_own = stage(description).is_some_and(|stage| stage.partition == who);
            if *pipe != report.name || !(*partition == tracer || is_own) {
                continue;
            }
            report.fell_back = report.fell_back.saturating_add(seen.fell_back.sum());
            report.oldest_ns = report.oldest_ns.max(seen.oldest_ns);
            let name = || {
                stage(current).map_or_else(
                    || format!("stage {}", place.saturating_add(1)),
                    |stage| stage.function,
                )
            };
            let jobs = seen.overran.sum();
            if jobs > 0 {
                report.overruns.push(OverrunReport {
                    partition: who.to_owned(),
                    stage: name(),
                    jobs,
                    stopped: seen.stopped,
                    broken_spans_s: seen.overran_at.seconds(),
                });
            }
            let jobs = seen.failed.sum();
            if jobs > 0 {
                report.failed.push(FailedReport {
                    partition: who.to_owned(),
                    stage: name(),
                    jobs,
                });
            }
            let messages = seen.early.sum();
            if messages > 0 {
                report.early.push(EarlyReport {
                    partition: who.to_owned(),
                    stage: name(),
                    sender: seen.sender & !PORT,
                    is_port: seen.sender & PORT != 0,
                    messages,
                });
            }
            if let Some(downs) = seen.downs {
                report.devices.push(DeviceReport {
                    partition: who.to_owned(),
                    stage: name(),
                    downs: downs.sum(),
                    slowest_ns: seen.slowest_ns,
                    assumed_ns: stage(description).and_then(|stage| stage.latency_ns),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_plan::manifest::StageManifest;

    fn stages() -> Stages {
        Stages::of(["control", "linux", "stranger"].map(str::to_owned).into())
    }

    fn description() -> PathManifest {
        let stage = |(function, partition): (&str, &str)| StageManifest {
            function: function.into(),
            partition: partition.into(),
            latency_ns: (function == "filter").then_some(500),
        };
        let stages = [
            ("read", "control"),
            ("filter", "linux"),
            ("write", "control"),
        ];
        PathManifest {
            partition: "control".into(),
            pipe: "steering".into(),
            number: 0x200,
            stages: stages.map(stage).into(),
            ends: ["read".into(), "write".into()],
            bound_ns: 1000,
            loss: 0.0,
            throughput: None,
            is_periodic: false,
        }
    }

    fn event(place: u64, count: u32, a: u64) -> Event {
        Event {
            ticks: 0,
            kind: 0,
            sequence: count,
            a,
            b: place,
            name: [0; 16],
        }
    }

    fn filled(stages: &Stages, paths: [Option<&PathManifest>; 2]) -> PathReport {
        let mut report = PathReport {
            name: "steering".into(),
            ..PathReport::default()
        };
        stages.fill(&mut report, 0, paths);
        report
    }

    #[test]
    fn how_often_stages_fell_back_stands_beside_their_pipe() {
        let mut stages = stages();
        // A partition through which the pipe leads says it of its own stages; another is not believed, nor of others' stages.
        for (tracer, place, count, age) in [
            (0, 2, 1, 50),
            (0, 2, 4, 70),
            (1, 1, 2, 60),
            (1, 0, 9, 900),
            (2, 1, 100, 1000),
        ] {
            let event = event(place, count, age);
            stages.fell_back(
                tracer,
                "steering".into(),
                &event,
                &Clock::new(1_000_000_000),
            );
        }
        let path = description();
        let report = filled(&stages, [Some(&path); 2]);
        assert_eq!((report.fell_back, report.oldest_ns), (6, 70));
        assert!(report.overruns.is_empty());
    }

    #[test]
    fn overruns_have_their_stages_names_and_are_counted_over_restarts() {
        let mut stages = stages();
        for (tracer, pipe, place, count, halted) in [
            (1, "steering", 1, 2, 0),
            (1, "steering", 1, 3, 0),
            (1, "steering", 1, 1, 1),
            (0, "steering", 2, 7, 0),
            (0, "steering", u64::MAX, 1, 0),
            (2, "steering", 1, 100, 1),
            (1, "another", 1, 50, 1),
        ] {
            stages.overran(
                tracer,
                pipe.into(),
                &event(place, count, halted),
                &Clock::new(1_000_000_000),
            );
        }
        let path = description();
        let overrun = |partition: &str, stage: &str, jobs, stopped| OverrunReport {
            partition: partition.into(),
            stage: stage.into(),
            jobs,
            stopped,
            broken_spans_s: vec![[0.0; 2]],
        };
        let report = filled(&stages, [Some(&path); 2]);
        assert_eq!(
            report.overruns,
            [
                overrun("control", "write", 7, false),
                overrun("control", "stage 18446744073709551615", 1, false),
                overrun("linux", "filter", 4, true)
            ]
        );
        // Of a pipe that was deployed at run time the description has no stages: their places are known only.
        let report = filled(&stages, [None; 2]);
        let names: Vec<_> = report.overruns.iter().map(|one| &one.stage).collect();
        assert_eq!(names, ["stage 3", "stage 18446744073709551615"]);
    }

    #[test]
    fn devices_stand_with_what_was_assumed_of_them_and_are_counted_over_restarts() {
        let mut stages = stages();
        let clock = Clock::new(1_000_000_000);
        for (tracer, place, downs, slowest) in
            [(1, 1, 0, 40), (1, 1, 2, 90), (1, 1, 1, 70), (2, 1, 9, 900)]
        {
            stages.at_devices(
                tracer,
                "steering".into(),
                &event(place, downs, slowest),
                &clock,
            );
        }
        let path = description();
        let report = filled(&stages, [Some(&path); 2]);
        let device = DeviceReport {
            partition: "linux".into(),
            stage: "filter".into(),
            downs: 3,
            slowest_ns: 90,
            assumed_ns: Some(500),
        };
        assert_eq!(report.devices, [device]);
    }

    #[test]
    fn a_sender_that_breaks_its_distance_is_named() {
        let mut stages = stages();
        for (tracer, place, count, sender) in [
            (0, 0, 3, 0x140),
            (0, 0, 7, 0x140),
            (0, 2, 5, PORT | 5000),
            (2, 0, 100, 0x150),
        ] {
            stages.came_early(tracer, "steering".into(), &event(place, count, sender));
        }
        let path = description();
        let report = filled(&stages, [Some(&path); 2]);
        let sentences: Vec<_> = report.early.iter().map(EarlyReport::sentence).collect();
        assert_eq!(
            sentences,
            [
                "the sender of identifier 0x140 sent 7 messages to read of control closer together than `distance`, which were dropped",
                "a sender to port 5000 sent 5 messages to write of control closer together than `distance`, which were dropped",
            ]
        );
        // Any node may send to a port; a sender on the bus breaks what the description promises of it.
        assert_eq!(
            report
                .broken(false)
                .iter()
                .filter(|one| one.contains("identifier 0x140"))
                .count(),
            0
        );
        let bounded = PathReport {
            bound_ns: Some(1000),
            delivered: 1,
            ..report
        };
        let broken = bounded.broken(false);
        assert_eq!(broken, sentences[..1]);
    }

    #[test]
    fn nonsense_is_bounded() {
        let clock = Clock::new(1_000_000_000);
        let mut stages = stages();
        for place in 0..1000 {
            stages.overran(0, "steering".into(), &event(place, u32::MAX, 0), &clock);
            stages.overran(0, "steering".into(), &event(place, 1, 0), &clock);
        }
        let report = filled(&stages, [None; 2]);
        assert_eq!(report.overruns.len(), MOST_STAGES);
        assert_eq!(report.overruns[0].jobs, u64::from(u32::MAX) + 1);
    }
}
