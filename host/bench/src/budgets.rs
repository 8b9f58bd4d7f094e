//! `budgets`: how exactly the budgets of VCPUs end, and what a scheduling decision costs
//!
//! One core, instructions counted. Threads that never wait tell by the cycle counter what they executed
//! in each period, in user mode alone: what the kernel needs to come and go is charged to them and
//! therefore missing. A decision is what lies between the last instruction on a VCPU whose budget
//! ended and the first on the next.

use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;

use crate::{Bench, BenchError, Context, Report, Row};

const SYSTEM: &str = "host/bench/systems/budgets";
const PARTITION: &str = "kernel";
const TIMING: Timing = Timing::path(3);
/// Periods looked at, and decisions; short and long version.
const PERIODS: [u64; 2] = [300, 3_000];
const DECISIONS: [u64; 2] = [2_000, 100_000];
/// Most instructions by which a budget is missed in a period.
const ERROR: f64 = 200.0;
/// Numbers of VCPUs; the first is what the others are compared with.
const VCPUS: [u64; 4] = [2, 8, 32, 64];
/// Largest cost of a decision, times that among the fewest VCPUs.
const GROWTH: f64 = 1.2;

pub(crate) struct Budgets;

impl Bench for Budgets {
    fn id(&self) -> &'static str {
        "budgets"
    }

    fn reproduces(&self) -> &'static str {
        "001 §4.1"
    }

    fn kind(&self) -> Kind {
        Kind::Path
    }

    fn promise(&self) -> &'static str {
        "a VCPU runs at most 200 instructions per period more or less than its budget says, preempted at most 200 more; a decision costs the same among 64 VCPUs as among 2, within 20 %"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let mut rows = enforcement(context)?;
        rows.extend(decisions(context)?);
        Ok(self.report(rows))
    }
}

fn enforcement(context: &Context) -> Result<Vec<Row>, BenchError> {
    let rounds = format!("rounds={}", PERIODS[usize::from(context.long)]);
    let setting = context.build("budgets", SYSTEM, &[], &[(PARTITION, &rounds)])?;
    let measures = setting.measure(PARTITION, TIMING)?;
    let row = |(name, what, promised): (&str, &str, fn(f64, f64) -> f64)| {
        let of = |part: &str| measures.of(&format!("{name}-{part}"), &setting);
        let (over, under) = (of("over")?, of("under")?);
        let figures = [
            ("worst", promised(over.worst, under.worst)),
            ("most beyond", over.worst),
            ("most missing in a period", under.worst),
            ("dispatches per period", of("dispatches")?.average),
            ("periods", over.count),
        ];
        Ok(Row::at_most(what, &figures, "instructions", ERROR))
    };
    [
        (
            "budget",
            "error of a budget per period",
            f64::max as fn(f64, f64) -> f64,
        ),
        // Each time a VCPU goes and comes back the kernel takes some of its budget, which is shown.
        (
            "budget-preempted",
            "use beyond a budget, VCPU preempted in each period",
            |beyond, _missing| beyond,
        ),
    ]
    .map(row)
    .into_iter()
    .collect()
}

fn decisions(context: &Context) -> Result<Vec<Row>, BenchError> {
    let rounds = DECISIONS[usize::from(context.long)];
    let mut rows: Vec<Row> = Vec::new();
    let mut fewest = None;
    for vcpus in VCPUS {
        let words = format!("vcpus={vcpus} rounds={rounds}");
        let setting = context.build("budgets", SYSTEM, &[], &[(PARTITION, &words)])?;
        let measures = setting.measure(PARTITION, TIMING)?;
        let measure = measures.of("decision", &setting)?;
        let figures = [
            ("average", measure.average),
            ("worst", measure.worst),
            ("decisions", measure.count),
        ];
        let what = format!("from VCPU to VCPU at the end of a budget, {vcpus} VCPUs");
        let bound = GROWTH * *fewest.get_or_insert(measure.average);
        rows.push(Row::at_most(&what, &figures, "instructions", bound));
    }
    Ok(rows)
}
