//! The schedule as a picture (SVG) and as a trace for Perfetto
//!
//! Both show the beginning, up to a length: one row per task, all partitions. The trace is JSON of
//! the Trace Event Format (complete events, microseconds), which `ui.perfetto.dev` opens.

use crate::{Observer, Stretch};
use bulkhead_model::timing::{Slot, Timing};
use serde_json::{Value, json};
use std::fmt::{self, Write};

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
/// Most frames that are drawn with shaded slots.
const MOST_FRAMES: usize = 1000;
/// Cores that a partition may have: processes of a trace are numbered.
const CORES: usize = 128;
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
}

/// A partition in a picture.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Timing data of the partition.
    pub timing: &'a Timing,
    /// Executed intervals.
    pub beginning: &'a Beginning,
}

/// The schedules of all partitions as SVG, one below the other, time from left to right; slots of
/// time partitions are shaded.
#[must_use]
pub fn svg(partitions: &[Drawn<'_>]) -> String {
    let until = partitions.iter().map(|one| one.beginning.until).max();
    let until = until.unwrap_or(0).max(1);
    let rows = partitions.iter().map(|one| one.timing.tasks.len() + 1);
    let height = ROW * (rows.sum::<usize>() as f64 + 1.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut top = 0.0;
    for one in partitions {
        let mut picture = Picture {
            svg: &mut svg,
            top,
            until,
        };
        // Writing to a string does not fail.
        let _ = picture.partition(one);
        top += ROW * (one.timing.tasks.len() as f64 + 1.0);
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LABEL}\" y=\"{0:.1}\">0</text><text x=\"{1:.1}\" y=\"{0:.1}\" \
         text-anchor=\"end\">{2} ms</text>\n</svg>",
        height - 6.0,
        WIDTH - 10.0,
        until as f64 / 1e6
    );
    svg
}

/// A picture that grows.
struct Picture<'a> {
    svg: &'a mut String,
    /// Vertical position of the partition.
    top: f64,
    until: u64,
}

impl Picture<'_> {
    fn x(&self, ns: u64) -> f64 {
        LABEL + (WIDTH - LABEL - 10.0) * ns as f64 / self.until as f64
    }

    fn partition(&mut self, one: &Drawn<'_>) -> fmt::Result {
        let y = self.top + ROW - 6.0;
        writeln!(
            self.svg,
            "<text x=\"4\" y=\"{y:.1}\" font-weight=\"bold\">{}</text>",
            one.name
        )?;
        self.slots(one)?;
        for (row, task) in one.timing.tasks.iter().enumerate() {
            let y = self.top + ROW * (row as f64 + 2.0);
            let vcpu = &one.timing.vcpus[task.vcpu];
            writeln!(
                self.svg,
                "<text x=\"4\" y=\"{:.1}\">{} ({})</text><line x1=\"{LABEL}\" x2=\"{WIDTH}\" y1=\"{3:.1}\" \
                 y2=\"{3:.1}\" stroke=\"#ddd\"/>",
                y - 6.0,
                task.name,
                vcpu.name,
                y - 2.0,
            )?;
        }
        for stretch in &one.beginning.stretches {
            let y = self.top + ROW * (stretch.task as f64 + 2.0) - 18.0;
            let (from, until) = (self.x(stretch.from), self.x(stretch.until));
            let colour = COLOURS[one.timing.tasks[stretch.task].vcpu % COLOURS.len()];
            writeln!(
                self.svg,
                "<rect x=\"{from:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"15\" fill=\"{colour}\"/>",
                (until - from).max(0.3)
            )?;
        }
        Ok(())
    }

    /// Each slot behind the tasks that it lets run, frame after frame.
    fn slots(&mut self, one: &Drawn<'_>) -> fmt::Result {
        let schedule = &one.timing.schedule;
        if schedule.frame_ns == 0 {
            return Ok(());
        }
        for (row, task) in one.timing.tasks.iter().enumerate() {
            let vcpu = &one.timing.vcpus[task.vcpu];
            let is_of_vcpu =
                |slot: &&Slot| slot.partition == vcpu.place.partition && slot.core == vcpu.core;
            let y = self.top + ROW * (row as f64 + 1.0);
            for slot in schedule.slots.iter().filter(is_of_vcpu) {
                let frames = (0..self.until.div_ceil(schedule.frame_ns)).take(MOST_FRAMES);
                for start in frames.map(|frame| frame * schedule.frame_ns + slot.start_ns) {
                    let end = (start + slot.length_ns).min(self.until);
                    if start < end {
                        let (from, until) = (self.x(start), self.x(end));
                        writeln!(
                            self.svg,
                            "<rect x=\"{from:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{ROW}\" fill=\"#f2efe6\"/>",
                            until - from
                        )?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The schedules of all partitions as a trace: a process per partition and core, a thread per task.
#[must_use]
pub fn perfetto(partitions: &[Drawn<'_>]) -> Value {
    let events = partitions
        .iter()
        .enumerate()
        .flat_map(|(number, one)| events(number, one));
    json!({"displayTimeUnit": "ns", "traceEvents": events.collect::<Vec<_>>()})
}

fn events(number: usize, one: &Drawn<'_>) -> Vec<Value> {
    let process = |core: usize| number * CORES + core;
    let mut cores: Vec<_> = one.timing.vcpus.iter().map(|vcpu| vcpu.core).collect();
    cores.sort_unstable();
    cores.dedup();
    let processes = cores.into_iter().map(|core| {
        json!({"ph": "M", "name": "process_name", "pid": process(core),
               "args": {"name": format!("{} core {core}", one.name)}})
    });
    let names = one.timing.tasks.iter().enumerate().map(|(index, task)| {
        json!({"ph": "M", "name": "thread_name", "pid": process(one.timing.vcpus[task.vcpu].core),
               "tid": index, "args": {"name": task.name}})
    });
    let ran = one.beginning.stretches.iter().map(|stretch| {
        let task = &one.timing.tasks[stretch.task];
        json!({"ph": "X", "name": task.name, "cat": one.timing.vcpus[task.vcpu].name,
               "pid": process(stretch.core), "tid": stretch.task, "ts": stretch.from as f64 / 1e3,
               "dur": (stretch.until - stretch.from) as f64 / 1e3})
    });
    processes.chain(names).chain(ran).collect()
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
