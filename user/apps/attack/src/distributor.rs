//! Attacks on the distributor: other partitions' interrupts, global control, odd accesses

use crate::attack::{Attack, Context, Fate};
use crate::probe;
use crate::redistributor::random_accesses;

const CTLR: u64 = 0x0000;
const TYPER: u64 = 0x0004;
const SETSPI: u64 = 0x0040;
const CLRSPI: u64 = 0x0048;
const IGROUPR: u64 = 0x0080;
const ISENABLER: u64 = 0x0100;
const ICENABLER: u64 = 0x0180;
const ISPENDR: u64 = 0x0200;
const ICPENDR: u64 = 0x0280;
const ISACTIVER: u64 = 0x0300;
const ICACTIVER: u64 = 0x0380;
const IPRIORITYR: u64 = 0x0400;
const ITARGETSR: u64 = 0x0800;
const ICFGR: u64 = 0x0c00;
const NSACR: u64 = 0x0e00;
const SGIR: u64 = 0x0f00;
const IROUTER: u64 = 0x6000;
const BYTES: u64 = 0x1_0000;
/// Words of one bit per interrupt, and INTIDs, that exist at most.
const WORDS: u64 = 32;
const INTIDS: u32 = 1020;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "distributor-foreign",
        fate: Fate::Lives,
        what: "enables, sets pending, activates and redirects every shared interrupt there is",
        run: foreign,
    },
    Attack {
        name: "distributor-silence",
        fate: Fate::Lives,
        what: "disables, clears and deactivates every shared interrupt there is",
        run: silence,
    },
    Attack {
        name: "distributor-control",
        fate: Fate::Lives,
        what: "turns the distributor off and sends by its message and SGI registers",
        run: control,
    },
    Attack {
        name: "distributor-priority",
        fate: Fate::Lives,
        what: "asks for the highest priority for every shared interrupt",
        run: priority,
    },
    Attack {
        name: "distributor-odd",
        fate: Fate::Lives,
        what: "accesses whose syndrome does not say what they do: pairs, write-back, vectors, exclusives",
        run: odd,
    },
    Attack {
        name: "distributor-fuzz",
        fate: Fate::Lives,
        what: "random accesses of every size to every offset",
        run: fuzz,
    },
    Attack {
        name: "distributor-storm",
        fate: Fate::Lives,
        what: "reads and writes the distributor as fast as it can",
        run: storm,
    },
];

fn bank(context: &Context<'_>, register: u64, value: u64) {
    for word in 1..WORDS {
        let _may_fault = probe::store(context.distributor() + register + 4 * word, value);
    }
}

/// Bits of foreign interrupts that a bank shows.
fn foreign_bits(context: &Context<'_>, register: u64) -> u32 {
    let is_visible = |intid: u32| {
        let word = context.distributor() + register + u64::from(intid / 32 * 4);
        probe::load(word).unwrap_or(0) >> (intid % 32) & 1 == 1
    };
    (32..INTIDS)
        .filter(|intid| !context.owns(*intid) && is_visible(*intid))
        .count() as u32
}

fn foreign(context: &mut Context<'_>) {
    for intid in 32..INTIDS {
        let router = context.distributor() + IROUTER + 8 * u64::from(intid);
        let _may_fault = probe::store_double(router, 0);
    }
    for (name, register) in [
        ("isenabler", ISENABLER),
        ("ispendr", ISPENDR),
        ("isactiver", ISACTIVER),
    ] {
        bank(context, register, u64::from(u32::MAX));
        context.say(format_args!(
            "{name} foreign={}",
            foreign_bits(context, register)
        ));
    }
    bank(context, ICFGR, u64::from(u32::MAX));
    bank(context, NSACR, u64::from(u32::MAX));
    let routed = (32..INTIDS).filter(|intid| {
        let router = context.distributor() + IROUTER + 8 * u64::from(*intid);
        !context.owns(*intid)
            && probe::access(probe::LOADS[3], probe::physical(router), 0).unwrap_or(0) != 0
    });
    context.say(format_args!("irouter foreign-shown={}", routed.count()));
    for register in [ICACTIVER, ICPENDR] {
        bank(context, register, u64::from(u32::MAX));
    }
}

fn silence(context: &mut Context<'_>) {
    for register in [ICENABLER, ICPENDR, ICACTIVER] {
        bank(context, register, u64::from(u32::MAX));
    }
    context.say(format_args!(
        "enabled foreign={}",
        foreign_bits(context, ISENABLER)
    ));
}

fn control(context: &mut Context<'_>) {
    for value in [0, u64::from(u32::MAX), 0x12] {
        let _may_fault = probe::store(context.distributor() + CTLR, value);
        let seen = probe::load(context.distributor() + CTLR).unwrap_or(u64::MAX);
        context.say(format_args!("ctlr wrote={value:#x} reads={seen:#x}"));
    }
    for intid in 32..u64::from(INTIDS) {
        let _may_fault = probe::store(context.distributor() + SETSPI, intid);
        let _may_fault = probe::store(context.distributor() + CLRSPI, intid);
    }
    let _may_fault = probe::store(context.distributor() + SGIR, 0x00ff_000f);
    let typer = probe::load(context.distributor() + TYPER).unwrap_or(0);
    context.say(format_args!("typer={typer:#x}"));
}

fn priority(context: &mut Context<'_>) {
    for byte in 32..u64::from(INTIDS) {
        let address = context.distributor() + IPRIORITYR + byte;
        let _may_fault = probe::access(probe::STORES[0], probe::physical(address), 0);
    }
    let words = (8..u64::from(INTIDS) / 4).filter_map(|word| {
        let address = context.distributor() + IPRIORITYR + 4 * word;
        let _may_fault = probe::store(address, 0);
        probe::load(address).ok()
    });
    let bytes = words.flat_map(|word| (0..4).map(move |byte| word >> (8 * byte) & 0xff));
    let smallest = bytes
        .filter(|priority| *priority != 0)
        .min()
        .unwrap_or(0x100);
    context.say(format_args!("smallest={smallest:#x}"));
    bank(context, IGROUPR, 0);
    bank(context, ITARGETSR, u64::from(u32::MAX));
    context.say(format_args!("groups tried"));
}

fn odd(context: &mut Context<'_>) {
    let registers = [CTLR, ISENABLER + 4, IPRIORITYR + 32, IROUTER + 8 * 40];
    for form in probe::ODD {
        let accepted = registers.iter().filter(|register| {
            let address = probe::physical((context.distributor() + *register) & !15);
            probe::access(form, address, u64::MAX).is_ok()
        });
        context.say(format_args!(
            "form={} through={}",
            form.name,
            accepted.count()
        ));
    }
    let unaligned = [(1, 1), (2, 1), (2, 2), (3, 4), (2, 3), (3, 1)];
    let accepted = unaligned.iter().filter(|(size, off)| {
        let address = probe::physical(context.distributor() + ISENABLER + off);
        probe::access(probe::LOADS[*size], address, 0).is_ok()
    });
    context.say(format_args!("form=unaligned through={}", accepted.count()));
}

fn fuzz(context: &mut Context<'_>) {
    let count = context.number("count", 20_000);
    let start = context.distributor();
    let [reached, faults] = random_accesses(context, start, BYTES, count);
    let _kept_alive = probe::store(start + CTLR, 0x12);
    context.say(format_args!("reached={reached} faults={faults}"));
}

fn storm(context: &mut Context<'_>) {
    let count = context.number("count", 100_000);
    for number in 0..count {
        let _may_fault = probe::store(context.distributor() + ISENABLER + 4, number);
        let _may_fault = probe::load(context.distributor() + TYPER);
        if number % 64 == 0 {
            context.beat();
        }
    }
    context.say(format_args!("accesses={}", 2 * count));
}
