//! Observed responses and delays beside their bounds

use bulkhead_model::system::System;
use bulkhead_run::figures::duration;
use bulkhead_run::report::{PathReport, Report};

use super::broken;
use crate::setting::Setting;
use crate::{BenchError, Row};

/// Least part of a required throughput that a run of some seconds shows: its ends fall between messages.
const RATE: f64 = 0.97;
/// Stages on a path at most.
const MOST_STAGES: f64 = 4.0;

/// Observations of one class.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) systems: u64,
    /// Bound / longest observed, of each task or path.
    ratios: Vec<f64>,
    broken: Vec<Row>,
}

impl Seen {
    /// Of a board that could not be run.
    pub(super) fn not_run(name: &str, error: &BenchError) -> Self {
        Self {
            broken: vec![broken(format!("{name}: could not be run: {error}"))],
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, mut other: Self) {
        self.systems += other.systems;
        self.ratios.append(&mut other.ratios);
        self.broken.append(&mut other.broken);
    }

    /// A line of progress.
    pub(super) fn summary(&self) -> String {
        let broken = self.broken.iter().map(|row| format!("; {}", row.name));
        let (systems, ratios) = (self.systems, self.ratios.len());
        let text = format!("{systems} systems, {ratios} tasks or paths");
        broken.fold(text, |text, one| text + &one)
    }

    /// One row of the class, and one of each broken promise.
    pub(super) fn rows(mut self, class: &str) -> Vec<Row> {
        self.ratios.sort_by(f64::total_cmp);
        let middle = self.ratios.get(self.ratios.len() / 2);
        let least = self.ratios.first().copied().unwrap_or(f64::NAN);
        let figures = [
            ("largest observed of its bound", 1.0 / least),
            (
                "median of bound / observed",
                middle.copied().unwrap_or(f64::NAN),
            ),
            ("systems", self.systems as f64),
            ("tasks or paths", self.ratios.len() as f64),
            ("broken", self.broken.len() as f64),
        ];
        let mut rows = vec![Row::at_most(class, &figures, "", 1.0)];
        rows.append(&mut self.broken);
        rows
    }

    fn observe(&mut self, what: &str, observed_ns: f64, bound_ns: f64) {
        self.ratios.push(bound_ns / observed_ns);
        if observed_ns.is_nan() || observed_ns > bound_ns {
            let observed = match observed_ns.is_nan() {
                true => "nothing was observed".to_owned(),
                false => duration(observed_ns as u64),
            };
            let text = format!(
                "{what}: {observed}, its bound is {}",
                duration(bound_ns as u64)
            );
            self.broken.push(broken(text));
        }
    }

    /// Takes in what the partitions of a run say of their tasks; of each the last line counts.
    pub(super) fn tasks(
        &mut self,
        name: &str,
        setting: &Setting,
        system: &System,
    ) -> Result<(), BenchError> {
        for partition in &system.partitions {
            self.systems += 1;
            let lines = setting.console(&partition.name)?;
            for task in &partition.timing.tasks {
                let what = format!("{name}, {}.{}", partition.name, task.name);
                let start = format!("task {} jobs=", task.name);
                let mut output = lines.iter().rev();
                let output = output.find_map(|line| Some(line.split_once(&start)?.1));
                let number = |key: &str| -> Option<f64> {
                    let mut words = output?.split_whitespace();
                    words.find_map(|word| word.strip_prefix(key)?.parse().ok())
                };
                match (number("longest_ns="), number("bound_ns=")) {
                    (Some(longest), Some(bound)) => self.observe(&what, longest, bound),
                    _ => self.broken.push(broken(format!("{what}: says nothing"))),
                }
            }
        }
        Ok(())
    }

    /// Takes in the tasks that the partitions of a run traced.
    pub(super) fn traced_tasks(&mut self, name: &str, systems: u64, report: &Report) {
        self.systems += systems;
        for task in report
            .tasks
            .iter()
            .filter(|task| task.deadline_ns.is_some())
        {
            let what = format!("{name}, {}.{}", task.partition, task.name);
            let observed = match task.jobs {
                0 => f64::NAN,
                _ => task.worst_response_ns as f64,
            };
            self.observe(&what, observed, task.bound_ns.unwrap_or(0) as f64);
        }
    }

    /// Takes in the paths of a run.
    pub(super) fn paths(&mut self, name: &str, report: &Report) {
        self.systems += 1;
        let bounded = report.paths.iter().filter(|path| path.bound_ns.is_some());
        let mut count = 0;
        for path in bounded {
            count += 1;
            let what = format!(
                "{name}, {}.{} {} to {}",
                path.partition, path.name, path.ends[0], path.ends[1]
            );
            let bound = path.bound_ns.unwrap_or(0) as f64;
            let observed = match path.delivered {
                0 => f64::NAN,
                _ => path.delay.max_ns as f64,
            };
            self.observe(&what, observed, bound);
            self.broken.extend(lost(&what, path).map(broken));
        }
        if count == 0 {
            self.broken
                .push(broken(format!("{name}: no path says anything")));
        }
    }
}

/// Promises of a path, other than its bound, that do not hold.
fn lost(what: &str, path: &PathReport) -> impl Iterator<Item = String> {
    let all = (path.delivered + path.lost).max(1) as f64;
    let part = path.lost as f64 / all;
    // A share of a few hundred messages: where the run begins and ends between them may cost each stage one more.
    let most = match path.loss_bound {
        Some(0.0) => 0.0,
        share => share.unwrap_or(1.0) + MOST_STAGES / all,
    };
    let slow = path.required_rate.filter(|least| path.rate < RATE * least);
    let overruns: u64 = path.overruns.iter().map(|one| one.jobs).sum();
    [
        (part > most).then(|| format!("{what}: {} of {all} messages lost", path.lost)),
        slow.map(|least| format!("{what}: {:.1} messages a second of {least:.1}", path.rate)),
        (overruns > 0).then(|| format!("{what}: {overruns} overruns")),
    ]
    .into_iter()
    .flatten()
}
