//! Linux PREEMPT_RT beside the kernel: its nearest means to the same ends, measured in the same run
//!
//! The packaged kernel alone on the same machine model, counted the same way, with what can be left
//! out left out: no mitigations, no randomised stacks. All that is measured runs under `SCHED_FIFO`.

use bulkhead_run::machine::Timing;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::alone;
use crate::error::BenchError;
use crate::measures::{Measure, Measures, measures};
use crate::primitives::TIMING;
use crate::report::Row;
use crate::setting::Context;

const SYSTEM: &str = "host/bench/systems/linux-alone";
/// The packaged kernel.
pub(crate) const FLAVOUR: &str = "debian-rt";
/// In a long run what is measured keeps the core from everything less important for so long that Linux takes it for
/// stalled, and reports that to no end.
const LEAN: &str = "nokaslr loglevel=4 mitigations=off randomize_kstack_offset=off \
                    rcupdate.rcu_cpu_stall_suppress=1";
/// Nanoseconds of an instruction, see [`TIMING`].
const INSTRUCTION_NS: f64 = 8.0;

/// Which of Linux's figures stands beside which of the kernel's.
const NEAREST: [(&str, &str); 11] = [
    ("null-call", "null-call"),
    ("invoke-return", "pipe-round-trip"),
    ("invoke-return-fp", "pipe-round-trip"),
    ("switch-kernel", "switch"),
    ("switch-user", "switch"),
    ("notify-low-high", "wake-low-high"),
    ("timer-user", "timer-user"),
    ("queue-low-high", "message-low-high"),
    ("queue-local", "message-local"),
    ("mutex", "mutex-pi"),
    ("mutex-contended", "mutex-contended"),
];
/// Linux's figures and what they are of; some stand beside nothing.
const MEANS: [(&str, &str); 11] = [
    ("null-call", "getppid"),
    ("switch", "sched_yield between threads, one way"),
    ("futex-round-trip", "futex round trip between threads"),
    (
        "pipe-round-trip",
        "pipe round trip between processes, one byte",
    ),
    ("wake-low-high", "futex wake of a more important thread"),
    (
        "message-low-high",
        "mq_send of 32 bytes to a more important thread",
    ),
    ("message-local", "mq_send and mq_receive without a switch"),
    ("mutex", "pthread mutex, uncontended"),
    (
        "mutex-pi",
        "pthread mutex with priority inheritance, uncontended",
    ),
    ("mutex-contended", "the same, contended, two switches"),
    ("timer-user", "clock_nanosleep, busy core"),
];

/// Figures by name, instructions.
#[derive(Debug)]
pub(crate) struct Linux(BTreeMap<String, Measure>);

/// Measures, with the argument `rounds=N`.
///
/// # Errors
/// The kernel cannot be fetched or run, or did not measure everything.
pub(crate) fn measure(context: &Context, rounds: &str) -> Result<Linux, BenchError> {
    let words = format!("bench=primitives {rounds}");
    let output = Peer {
        flavour: FLAVOUR,
        changes: &[],
        command_line: "",
        words: &words,
    }
    .run(context, "prims-linux", TIMING)?;
    let tick = 1e9 / output.counter_hz / INSTRUCTION_NS;
    let scaled = |(name, measure): (String, Measure)| {
        let measure = Measure {
            average: measure.average * tick,
            worst: measure.worst * tick,
            ..measure
        };
        (name, measure)
    };
    let found: BTreeMap<_, _> = output.measures.0.into_iter().map(scaled).collect();
    match MEANS.iter().find(|(name, _)| !found.contains_key(*name)) {
        Some((_, what)) => Err(BenchError::Incomplete {
            what: (*what).into(),
            folder: output.folder,
        }),
        None => Ok(Linux(found)),
    }
}

/// A Linux alone on the machine, what can be left out of it left out, that measures.
pub(crate) struct Peer<'a> {
    /// The packaged kernel.
    pub(crate) flavour: &'a str,
    /// Of the description.
    pub(crate) changes: &'a [&'a str],
    /// Added to the kernel's command line.
    pub(crate) command_line: &'a str,
    /// Argument words: what is measured.
    pub(crate) words: &'a str,
}

/// Its output.
pub(crate) struct PeerOutput {
    pub(crate) measures: Measures,
    pub(crate) counter_hz: f64,
    pub(crate) folder: PathBuf,
}

impl Peer<'_> {
    /// Builds and runs it as `name`.
    ///
    /// # Errors
    /// The kernel cannot be fetched or run.
    pub(crate) fn run(
        &self,
        context: &Context,
        name: &str,
        timing: Timing,
    ) -> Result<PeerOutput, BenchError> {
        fetch(context, self.flavour)?;
        let kernel = format!("partition.linux.image.kernel={}", self.flavour);
        let line = format!("partition.linux.command_line={LEAN} {}", self.command_line);
        let mut changes = vec![kernel.as_str(), line.as_str()];
        changes.extend(self.changes);
        let setting = context.build(name, SYSTEM, &changes, &[("linux", self.words)])?;
        let (output, folder) = alone::run(context, &setting, timing)?;
        Ok(PeerOutput {
            measures: measures(&output),
            counter_hz: setting.manifest.machine.counter_hz as f64,
            folder,
        })
    }
}

/// The set-up knows how to get the kernel; silent where it is there.
pub(crate) fn fetch(context: &Context, flavour: &str) -> Result<(), BenchError> {
    let failed = |message: String| BenchError::Program {
        program: "setup/setup.sh".into(),
        message,
    };
    let status = Command::new(context.root.join("setup/setup.sh"))
        .args(["debian", flavour])
        .stdin(Stdio::null())
        .status()
        .map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(format!("the kernel {flavour} is not there")));
    }
    Ok(())
}

impl Linux {
    /// The row of `name` with Linux's figure, which may not be smaller.
    pub(crate) fn beside(&self, name: &str, row: Row) -> Row {
        let mut row = row;
        let nearest = NEAREST.iter().find(|(of, _)| *of == name);
        let Some(measure) = nearest.and_then(|(_, linux)| self.0.get(*linux)) else {
            return row;
        };
        let average = row.figures.0.first().map_or(f64::NAN, |(_, value)| *value);
        row.ok &= average <= measure.average;
        let figures = [
            ("Linux PREEMPT_RT", measure.average),
            ("its worst", measure.worst),
        ];
        let figures = figures.map(|(name, value)| (name.to_owned(), value));
        row.figures.0.extend(figures);
        row
    }

    /// All of Linux's figures, by what they are of.
    pub(crate) fn others(&self) -> impl Iterator<Item = Row> {
        MEANS.iter().filter_map(|(name, what)| {
            let measure = self.0.get(*name)?;
            let figures = [
                ("average", measure.average),
                ("worst", measure.worst),
                ("rounds", measure.count),
            ];
            let name = format!("Linux PREEMPT_RT: {what}");
            Some(Row::unbounded(&name, &figures, "instructions"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linux(average: f64) -> Linux {
        let (count, worst) = (1.0, 2.0 * average);
        let measure = Measure {
            count,
            average,
            worst,
        };
        Linux([("switch".to_owned(), measure)].into())
    }

    #[test]
    fn a_peer_stands_beside_and_must_not_be_faster() {
        let row = || Row::at_most("x", &[("average", 30.0)], "instructions", 40.0);
        let beside = linux(31.0).beside("switch-user", row());
        assert!(beside.ok);
        assert_eq!(beside.figures.0[1], ("Linux PREEMPT_RT".to_owned(), 31.0));
        assert!(!linux(29.0).beside("switch-user", row()).ok);
        assert!(linux(29.0).beside("unknown", row()).figures == row().figures);
    }

    #[test]
    fn every_figure_that_stands_beside_one_is_measured() {
        for (_, linux) in NEAREST {
            assert!(MEANS.iter().any(|(name, _)| *name == linux), "{linux}");
        }
    }
}
