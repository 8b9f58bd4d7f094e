//! `prims`: instructions on the kernel's paths
//!
//! One core, instructions counted, as the peers were measured (8 ns per instruction). The measuring
//! component says a line `bench NAME N AVERAGE WORST` each, the average in hundredths. Worst figures
//! of kernel paths show that no path has a hidden loop. Linux PREEMPT_RT is measured in the same run;
//! figures of other peers are quoted.

use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use bulkhead_run::{RunOptions, run};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::setting::Setting;
use crate::until::UntilDone;
use crate::{Bench, BenchError, Context, Report, Row, linux_peer};

const SYSTEM: &str = "host/bench/systems/primitives";
const PARTITION: &str = "kernel";
/// As the peers were measured.
pub(crate) const TIMING: Timing = Timing::path(3);
/// Rounds of each, short and long version.
const ROUNDS: [u64; 2] = [10_000, 100_000];
/// Largest worst case of a kernel path, times its average.
const SPREAD: f64 = 1.5;

/// A promise: name on the console, what it is, bound, and the nearest figures of peers measured
/// on the same machine model, quoted.
struct Promise {
    name: &'static str,
    what: &'static str,
    bound: f64,
    peers: &'static [(&'static str, f64)],
}

const fn promise(
    name: &'static str,
    what: &'static str,
    bound: f64,
    peers: &'static [(&'static str, f64)],
) -> Promise {
    Promise {
        name,
        what,
        bound,
        peers,
    }
}

const PROMISES: [Promise; 11] = [
    promise(
        "null-call",
        "null system call",
        80.0,
        &[("seL4 (quoted)", 91.0)],
    ),
    promise(
        "invoke-return",
        "invocation and return, two address spaces",
        300.0,
        &[("seL4 (quoted)", 408.0)],
    ),
    promise(
        "invoke-return-fp",
        "the same, floating point in both",
        400.0,
        &[("seL4 (quoted)", 512.0)],
    ),
    promise(
        "switch-kernel",
        "thread switch by the kernel, one way",
        250.0,
        &[("seL4 (quoted)", 330.0)],
    ),
    promise(
        "switch-user",
        "thread switch in user mode, one way",
        40.0,
        &[
            ("seL4 (quoted)", 330.0),
            ("FreeRTOS, unprotected (quoted)", 107.0),
        ],
    ),
    promise(
        "notify-low-high",
        "notification to a more important thread, switch included",
        400.0,
        &[
            ("seL4 (quoted)", 657.0),
            ("FreeRTOS, unprotected (quoted)", 252.0),
        ],
    ),
    promise(
        "timer-user",
        "timer to user-level thread, busy core",
        320.0,
        &[
            ("seL4 (quoted)", 327.0),
            ("FreeRTOS, unprotected (quoted)", 324.0),
        ],
    ),
    promise(
        "queue-low-high",
        "queue, 32 bytes to a more important thread, switch included",
        200.0,
        &[
            ("seL4 (quoted)", 635.0),
            ("FreeRTOS, unprotected (quoted)", 378.0),
        ],
    ),
    promise(
        "queue-local",
        "queue, 32 bytes sent and received without a switch",
        120.0,
        &[("FreeRTOS, unprotected (quoted)", 248.0)],
    ),
    promise(
        "mutex",
        "mutex with priority inheritance, uncontended",
        40.0,
        &[("FreeRTOS, unprotected (quoted)", 180.0)],
    ),
    promise(
        "mutex-contended",
        "the same, contended, two switches",
        350.0,
        &[("FreeRTOS, unprotected (quoted)", 1077.0)],
    ),
];

pub(crate) struct Primitives;

impl Bench for Primitives {
    fn id(&self) -> &'static str {
        "prims"
    }

    fn reproduces(&self) -> &'static str {
        "004 table II, figure 5"
    }

    fn kind(&self) -> Kind {
        Kind::Path
    }

    fn promise(&self) -> &'static str {
        "each primitive within its bound and below Linux PREEMPT_RT; on kernel paths the worst at most 1.5 times the average"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let rounds = format!("rounds={}", ROUNDS[usize::from(context.long)]);
        let linux = linux_peer::measure(context, &rounds)?;
        let setting = context.build("prims", SYSTEM, &[], &[(PARTITION, &rounds)])?;
        let over = AtomicBool::new(false);
        let options = RunOptions {
            timing: TIMING,
            ..RunOptions::of_manifest(&setting.manifest)
        };
        let mut observer = UntilDone { over: &over };
        run(
            &setting.manifest,
            &setting.out,
            &options,
            &mut observer,
            &over,
        )?;
        let measures = measures(&setting.console(PARTITION)?);
        let rows = PROMISES.iter().map(|promise| {
            let row = row(promise, &measures, &setting)?;
            Ok(linux.beside(promise.name, row))
        });
        let mut rows: Vec<Row> = rows.collect::<Result<_, BenchError>>()?;
        rows.extend(linux.others());
        Ok(self.report(rows))
    }
}

/// A line of a measuring program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measure {
    pub(crate) count: f64,
    pub(crate) average: f64,
    pub(crate) worst: f64,
}

/// Holds if average and spread do.
fn row(
    promise: &Promise,
    measures: &BTreeMap<String, Measure>,
    setting: &Setting,
) -> Result<Row, BenchError> {
    let measure = measures
        .get(promise.name)
        .ok_or_else(|| BenchError::Incomplete {
            what: promise.name.into(),
            folder: setting.run_folder(),
        })?;
    let mut figures = vec![
        ("average", measure.average),
        ("worst", measure.worst),
        ("rounds", measure.count),
    ];
    figures.extend(promise.peers);
    let row = Row::at_most(promise.what, &figures, "instructions", promise.bound);
    Ok(Row {
        ok: row.ok && measure.worst <= SPREAD * measure.average,
        ..row
    })
}

/// What a measuring program said, by name.
pub(crate) fn measures(lines: &[String]) -> BTreeMap<String, Measure> {
    let parse = |line: &String| {
        let mut words = line.split_whitespace().skip_while(|&word| word != "bench");
        let name = words.nth(1)?.to_owned();
        let mut number = || words.next()?.parse::<f64>().ok();
        let measure = Measure {
            count: number()?,
            average: number()? / 100.0,
            worst: number()?,
        };
        Some((name, measure))
    };
    lines.iter().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let lines = ["[    0.01] bench null-call 1000 7250 72", "bench done", "x"];
        let found = measures(&lines.map(str::to_owned));
        let measure = Measure {
            count: 1000.0,
            average: 72.5,
            worst: 72.0,
        };
        assert_eq!(found, [("null-call".to_owned(), measure)].into());
    }
}
