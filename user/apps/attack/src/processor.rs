//! Attacks by instructions: undefined ones, exception returns, maintenance, timers

use crate::attack::{Attack, Context, Fate};
use crate::probe::{self, Shown};
use crate::thread;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "instructions",
        fate: Fate::Lives,
        what: "undefined and privileged instructions, one of each class, then random words",
        run: instructions,
    },
    Attack {
        name: "set-way",
        fate: Fate::Lives,
        what: "cache maintenance by set and way, again and again",
        run: |context| repeat(context, 2_000, thread::clean_by_set_way),
    },
    Attack {
        name: "tlb-flood",
        fate: Fate::Lives,
        what: "broadcasts TLB and instruction-cache invalidation as fast as it can",
        run: |context| repeat(context, 100_000, thread::invalidate_everywhere),
    },
    Attack {
        name: "event-flood",
        fate: Fate::Lives,
        what: "wakes everybody who waits for an event as fast as it can",
        run: |context| repeat(context, 100_000, thread::send_event),
    },
    Attack {
        name: "timers",
        fate: Fate::Lives,
        what: "an interrupt storm by timers that are always due, enabled and masked again",
        run: timers,
    },
    Attack {
        name: "translate",
        fate: Fate::Lives,
        what: "address translation for other regimes, and the maintenance of theirs",
        run: translate,
    },
];

fn repeat(context: &mut Context<'_>, default: u64, act: fn()) {
    let count = context.number("count", default);
    for number in 0..count {
        act();
        if number % 64 == 0 {
            context.beat();
        }
    }
    context.say(format_args!("count={count}"));
}

/// Instructions by name; x0…x3 = 0.
fn try_each(context: &mut Context<'_>, list: &[(&str, u32)]) {
    for (name, word) in list {
        let result = Shown::whether(probe::execute_one(*word, [0; 4]));
        context.say(format_args!("{name} {result}"));
    }
}

fn instructions(context: &mut Context<'_>) {
    let classes = [
        ("udf", 0x0000_0000),
        ("svc", 0xd400_0001),
        ("brk", 0xd420_0000),
        ("hlt", 0xd440_0000),
        ("dcps1", 0xd4a0_0001),
        ("dcps2", 0xd4a0_0002),
        ("dcps3", 0xd4a0_0003),
        ("drps", 0xd6bf_03e0),
        ("sve-ptrue", 0x2518_e3e0),
        ("sme-smstart", 0xd503_477f),
        ("mte-irg", 0x9adf_1000),
        ("paciza", 0xdac1_23e0),
        ("wfit", 0xd503_1020),
        ("sb", 0xd503_30ff),
        ("cfp-rctx", 0xd50b_7380),
        ("tsb", 0xd503_225f),
        ("esb", 0xd503_221f),
        ("psb", 0xd503_223f),
    ];
    try_each(context, &classes);
    random_words(context);
}

/// Words of the classes that cannot change x18…x31, memory or flow: system instructions with CRn in
/// the space of hints and barriers, and the unallocated top of the encoding.
fn random_words(context: &mut Context<'_>) {
    let count = context.number("count", 4_096);
    let (mut faults, mut done) = (0u64, 0u64);
    for _ in 0..count / probe::SLOTS as u64 {
        let mut seed = context.random();
        let words = core::iter::repeat_with(move || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 40) as u32 & 0x01ff_ffff
        });
        probe::execute(words, [0; 4], |_, result| {
            faults += u64::from(result.is_err());
            done += 1;
        });
        context.beat();
    }
    context.say(format_args!("unallocated tried={done} faults={faults}"));
}

fn timers(context: &mut Context<'_>) {
    let count = context.number("count", 20_000);
    for number in 0..count {
        thread::set_physical_deadline(0);
        thread::set_physical_timer(1 + 2 * (number & 1));
        thread::set_virtual_timer(1);
        if number % 64 == 0 {
            context.beat();
        }
    }
    thread::set_physical_timer(0);
    context.say(format_args!("count={count}"));
}

fn translate(context: &mut Context<'_>) {
    let list = [
        ("at-s1e1r", 0xd508_7800),
        ("at-s1e2r", 0xd50c_7800),
        ("at-s12e1r", 0xd50c_7880),
        ("at-s12e0w", 0xd50c_78e0),
        ("tlbi-vmalle1", 0xd508_871f),
        ("tlbi-vmalls12e1is", 0xd50c_83df),
        ("tlbi-alle1is", 0xd50c_839f),
        ("tlbi-alle2is", 0xd50c_831f),
        ("tlbi-alle3is", 0xd50e_831f),
        ("tlbi-ipas2e1is", 0xd50c_8020),
        ("tlbi-vae2is", 0xd50c_8320),
        ("ic-ialluis", 0xd508_711f),
        ("sys-impdef", 0xd50b_f000),
    ];
    try_each(context, &list);
}
