//! `budgets`: how exactly the budgets of VCPUs end, and what a scheduling decision costs
//!
//! One core, instructions counted. Threads that never wait tell by the cycle counter what they executed
//! in each period, in user mode alone: what is charged to them of the kernel's coming and going is
//! therefore missing. A decision lasts from the last instruction on a VCPU
//! without budget to the first on the next.

use bulkhead_model::system::Program;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::profile;
use crate::report::{Report, Row};
use crate::setting::Context;

const SYSTEM: &str = "host/bench/systems/budgets";
const PARTITION: &str = "kernel";
/// System that measures the kernel's paths.
const PRIMITIVES: &str = "host/bench/systems/primitives";
/// Its device with an interrupt.
const UART: &str = "uart0";
/// Program that runs stages.
const PIPES: &str = "bulkhead-pipes";
const TIMING: Timing = Timing::path(3);
/// Periods looked at, and decisions; short and long version.
const PERIODS: [u64; 2] = [300, 3_000];
const DECISIONS: [u64; 2] = [2_000, 100_000];
/// Decisions of two schedulers in the same random life, short and long version.
const ALIKE: [u64; 2] = [10_000, 1_000_000];
/// Most instructions by which a budget is missed in a period.
const ERROR: f64 = 200.0;
/// Numbers of VCPUs; the first is what the others are compared with.
const VCPUS: [u64; 4] = [2, 8, 32, 64];
/// Largest cost of a decision, times that among the fewest VCPUs.
const GROWTH: f64 = 1.2;

/// Most instructions from thread to thread of one VCPU.
const SWITCH: f64 = 700.0;

/// Fewer instructions no job can take: its way into the kernel and back alone are more.
const LEAST_JOB: f64 = 50.0;

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

    fn guarantee(&self) -> &'static str {
        "a VCPU runs at most 200 instructions per period more or less than its budget says, preempted or not; what the kernel meters besides is never more than is granted for it; a decision costs the same among 64 VCPUs as among 2, within 20 %, and never more than the analysis counts, and neither does a job, a stage of a pipe or an interrupt; bands that nobody asked for change no decision"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let mut rows = enforcement(context)?;
        rows.extend(decisions(context)?);
        rows.extend(one_vcpu(context)?);
        rows.push(job(context)?);
        rows.push(stage(context)?);
        rows.push(interrupt(context)?);
        rows.push(alike(context)?);
        Ok(self.report(rows))
    }
}

fn enforcement(context: &Context) -> Result<Vec<Row>, BenchError> {
    let costs = context.load(SYSTEM, &[])?.board.costs;
    let counted = costs.map_or(0, |costs| costs.switch);
    let rounds = PERIODS[usize::from(context.long)];
    let words = format!("rounds={rounds} switch={counted}");
    let setting = context.build("budgets", SYSTEM, &[], &[(PARTITION, &words)])?;
    let measures = setting.measure(PARTITION, TIMING)?;
    let row = |(name, what): (&str, &str)| {
        let of = |part: &str| measures.of(&format!("{name}-{part}"), &setting);
        let (over, under) = (of("over")?, of("under")?);
        let figures = [
            ("worst", over.worst.max(under.worst)),
            ("most beyond", over.worst),
            ("most missing in a period", under.worst),
            ("dispatches per period", of("dispatches")?.average),
            ("periods", over.count),
        ];
        Ok(Row::at_most(what, &figures, "instructions", ERROR))
    };
    let names = [
        ("budget", "error of a budget per period"),
        (
            "budget-preempted",
            "the same, VCPU preempted in each period",
        ),
    ];
    let rows = names.map(row).into_iter();
    let mut rows: Vec<_> = rows.collect::<Result<_, BenchError>>()?;
    let metered = |(name, _)| measures.of(&format!("{name}-metered"), &setting);
    let metered = names.map(metered).into_iter();
    let metered: Vec<_> = metered.collect::<Result<_, _>>()?;
    let worst = metered.iter().map(|one| one.worst).fold(0.0, f64::max);
    rows.push(Row::at_most(
        "metered besides each time a thread runs, beside what is granted",
        &[("worst", worst)],
        "instructions",
        counted as f64,
    ));
    Ok(rows)
}

/// From thread to thread of one VCPU: no decision that the kernel takes part in.
fn one_vcpu(context: &Context) -> Result<[Row; 2], BenchError> {
    let words = format!("switches={}", DECISIONS[usize::from(context.long)]);
    let setting = context.build("budgets", SYSTEM, &[], &[(PARTITION, &words)])?;
    let measures = setting.measure(PARTITION, TIMING)?;
    let switch = measures.of("switch", &setting)?;
    let grants = measures.of("grants", &setting)?;
    let figures = [
        ("average", switch.average),
        ("worst", switch.worst),
        ("switches", switch.count),
    ];
    let what = "from thread to thread of one VCPU in user mode, decision included";
    let made = "grants of the kernel meanwhile";
    Ok([
        Row::at_most(what, &figures, "instructions", SWITCH),
        Row::at_most(made, &[("grants", grants.worst)], "grants", 0.0),
    ])
}

/// Jobs without code of their own, as the kernel meters them.
fn job(context: &Context) -> Result<Row, BenchError> {
    let words = format!("jobs={}", PERIODS[usize::from(context.long)]);
    let setting = context.build("budgets", SYSTEM, &[], &[(PARTITION, &words)])?;
    let measures = setting.measure(PARTITION, TIMING)?;
    let measure = measures.of("job", &setting)?;
    if measure.average < LEAST_JOB {
        return Err(BenchError::Incomplete {
            what: "jobs that use their budget".into(),
            folder: setting.run_folder(),
        });
    }
    let counted = setting.system.board.costs.map_or(0, |costs| costs.job);
    let figures = [
        ("worst", measure.worst),
        ("average", measure.average),
        ("jobs", measure.count),
    ];
    let what =
        "metered of a budget for a job without code of its own, beside what the analysis counts";
    Ok(Row::at_most(what, &figures, "instructions", counted as f64))
}

/// Jobs of stages with functions that do next to nothing, as the kernel meters them.
fn stage(context: &Context) -> Result<Row, BenchError> {
    let jobs = PERIODS[usize::from(context.long)];
    let program = Program::Crate(PIPES.into());
    let (measure, counted) = profile::budgets(context, &program, jobs)?;
    if measure.average < LEAST_JOB {
        return Err(BenchError::Incomplete {
            what: "stages that use their budgets".into(),
            folder: context.out.join("profile").join("run"),
        });
    }
    let figures = [
        ("worst", measure.worst),
        ("average", measure.average),
        ("jobs", measure.count),
    ];
    let what = "the same for a job of a stage of a pipe";
    Ok(Row::at_most(what, &figures, "instructions", counted as f64))
}

/// An interrupt that the kernel acknowledges and counts, and that leads to no decision: that of a UART which has sent.
fn interrupt(context: &Context) -> Result<Row, BenchError> {
    let board = context.load(PRIMITIVES, &[])?.board;
    let uart = board.devices.iter().find(|device| device.name == UART);
    let incomplete = |folder| BenchError::Incomplete {
        what: "interrupts without a decision".into(),
        folder,
    };
    let (Some(address), Some(intid)) = (
        uart.map(|uart| uart.address),
        uart.and_then(|uart| Some(uart.spis.first()? + 32)),
    ) else {
        return Err(incomplete(context.out.clone()));
    };
    let rounds = DECISIONS[usize::from(context.long)];
    let words = format!("rounds={rounds} address={address} intid={intid}");
    let setting = context.build("prims", PRIMITIVES, &[], &[(PARTITION, &words)])?;
    let measures = setting.measure(PARTITION, TIMING)?;
    let measure = measures.of("interrupt-counted", &setting)?;
    if measure.average < LEAST_JOB {
        return Err(incomplete(setting.run_folder()));
    }
    let counted = board.costs.map_or(0, |costs| costs.interrupt);
    let figures = [
        ("worst", measure.worst),
        ("average", measure.average),
        ("interrupts", measure.count),
    ];
    let what = "an interrupt without a decision, beside what the analysis counts";
    Ok(Row::at_most(what, &figures, "instructions", counted as f64))
}

/// Time partitions and bands without members, beside a scheduler that cannot have any.
fn alike(context: &Context) -> Result<Row, BenchError> {
    let words = format!("decisions={}", ALIKE[usize::from(context.long)]);
    let setting = context.build("budgets", SYSTEM, &[], &[(PARTITION, &words)])?;
    let measures = setting.measure(PARTITION, TIMING)?;
    let alike = measures.of("differences", &setting)?;
    let figures = [("differ", alike.worst), ("decisions", alike.count)];
    let what = "decisions that differ where bands could be and none is, from where none can";
    Ok(Row::at_most(what, &figures, "decisions", 0.0))
}

fn decisions(context: &Context) -> Result<Vec<Row>, BenchError> {
    let rounds = DECISIONS[usize::from(context.long)];
    let mut rows: Vec<Row> = Vec::new();
    let mut fewest = None;
    let (mut worst, mut counted) = (0.0_f64, 0);
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
        worst = worst.max(measure.worst);
        counted = setting.system.board.costs.map_or(0, |costs| costs.decision);
    }
    let what = "the longest of all, beside what the analysis counts";
    rows.push(Row::at_most(
        what,
        &[("worst", worst)],
        "instructions",
        counted as f64,
    ));
    Ok(rows)
}
