//! A solved pipeline, and how it is shown

use crate::quantity::time_text;
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_tpipe::assessment::{budget, fixed_periods, paths, periods};
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::{Buffering, Requirement};
use bulkhead_tpipe::solver::{self, Answer};
use serde_json::{Value, json};
use std::fmt::Write;

/// A flow with a kept requirement.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The pipeline in its usual form.
    pub flow: String,
    /// Of all its buffers.
    pub buffering: Buffering,
    /// The kept requirement; `None`: best effort.
    pub requirement: Option<Requirement>,
    /// In an order in which data flow.
    pub stages: Vec<Stage>,
    /// Longest ways from a first stage to a last one.
    pub paths: Vec<Path>,
    /// Shortest distance of messages that it takes without end, nanoseconds.
    pub interval_ns: u64,
    /// Σ C/T.
    pub utilisation: Fraction,
    heuristic: Fraction,
    heuristic_holds: bool,
    heuristic_content: bool,
    saved: Option<Fraction>,
    /// Longest that devices add to a sum of periods, nanoseconds.
    devices_ns: u64,
}

/// A stage. Times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its function.
    pub name: String,
    /// Its core, by the repository's name.
    pub core: String,
    /// C.
    pub capacity_ns: u64,
    /// T.
    pub period_ns: u64,
    /// m: jobs in a budget.
    pub messages: u64,
    /// WCET of a job.
    pub wcet_ns: u64,
    /// R.
    pub response_ns: u64,
    /// Places in each of the buffers before it.
    pub buffer: u64,
    /// Part of the messages that is lost up to here.
    pub loss: Fraction,
    /// Junction it reads from; 0 is the way in.
    pub from: u16,
    /// Junction it writes to.
    pub to: u16,
}

/// The longest way from a first stage to a last one. Times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Path {
    /// Index of the first stage.
    pub head: usize,
    /// Index of the last stage.
    pub tail: usize,
    /// Σ T.
    pub periods_ns: u64,
    /// The proven bound.
    pub bound_ns: u64,
}

/// Maximum number of printed pairs; only the longest are shown.
const MOST_PATHS: usize = 64;

impl Solved {
    /// From an answer that holds.
    #[must_use]
    pub fn of<const N: usize>(bound: &Bound<'_, N>, answer: &Answer<N>) -> Self {
        let (setting, promised) = (&answer.best.setting, &answer.best.assessment);
        let stage = |(index, stage): (usize, &bulkhead_tpipe::language::Stage<'_>)| {
            let function = bound.function(index);
            Stage {
                name: stage.name.to_owned(),
                core: bound.repository.cores[function.core].name.to_owned(),
                capacity_ns: budget(bound, index, setting.messages[index]),
                period_ns: setting.period[index],
                messages: setting.messages[index],
                wcet_ns: function.wcet,
                response_ns: promised.response[index],
                buffer: promised.buffer[index],
                loss: promised.loss[index],
                from: stage.from,
                to: stage.to,
            }
        };
        let stages = bound.pipeline.stages().iter().enumerate();
        Self {
            flow: bound.pipeline.to_string(),
            buffering: bound.pipeline.buffering,
            requirement: bound.pipeline.requirement,
            stages: stages.map(stage).collect(),
            paths: all_paths(bound, answer),
            interval_ns: promised.interval,
            utilisation: promised.utilisation,
            heuristic: answer.heuristic.assessment.utilisation,
            heuristic_holds: answer.heuristic.holds(),
            heuristic_content: answer.heuristic_content,
            saved: solver::saved(answer),
            devices_ns: (0..bound.len())
                .map(|stage| fixed_periods(bound, stage))
                .max()
                .unwrap_or(0),
        }
    }

    /// C, T, m, responses, buffers, losses; bound and slack of each path. With `formulas`, also how
    /// they come about.
    #[must_use]
    pub fn table(&self, formulas: bool) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        if formulas {
            let _ = self.formulas(&mut text);
        }
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "{}", self.flow)?;
        writeln!(
            text,
            "  {:<16} {:<16} {:>12} {:>12} {:>4} {:>12} {:>8} {:>8}",
            "stage", "core", "C us", "T us", "m", "responds us", "buffer", "lost %"
        )?;
        for stage in &self.stages {
            writeln!(
                text,
                "  {:<16} {:<16} {:>12} {:>12} {:>4} {:>12} {:>8} {:>8.2}",
                stage.name,
                stage.core,
                us(stage.capacity_ns),
                us(stage.period_ns),
                stage.messages,
                us(stage.response_ns),
                match self.buffering {
                    Buffering::FourSlot => "4-slot".into(),
                    Buffering::Fifo => stage.buffer.to_string(),
                },
                stage.loss.percent()
            )?;
        }
        let mut paths: Vec<_> = self.paths.iter().collect();
        paths.sort_by_key(|path| std::cmp::Reverse(path.bound_ns));
        for path in paths.iter().take(MOST_PATHS) {
            let slack = self.slack_ns(path);
            let slack = slack.map_or_else(String::new, |slack| format!(", slack {} us", us(slack)));
            writeln!(
                text,
                "  {} -> {}: within {} us{slack}; periods sum up to {} us",
                self.stages[path.head].name,
                self.stages[path.tail].name,
                us(path.bound_ns),
                us(path.periods_ns)
            )?;
        }
        writeln!(
            text,
            "  takes messages every {} us; stages take {:.2} % of a core",
            us(self.interval_ns),
            self.utilisation.percent()
        )?;
        writeln!(text, "  {}", self.compared())
    }

    /// The answer beside the paper's.
    fn compared(&self) -> String {
        match self.saved {
            _ if self.requirement.is_none() => {
                "nothing is required: usual periods, doubled until what others require is kept"
                    .into()
            }
            Some(saved) => format!(
                "the paper's heuristic would take {:.2} %: {:.1} % of it saved",
                self.heuristic.percent(),
                saved.percent()
            ),
            None => "the paper's heuristic finds nothing that holds".into(),
        }
    }

    fn formulas(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "  R: exact response time with I/O VCPUs on rate-monotonic cores; the busy period, at most T, under EDF"
        )?;
        writeln!(
            text,
            "  delay: sum of R; T more at a stage with several producers, or slower than its input"
        )?;
        writeln!(
            text,
            "  periods: sum of T <= delay on the longest path (003 §3.1.4), devices' included, up to {}",
            time_text(self.devices_ns)
        )?;
        text.push_str(match self.buffering {
            Buffering::Fifo => {
                "  throughput: min m/T (003 prints m*C/T; messages per time are m/T)\n  \
                 buffer: 2*ceil(m_c*T_c / m_p*T_p) (003 §3.1.4), or more where more can wait\n"
            }
            Buffering::FourSlot => {
                "  loss: 1 - T_p/T_c where T_p <= T_c (003 §3.1.4), and what lateness alone can overwrite\n"
            }
        });
        Ok(())
    }

    /// The requirement less the bound.
    fn slack_ns(&self, path: &Path) -> Option<u64> {
        let required = self.requirement?;
        Some(required.delay_ns.saturating_sub(path.bound_ns))
    }

    /// The text for programs.
    #[must_use]
    pub fn as_json(&self) -> Value {
        let stage = |stage: &Stage| {
            json!({"function": stage.name, "core": stage.core,
                   "C_ns": stage.capacity_ns, "T_ns": stage.period_ns, "messages": stage.messages,
                   "response_ns": stage.response_ns, "buffer": stage.buffer,
                   "loss_percent": stage.loss.percent()})
        };
        let path = |path: &Path| {
            json!({"from": self.stages[path.head].name, "to": self.stages[path.tail].name,
                   "bound_ns": path.bound_ns, "periods_ns": path.periods_ns,
                   "slack_ns": self.slack_ns(path)})
        };
        let (stages, paths) = (self.stages.iter().map(stage), self.paths.iter().map(path));
        json!({"pipeline": self.flow, "stages": stages.collect::<Vec<_>>(),
               "paths": paths.collect::<Vec<_>>(), "interval_ns": self.interval_ns,
               "utilisation_percent": self.utilisation.percent(),
               "heuristic": {"holds": self.heuristic_holds, "content": self.heuristic_content,
                             "utilisation_percent": self.heuristic.percent()},
               "saved_percent": self.saved.map(|share| share.percent())})
    }
}

fn us(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e3)
}

fn all_paths<const N: usize>(bound: &Bound<'_, N>, answer: &Answer<N>) -> Vec<Path> {
    let mut found = vec![];
    for head in (0..bound.len()).filter(|&stage| bound.is_head(stage)) {
        let mut reached = vec![(0, 0); bound.len()];
        let only = |stage| stage == head;
        let setting = &answer.best.setting;
        let of = |stage| periods(bound, setting, stage);
        paths(bound, of, only, |stage, length| reached[stage].0 = length);
        let of = |stage: usize| answer.best.assessment.delay[stage];
        paths(bound, of, only, |stage, length| reached[stage].1 = length);
        for (tail, &(periods_ns, bound_ns)) in reached.iter().enumerate() {
            if bound.is_tail(tail) && periods_ns > 0 {
                found.push(Path {
                    head,
                    tail,
                    periods_ns,
                    bound_ns,
                });
            }
        }
    }
    found
}
