//! The pipe stages that the tool placed in this Linux
//!
//! They start before the partition is announced, so that producers find them running. Totals of
//! each stage are printed once a second.
//!
//! Argument words: `rounds=COUNT`: iterations of a loop that each job computes for each microsecond
//! of its budget; `overrun=FUNCTION`: every hundredth job of that function needs half a job more
//! than its budget.

use crate::console::say;
use bulkhead_linux::{Error, Partition, Trace, cut_exactly, frequency_hz};
use bulkhead_linux_pipes::{Around, AtDevice, ClientPipes, Plan, Report, Stages, start};
use std::path::Path;

/// Folder for the output of last stages: buffers of the bridge, and files.
const OUTWARD: &str = "/run/bulkhead";

/// Running stages, and the interval of their reports.
pub(crate) struct Pipes {
    stages: Stages,
    /// Pipes that other partitions requested.
    client: Vec<ClientPipes>,
    rounds: u64,
    trace: Trace,
    /// Ticks of the agent in a second.
    second: u64,
}

impl Pipes {
    /// Starts the stages that are placed here, if there are any. Rejections are printed, and marked
    /// in the trace.
    pub(crate) fn start(
        partition: &Partition,
        trace: &Trace,
        second: u64,
    ) -> Result<Option<Self>, Error> {
        let plan = partition.pipes().and_then(|bytes| Plan::packed(&bytes));
        let client = ClientPipes::open(partition)?;
        if plan.is_none() && client.is_empty() {
            return Ok(None);
        }
        let plan = plan.unwrap_or(Plan { pipes: Vec::new() });
        let rounds = partition.argument("rounds");
        let rounds = rounds.and_then(|word| word.parse().ok()).unwrap_or(0);
        let around = Around {
            partition: Some(partition),
            rounds,
            overrun: partition.argument("overrun"),
            outward: Some(Path::new(OUTWARD)),
            ..Around::default()
        };
        if let Err(error) = cut_exactly() {
            say(format_args!(
                "agent: a stage that overruns is not cut before Linux's next tick, and others wait until then: {error}"
            ));
        }
        let (stages, refused) = start(&plan, &around)?;
        for count in stages.counts() {
            say(format_args!(
                "pipe {} stage {}: runs",
                count.pipe, count.stage
            ));
        }
        for error in refused {
            trace.mark("pipe-refused", 0, 0);
            say(format_args!("agent: {error}"));
        }
        Ok(Some(Self {
            stages,
            client,
            rounds,
            trace: trace.clone(),
            second,
        }))
    }

    pub(crate) fn tick(&mut self, tick: u64) {
        if let Err(error) = self.stages.record(&self.trace) {
            say(format_args!(
                "agent: what leaves a pipe is in no file any more: {error}"
            ));
        }
        let around = Around {
            rounds: self.rounds,
            outward: Some(Path::new(OUTWARD)),
            ..Around::default()
        };
        for client in &mut self.client {
            if let Err(error) = client.record(&self.trace) {
                say(format_args!(
                    "agent: what leaves a pipe is in no file any more: {error}"
                ));
            }
            match client.look(&around, &self.trace, &mut self.stages) {
                Some(Report::Runs(pipe)) => say(format_args!("pipe {pipe}: runs, as it was typed")),
                Some(Report::Refused(reason)) => {
                    self.trace.mark("pipe-refused", 0, 0);
                    say(format_args!("agent: {reason}"));
                }
                Some(Report::ClientRestarted(count)) => say(format_args!(
                    "agent: who typed flows through here started anew, {count} stages of them end"
                )),
                Some(Report::Removed(pipe)) => {
                    say(format_args!("pipe {pipe}: removed where flows are typed"));
                }
                Some(Report::Resumed(pipe)) => say(format_args!(
                    "pipe {pipe}: runs again, as it is described: who removed it started anew"
                )),
                None => {}
            }
        }
        if !tick.is_multiple_of(self.second) {
            return;
        }
        let client = self.client.iter().flat_map(ClientPipes::counts);
        for count in self.stages.counts().chain(client) {
            let (pipe, stage, jobs) = (count.pipe, count.stage, count.jobs);
            let stopped = if count.halted { ", stopped" } else { "" };
            let device = count.device.map_or_else(String::new, at_device);
            say(format_args!(
                "pipe {pipe} stage {stage}: {jobs} jobs, {} overruns, {} dropped, fell back {} times{device}{stopped}",
                count.overruns, count.dropped, count.fallbacks
            ));
        }
    }
}

/// Prints the state of a stage's controllers.
fn at_device(at: AtDevice) -> String {
    let AtDevice {
        downs,
        slowest,
        lost,
        passed_over,
        on_bus,
    } = at;
    let slowest_us = u128::from(slowest) * 1_000_000 / u128::from(frequency_hz());
    let now = if on_bus { "" } else { ", off its bus" };
    format!(
        ", {lost} frames lost, {passed_over} without data, slowest {slowest_us} us, off its bus {downs} times{now}"
    )
}
