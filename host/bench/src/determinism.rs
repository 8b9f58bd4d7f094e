//! `determinism`: the same system gives the same digest, on an idle host or a loaded one

use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use std::collections::BTreeSet;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::load::HostLoad;
use crate::report::{Report, Row};
use crate::setting::Context;

/// Runs, every other one on a loaded host.
const RUNS: usize = 10;
/// Length of a run: all partitions up and the showcase driving.
const SECONDS: u64 = 8;

pub(crate) struct Determinism;

impl Bench for Determinism {
    fn id(&self) -> &'static str {
        "determinism"
    }

    fn reproduces(&self) -> &'static str {
        "a property of virtual time"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "ten runs of the showcase, half of them on a loaded host, have one digest"
    }

    fn takes_board(&self) -> bool {
        true
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let setting = context.build("determinism", &context.showcase(), &[], &[])?;
        let options: RunOptions = setting.virtual_seconds(SECONDS);
        let mut digests = BTreeSet::new();
        let mut complete = 0;
        for number in 0..RUNS {
            let load = (number % 2 == 1).then(HostLoad::start);
            let report = setting.run(&options)?;
            drop(load);
            complete += u32::from(report.digest.is_some());
            digests.extend(report.digest);
        }
        let distinct = digests.len() as f64;
        let missing = (RUNS as u32 - complete) as f64;
        Ok(self.report(vec![
            Row::at_most(
                "distinct digests",
                &[("digests", distinct), ("runs", RUNS as f64)],
                "",
                1.0,
            ),
            Row::at_most("runs without a digest", &[("runs", missing)], "", 0.0),
        ]))
    }
}
