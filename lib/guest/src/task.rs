//! A periodic task
//!
//! The core is the task's own: it runs each job to its end and sleeps until the next release.
//! Start, finish and lateness of every job are traced.

use crate::home::Home;
use crate::release::{Period, Releases};
use crate::trace::Name;
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use core::ops::ControlFlow;

/// One execution of a periodic task.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Number of the job since the task started, from 0.
    pub number: u64,
    /// When it was released, ticks.
    pub release: u64,
    /// When it started, ticks.
    pub start: u64,
    /// Preceding releases that were not served.
    pub skipped: u64,
}

impl Job {
    /// The record of the job of the task `name`, which ended at tick `end`.
    #[must_use]
    pub const fn event(&self, name: Name, end: u64) -> Event {
        Event {
            ticks: self.start,
            kind: EventKind::Job as u32,
            sequence: self.number as u32,
            a: self.release,
            b: end,
            name,
        }
    }
}

/// Runs `work` once per `period` until it returns [`ControlFlow::Break`], and returns the break's
/// value.
pub fn run_periodic<H: Home, R>(
    home: &H,
    name: &str,
    period: Period,
    mut work: impl FnMut(&Job) -> ControlFlow<R>,
) -> R {
    let name = name_field(name);
    let mut releases = Releases::after(H::now(), period, H::frequency());
    let mut number = 0;
    let begun = Event {
        ticks: H::now(),
        kind: EventKind::TaskBegun as u32,
        sequence: 0,
        a: releases.period_ticks(),
        b: releases.next_ticks(),
        name,
    };
    H::record(&begun);
    loop {
        home.sleep_until(releases.next_ticks());
        let start = H::now();
        let release = releases.take(start);
        let job = Job {
            number,
            release: release.ticks,
            start,
            skipped: release.skipped,
        };
        let flow = work(&job);
        record::<H>(&job, name);
        if let ControlFlow::Break(result) = flow {
            H::record(&Event {
                ticks: H::now(),
                kind: EventKind::TaskEnded as u32,
                ..begun
            });
            return result;
        }
        number += 1;
    }
}

fn record<H: Home>(job: &Job, name: Name) {
    let event = job.event(name, H::now());
    if job.skipped > 0 {
        H::record(&Event {
            kind: EventKind::Overrun as u32,
            a: job.skipped,
            b: 0,
            ..event
        });
    }
    H::record(&event);
}
