//! `guest-overhead`: Linux in a partition beside the same Linux alone
//!
//! One core, instructions counted. The same kernel, device tree and initial file system lie at the
//! same guest-physical addresses in both. What differs is the monitor.

use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use bulkhead_run::{RunOptions, run};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::alone;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Report, Row};
use crate::setting::{Context, Setting};
use crate::until::UntilDone;

const SYSTEM: &str = "host/bench/systems/linux-alone";
/// Largest difference, per cent.
const BOUND: f64 = 1.0;
/// One instruction is one nanosecond.
const TIMING: Timing = Timing::path(0);

pub(crate) struct GuestOverhead;

/// Counter ticks for one iteration, by what was measured.
type Measures = BTreeMap<String, f64>;

impl Bench for GuestOverhead {
    fn id(&self) -> &'static str {
        "guest-overhead"
    }

    fn reproduces(&self) -> &'static str {
        "001 figures 5.3 to 5.8"
    }

    fn kind(&self) -> Kind {
        Kind::Path
    }

    fn guarantee(&self) -> &'static str {
        "fork-exec-wait, page fault, system call and CPU loop at most 1 % apart from Linux alone"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let setting = context.build("guest-overhead", SYSTEM, &[], &[("linux", "bench=guest")])?;
        let partitioned = in_partition(&setting)?;
        let (output, folder) = alone::run(context, &setting, TIMING)?;
        let alone = measures(&output, folder)?;
        let instructions = 1e9 / setting.manifest.machine.counter_hz as f64;
        let row = |(name, ticks): (&String, &f64)| {
            let alone = alone.get(name).copied().unwrap_or(f64::NAN);
            let more = (ticks / alone - 1.0) * 100.0;
            let figures = [
                ("apart", more.abs()),
                ("more", more),
                ("in the partition [instructions]", ticks * instructions),
                ("alone [instructions]", alone * instructions),
            ];
            Row::at_most(name, &figures, "%", BOUND)
        };
        Ok(self.report(partitioned.iter().map(row).collect()))
    }
}

fn in_partition(setting: &Setting) -> Result<Measures, BenchError> {
    let over = AtomicBool::new(false);
    let usual = RunOptions::of_manifest(&setting.manifest);
    let options = RunOptions {
        timing: TIMING,
        ..usual
    };
    run(
        &setting.manifest,
        &setting.out,
        &options,
        &mut UntilDone { over: &over },
        &over,
    )?;
    measures(&setting.console("linux")?, setting.run_folder())
}

/// Lines `bench NAME ITERATIONS TICKS`.
fn measures(lines: &[String], folder: PathBuf) -> Result<Measures, BenchError> {
    let parse = |line: &String| {
        let mut words = line
            .split_whitespace()
            .skip_while(|&word| word != "bench")
            .skip(1);
        let name = words.next()?.to_owned();
        let iterations: f64 = words.next()?.parse().ok()?;
        let ticks: f64 = words.next()?.parse().ok()?;
        Some((name, ticks / iterations))
    };
    let measures: Measures = lines.iter().filter_map(parse).collect();
    if measures.is_empty() {
        let what = "fork-exec-wait, page-fault, system-call, cpu-loop".into();
        return Err(BenchError::Incomplete { what, folder });
    }
    Ok(measures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_found_in_a_console() {
        let lines = [
            "noise",
            "bench page-fault 100 2500",
            "bench done",
            "bench x y",
        ];
        let lines = lines.map(str::to_owned);
        let found = measures(&lines, PathBuf::new()).unwrap();
        assert_eq!(found, [("page-fault".to_owned(), 25.0)].into());
        assert!(measures(&[], PathBuf::new()).is_err());
    }
}
