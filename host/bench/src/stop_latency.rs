//! `stop-latency`: how long a guest still runs once its partition is to stop
//!
//! A privileged partition announces a counter value and orders a restart then; the fault log has the counter
//! value at which the stopped core serves the order at EL2. The bound is computed: a partition that stops itself
//! executes the instructions of both cores, which are counted on one; on an emulator that runs its cores by turns, the
//! stopped core also waits for one turn of each other core, and for the end of the present one.

use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use bulkhead_run::report::Report as RunReport;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::setting::Setting;
use crate::{Bench, BenchError, Context, Report, Row};

const SYSTEM: &str = "host/bench/systems/stop";
const ALONE: &str = "host/bench/systems/stop-self";
const ORDERER: &str = "orderer";
const SUBJECT: &str = "subject";
/// Orders, short and long version.
const ORDERS: [u64; 2] = [20, 400];
/// Time for a restart, and for what the guest then does.
const EVERY_US: u64 = 4000;
/// Nanoseconds of an instruction, as a power of two, and the longest turn of a core.
const SHIFT: u8 = 2;
const TURN_US: u32 = 5;
/// Time of the host after which a run is given up: a guest that waits for events is slow on a loaded host.
const PATIENCE: Duration = Duration::from_secs(480);
/// Instructions of an order and of the way to EL2 at most.
const INSTRUCTIONS_BOUND: f64 = 1000.0;
/// Activities of the guests when they are stopped: label, attack, handling of WFI.
const GUESTS: [(&str, &str, &str); 7] = [
    ("spins", "silent", "direct"),
    ("spins, everything masked", "hang", "direct"),
    ("sleeps, everything masked", "sleep", "direct"),
    ("waits for events", "wait-event", "direct"),
    (
        "takes one exception after the other",
        "exceptions",
        "direct",
    ),
    (
        "spins behind a forged running priority",
        "active-priorities",
        "direct",
    ),
    (
        "sleeps behind a forged running priority",
        "active-priorities-sleep",
        "trap",
    ),
];

pub(crate) struct StopLatency;

impl Bench for StopLatency {
    fn id(&self) -> &'static str {
        "stop-latency"
    }

    fn reproduces(&self) -> &'static str {
        "a property of closing stage 2"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "a core is at EL2 within a computed time after the order to stop, whatever its guest does"
    }

    fn takes_board(&self) -> bool {
        true
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let orders = ORDERS[usize::from(context.long)];
        let instructions = alone(context, orders)?;
        let other_cores = 1.0;
        let turns = (other_cores + 1.0) * f64::from(TURN_US) * 1e3;
        let bound = instructions.worst * f64::from(1_u32 << SHIFT) + turns;
        let mut rows = vec![Row::at_most(
            "order and way to EL2, both on one core",
            &instructions.figures("instructions", 1.0),
            "instructions",
            INSTRUCTIONS_BOUND,
        )];
        for (label, attack, wfi) in GUESTS {
            let name = format!("stop-{attack}");
            let latency = of_guest(context, &name, attack, wfi, orders)?;
            rows.push(Row::at_most(
                &format!("a guest that {label}"),
                &latency.figures("worst", 1e3),
                "us",
                bound / 1e3,
            ));
            let missing = [("missing", orders.abs_diff(latency.orders) as f64)];
            rows.push(Row::at_most(
                &format!("a guest that {label}: stops missing"),
                &missing,
                "",
                0.0,
            ));
        }
        Ok(self.report(rows))
    }
}

/// Times from orders to the service of each, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Latency {
    worst: f64,
    mean: f64,
    orders: u64,
}

impl Latency {
    fn figures<'n>(&self, worst: &'n str, unit_ns: f64) -> [(&'n str, f64); 3] {
        [
            (worst, self.worst / unit_ns),
            ("mean", self.mean / unit_ns),
            ("orders", self.orders as f64),
        ]
    }
}

/// One instruction is one nanosecond.
fn alone(context: &Context, orders: u64) -> Result<Latency, BenchError> {
    let words = format!("target=0 orders={orders} every_us={EVERY_US}");
    let setting = context.build("stop-self", ALONE, &[], &[(ORDERER, &words)])?;
    let options = RunOptions {
        timing: Timing::path(0),
        ..setting.virtual_seconds(seconds(orders))
    };
    latency(&setting, &setting.run(&options)?, ORDERER)
}

fn of_guest(
    context: &Context,
    name: &str,
    attack: &str,
    wfi: &str,
    orders: u64,
) -> Result<Latency, BenchError> {
    let changes = [
        // In its last life it does nothing: waits for events cost the host a turn each.
        format!("partition.subject.command_line=attack={attack} lives={orders}"),
        format!("partition.subject.wfi={wfi}"),
    ];
    let words = format!("target=1 orders={orders} every_us={EVERY_US}");
    let changes = changes.each_ref().map(String::as_str);
    let setting = context.build(name, SYSTEM, &changes, &[(ORDERER, &words)])?;
    let options = RunOptions {
        timing: Timing::Virtual {
            shift: SHIFT,
            slice_us: TURN_US,
        },
        patience: PATIENCE,
        ..setting.virtual_seconds(seconds(orders))
    };
    latency(&setting, &setting.run(&options)?, SUBJECT)
}

fn seconds(orders: u64) -> u64 {
    orders * (EVERY_US + 100) / 1_000_000 + 1
}

/// Each fault that a partition's order made, and the order before it.
fn latency(setting: &Setting, report: &RunReport, stopped: &str) -> Result<Latency, BenchError> {
    let hz = setting.manifest.machine.counter_hz as f64;
    let orders = setting.console(ORDERER)?;
    let orders = orders.iter().filter_map(|line| order(line));
    // Ticks to nanoseconds, as the report has them; a partition that stops itself may announce an order twice.
    let mut served: BTreeMap<u64, f64> = orders.map(|at| (at, f64::NAN)).collect();
    let faults = report.faults.iter();
    let controls = faults.filter(|fault| fault.partition == stopped && fault.cause == "control");
    for at_s in controls.flat_map(|fault| &fault.times_s) {
        let at_ns = at_s * 1e9;
        let ticks = (at_s * hz).round() as u64;
        if let Some((order, latency)) = served.range_mut(..=ticks).next_back() {
            *latency = at_ns - *order as f64 * 1e9 / hz;
        }
    }
    let seen: Vec<f64> = served.into_values().filter(|ns| !ns.is_nan()).collect();
    let count = seen.len() as u64;
    Ok(Latency {
        worst: seen.iter().copied().fold(0.0, f64::max),
        mean: seen.iter().sum::<f64>() / seen.len().max(1) as f64,
        orders: count,
    })
}

/// The counter value of an announced order.
fn order(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("order ")?;
    rest.split_once(" at ")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn orders_are_read_from_lines_with_and_without_a_stamp() {
        assert_eq!(order("[0.01] order 3 at 4711"), Some(4711));
        assert_eq!(order("order 12 at 9 "), Some(9));
        assert_eq!(order("ordered 40 times"), None);
    }
}
