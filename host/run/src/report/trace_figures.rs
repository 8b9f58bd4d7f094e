//! Figures from trace events
//!
//! A partition may trace whatever it likes: names are made printable, and only so many of them are
//! kept of each partition.

use bulkhead_abi::NAME_LEN;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_plan::manifest::Manifest;
use std::collections::BTreeMap;

use super::messages::Messages;
use super::paths::Paths;
use super::spans::Spans;
use crate::figures::Durations;
use crate::report::contents::{ChannelReport, TaskReport, TrackingReport};
use crate::report::paths::PathReport;
use crate::watch::{Clock, printable};

/// Signals that follow others of the same partition: what is followed, what follows, their unit.
const FOLLOWING: [[&str; 3]; 3] = [
    ["setpoint", "speed", "m/s"],
    ["grade", "grade-seen", "%"],
    ["headway", "headway-seen", "m"],
];
/// Names of tasks, and of signals, kept of a partition.
const MOST_NAMES: usize = 32;

/// By partition and name.
type ByName<T> = BTreeMap<(usize, String), T>;

/// Figures of all events of all partitions.
#[derive(Debug, Default)]
pub(super) struct TraceFigures {
    messages: Messages,
    paths: Paths,
    tasks: ByName<Task>,
    signals: ByName<f64>,
    /// By partition and place in `FOLLOWING`.
    tracking: BTreeMap<(usize, usize), Tracking>,
}

#[derive(Debug, Default)]
struct Task {
    overruns: u64,
    /// Nanoseconds from a release to the next, if the task said so.
    period_ns: Option<u64>,
    /// Longest time between two releases seen, nanoseconds.
    longest_gap_ns: u64,
    newest_release_ns: Option<u64>,
    /// End of the newest job, or first release.
    newest_ns: u64,
    /// The task has ended, or its partition was stopped.
    ended: bool,
    /// Its partition was stopped since its last job or its end, and may start anew.
    is_down: bool,
    /// Its thread ended by itself some releases before its partition was stopped.
    ended_early: bool,
    deadline_ns: Option<u64>,
    late: u64,
    /// Bound of the analysis.
    bound_ns: Option<u64>,
    above_bound: u64,
    /// Times at which jobs ended late or were skipped.
    broken: Spans,
    worst_response_ns: u64,
    lateness: Durations,
    execution: Durations,
}

#[derive(Debug, Default)]
struct Tracking {
    samples: u64,
    squares: f64,
    max: f64,
}

impl TraceFigures {
    /// None yet, of the partitions and channels of `manifest`.
    pub(super) fn new(manifest: &Manifest) -> Self {
        Self {
            messages: Messages::new(manifest),
            paths: Paths::new(manifest),
            tasks: tasks(manifest),
            ..Self::default()
        }
    }

    /// Takes an event of partition `tracer`.
    pub(super) fn take(&mut self, tracer: usize, event: &Event, clock: &Clock) {
        const JOB: u32 = EventKind::Job as u32;
        const OVERRUN: u32 = EventKind::Overrun as u32;
        const SENT: u32 = EventKind::Sent as u32;
        const RECEIVED: u32 = EventKind::Received as u32;
        const LOST: u32 = EventKind::Lost as u32;
        const SIGNAL: u32 = EventKind::Signal as u32;
        const DELIVERED: u32 = EventKind::Delivered as u32;
        const FELL_BACK: u32 = EventKind::FellBack as u32;
        const STAGE_OVERRAN: u32 = EventKind::StageOverran as u32;
        const ENDPOINT: u32 = EventKind::Endpoint as u32;
        const CAME_EARLY: u32 = EventKind::CameEarly as u32;
        const PROMISED: u32 = EventKind::Promised as u32;
        const PATH_END: u32 = EventKind::PathEnd as u32;
        const TASK_BEGUN: u32 = EventKind::TaskBegun as u32;
        const TASK_ENDED: u32 = EventKind::TaskEnded as u32;
        const STOPPED: u32 = EventKind::Stopped as u32;
        const JOBS_FAILED: u32 = EventKind::JobsFailed as u32;
        let name = event_name(&event.name);
        match event.kind {
            JOB => self.job(tracer, name, event, clock),
            OVERRUN => {
                if let Some(task) = slot(&mut self.tasks, tracer, name) {
                    task.overruns = task.overruns.saturating_add(event.a.max(1));
                    task.broken.add(clock.ns(event.ticks));
                }
            }
            SENT => self.messages.sent(tracer, &name),
            RECEIVED => self.messages.received(tracer, &name, event, clock),
            LOST => self.messages.lost(tracer, &name, event.a),
            SIGNAL => self.signal(tracer, name, f64::from_bits(event.a)),
            DELIVERED => self.paths.take(tracer, name, event, clock),
            FELL_BACK => self.paths.fell_back(tracer, name, event, clock),
            STAGE_OVERRAN => self.paths.overran(tracer, name, event, clock),
            JOBS_FAILED => self.paths.jobs_failed(tracer, name, event),
            ENDPOINT => self.paths.at_devices(tracer, name, event, clock),
            CAME_EARLY => self.paths.came_early(tracer, name, event),
            PROMISED => self.paths.promised(tracer, name, event, clock),
            PATH_END => self.paths.path_end(tracer, name, event),
            TASK_BEGUN => {
                if let Some(task) = slot(&mut self.tasks, tracer, name) {
                    task.period_ns = Some(clock.ns(event.a)).filter(|&period| period > 0);
                    task.newest_ns = clock.ns(event.b.max(event.ticks));
                    (task.newest_release_ns, task.ended) = (None, false);
                    task.is_down = false;
                }
            }
            TASK_ENDED => {
                if let Some(task) = slot(&mut self.tasks, tracer, name) {
                    task.ended = true;
                }
            }
            STOPPED => self.paths.stopped(tracer, name),
            _ => {}
        }
    }

    fn job(&mut self, tracer: usize, name: String, event: &Event, clock: &Clock) {
        let since = |from: u64, to: u64| clock.ns(to.saturating_sub(from));
        if let Some(task) = slot(&mut self.tasks, tracer, name) {
            let release_ns = clock.ns(event.a);
            if let Some(before_ns) = task.newest_release_ns.replace(release_ns) {
                let gap_ns = release_ns.saturating_sub(before_ns);
                task.longest_gap_ns = task.longest_gap_ns.max(gap_ns);
            }
            task.newest_ns = task.newest_ns.max(clock.ns(event.b));
            (task.ended, task.is_down) = (false, false);
            task.lateness.add(since(event.a, event.ticks));
            task.execution.add(since(event.ticks, event.b));
            let response_ns = since(event.a, event.b);
            task.worst_response_ns = task.worst_response_ns.max(response_ns);
            let late = task
                .deadline_ns
                .is_some_and(|deadline| response_ns > deadline);
            let above_bound = task.bound_ns.is_some_and(|bound| response_ns > bound);
            task.late += u64::from(late);
            task.above_bound += u64::from(above_bound);
            if late || above_bound {
                task.broken.add(clock.ns(event.b));
            }
        }
    }

    fn signal(&mut self, tracer: usize, name: String, value: f64) {
        let pair = FOLLOWING
            .iter()
            .position(|[_, follows, _]| *follows == name);
        if let Some(pair) = pair
            && let Some(followed) = self.signals.get(&(tracer, FOLLOWING[pair][0].into()))
        {
            let tracking = self.tracking.entry((tracer, pair)).or_default();
            tracking.add(followed - value);
        }
        if let Some(newest) = slot(&mut self.signals, tracer, name) {
            *newest = value;
        }
    }

    /// Partition `partition` was stopped at that time, and starts anew if `restarts`.
    pub(super) fn stop(&mut self, partition: usize, at_ns: u64, restarts: bool) {
        self.messages.stop(partition);
        self.paths.stop(partition, at_ns, restarts);
        let of_partition = self
            .tasks
            .iter_mut()
            .filter(|((one, _), _)| *one == partition);
        for (_, task) in of_partition {
            task.ended_early |= task.has_ended() && task.missed(at_ns) > 0;
            // A static task begins anew with its partition, even if it had ended.
            task.is_down = !task.ended || task.is_down || task.deadline_ns.is_some();
            (task.newest_release_ns, task.ended) = (None, true);
        }
    }

    /// Partition `partition` announced at that time that it is up.
    pub(super) fn up(&mut self, partition: usize, at_ns: u64) {
        self.paths.up(partition, at_ns);
        // A described task has to be served again.
        let tasks = self.tasks.iter_mut();
        let tasks = tasks.filter(|((one, _), task)| {
            *one == partition && task.is_down && task.deadline_ns.is_some()
        });
        for (_, task) in tasks.filter(|(_, task)| task.newest_ns < at_ns) {
            (task.newest_ns, task.ended, task.is_down) = (at_ns, false, false);
        }
    }

    /// Events of a partition are missing from here to the next.
    pub(super) fn gap(&mut self, partition: usize) {
        self.paths.gap(partition);
    }

    /// The host received a message of the channel `name`.
    pub(super) fn received_by_host(&mut self, name: &str) {
        self.messages.received_by_host(name);
    }

    /// Adds the counts and delays of the channel that `report` names.
    pub(super) fn fill(&self, report: &mut ChannelReport) {
        self.messages.fill(report);
    }

    /// Newest value of each signal.
    pub(super) const fn signals(&self) -> &ByName<f64> {
        &self.signals
    }

    /// Largest lateness of any task's job so far, nanoseconds.
    pub(super) fn worst_lateness_ns(&self) -> Option<u64> {
        self.tasks.values().map(|task| task.lateness.max_ns()).max()
    }

    /// Reports of the paths.
    pub(super) fn paths(&self, names: &[String], end_ns: u64) -> Vec<PathReport> {
        self.paths.reports(names, end_ns)
    }

    /// Reports of the tasks at the end of the run.
    pub(super) fn tasks(&self, names: &[String], end_ns: u64) -> Vec<TaskReport> {
        let report = |((partition, name), task): (&(usize, String), &Task)| TaskReport {
            partition: names.get(*partition).cloned().unwrap_or_default(),
            name: name.clone(),
            jobs: task.lateness.spread().count,
            overruns: task.overruns,
            deadline_ns: task.deadline_ns,
            late: task.late,
            bound_ns: task.bound_ns,
            above_bound: task.above_bound,
            broken_spans_s: task.broken.seconds(),
            unserved: task.unserved(end_ns),
            has_ended: task.ended_early || task.has_ended(),
            newest_s: task.newest_ns as f64 / 1e9,
            worst_response_ns: task.worst_response_ns,
            lateness: task.lateness.spread(),
            execution: task.execution.spread(),
        };
        self.tasks.iter().map(report).collect()
    }

    /// How well signals follow others.
    pub(super) fn tracking(&self, names: &[String]) -> Vec<TrackingReport> {
        let report = |((partition, pair), tracking): (&(usize, usize), &Tracking)| {
            let [followed, signal, unit] = FOLLOWING[*pair].map(str::to_owned);
            TrackingReport {
                partition: names.get(*partition).cloned().unwrap_or_default(),
                signal,
                followed,
                samples: tracking.samples,
                rms: (tracking.squares / tracking.samples as f64).sqrt(),
                max: tracking.max,
                unit,
            }
        };
        let has_samples = |(_, tracking): &(_, &Tracking)| tracking.samples > 0;
        self.tracking
            .iter()
            .filter(has_samples)
            .map(report)
            .collect()
    }
}

/// Tasks with deadlines, no job of them seen.
fn tasks(manifest: &Manifest) -> ByName<Task> {
    let partitions = manifest.partitions.iter().enumerate();
    let tasks = partitions.flat_map(|(index, partition)| {
        let deadlines = partition.deadlines.iter();
        deadlines.map(move |(name, &deadline_ns)| {
            let task = Task {
                deadline_ns: Some(deadline_ns),
                bound_ns: partition.bounds.get(name).copied(),
                ..Task::default()
            };
            ((index, name.clone()), task)
        })
    });
    tasks.collect()
}

/// The place of a name, made if the partition has not too many.
fn slot<T: Default>(map: &mut ByName<T>, tracer: usize, name: String) -> Option<&mut T> {
    let of_partition = (tracer, String::new())..(tracer + 1, String::new());
    let key = (tracer, name);
    if !map.contains_key(&key) && map.range(of_partition).count() >= MOST_NAMES {
        return None;
    }
    Some(map.entry(key).or_default())
}

fn event_name(field: &[u8; NAME_LEN]) -> String {
    let end = field.iter().position(|&byte| byte == 0);
    printable(&field[..end.unwrap_or(NAME_LEN)])
}

impl Task {
    /// Releases without a job at the end of the run, `end_ns`; 0 where the newest of them may still be served.
    fn unserved(&self, end_ns: u64) -> u64 {
        match self.ended {
            true => 0,
            false => self.missed(end_ns),
        }
    }

    /// The thread of a static task ended by itself.
    fn has_ended(&self) -> bool {
        self.ended && !self.is_down && self.deadline_ns.is_some()
    }

    /// Releases since the newest job at `end_ns`; 0 where the newest of them may still be served.
    fn missed(&self, end_ns: u64) -> u64 {
        const PATIENCE_NS: u64 = 10_000_000;
        const GAPS: u64 = 4;
        let silent_ns = end_ns.saturating_sub(self.newest_ns);
        let (period_ns, periods) = match self.period_ns {
            Some(period_ns) => (period_ns, 2),
            None if self.deadline_ns.is_some() => (self.longest_gap_ns, GAPS),
            None => return 0,
        };
        let is_due = silent_ns
            > period_ns
                .saturating_mul(periods)
                .saturating_add(PATIENCE_NS);
        match silent_ns.checked_div(period_ns) {
            Some(releases) if is_due => releases,
            _ => 0,
        }
    }
}

impl Tracking {
    fn add(&mut self, error: f64) {
        if error.is_finite() {
            self.samples += 1;
            self.squares += error * error;
            self.max = self.max.max(error.abs());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_abi::name_field;

    fn event(kind: EventKind, name: &str, ticks: u64, a: u64, b: u64) -> Event {
        Event {
            ticks,
            kind: kind as u32,
            sequence: 1,
            a,
            b,
            name: name_field(name),
        }
    }

    fn events(list: &[Event]) -> TraceFigures {
        let clock = Clock::new(62_500_000);
        let mut events = TraceFigures::default();
        list.iter().for_each(|event| events.take(0, event, &clock));
        events
    }

    #[test]
    fn jobs_give_lateness_and_execution() {
        let events = events(&[
            event(EventKind::Job, "loop", 1010, 1000, 1110),
            event(EventKind::Job, "loop", 2030, 2000, 2080),
            event(EventKind::Overrun, "loop", 0, 3, 0),
        ]);
        let tasks = events.tasks(&["control".into()], 0);
        assert_eq!(tasks.len(), 1);
        let task = &tasks[0];
        assert_eq!(
            (task.partition.as_str(), task.jobs, task.overruns),
            ("control", 2, 3)
        );
        assert_eq!((task.lateness.min_ns, task.lateness.max_ns), (160, 480));
        assert_eq!((task.execution.min_ns, task.execution.max_ns), (800, 1600));
        assert_eq!(events.worst_lateness_ns(), Some(480));
    }

    #[test]
    fn a_task_that_stops_without_an_end_leaves_releases_unserved() {
        let begun = event(EventKind::TaskBegun, "thread 2", 0, 625_000, 62_500);
        let job = event(EventKind::Job, "thread 2", 62_500, 62_500, 62_600);
        let ended = event(EventKind::TaskEnded, "thread 2", 63_000, 0, 0);
        let unserved = |list: &[Event]| events(list).tasks(&[], 1_000_000_000)[0].unserved;
        assert_eq!(unserved(&[begun]), 99, "never a job");
        assert_eq!(unserved(&[begun, job]), 99);
        assert_eq!(unserved(&[begun, job, ended]), 0);
        assert_eq!(unserved(&[job]), 0, "no promise");
        let mut stopped = events(&[begun, job]);
        stopped.stop(0, 0, true);
        assert_eq!(stopped.tasks(&[], 1_000_000_000)[0].unserved, 0);
        assert_eq!(events(&[begun, job]).tasks(&[], 20_000_000)[0].unserved, 0);
    }

    #[test]
    fn a_static_task_that_ends_by_itself_is_reported() {
        let end = event(EventKind::TaskEnded, "loop", 62_700, 0, 0);
        let [first, second, third] =
            [0, 62_500, 125_000].map(|at| event(EventKind::Job, "loop", at, at, at + 100));
        let has_ended = |deadline_ns, list: &[Event], stop_ns: Option<u64>| {
            let clock = Clock::new(62_500_000);
            let mut figures = TraceFigures::default();
            let task = Task {
                deadline_ns,
                ..Task::default()
            };
            figures.tasks.insert((0, "loop".into()), task);
            list.iter().for_each(|event| figures.take(0, event, &clock));
            if let Some(at_ns) = stop_ns {
                figures.stop(0, at_ns, true);
                figures.up(0, at_ns);
            }
            figures.tasks(&["control".into()], 1_000_000_000)[0].has_ended
        };
        let deadline = Some(1_000_000);
        let ended = [first, second, end];
        assert!(has_ended(deadline, &ended, None));
        assert!(!has_ended(deadline, &ended[..2], None));
        assert!(
            !has_ended(deadline, &[first, second, end, third], None),
            "it began anew"
        );
        assert!(
            !has_ended(deadline, &ended, Some(2_000_000)),
            "with its partition"
        );
        assert!(
            has_ended(deadline, &ended, Some(500_000_000)),
            "long before its partition"
        );
        assert!(!has_ended(None, &ended, None), "a dynamic task may end");
    }

    #[test]
    fn jobs_beyond_the_bound_of_the_analysis_are_counted() {
        let clock = Clock::new(62_500_000);
        let mut figures = TraceFigures::default();
        let task = Task {
            deadline_ns: Some(1_000_000),
            bound_ns: Some(2000),
            ..Task::default()
        };
        figures.tasks.insert((0, "loop".into()), task);
        for end in [1125, 1126] {
            let job = event(EventKind::Job, "loop", 1010, 1000, end);
            figures.take(0, &job, &clock);
        }
        let task = figures.tasks(&["control".into()], 0).swap_remove(0);
        assert_eq!(
            (task.late, task.above_bound, task.bound_ns),
            (0, 1, Some(2000))
        );
        assert_eq!(task.broken_spans_s.len(), 1);
    }

    #[test]
    fn a_task_with_a_deadline_is_served_again_after_a_restart() {
        let clock = Clock::new(62_500_000);
        let unserved = |up_ns: Option<u64>, jobs_after: &[Event]| {
            let mut figures = TraceFigures::default();
            let task = Task {
                deadline_ns: Some(1_000_000),
                ..Task::default()
            };
            figures.tasks.insert((0, "loop".into()), task);
            for ticks in [62_500, 125_000] {
                let job = event(EventKind::Job, "loop", ticks, ticks, ticks + 100);
                figures.take(0, &job, &clock);
            }
            figures.stop(0, 3_000_000, true);
            up_ns.into_iter().for_each(|at| figures.up(0, at));
            jobs_after
                .iter()
                .for_each(|job| figures.take(0, job, &clock));
            figures.tasks(&["control".into()], 1_000_000_000)[0].unserved
        };
        assert_eq!(unserved(None, &[]), 0, "it is down");
        assert_eq!(unserved(Some(100_000_000), &[]), 900);
        let late = 62_400_000;
        let job = event(EventKind::Job, "loop", late, late, late + 100);
        assert_eq!(unserved(Some(100_000_000), &[job]), 0);
    }

    #[test]
    fn tracking_compares_speed_with_the_setpoint_in_force() {
        let signal = |name, value: f64| event(EventKind::Signal, name, 0, value.to_bits(), 0);
        let events = events(&[
            signal("speed", 99.0),
            signal("setpoint", 10.0),
            signal("speed", 7.0),
            signal("speed", 14.0),
            signal("speed", f64::NAN),
        ]);
        let tracking = events.tracking(&["control".into()]);
        assert_eq!((tracking[0].samples, tracking[0].max), (2, 4.0));
        assert!((tracking[0].rms - 12.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_bounded_and_cannot_reach_the_terminal() {
        let odd = Event {
            kind: 99,
            ..event(EventKind::Job, "x", 0, u64::MAX, 0)
        };
        let mut list = vec![odd, event(EventKind::Job, "\x1b[2Jx", 0, u64::MAX, 0)];
        let flood = |number: usize| event(EventKind::Signal, &number.to_string(), 0, 0, 0);
        list.extend((0..1000).map(flood));
        let events = events(&list);
        assert_eq!(events.tasks(&[], 0)[0].name, "x");
        assert_eq!(events.signals().len(), MOST_NAMES);
    }
}
