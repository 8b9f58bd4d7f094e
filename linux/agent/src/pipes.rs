//! The stages that the tool placed in this Linux
//!
//! They start before the partition is announced, so that who feeds them finds them there; what a stage did is said once a second.
//!
//! Argument words: `rounds=COUNT` of a loop that each job computes for each microsecond of its budget; `overrun=FUNCTION`: every hundredth job of
//! that function needs half a job more than its budget.

use crate::console::say;
use bulkhead_linux::{Error, Partition, Trace, cut_exactly, frequency_hz};
use bulkhead_linux_pipes::{Around, AtDevice, Plan, Stages, start};
use std::path::Path;

/// Where last stages leave what they send: for the bridge, and in files.
const OUTWARD: &str = "/run/bulkhead";

/// Stages that run, and how often they are looked after.
pub(crate) struct Pipes {
    stages: Stages,
    trace: Trace,
    /// Ticks of the agent in a second.
    second: u64,
}

impl Pipes {
    /// Starts what is placed here, if anything is; what is refused is said, and marked in the trace.
    pub(crate) fn start(
        partition: &Partition,
        trace: &Trace,
        second: u64,
    ) -> Result<Option<Self>, Error> {
        let Some(plan) = partition.pipes().and_then(|bytes| Plan::packed(&bytes)) else {
            return Ok(None);
        };
        let around = Around {
            partition: Some(partition),
            rounds: partition
                .argument("rounds")
                .and_then(|word| word.parse().ok())
                .unwrap_or(0),
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
        if !tick.is_multiple_of(self.second) {
            return;
        }
        for count in self.stages.counts() {
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

/// What became of a stage's controllers.
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
