//! The schedule as a picture (SVG) and as a trace for Perfetto
//!
//! Both show the beginning, up to a length: one row per task. The trace is JSON of the Trace Event
//! Format (complete events, microseconds), which `ui.perfetto.dev` opens.

use crate::{Observer, Stretch};
use bulkhead_model::timing::Timing;
use serde_json::{Value, json};
use std::fmt::Write;

/// Collects what ran at the beginning.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// Nanoseconds looked at.
    pub until: u64,
    /// Stretches in order, those that touch joined.
    pub stretches: Vec<Stretch>,
}

/// Most stretches kept: what a viewer can bear.
const MOST: usize = 200_000;
const WIDTH: f64 = 1200.0;
const LABEL: f64 = 150.0;
const ROW: f64 = 22.0;
const COLOURS: [&str; 6] = [
    "#4878a8", "#d97b29", "#5a9a5a", "#b3525a", "#7f6aa6", "#87705f",
];

impl Beginning {
    /// The first `until` nanoseconds.
    #[must_use]
    pub const fn new(until: u64) -> Self {
        Self {
            until,
            stretches: Vec::new(),
        }
    }

    /// The schedule as SVG.
    #[must_use]
    pub fn svg(&self, timing: &Timing) -> String {
        let height = ROW * (timing.tasks.len() as f64 + 2.0);
        let x = |ns: u64| LABEL + (WIDTH - LABEL - 10.0) * ns as f64 / self.until.max(1) as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (row, task) in timing.tasks.iter().enumerate() {
            let y = ROW * (row as f64 + 1.0);
            let vcpu = &timing.vcpus[task.vcpu];
            // Writing to a string does not fail.
            let _ = writeln!(
                svg,
                "<text x=\"4\" y=\"{:.1}\">{} ({})</text><line x1=\"{LABEL}\" x2=\"{WIDTH}\" y1=\"{3:.1}\" \
                 y2=\"{3:.1}\" stroke=\"#ddd\"/>",
                y - 6.0,
                task.name,
                vcpu.name,
                y - 2.0,
            );
        }
        for stretch in &self.stretches {
            let y = ROW * (stretch.task as f64 + 1.0) - 18.0;
            let (from, until) = (x(stretch.from), x(stretch.until));
            let colour = COLOURS[timing.tasks[stretch.task].vcpu % COLOURS.len()];
            let _ = writeln!(
                svg,
                "<rect x=\"{from:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"15\" fill=\"{colour}\"/>",
                (until - from).max(0.3)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{LABEL}\" y=\"{0:.1}\">0</text><text x=\"{1:.1}\" y=\"{0:.1}\" \
             text-anchor=\"end\">{2} ms</text>\n</svg>",
            height - ROW,
            WIDTH - 10.0,
            self.until as f64 / 1e6
        );
        svg
    }

    /// The schedule as a trace: a process per core, a thread per task.
    #[must_use]
    pub fn perfetto(&self, timing: &Timing) -> Value {
        let name = |(index, task): (usize, &bulkhead_model::timing::Task)| {
            json!({"ph": "M", "name": "thread_name", "pid": timing.vcpus[task.vcpu].core,
                   "tid": index, "args": {"name": task.name}})
        };
        let names = timing.tasks.iter().enumerate().map(name);
        let ran = self.stretches.iter().map(|stretch| {
            let task = &timing.tasks[stretch.task];
            json!({"ph": "X", "name": task.name, "cat": timing.vcpus[task.vcpu].name,
                   "pid": stretch.core, "tid": stretch.task, "ts": stretch.from as f64 / 1e3,
                   "dur": (stretch.until - stretch.from) as f64 / 1e3})
        });
        json!({"displayTimeUnit": "ns", "traceEvents": names.chain(ran).collect::<Vec<_>>()})
    }
}

impl Observer for Beginning {
    fn ran(&mut self, mut stretch: Stretch) {
        stretch.until = stretch.until.min(self.until);
        if stretch.from >= stretch.until {
            return;
        }
        let room = self.stretches.len() < MOST;
        match self.stretches.last_mut() {
            Some(last)
                if last.until == stretch.from
                    && (last.task, last.core) == (stretch.task, stretch.core) =>
            {
                last.until = stretch.until;
            }
            _ if room => self.stretches.push(stretch),
            _ => {}
        }
    }
}
