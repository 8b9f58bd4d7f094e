//! `traps`: entries to EL2 in a busy steady state, counted twice
//!
//! The monitors count by cause; the emulator's interrupt log counts from outside. Both must agree
//! over the whole run, and in the steady state there must be none: with Linux on one core none at
//! all, with Linux on two its own inter-processor interrupts only.

use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use bulkhead_run::report::{CoreReport, PartitionReport};
use std::collections::BTreeMap;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::interrupt_log::{CoreExceptions, InterruptLog};
use crate::report::{Report, Row};
use crate::setting::Context;

/// Steady state demanded, seconds of the machine's clock.
const STEADY_S: f64 = 30.0;
/// Length of a run: boot and steady state.
const SECONDS: u64 = 48;
/// 16 ns per instruction: a second of busy cores costs the host a quarter of the usual.
const TIMING: Timing = Timing::Virtual {
    shift: 4,
    slice_us: 19,
};
/// Load of Linux in a phase.
const BUSY: (&str, &str) = ("linux", "load=busy");
/// Rate of a busy guest: exceptions that the guest handles by itself, per second; ten times what an
/// idle one has.
const BUSY_RATE: f64 = 3000.0;
/// Label, folder, system other than the showcase, changes: Linux on one core, and on two.
type Variant = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static [&'static str],
);
const ONE_CORE: Variant = ("", "traps", None, &[]);
/// Beside a spare core that watches.
const TWO_CORES: Variant = (
    ", SMP Linux",
    "traps-smp",
    None,
    &["partition.linux.cores=2", "system.cores=5"],
);
/// On a board that has no more.
const ALONE: Variant = (", SMP Linux", "traps-smp", Some("systems/linux-smp"), &[]);
/// The only trap of an SMP guest.
const IPI: &str = "ipi";

pub(crate) struct Traps;

impl Bench for Traps {
    fn id(&self) -> &'static str {
        "traps"
    }

    fn reproduces(&self) -> &'static str {
        "001 table 5.1, section 5.3.1"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "no entry to EL2 in at least 30 s of busy steady state, confirmed from outside; \
         of an SMP Linux its own IPIs only"
    }

    fn takes_board(&self) -> bool {
        true
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let mut rows = Vec::new();
        let showcase = context.showcase();
        let smp = match context.board {
            Some(_) => ALONE,
            None => TWO_CORES,
        };
        for (label, name, system, changes) in [ONE_CORE, smp] {
            let system = system.unwrap_or(&showcase);
            let setting = context.build(name, system, changes, &[BUSY])?;
            let pipe = setting.out.join("interrupts.fifo");
            let log = InterruptLog::start(&pipe)?;
            let options = RunOptions {
                interrupt_log: Some(pipe),
                timing: TIMING,
                ..setting.virtual_seconds(SECONDS)
            };
            let report = setting.run(&options);
            let seen = log.finish()?;
            let report = report?;
            for partition in &report.partitions {
                rows.extend(rows_of(label, partition, report.length_s, &seen));
            }
        }
        Ok(self.report(rows))
    }
}

fn rows_of(
    label: &str,
    partition: &PartitionReport,
    length_s: f64,
    seen: &BTreeMap<usize, CoreExceptions>,
) -> Vec<Row> {
    let smp = partition.cores.len() > 1;
    let mut rows: Vec<_> = partition
        .cores
        .iter()
        .map(|core| core_row(label, partition, core, smp, seen.get(&core.core)))
        .collect();
    let steady_s = if partition.state == "up" {
        length_s - partition.since_s
    } else {
        0.0
    };
    let name = format!("{}{label}: steady state missing", partition.name);
    let missing = (STEADY_S - steady_s).max(0.0);
    rows.push(Row::at_most(
        &name,
        &[("seconds", missing), ("lasted", steady_s)],
        "s",
        0.0,
    ));
    if partition.name == BUSY.0 {
        rows.push(busy_row(label, partition, length_s, seen));
    }
    rows
}

/// An idle guest would keep the promise, too.
fn busy_row(
    label: &str,
    partition: &PartitionReport,
    length_s: f64,
    seen: &BTreeMap<usize, CoreExceptions>,
) -> Row {
    let cores = partition
        .cores
        .iter()
        .filter_map(|core| seen.get(&core.core));
    let rate = cores.map(|core| core.handled as f64).sum::<f64>() / length_s;
    let name = format!("{}{label}: load missing", partition.name);
    let figures = [("missing", (BUSY_RATE - rate).max(0.0)), ("had", rate)];
    Row::at_most(&name, &figures, "exceptions/s", 0.0)
}

fn core_row(
    label: &str,
    partition: &PartitionReport,
    core: &CoreReport,
    smp: bool,
    seen: Option<&CoreExceptions>,
) -> Row {
    let ipis = if smp {
        core.steady.get(IPI).copied().unwrap_or(0)
    } else {
        0
    };
    let steady = core.steady_total() - ipis;
    let counted = core.boot_total() + core.steady_total();
    let outside = seen.map_or(0, CoreExceptions::total);
    let handled = seen.map_or(0, |core| core.since_el2);
    let disagreement = counted.abs_diff(outside);
    let name = format!("{} core {}{label}", partition.name, core.core);
    let figures = [
        ("steady", (steady + disagreement) as f64),
        ("boot", core.boot_total() as f64),
        ("own IPIs", ipis as f64),
        ("counted", counted as f64),
        ("seen from outside", outside as f64),
        ("handled without EL2 since", handled as f64),
    ];
    Row::at_most(&name, &figures, "entries", 0.0)
}
