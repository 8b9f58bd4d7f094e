//! Attacks by the CPU interface: software-generated interrupts, priorities, control

use crate::attack::{Attack, Context, Fate};
use crate::{probe, thread};

/// `msr S3_0_C12_C11_op2, x0`: ICC_SGI1R_EL1 (5), ICC_ASGI1R_EL1 (6), ICC_SGI0R_EL1 (7).
const SGI_REGISTERS: [(&str, u32); 3] = [
    ("sgi1r", 0xd518_cba0),
    ("asgi1r", 0xd518_cbc0),
    ("sgi0r", 0xd518_cbe0),
];
const ALL_BUT_SELF: u64 = 1 << 40;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "sgi-foreign",
        fate: Fate::Lives,
        what: "sends every software-generated interrupt to every core by all three registers",
        run: sgi_foreign,
    },
    Attack {
        name: "sgi-monitor",
        fate: Fate::Lives,
        what: "sends the monitor's own interrupt to itself and to everybody",
        run: sgi_monitor,
    },
    Attack {
        name: "interface-control",
        fate: Fate::Lives,
        what: "writes every control register of the CPU interface, group 0 included",
        run: control,
    },
    Attack {
        name: "interrupt-kept",
        fate: Fate::Dies,
        what: "dies between acknowledge and end of its timer's interrupt",
        run: interrupt_kept,
    },
];

/// Writes `value` to all three registers; counts what was refused.
fn send(value: u64) -> u64 {
    let mut refused = 0;
    let writes = SGI_REGISTERS.iter().map(|(_, instruction)| *instruction);
    probe::execute(writes, [value, 0, 0, 0], |_, result| {
        refused += u64::from(result.is_err())
    });
    refused
}

fn sgi_foreign(context: &mut Context<'_>) {
    let (mut sent, mut refused) = (0, 0);
    for intid in 0..15u64 {
        for affinity in [0u64, 1, 2, 0xff] {
            let target = affinity << 16 | 0xffff;
            refused += send(intid << 24 | target);
            refused += send(intid << 24 | target | 1 << 44 | 1 << 48);
            sent += 6;
        }
        refused += send(intid << 24 | ALL_BUT_SELF);
        sent += 3;
        context.beat();
    }
    context.say(format_args!("sent={sent} refused={refused}"));
}

fn sgi_monitor(context: &mut Context<'_>) {
    let mut refused = 0;
    for target in [0xffffu64, ALL_BUT_SELF, ALL_BUT_SELF | 0xffff, 1] {
        refused += send(15 << 24 | target);
    }
    context.say(format_args!("refused={refused}"));
}

/// Name, how it is read and how it is written.
type Register = (&'static str, fn() -> u64, fn(u64));

const REGISTERS: [Register; 7] = [
    (
        "ap0r0",
        thread::active_priorities_0,
        thread::set_active_priorities_0,
    ),
    ("igrpen0", thread::group_0, thread::set_group_0),
    ("bpr1", thread::binary_point, thread::set_binary_point),
    (
        "ctlr",
        thread::interrupt_control,
        thread::set_interrupt_control,
    ),
    ("pmr", thread::priority_mask, thread::set_priority_mask),
    ("igrpen1", thread::group_1, thread::set_group_1),
    (
        "ap1r0",
        thread::active_priorities,
        thread::set_active_priorities,
    ),
];

fn control(context: &mut Context<'_>) {
    thread::mask_interrupts();
    for (name, read, write) in REGISTERS {
        let before = read();
        write(u64::from(u32::MAX));
        let high = read();
        write(0);
        let low = read();
        write(before);
        context.say(format_args!(
            "{name} before={before:#x} ones={high:#x} zeros={low:#x}"
        ));
    }
    thread::unmask_interrupts();
}

fn interrupt_kept(context: &mut Context<'_>) {
    thread::mask_interrupts();
    thread::set_physical_deadline(0);
    thread::set_virtual_timer(1);
    let waited = (0..1_000_000).position(|_| thread::acknowledge() == 27);
    context.say(format_args!(
        "acknowledged={} and stopping there",
        waited.is_some()
    ));
    thread::mask_all();
    loop {
        thread::sleep();
    }
}
