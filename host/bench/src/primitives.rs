//! `prims`: instructions on the kernel's paths
//!
//! Instructions counted, as the peers were measured (8 ns per instruction): of one core, or, across, of
//! two, where the clock counts what either executes. The measuring component says a line `bench NAME N AVERAGE WORST` each, the average in hundredths. Worst figures
//! of kernel paths show that no path has a hidden loop. Linux PREEMPT_RT is measured in the same run;
//! figures of other peers are quoted.

use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::linux_peer;
use crate::measures::Measures;
use crate::report::{Report, Row};
use crate::setting::{Context, Setting};

/// Systems that measure, and what they are built as: on one core, and across two.
const SYSTEMS: [[&str; 2]; 2] = [
    ["prims", "host/bench/systems/primitives"],
    ["prims-across", "host/bench/systems/primitives-across"],
];
const PARTITION: &str = "kernel";
/// As the peers were measured.
pub(crate) const TIMING: Timing = Timing::path(3);
/// Rounds of each, short and long version.
const ROUNDS: [u64; 2] = [10_000, 100_000];
/// Of the peer in both: its round is tens of times as long, and its worst is shown, not promised.
const PEER_ROUNDS: u64 = 10_000;
/// Feature of a kernel that assumes that the current thread is known.
const TRUSTING: &str = "trusting";
/// Instructions that asking may add to an invocation (paper 004 §VII: 7 cycles).
const CHECK_BOUND: f64 = 10.0;
/// Entries into the kernel of an invocation and its return.
const WAYS: f64 = 2.0;
/// Place of the row of the check: behind those of invocations.
const CHECK_ROW: usize = 3;
/// Largest worst case of a kernel path, times its average.
const SPREAD: f64 = 1.5;

/// A promise: name on the console, what it is, bound, and the nearest figures of peers measured
/// on the same machine model, quoted.
struct Guarantee {
    name: &'static str,
    what: &'static str,
    bound: f64,
    peers: &'static [(&'static str, f64)],
}

const fn guarantee(
    name: &'static str,
    what: &'static str,
    bound: f64,
    peers: &'static [(&'static str, f64)],
) -> Guarantee {
    Guarantee {
        name,
        what,
        bound,
        peers,
    }
}

const GUARANTEES: [Guarantee; 12] = [
    guarantee(
        "null-call",
        "null system call",
        85.0,
        &[("seL4 (quoted)", 91.0)],
    ),
    guarantee(
        "invoke-return",
        "invocation and return, two address spaces, of a thread with FP state",
        430.0,
        &[("seL4 (quoted)", 408.0)],
    ),
    guarantee(
        "invoke-return-fp",
        "the same, floating point in both",
        430.0,
        &[("seL4 (quoted)", 512.0)],
    ),
    guarantee(
        "switch-kernel",
        "thread switch by the kernel, one way",
        250.0,
        &[("seL4 (quoted)", 330.0)],
    ),
    guarantee(
        "switch-user",
        "thread switch in user mode, one way",
        40.0,
        &[
            ("seL4 (quoted)", 330.0),
            ("FreeRTOS, unprotected (quoted)", 107.0),
        ],
    ),
    guarantee(
        "notify-low-high",
        "notification to a more important thread, switch included",
        400.0,
        &[
            ("seL4 (quoted)", 657.0),
            ("FreeRTOS, unprotected (quoted)", 252.0),
        ],
    ),
    guarantee(
        "notify-across",
        "the same to another core and its wait, sum of both cores, half a round trip",
        930.0,
        &[("Linux RT, futex (quoted)", 9136.0)],
    ),
    guarantee(
        "timer-user",
        "timer to user-level thread, busy core",
        320.0,
        &[
            ("seL4 (quoted)", 327.0),
            ("FreeRTOS, unprotected (quoted)", 324.0),
        ],
    ),
    guarantee(
        "queue-low-high",
        "queue, 32 bytes to a more important thread, switch included",
        200.0,
        &[
            ("seL4 (quoted)", 635.0),
            ("FreeRTOS, unprotected (quoted)", 378.0),
        ],
    ),
    guarantee(
        "queue-local",
        "queue, 32 bytes sent and received without a switch",
        120.0,
        &[("FreeRTOS, unprotected (quoted)", 248.0)],
    ),
    guarantee(
        "mutex",
        "mutex with priority inheritance, uncontended",
        40.0,
        &[("FreeRTOS, unprotected (quoted)", 180.0)],
    ),
    guarantee(
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

    fn guarantee(&self) -> &'static str {
        "each primitive within its bound and below Linux PREEMPT_RT; on kernel paths the worst at most 1.5 times the average"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let rounds = format!("rounds={}", ROUNDS[usize::from(context.long)]);
        let linux = linux_peer::measure(context, &format!("rounds={PEER_ROUNDS}"))?;
        let run = |[name, system]: [&str; 2]| {
            let setting = context.build(name, system, &[], &[(PARTITION, &rounds)])?;
            let measures = setting.measure(PARTITION, TIMING)?;
            Ok::<_, BenchError>((measures, setting))
        };
        let [one, cross_core] = SYSTEMS;
        let (mut measures, _) = run(one)?;
        let (further, setting) = run(cross_core)?;
        let trusting = context.build_on(
            &[TRUSTING],
            "prims-trusting",
            one[1],
            &[],
            &[(PARTITION, &format!("{rounds} {TRUSTING}=1"))],
        )?;
        let check = check_row(&measures, &trusting.measure(PARTITION, TIMING)?, &trusting)?;
        measures.append(further);
        let rows = GUARANTEES.iter().map(|guarantee| {
            let row = row(guarantee, &measures, &setting)?;
            Ok(linux.beside(guarantee.name, row))
        });
        let mut rows: Vec<Row> = rows.collect::<Result<_, BenchError>>()?;
        rows.insert(CHECK_ROW, check);
        rows.extend(linux.others());
        Ok(self.report(rows))
    }
}

/// Cost of the check of the current thread in one way of an invocation: the difference to a kernel
/// without the check.
fn check_row(
    checking: &Measures,
    trusting: &Measures,
    setting: &Setting,
) -> Result<Row, BenchError> {
    const OF: &str = "invoke-return";
    let with = checking.of(OF, setting)?;
    let without = trusting.of(OF, setting)?;
    let figures = [
        ("average", (with.average - without.average) / WAYS),
        ("worst", (with.worst - without.worst) / WAYS),
        ("round trip with it", with.average),
        ("round trip without", without.average),
        ("rounds", without.count),
    ];
    Ok(Row::at_most(
        "incoherence check, of an invocation one way",
        &figures,
        "instructions",
        CHECK_BOUND,
    ))
}

/// Holds if average and spread do.
fn row(guarantee: &Guarantee, measures: &Measures, setting: &Setting) -> Result<Row, BenchError> {
    let measure = measures.of(guarantee.name, setting)?;
    let mut figures = vec![
        ("average", measure.average),
        ("worst", measure.worst),
        ("rounds", measure.count),
    ];
    figures.extend(guarantee.peers);
    let row = Row::at_most(guarantee.what, &figures, "instructions", guarantee.bound);
    Ok(Row {
        ok: row.ok && measure.worst <= SPREAD * measure.average,
        ..row
    })
}
