//! Messages on paths, as the partition of their last stage reports them
//!
//! Each message that enters a path is numbered there; messages with numbers that never leave it are lost. A path that
//! is not in the description is shown without a bound.

use bulkhead_abi::trace::Event;
use bulkhead_plan::manifest::{Manifest, PathManifest};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::spans::Spans;
use super::stages::{DeviceReport, EarlyReport, FailedReport, OverrunReport, Stages};
use crate::figures::{Durations, Spread};
use crate::watch::Clock;

/// Prefix of the channels over which a partition requests stages of run-time pipes; descriptions have no such names.
const REQUESTS: &str = "typed.";
/// Time after which a message must have left a path that was deployed at run time, nanoseconds.
const DUE_NS: u64 = 500_000_000;
/// Paths kept of a partition.
const MOST_PATHS: usize = 32;
/// Restarts kept of a partition.
const MOST_RESTARTS: usize = 1024;

/// A path of a pipe, or a round trip.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PathReport {
    /// The partition that reports it.
    pub partition: String,
    /// The pipe.
    pub name: String,
    /// First and last function; empty where the description does not know the path.
    pub ends: [String; 2],
    /// Messages that left it.
    pub delivered: u64,
    /// Messages that entered between those and did not.
    pub lost: u64,
    /// Messages that entered before the first of those: lost, or sent before the receiver started.
    #[serde(default)]
    pub before: u64,
    /// Messages of these that entered after all partitions of the path had announced that they are up: lost.
    #[serde(default)]
    pub lost_at_start: u64,
    /// Messages that entered while a partition of the pipe failed and started anew, and did not leave: lost by the restart.
    #[serde(default)]
    pub lost_by_restarts: u64,
    /// Messages per second.
    pub rate: f64,
    /// From its first message to the end of the run without the restarts of its partitions, seconds.
    #[serde(default)]
    pub span_s: f64,
    /// From entry to exit.
    pub delay: Spread,
    /// Longest delay that is proven, nanoseconds.
    pub bound_ns: Option<u64>,
    /// Messages that took longer.
    pub late: u64,
    /// Spans of time in which messages left that were late or came after a lost one, seconds of the machine's clock.
    #[serde(default)]
    pub broken_spans_s: Vec<[f64; 2]>,
    /// When the first and the last message left, seconds of the machine's clock.
    #[serde(default)]
    pub between_s: Option<[f64; 2]>,
    /// Largest part of the messages that is lost, as proven.
    pub loss_bound: Option<f64>,
    /// Messages per second that are required.
    pub required_rate: Option<f64>,
    /// Jobs in which a stage of the pipe, wherever it runs, fell back, since nothing came from another partition.
    #[serde(default)]
    pub fell_back: u64,
    /// Greatest age of what such a job read, nanoseconds.
    #[serde(default)]
    pub oldest_ns: u64,
    /// Seconds from the first restart of one of its partitions after the last message to the end of the run, or, if longer, from a
    /// restart to the next message.
    #[serde(default)]
    pub out_s: Option<f64>,
    /// Seconds from the last message to the end of the run, of a path with a periodic source.
    #[serde(default)]
    pub silent_s: Option<f64>,
    /// Stages of the pipe, wherever they run, of which jobs needed more than their budget.
    #[serde(default)]
    pub overruns: Vec<OverrunReport>,
    /// Stages of the pipe, wherever they run, with jobs without output.
    #[serde(default)]
    pub failed: Vec<FailedReport>,
    /// Messages that came closer to its stages than declared.
    #[serde(default)]
    pub early: Vec<EarlyReport>,
    /// Stages of the pipe in Linux that read or write devices.
    #[serde(default)]
    pub devices: Vec<DeviceReport>,
}

impl PathReport {
    /// Returns `true` if all guarantees of the path were kept.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken(true).is_empty()
    }
}

/// All paths.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Names of partitions, by index.
    names: Vec<String>,
    /// Partitions that deploy pipes at run time, each with those that take its requests.
    clients: Vec<BTreeSet<usize>>,
    description: Vec<(usize, PathManifest)>,
    /// By partition, name and number.
    seen: BTreeMap<(usize, String, u64), Path>,
    stages: Stages,
    /// Bounds that partitions have reported at run time, which replace those of the description: by partition, pipe and number.
    promised: BTreeMap<(usize, String, u64), PathManifest>,
    /// When, nanoseconds.
    promised_ns: BTreeMap<(usize, String, u64), u64>,
    /// Pipes that a command stopped, or the restart of a partition: their rates over the whole run say nothing.
    stopped: BTreeSet<(usize, String)>,
    /// Times at which partitions failed and were started anew, nanoseconds.
    restarts: BTreeMap<usize, Vec<u64>>,
    /// Times at which partitions announced that they are up, nanoseconds.
    ups: BTreeMap<usize, Vec<u64>>,
    /// The path that each partition promised last.
    newest: BTreeMap<usize, (usize, String, u64)>,
}

#[derive(Debug, Default)]
struct Path {
    delivered: u64,
    lost: u64,
    before: u64,
    lost_by_restarts: u64,
    /// Time between messages in which a partition started anew.
    outage_ns: u64,
    /// Longest time from such a start to the next message.
    longest_out_ns: u64,
    late: u64,
    /// Times at which messages left that were late or came after a lost one.
    broken: Spans,
    newest: u32,
    /// Numbers of the first message and of the last one before the source began anew, and when they entered.
    numbered: [(u32, u64); 2],
    /// The source has begun anew.
    is_renumbered: bool,
    /// When the newest entered.
    entered_ns: u64,
    /// Events are missing since the newest one: what was numbered in between is unknown.
    gap: bool,
    first_ns: u64,
    last_ns: u64,
    delay: Durations,
}

impl Paths {
    /// Paths of the description, none of them seen.
    pub(super) fn new(manifest: &Manifest) -> Self {
        let names: Vec<_> = manifest
            .partitions
            .iter()
            .map(|one| one.name.clone())
            .collect();
        let index = |name: &str| names.iter().position(|one| one == name);
        let paths = manifest.paths.iter();
        let paths = paths.filter_map(|path| Some((index(&path.partition)?, path.clone())));
        let mut clients: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let channels = manifest.channels.iter();
        for channel in channels.filter(|one| one.name.starts_with(REQUESTS)) {
            if let Some(client) = index(&channel.from) {
                let group = clients.entry(client).or_default();
                group.insert(client);
                group.extend(channel.to.iter().filter_map(|name| index(name)));
            }
        }
        Self {
            description: paths.collect(),
            clients: clients.into_values().collect(),
            names,
            stages: Stages::new(manifest),
            ..Self::default()
        }
    }

    fn in_force(&self, tracer: usize, name: &str, number: u64) -> Option<&PathManifest> {
        let promised = self.promised.get(&(tracer, name.to_owned(), number));
        promised.or_else(|| self.description(tracer, name, number))
    }

    /// Partition `tracer` promises a path from now on; with a bound of nothing, what is described of the pipe again.
    pub(super) fn promised(&mut self, tracer: usize, name: String, event: &Event, clock: &Clock) {
        if event.a == 0 {
            let of_pipe =
                |(partition, pipe, _): &(usize, String, u64)| *partition == tracer && *pipe == name;
            self.promised.retain(|key, _| !of_pipe(key));
            return;
        }
        let key = (tracer, name.clone(), event.b);
        let of_partition = self
            .promised
            .keys()
            .filter(|(partition, ..)| *partition == tracer);
        if !self.promised.contains_key(&key) && of_partition.count() >= MOST_PATHS {
            return;
        }
        let path = PathManifest {
            partition: String::new(),
            stages: Vec::new(),
            pipe: name,
            number: event.b,
            ends: <[String; 2]>::default(),
            bound_ns: event.a,
            loss: f64::from(event.sequence) / 1e6,
            throughput: None,
            is_periodic: false,
        };
        self.promised.insert(key.clone(), path);
        let at_ns = clock.ns(event.ticks);
        self.promised_ns.entry(key.clone()).or_insert(at_ns);
        self.newest.insert(tracer, key);
    }

    /// A command stopped a pipe of partition `tracer`.
    pub(super) fn stopped(&mut self, tracer: usize, name: String) {
        if self.stopped.len() < MOST_PATHS {
            self.stopped.insert((tracer, name));
        }
    }

    /// Events of partition `tracer` are missing from here to the next.
    pub(super) fn gap(&mut self, tracer: usize) {
        let of_partition = self.seen.iter_mut().filter(|((one, ..), _)| *one == tracer);
        of_partition.for_each(|(_, path)| path.gap = true);
    }

    /// Returns `true` if partition `one` may have a part in a pipe of which `tracer` runs the last stage. Those of a run-time pipe are the
    /// client and the partitions that take its requests.
    fn takes_part(&self, one: usize, tracer: usize, name: &str) -> bool {
        if one == tracer {
            return true;
        }
        let mut static_paths = self.description.iter();
        match static_paths.find(|(partition, path)| *partition == tracer && path.pipe == name) {
            Some((_, path)) => {
                let name = self.names.get(one).map_or("", String::as_str);
                path.stages.iter().any(|stage| stage.partition == name)
            }
            None => {
                let mut clients = self.clients.iter();
                clients.any(|group| group.contains(&one) && group.contains(&tracer))
            }
        }
    }

    /// Returns the partitions that certainly have a part in the pipe.
    fn partitions_of(&self, tracer: usize, name: &str) -> impl Iterator<Item = usize> {
        let static_paths = self.description.iter();
        let of_pipe = static_paths.filter(move |(one, path)| *one == tracer && path.pipe == name);
        let stages = of_pipe.flat_map(|(_, path)| &path.stages);
        let stages = stages.filter_map(|stage| {
            let mut names = self.names.iter();
            names.position(|one| *one == stage.partition)
        });
        stages.chain([tracer])
    }

    /// Returns the first time within that time at which a partition with a part in the pipe started anew.
    fn first_restart(&self, within: RangeInclusive<u64>, tracer: usize, name: &str) -> Option<u64> {
        let restarts = self.restarts.iter();
        let of_pipe = restarts.filter(|(one, _)| self.takes_part(**one, tracer, name));
        let times = of_pipe.flat_map(|(_, times)| times);
        times.copied().filter(|time| within.contains(time)).min()
    }

    /// Partition `partition` announced at that time that it is up.
    pub(super) fn up(&mut self, partition: usize, at_ns: u64) {
        let times = self.ups.entry(partition).or_default();
        if times.len() < MOST_RESTARTS {
            times.push(at_ns);
        }
    }

    /// Returns how many messages before the first that came entered after all partitions of the path had announced that they are up. The
    /// messages behind it tell how far apart they enter. One may have been under way when the last partition announced itself.
    fn lost_at_start(&self, tracer: usize, name: &str, path: &Path) -> u64 {
        const UNDER_WAY: u64 = 1;
        let mut static_paths = self.description.iter();
        let is_static = static_paths.any(|(one, path)| *one == tracer && path.pipe == name);
        if is_static && self.partitions_of(tracer, name).all(|one| one == tracer) {
            return path.before;
        }
        let [(first, entered_ns), (newest, newest_ns)] = path.numbered;
        let numbers = u64::from(newest.saturating_sub(first));
        let apart_ns = newest_ns.saturating_sub(entered_ns).checked_div(numbers);
        let begins = |times: &BTreeMap<usize, Vec<u64>>| {
            let of_path = times.iter();
            let of_path = of_path.filter(|(one, _)| self.takes_part(**one, tracer, name));
            let of_path = of_path.filter_map(|(_, times)| {
                let times = times.iter().copied();
                times.filter(|at| *at <= entered_ns).max()
            });
            of_path.max()
        };
        let (Some(apart_ns), Some(up_ns)) = (apart_ns, begins(&self.ups)) else {
            return 0;
        };
        let all_are_up = self.partitions_of(tracer, name).all(|one| {
            let times = self.ups.get(&one);
            times.is_some_and(|times| times.iter().any(|at| *at <= entered_ns))
        });
        // The announcement of a start that ended soon was not seen.
        let is_down = begins(&self.restarts).is_some_and(|at| at > up_ns);
        let entered = (entered_ns - up_ns).checked_div(apart_ns).unwrap_or(0);
        match all_are_up && !is_down {
            true => path.before.min(entered.saturating_sub(UNDER_WAY)),
            false => 0,
        }
    }

    /// Partition `tracer` was stopped at that time, and starts anew if `restarts`: what it runs then is described.
    pub(super) fn stop(&mut self, tracer: usize, at_ns: u64, restarts: bool) {
        let times = self.restarts.entry(tracer).or_default();
        if restarts && times.len() < MOST_RESTARTS {
            times.push(at_ns);
        }
        for (partition, path) in self.description.iter().filter(|(one, _)| *one == tracer) {
            let key = (*partition, path.pipe.clone(), path.number);
            self.promised.remove(&key);
        }
        // Pipes that it deployed end.
        let promised = self.promised.keys();
        let deployed: Vec<_> = promised
            .filter(|(one, name, number)| {
                self.description(*one, name, *number).is_none()
                    && self.takes_part(tracer, *one, name)
            })
            .map(|(one, name, _)| (*one, name.clone()))
            .collect();
        self.stopped.extend(deployed);
    }

    /// An end of the path that partition `tracer` promised last.
    pub(super) fn path_end(&mut self, tracer: usize, name: String, event: &Event) {
        let key = self.newest.get(&tracer);
        let Some(path) = key.and_then(|key| self.promised.get_mut(key)) else {
            return;
        };
        if let Some(end) = path.ends.get_mut(event.sequence as usize) {
            *end = name;
        }
        path.throughput = (event.a > 0).then(|| event.a as f64 / 1e6);
    }

    fn description(&self, tracer: usize, name: &str, number: u64) -> Option<&PathManifest> {
        let named = |(partition, path): &&(usize, PathManifest)| {
            *partition == tracer && path.pipe == name && path.number == number
        };
        self.description.iter().find(named).map(|(_, path)| path)
    }

    /// Partition `tracer` says that a message left a path.
    pub(super) fn take(&mut self, tracer: usize, name: String, event: &Event, clock: &Clock) {
        let bound = self
            .in_force(tracer, &name, event.b)
            .map(|path| path.bound_ns);
        let key = (tracer, name, event.b);
        let of_partition = self
            .seen
            .keys()
            .filter(|(partition, ..)| *partition == tracer);
        if !self.seen.contains_key(&key) && of_partition.count() >= MOST_PATHS {
            return;
        }
        let at = clock.ns(event.ticks);
        let since = self.seen.get(&key).map_or(at, |path| path.entered_ns);
        let restart = self.first_restart(since..=at, tracer, &key.1);
        let path = self.seen.entry(key).or_default();
        let delay = clock.ns(event.ticks.saturating_sub(event.a));
        if path.delivered == 0 {
            path.first_ns = at;
            path.before = u64::from(event.sequence.saturating_sub(1));
            path.numbered = [(event.sequence, clock.ns(event.a)); 2];
        } else if !path.gap {
            // A smaller number is a new start's.
            let missing = event.sequence.checked_sub(path.newest.saturating_add(1));
            let missing = u64::from(missing.unwrap_or(0));
            if let Some(restart) = restart {
                path.longest_out_ns = path.longest_out_ns.max(at.saturating_sub(restart));
                path.lost_by_restarts += missing;
                path.outage_ns += at.saturating_sub(path.last_ns);
            } else {
                path.lost += missing;
                if missing > 0 {
                    path.broken.add(at);
                }
            }
        }
        path.is_renumbered |= event.sequence < path.newest;
        if !path.is_renumbered {
            path.numbered[1] = (event.sequence, clock.ns(event.a));
        }
        path.gap = false;
        path.delivered += 1;
        if bound.is_some_and(|bound| delay > bound) {
            path.late += 1;
            path.broken.add(at);
        }
        path.newest = event.sequence;
        path.last_ns = at;
        path.entered_ns = clock.ns(event.a);
        path.delay.add(delay);
    }

    /// Partition `tracer` says that a stage of its pipe fell back.
    pub(super) fn fell_back(&mut self, tracer: usize, name: String, event: &Event, clock: &Clock) {
        self.stages.fell_back(tracer, name, event, clock);
    }

    /// Partition `tracer` says that jobs of a stage of its pipe overran.
    pub(super) fn overran(&mut self, tracer: usize, name: String, event: &Event, clock: &Clock) {
        self.stages.overran(tracer, name, event, clock);
    }

    /// Partition `tracer` reports jobs of a stage of its pipe without output.
    pub(super) fn jobs_failed(&mut self, tracer: usize, name: String, event: &Event) {
        self.stages.jobs_failed(tracer, name, event);
    }

    /// Partition `tracer` reports messages that came too close to a stage of its pipe.
    pub(super) fn came_early(&mut self, tracer: usize, name: String, event: &Event) {
        self.stages.came_early(tracer, name, event);
    }

    /// Partition `tracer` says how the devices of a stage of its pipe are.
    pub(super) fn at_devices(&mut self, tracer: usize, name: String, event: &Event, clock: &Clock) {
        self.stages.at_devices(tracer, name, event, clock);
    }

    /// With what is known of the stages of its pipe.
    fn with_stages(&self, mut report: PathReport, tracer: usize, number: u64) -> PathReport {
        let mut description = self.description.iter();
        let description =
            description.find(|(partition, path)| *partition == tracer && path.pipe == report.name);
        let current = self.in_force(tracer, &report.name, number);
        let paths = [description.map(|(_, path)| path), current];
        self.stages.fill(&mut report, tracer, paths);
        report
    }

    /// Returns `true` if a partition with a part in the pipe recorded that it was stopped.
    fn is_stopped(&self, tracer: usize, name: &str) -> bool {
        let mut stopped = self.stopped.iter();
        stopped.any(|(one, pipe)| pipe == name && self.takes_part(*one, tracer, name))
    }

    /// Reports of paths that were seen, and of paths of the description that were not.
    pub(super) fn reports(&self, names: &[String], end_ns: u64) -> Vec<PathReport> {
        let unseen = self.description.iter().filter(|(partition, path)| {
            let key = (*partition, path.pipe.clone(), path.number);
            !self.seen.contains_key(&key)
        });
        let unseen = unseen.map(|(tracer, path)| {
            let report = report(&path.partition, &path.pipe, Some(path));
            self.with_stages(report, *tracer, path.number)
        });
        let seen = self.seen.iter().map(|(key, path)| {
            let who = names.get(key.0).map_or("", String::as_str);
            self.seen_report(who, key, path, end_ns)
        });
        seen.chain(unseen)
            .chain(self.deployed(names, end_ns))
            .collect()
    }

    /// Reports of paths that were deployed at run time, and of which no message was seen.
    fn deployed(&self, names: &[String], end_ns: u64) -> impl Iterator<Item = PathReport> {
        let deployed = self.promised.iter().filter(move |(key, _)| {
            let (tracer, name, _) = *key;
            let mut static_paths = self.description.iter();
            let is_static = static_paths.any(|(one, path)| one == tracer && path.pipe == *name);
            let begun = self.promised_ns.get(*key).copied();
            let is_due = begun.is_none_or(|begun| end_ns > begun.saturating_add(DUE_NS));
            let is_unseen = !self.seen.contains_key(*key) && !self.is_stopped(*tracer, name);
            !is_static && is_unseen && is_due
        });
        deployed.map(move |((tracer, name, number), path)| {
            let who = names.get(*tracer).map_or("", String::as_str);
            self.with_stages(report(who, name, Some(path)), *tracer, *number)
        })
    }

    /// Returns the report of a path with messages in the named partition.
    fn seen_report(
        &self,
        who: &str,
        (partition, name, number): &(usize, String, u64),
        path: &Path,
        end_ns: u64,
    ) -> PathReport {
        let current = self.in_force(*partition, name, *number);
        let span = path.last_ns.saturating_sub(path.first_ns) as f64 / 1e9;
        // Nothing has left since that restart.
        let out_since = self.first_restart(path.entered_ns..=end_ns, *partition, name);
        let out_ns = out_since.map_or(0, |since| end_ns.saturating_sub(since));
        let out_ns = out_ns.max(path.longest_out_ns);
        let out_s = (out_ns > 0).then_some(out_ns as f64 / 1e9);
        let silent_ns = end_ns.saturating_sub(path.last_ns);
        let is_periodic = current.is_some_and(|path| path.is_periodic);
        let is_stopped = self.is_stopped(*partition, name);
        let lost_at_start = self.lost_at_start(*partition, name, path);
        let mut broken = Spans::default();
        if lost_at_start > 0 {
            broken.add(path.first_ns);
        }
        broken.extend(&path.broken);
        let end_ns = out_since.map_or(end_ns, |_| path.last_ns);
        let report = PathReport {
            delivered: path.delivered,
            lost: path.lost,
            before: path.before,
            lost_by_restarts: path.lost_by_restarts,
            late: path.late,
            lost_at_start,
            broken_spans_s: broken.seconds(),
            between_s: Some([path.first_ns, path.last_ns].map(|ns| ns as f64 / 1e9)),
            rate: match path.delivered {
                0 | 1 => 0.0,
                count => (count - 1) as f64 / span.max(1e-9),
            },
            delay: path.delay.spread(),
            span_s: end_ns
                .saturating_sub(path.first_ns)
                .saturating_sub(path.outage_ns) as f64
                / 1e9,
            required_rate: current
                .filter(|_| !is_stopped)
                .and_then(|path| path.throughput),
            out_s: out_s.filter(|_| !is_stopped),
            silent_s: (is_periodic && !is_stopped && out_since.is_none())
                .then_some(silent_ns as f64 / 1e9),
            ..report(who, name, current)
        };
        self.with_stages(report, *partition, *number)
    }
}

/// Without figures.
fn report(partition: &str, name: &str, current: Option<&PathManifest>) -> PathReport {
    PathReport {
        partition: partition.to_owned(),
        name: name.to_owned(),
        ends: current.map(|path| path.ends.clone()).unwrap_or_default(),
        bound_ns: current.map(|path| path.bound_ns),
        loss_bound: current.map(|path| path.loss),
        required_rate: current.and_then(|path| path.throughput),
        ..PathReport::default()
    }
}

#[cfg(test)]
mod tests;
