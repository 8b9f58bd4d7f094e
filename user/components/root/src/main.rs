//! Divides time between a real-time subsystem and a best-effort component
//!
//! The root scheduler of a hierarchy: each period the subsystem is notified and gets a budget; the
//! remaining time goes to a best-effort component, which here loops for ever. Neither can delay the
//! other: the budget bounds the subsystem, and the end of the period the other component.
#![no_std]
#![no_main]

use bulkhead_abi::component::stages;
use bulkhead_abi::kernel::{ALL, Operation, STACK_TOP, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{consume_events, scb};
use bulkhead_component::figure::Figure;
use bulkhead_component::first::{Shared, Subsystem, argument};
use bulkhead_component::{First, clock, console, println};
use core::convert::Infallible;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Default period and budget of the subsystem, microseconds.
const PERIOD: u64 = 1000;
const BUDGET: u64 = 500;
/// Periods per line of output.
const REPORT: u64 = 200;
/// Indices of the subsystem and of the best-effort thread, which loops for ever because of its
/// index.
const SUBSYSTEM: u64 = 1;
const BEST_EFFORT: u64 = 7;
/// Pages of the subsystem.
const PAGES: u64 = 96;

fn run(mut first: First) -> ! {
    let Err(status) = divide(&mut first);
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn divide(first: &mut First) -> Result<Infallible, Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let number = |key, usual| argument(&info, key).unwrap_or(usual);
    let period_us = number("period_us", PERIOD);
    let mut root = Root::new(first, period_us, number("budget_us", BUDGET))?;
    call(first::MONITOR, Operation::Up, [])?;
    match argument(&info, "events") {
        Some(events) => root.measure(events, period_us)?,
        None => root.report(number("periods", u64::MAX))?,
    }
    loop {
        clock::wait_for_interrupt();
    }
}

/// State of the root scheduler.
struct Root {
    period: u64,
    budget: u64,
    /// End of the current period.
    end: u64,
    subsystem: Subsystem,
    time: u64,
    rest: u64,
    rest_time: u64,
    /// Ticks that the subsystem has used since the last report.
    used: u64,
}

impl Root {
    fn new(first: &mut First, period_us: u64, budget_us: u64) -> Result<Self, Status> {
        let [_, packed, culprit, ..] = &first.archive()?.components;
        let [period, budget] =
            [period_us, budget_us].map(|micros| micros * clock::frequency() / 1_000_000);
        let time = first.time(budget, 1)?;
        let subsystem = first.subsystem(packed, [2, SUBSYSTEM, time, PAGES])?;
        let other = first.component(culprit, 3)?;
        let start = [other.component, culprit.entry, STACK_TOP];
        let rest = first.make(Operation::MakeThread, start)?;
        let rest_time = first.time(ALL, 9)?;
        let place = [first::SCHEDULER, BEST_EFFORT, rest_time];
        call(rest, Operation::Bind, place)?;
        Ok(Self {
            period,
            budget,
            end: clock::now().next_multiple_of(period),
            subsystem,
            time,
            rest,
            rest_time,
            used: 0,
        })
    }

    /// Begins a period: the subsystem is notified and gets its budget, the other component the
    /// rest.
    fn period(&mut self) -> Result<(), Status> {
        self.end += self.period;
        call(self.subsystem.sender, Operation::Send, [])?;
        let began = clock::now();
        run_until(self.end, self.subsystem.thread, self.time)?;
        self.used += clock::now() - began;
        let remaining = call(self.time, Operation::Budget, [])?;
        let more = [self.time, self.budget - remaining];
        call(first::TIME, Operation::Transfer, more)?;
        run_until(self.end, self.rest, self.rest_time)
    }

    fn report(&mut self, periods: u64) -> Result<(), Status> {
        for period in 1..=periods {
            self.period()?;
            if period % REPORT == 0 {
                let load = self.used * 100 / (REPORT * self.period);
                report(self.subsystem.shared, load);
                self.used = 0;
            }
        }
        println!("divided {periods} periods");
        Ok(())
    }

    /// Measures a subsystem that is a pipeline, with so many messages at each length.
    fn measure(&mut self, events: u64, period_us: u64) -> Result<(), Status> {
        let (_, words) = self.subsystem.shared.split_at(stages::SHARED_FROM);
        let of = |number: usize| words[number].load(Relaxed);
        words[stages::PERIOD_US].store(period_us, Relaxed);
        words[stages::STAGES].store(1, Relaxed);
        // It starts, and its source waits for a release.
        (0..4).try_for_each(|_| self.period())?;
        for length in stages::LENGTHS {
            words[stages::STAGES].store(length, Relaxed);
            (0..stages::WARM_UP).try_for_each(|_| self.period())?;
            for number in [stages::EVENTS, stages::SUM, stages::WORST] {
                words[number].store(0, Relaxed);
            }
            (0..events).try_for_each(|_| self.period())?;
            let figure = [stages::EVENTS, stages::SUM, stages::WORST].map(of);
            let [events, sum, worst] = figure;
            Figure::of(events, sum, worst).print(format_args!("{}-{length}", stages::LINE));
        }
        let [wrong, refused] = [stages::WRONG, stages::REFUSED].map(of);
        println!("bench wrong {wrong} refused {refused}; bench done");
        Ok(())
    }
}

/// Runs a thread once: until it waits, its time ends, or `end` comes.
fn run_until(end: u64, thread: u64, time: u64) -> Result<(), Status> {
    loop {
        consume_events(scb());
        let epoch = scb().epoch.load(Relaxed);
        match call(thread, Operation::Dispatch, [time, end, epoch]) {
            Err(Status::Stale) => {}
            Ok(_) | Err(Status::NotReady) => return Ok(()),
            Err(status) => return Err(status),
        }
    }
}

fn report(shared: &Shared, load: u64) {
    let [jobs, worst, slow_jobs, slow_worst, ..] = shared;
    println!(
        "subsystem: load={load}% jobs={} worst_us={} slow_jobs={} slow_worst_us={}",
        jobs.load(Relaxed),
        clock::micros(worst.load(Relaxed)),
        slow_jobs.load(Relaxed),
        clock::micros(slow_worst.load(Relaxed)),
    );
}
