//! Attacks on the redistributors: tables of LPIs, other cores' frames, the monitor's own interrupts

use crate::attack::{Attack, Context, Fate};
use crate::probe::{self, Fault, Shown};

const STRIDE: u64 = 0x2_0000;
const SGI_FRAME: u64 = 0x1_0000;
const CTLR: u64 = 0x0000;
const TYPER: u64 = 0x0008;
const WAKER: u64 = 0x0014;
const SETLPIR: u64 = 0x0040;
const PROPBASER: u64 = 0x0070;
const PENDBASER: u64 = 0x0078;
const INVALLR: u64 = 0x00b0;
const IGROUPR0: u64 = SGI_FRAME + 0x0080;
const ISENABLER0: u64 = SGI_FRAME + 0x0100;
const ICENABLER0: u64 = SGI_FRAME + 0x0180;
const ISPENDR0: u64 = SGI_FRAME + 0x0200;
const ISACTIVER0: u64 = SGI_FRAME + 0x0300;
const ICACTIVER0: u64 = SGI_FRAME + 0x0380;
const IPRIORITYR: u64 = SGI_FRAME + 0x0400;
const ICFGR1: u64 = SGI_FRAME + 0x0c04;
const IGRPMODR0: u64 = SGI_FRAME + 0x0d00;

/// The monitor's: its SGI and the hypervisor timer's PPI.
const MONITOR_INTIDS: u64 = 1 << 25 | 1 << 26 | 1 << 28;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "lpi-tables",
        fate: Fate::Lives,
        what: "points the redistributor's LPI tables at foreign memory and enables LPIs",
        run: lpi_tables,
    },
    Attack {
        name: "foreign-redistributor",
        fate: Fate::Lives,
        what: "reads and writes the frames of cores that are not its own",
        run: foreign_redistributor,
    },
    Attack {
        name: "group",
        fate: Fate::Lives,
        what: "moves the monitor's interrupts into group 1 and everything into group 0",
        run: group,
    },
    Attack {
        name: "priority",
        fate: Fate::Lives,
        what: "asks for priorities above those given to guests, by every access size",
        run: priority,
    },
    Attack {
        name: "monitor-interrupts",
        fate: Fate::Lives,
        what: "disables, sets pending and activates the monitor's own private interrupts",
        run: monitor_interrupts,
    },
    Attack {
        name: "redistributor-fuzz",
        fate: Fate::Lives,
        what: "random accesses of every size to every offset of its frames",
        run: fuzz,
    },
];

fn own_frame(context: &Context<'_>, offset: u64) -> u64 {
    context.redistributor() + offset
}

/// A finding: what a load brought.
fn show(context: &Context<'_>, name: &str, result: Result<u64, Fault>) {
    context.say(format_args!("{name}={:#x}", Shown(result)));
}

fn lpi_tables(context: &mut Context<'_>) {
    let foreign = context.number("target", 0x4020_0000);
    for (name, offset, value) in [
        ("propbaser", PROPBASER, foreign | 0x78f),
        ("pendbaser", PENDBASER, foreign | 1 << 62),
        ("setlpir", SETLPIR, 8192),
        ("invallr", INVALLR, 0),
    ] {
        let _may_fault = probe::store_double(own_frame(context, offset), value);
        let back = probe::access(
            probe::LOADS[3],
            probe::physical(own_frame(context, offset)),
            0,
        );
        show(context, name, back);
    }
    let _may_fault = probe::store(own_frame(context, CTLR), 1);
    show(context, "ctlr", probe::load(own_frame(context, CTLR)));
    show(context, "typer", probe::load(own_frame(context, TYPER)));
}

fn foreign_redistributor(context: &mut Context<'_>) {
    let first = context.cores();
    for rank in first..first + 8 {
        let frame = context.redistributor() + rank * STRIDE;
        let mut reached = 0;
        for offset in [CTLR, TYPER, WAKER, IGROUPR0, ISENABLER0, IPRIORITYR] {
            reached += u32::from(probe::load(frame + offset).is_ok());
            reached += u32::from(probe::store(frame + offset, u64::MAX).is_ok());
        }
        context.say(format_args!("rank={rank} reached={reached}"));
    }
}

fn group(context: &mut Context<'_>) {
    for (round, value) in [(0, 0), (1, u64::MAX)] {
        let _may_fault = probe::store(own_frame(context, IGROUPR0), value);
        let _may_fault = probe::store(own_frame(context, IGRPMODR0), value);
        context.say(format_args!("round={round}"));
        show(
            context,
            "igroupr0",
            probe::load(own_frame(context, IGROUPR0)),
        );
        show(
            context,
            "igrpmodr0",
            probe::load(own_frame(context, IGRPMODR0)),
        );
    }
}

fn priority(context: &mut Context<'_>) {
    let first = own_frame(context, IPRIORITYR);
    for offset in 0..32 {
        let _may_fault = probe::access(probe::STORES[0], probe::physical(first + offset), 0);
    }
    context.say(format_args!(
        "bytes smallest={:#x}",
        smallest_priority(first)
    ));
    for offset in (0..32).step_by(4) {
        let _may_fault = probe::store(first + offset, 0x2020_2020);
    }
    context.say(format_args!(
        "words smallest={:#x}",
        smallest_priority(first)
    ));
    for offset in (0..32).step_by(8) {
        let _may_fault = probe::store_double(first + offset, 0);
    }
    context.say(format_args!(
        "doubles smallest={:#x}",
        smallest_priority(first)
    ));
}

/// The highest priority, which is the smallest number, that is not hidden (0).
fn smallest_priority(first: u64) -> u64 {
    let bytes = (0..32).filter_map(|offset| {
        probe::access(probe::LOADS[0], probe::physical(first + offset), 0).ok()
    });
    bytes.filter(|byte| *byte != 0).min().unwrap_or(0x100)
}

fn monitor_interrupts(context: &mut Context<'_>) {
    let attempts = [
        ("icenabler0", ICENABLER0),
        ("isenabler0", ISENABLER0),
        ("ispendr0", ISPENDR0),
        ("isactiver0", ISACTIVER0),
    ];
    for (name, register) in attempts {
        let _may_fault = probe::store(own_frame(context, register), MONITOR_INTIDS);
        let seen = probe::load(own_frame(context, register)).unwrap_or(0) & MONITOR_INTIDS;
        context.say(format_args!("{name} monitor-bits={seen:#x}"));
    }
    let _may_fault = probe::store(own_frame(context, ICFGR1), u64::MAX);
    let _may_fault = probe::store(own_frame(context, ICACTIVER0), u64::from(u32::MAX));
    let _may_fault = probe::store(own_frame(context, WAKER), 2);
    show(context, "waker", probe::load(own_frame(context, WAKER)));
}

fn fuzz(context: &mut Context<'_>) {
    let count = context.number("count", 20_000);
    let (start, bytes) = (context.redistributor(), context.cores() * STRIDE);
    let [reached, faults] = random_accesses(context, start, bytes, count);
    let timer_and_sgis = u64::from(1u32 << 27 | 0x7fff);
    let _kept_alive = probe::store(own_frame(context, ICACTIVER0), u64::from(u32::MAX));
    let _kept_alive = probe::store(own_frame(context, ISENABLER0), timer_and_sgis);
    let _kept_alive = probe::access(
        probe::STORES[0],
        probe::physical(own_frame(context, IPRIORITYR + 27)),
        0xa0,
    );
    context.say(format_args!("reached={reached} faults={faults}"));
}

/// Loads and stores of random size, value and form in a range: how many went through, how many not.
pub(crate) fn random_accesses(
    context: &mut Context<'_>,
    start: u64,
    bytes: u64,
    count: u64,
) -> [u64; 2] {
    let mut outcomes = [0; 2];
    for number in 0..count {
        let choice = context.random();
        let forms = if choice & 1 == 0 {
            &probe::LOADS
        } else {
            &probe::STORES
        };
        let size = (choice >> 1 & 3) as usize;
        let offset = ((choice >> 8) % bytes) & !((1 << size) - 1);
        let value = context.random();
        let result = probe::access(forms[size], probe::physical(start + offset), value);
        outcomes[usize::from(result.is_err())] += 1;
        if number % 16 == 0 {
            context.beat();
        }
    }
    outcomes
}
