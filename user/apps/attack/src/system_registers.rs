//! Attacks by system registers: all of them read, those of others written

use crate::attack::{Attack, Context, Fate};
use crate::{calls, probe};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "identity",
        fate: Fate::Lives,
        what: "reads every identification register",
        run: identity,
    },
    Attack {
        name: "system-registers-read",
        fate: Fate::Lives,
        what: "reads every system-register encoding there is",
        run: read_all,
    },
    Attack {
        name: "system-registers-write",
        fate: Fate::Lives,
        what: "writes every encoding of EL2, EL3 and the implementation-defined space",
        run: write_others,
    },
    Attack {
        name: "debug",
        fate: Fate::Lives,
        what: "writes every debug and trace register, breakpoints and watchpoints included",
        run: debug,
    },
    Attack {
        name: "debug-kept",
        fate: Fate::Dies,
        what: "sets breakpoints, watchpoints and counters, restarts and looks for them (lives=2)",
        run: keep_debug,
    },
    Attack {
        name: "performance-counters",
        fate: Fate::Lives,
        what: "enables every counter and its overflow interrupt",
        run: performance,
    },
];

/// Encoding of a system register.
#[derive(Clone, Copy)]
struct Register {
    op0: u32,
    op1: u32,
    crn: u32,
    crm: u32,
    op2: u32,
}

impl Register {
    fn of(index: u32) -> Self {
        Self {
            op0: 2 + (index >> 14 & 1),
            op1: index >> 11 & 7,
            crn: index >> 7 & 15,
            crm: index >> 3 & 15,
            op2: index & 7,
        }
    }

    fn fields(&self) -> u32 {
        self.op0 << 19 | self.op1 << 16 | self.crn << 12 | self.crm << 8 | self.op2 << 5
    }

    /// `mrs x0, …`
    fn read(&self) -> u32 {
        0xd520_0000 | self.fields()
    }

    /// `msr …, x0`
    fn write(&self) -> u32 {
        0xd500_0000 | self.fields()
    }

    /// Acknowledges an interrupt by being read.
    fn acknowledges(&self) -> bool {
        self.op0 == 3
            && self.op1 == 0
            && self.crn == 12
            && matches!(self.crm, 8 | 12)
            && self.op2 == 0
    }

    /// Belongs to EL2, to EL3 or to the implementation.
    fn is_foreign(&self) -> bool {
        self.op0 == 3 && (self.op1 >= 4 || matches!(self.crn, 11 | 15))
    }

    fn is_performance(&self) -> bool {
        self.op0 == 3
            && self.op1 == 3
            && (self.crn == 9 && self.crm >= 12 || self.crn == 14 && self.crm >= 8)
    }
}

/// All 32 768 encodings with op0 = 2 and 3.
fn all() -> impl Iterator<Item = Register> + Clone {
    (0..1 << 15).map(Register::of)
}

#[derive(Default)]
struct Tally {
    tried: u32,
    done: u32,
    foreign: u32,
}

/// Executes one instruction for each register that `choose` names; `foreign` counts those of EL2 and
/// EL3 that were let through (EL1 aliases of EL12 and EL02 included).
fn sweep(
    context: &Context<'_>,
    choose: fn(&Register) -> bool,
    encode: fn(&Register) -> u32,
    value: u64,
) -> Tally {
    let chosen = all().filter(choose);
    let mut tally = Tally::default();
    let mut start = 0;
    loop {
        let batch = chosen.clone().skip(start).take(probe::SLOTS);
        let mut registers = batch.clone();
        let before = tally.tried;
        probe::execute(
            batch.map(|register| encode(&register)),
            [value, 0, 0, 0],
            |_, result| {
                let register = registers.next();
                tally.tried += 1;
                tally.done += u32::from(result.is_ok());
                let foreign =
                    register.is_some_and(|register| register.op0 == 3 && register.op1 >= 4);
                tally.foreign += u32::from(result.is_ok() && foreign);
            },
        );
        context.beat();
        if tally.tried == before {
            return tally;
        }
        start += probe::SLOTS;
    }
}

fn tell(context: &Context<'_>, tally: &Tally) {
    context.say(format_args!(
        "tried={} done={} foreign={}",
        tally.tried, tally.done, tally.foreign
    ));
}

fn identity(context: &mut Context<'_>) {
    let registers = (0..64).map(|index| Register {
        op0: 3,
        op1: 0,
        crn: 0,
        crm: index >> 3,
        op2: index & 7,
    });
    let instructions = registers.map(|register| register.read());
    let mut values = [None; 64];
    probe::execute(instructions, [0; 4], |index, result| {
        values[index] = result.ok()
    });
    for (index, value) in values.iter().enumerate() {
        match value {
            Some(0) => {}
            Some(value) => context.say(format_args!("c0-c{}-{}={value:#x}", index >> 3, index & 7)),
            None => context.say(format_args!("c0-c{}-{}=fault", index >> 3, index & 7)),
        }
    }
}

fn read_all(context: &mut Context<'_>) {
    let tally = sweep(
        context,
        |register| !register.acknowledges(),
        Register::read,
        0,
    );
    tell(context, &tally);
}

fn write_others(context: &mut Context<'_>) {
    for value in [0, u64::MAX, 0x8000_0001] {
        let tally = sweep(context, Register::is_foreign, Register::write, value);
        tell(context, &tally);
    }
}

fn debug(context: &mut Context<'_>) {
    for value in [u64::MAX, 0x1e5, 0] {
        let tally = sweep(
            context,
            |register| register.op0 == 2,
            Register::write,
            value,
        );
        tell(context, &tally);
    }
}

/// Registers of debug and of the performance monitor that a start has to clear: controls of breakpoints and watchpoints
/// (the architecture leaves their values unknown at reset), `MDCCINT_EL1`, `MDSCR_EL1`, event types and filters,
/// `PMCNTENSET_EL0`, `PMOVSSET_EL0`, `PMUSERENR_EL0`, `PMSELR_EL0`.
fn kept() -> impl Iterator<Item = Register> {
    all().filter(
        |register| match (register.op0, register.op1, register.crn) {
            (2, 0, 0) => {
                matches!(register.op2, 5 | 7) || matches!((register.crm, register.op2), (2, 0 | 2))
            }
            (3, 3, 9) => matches!((register.crm, register.op2), (12, 1 | 5) | (14, 0 | 3)),
            (3, 3, 14) => register.crm >= 12,
            _ => false,
        },
    )
}

/// Tells how many registers of [`kept`] can be read and how many are not zero.
fn tell_kept(context: &Context<'_>, when: &str) {
    let (mut read, mut set) = (0, 0);
    probe::execute(
        kept().map(|register| register.read()),
        [0; 4],
        |_, result| {
            read += u32::from(result.is_ok());
            set += u32::from(result.is_ok_and(|value| value != 0));
        },
    );
    context.say(format_args!("{when}: read={read} set={set}"));
}

fn keep_debug(context: &mut Context<'_>) {
    let life = context.system.link().read().epoch;
    tell_kept(context, "found");
    // Enabled in EL1 and EL0 where a register is a control register; `PSTATE.D` masks the exceptions.
    probe::execute(
        kept().map(|register| register.write()),
        [0xa007, 0, 0, 0],
        |_, _| {},
    );
    tell_kept(context, "written");
    if life == 1 {
        calls::reset(context);
    }
}

fn performance(context: &mut Context<'_>) {
    for value in [u64::MAX, 0xffff_fff0, 0] {
        let tally = sweep(context, Register::is_performance, Register::write, value);
        tell(context, &tally);
    }
}
