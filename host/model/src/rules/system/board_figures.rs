//! Numbers of a board file are plausible

use super::board_inconsistent::place;
use crate::board::{Board, Costs};
use crate::diagnostic::Report;
use crate::document::Table;
use crate::draft::Section;

crate::rules::declaration::rule! {
    Error, "board-figures",
    "numbers of a board file lie in the ranges of real boards",
    "Times, bounds and caches are computed from them: with a counter of 1 Hz every time is 0 and every bound is kept. The \
     counter has 1 MHz to 1 GHz (Arm ARM D12.1.2: usually 1 to 50 MHz, and 1 GHz from Armv8.6 on), so that a tick is a \
     microsecond at most. Lines of a cache have 16 to 2048 bytes (CTR_EL0, CCSIDR_EL1), each a power of two, and a cache is \
     made of whole sets. `[costs]` has all of its numbers, and a decision, a job and a stage each take some instructions."
}

/// Frequencies of the generic timer, Hz.
const COUNTER: [u64; 2] = [1_000_000, 1_000_000_000];
/// Clocks of devices, Hz: from that of a real-time clock on.
const DEVICE_CLOCK: [u64; 2] = [32_768, 1_000_000_000];
/// Longest turn of an emulated core, nanoseconds. A longer one exceeds every period.
const LONGEST_TURN_NS: u64 = 1_000_000;
/// Longest time of an instruction, nanoseconds: a core of 1 MHz.
const LONGEST_INSTRUCTION_NS: u64 = 1000;

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let mut tell = |path: &str, message: String, help: String| {
        report.add(
            RULE.at(&place(table, path), message)
                .here("not plausible")
                .help(help),
        );
    };
    for fault in counter(board)
        .into_iter()
        .chain(cache(table))
        .chain(board.devices.iter().filter_map(device))
        .chain(missing_costs(board, table))
        .chain(board.costs.iter().flat_map(costs))
    {
        tell(&fault.path, fault.message, fault.help);
    }
}

/// A number that is not plausible: its path, the fact, and the plausible ones.
struct Fault {
    path: String,
    message: String,
    help: String,
}

fn fault(path: impl Into<String>, message: String, help: impl Into<String>) -> Fault {
    Fault {
        path: path.into(),
        message,
        help: help.into(),
    }
}

fn counter(board: &Board) -> Option<Fault> {
    let frequency = board.timer.frequency;
    let [least, most] = COUNTER;
    (!(least..=most).contains(&frequency)).then(|| {
        fault(
            "timer.frequency",
            format!("the counter has {frequency} ticks in a second"),
            format!("from {least} to {most}: `CNTFRQ_EL0` has it, and boot compares it with that"),
        )
    })
}

fn cache(table: &Table) -> Option<Fault> {
    let section = Section::of(table, "cache");
    let [size, ways, line] = ["size", "ways", "line"].map(|key| section.number(key).value());
    let (size, ways, line) = (size?, ways?, line?);
    if !line.is_power_of_two() || !(16..=2048).contains(&line) {
        return Some(fault(
            "cache.line",
            format!("a line of the cache has {line} bytes"),
            "a power of two, 16 to 2048",
        ));
    }
    let set = ways.saturating_mul(line);
    let sets = size / set.max(1);
    (sets == 0 || size % set != 0 || !sets.is_power_of_two()).then(|| {
        fault(
            "cache.size",
            format!("{size} bytes are not a power of two of sets of {ways} ways of {line} bytes"),
            "`size / (ways * line)` is a power of two, such as 1 MiB / (16 * 64)",
        )
    })
}

fn device(device: &crate::board::Device) -> Option<Fault> {
    let [least, most] = DEVICE_CLOCK;
    let hz = device.clock_hz?;
    (!(least..=most).contains(&hz.into())).then(|| {
        fault(
            format!("device.{}.clock_hz", device.name),
            format!("`{}` has a clock of {hz} Hz", device.name),
            format!("from {least} to {most}"),
        )
    })
}

/// Without one of its numbers no overhead would be counted at all.
fn missing_costs(board: &Board, table: &Table) -> Option<Fault> {
    table.get("costs").filter(|_| board.costs.is_none())?;
    let section = Section::of(table, "costs");
    let lacks = |key: &&str| section.number(key).value().is_none();
    let key = [
        "decision",
        "interrupt",
        "switch",
        "job",
        "stage",
        "blocking",
        "instruction_ns",
    ]
    .into_iter()
    .find(lacks)?;
    Some(fault(
        "costs",
        format!("`costs.{key}` is missing, and without it no scheduling overhead is counted"),
        format!("add `costs.{key}`, or leave out `[costs]`"),
    ))
}

fn costs(costs: &Costs) -> Vec<Fault> {
    let none = |key: &str, value: u64, what: &str| {
        (value == 0).then(|| {
            fault(
                format!("costs.{key}"),
                format!("{what} takes no instruction"),
                "measure it (`bulkhead bench budgets`), or leave out `[costs]`",
            )
        })
    };
    let too_long = |key: &str, value: u64, most: u64, what: &str| {
        (value > most).then(|| {
            fault(
                format!("costs.{key}"),
                format!("{what} takes {value} ns"),
                format!("at most {most} ns"),
            )
        })
    };
    [
        none("decision", costs.decision, "a decision"),
        none("interrupt", costs.interrupt, "an interrupt"),
        none("job", costs.job, "a job"),
        none("stage", costs.stage, "a stage"),
        none("blocking", costs.blocking, "the longest path of the kernel"),
        too_long(
            "instruction_ns",
            costs.instruction_ns,
            LONGEST_INSTRUCTION_NS,
            "an instruction",
        ),
        too_long("turn", costs.turn_ns, LONGEST_TURN_NS, "a turn of a core"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
