//! `comm`: communication over a single slot between VCPUs of two partitions, measured beside its bound
//!
//! All cases of 001 tables 4.1 (round trips of a slot each way) and 4.2 (4 MiB one way, slot by slot). Times
//! are a quarter of the paper's, bytes cost what the paper's cost on uncached memory (chosen, and the
//! same in the bound). Ends wait as polling does, using up their budgets. Figure 4.7 is in milliseconds, 4.8 in
//! seconds, case by case, what was observed beside what was predicted.

use bulkhead_analysis::Reservation;
use bulkhead_analysis::communication::{Channel, End};
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Report, Row};
use crate::setting::Context;

const SYSTEM: &str = "host/bench/systems/comm";
/// A millisecond of the paper's, here.
const UNIT_NS: u64 = 250_000;
/// Of moving a byte: 0.125 ms, half a millisecond of the paper's, for a slot.
const DELTA_NS: u64 = 30;
const SLOT: u64 = 4096;
const TRANSFER: u64 = 4 << 20;
/// C and T of sender and receiver, milliseconds of the paper's.
type Case = [[u64; 2]; 2];
const TABLE_4_1: [Case; 5] = [
    [[20, 100], [2, 10]],
    [[20, 100], [20, 100]],
    [[20, 100], [20, 130]],
    [[20, 100], [20, 200]],
    [[20, 100], [20, 230]],
];
const TABLE_4_2: [Case; 6] = [
    [[20, 50], [20, 50]],
    [[10, 100], [10, 100]],
    [[10, 100], [10, 50]],
    [[10, 100], [10, 200]],
    [[5, 100], [5, 130]],
    [[10, 200], [10, 200]],
];
/// Slots exchanged in each case.
const EXCHANGES: u64 = 10_240;
/// 16 ns per instruction: a decision of the scheduler is a seventh of the paper's millisecond. Cores hold their
/// turns for no longer than they have something to do, which is far less than a slice.
const TIMING: Timing = Timing::Virtual {
    shift: 4,
    slice_us: 1000,
};

pub(crate) struct Communication;

impl Bench for Communication {
    fn id(&self) -> &'static str {
        "comm"
    }

    fn reproduces(&self) -> &'static str {
        "001 figures 4.7 and 4.8, tables 4.1 and 4.2"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "no exchange takes longer than equations 4.2 and 4.4 say"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let round_trips = TABLE_4_1.iter().enumerate();
        let one_way = TABLE_4_2.iter().enumerate();
        let rows = round_trips
            .map(|(number, case)| row(context, number + 1, case, false))
            .chain(one_way.map(|(number, case)| row(context, number + 1, case, true)));
        Ok(self.report(rows.collect::<Result<_, _>>()?))
    }
}

fn channel([sender, receiver]: &Case) -> Option<Channel> {
    let end = |[capacity, period]: [u64; 2]| {
        Some(End {
            vcpu: Reservation::new(capacity * UNIT_NS, period * UNIT_NS)?,
            per_byte: DELTA_NS,
        })
    };
    Some(Channel {
        sender: end(*sender)?,
        receiver: end(*receiver)?,
        slot: SLOT,
        service: 0,
    })
}

fn row(context: &Context, number: usize, case: &Case, one_way: bool) -> Result<Row, BenchError> {
    let slots = TRANSFER / SLOT;
    let exchanges = if one_way {
        EXCHANGES / slots
    } else {
        EXCHANGES
    };
    let words = format!(
        "one_way={} slots={slots} exchanges={exchanges} delta_ns={DELTA_NS}",
        u8::from(one_way)
    );
    let change = |(partition, [capacity, period]): (&str, [u64; 2])| {
        let us = UNIT_NS / 1000;
        let key = format!("partition.{partition}.vcpu.comm");
        let (capacity, period) = (capacity * us, period * us);
        [
            format!("{key}.C={capacity} us"),
            format!("{key}.T={period} us"),
        ]
    };
    let ends = [("sender", case[0]), ("receiver", case[1])];
    let changes = ends.map(change).concat();
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let arguments = [("sender", words.as_str()), ("receiver", words.as_str())];
    let setting = context.build("comm", SYSTEM, &changes, &arguments)?;
    let teller = if one_way { "receiver" } else { "sender" };
    let measures = setting.measure(teller, TIMING)?;
    let measure = measures.of("exchange", &setting)?;
    let channel = channel(case);
    let bound = channel.and_then(|channel| match one_way {
        false => channel.round_trip(SLOT, SLOT),
        true => channel.one_way(TRANSFER),
    });
    // As the axes of the paper's figures.
    let (unit, ns) = if one_way { ("s", 1e9) } else { ("ms", 1e6) };
    let figures = [
        ("observed worst", measure.worst / ns),
        ("average", measure.average / ns),
        ("exchanges", measure.count),
    ];
    let [[cs, ts], [cr, tr]] = case;
    let what = match one_way {
        false => format!("4.1 case {number}, {cs}/{ts} to {cr}/{tr}: round trip"),
        true => format!("4.2 case {number}, {cs}/{ts} to {cr}/{tr}: 4 MiB one way"),
    };
    let bound = bound.unwrap_or(0) as f64 / ns;
    Ok(Row::at_most(&what, &figures, unit, bound))
}
