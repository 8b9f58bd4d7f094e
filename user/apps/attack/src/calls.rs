//! Attacks by calls: PSCI, Bulkhead's own, everything else of the calling convention

use crate::attack::{Attack, Context, Fate};
use crate::probe::{self, Fault, Shown};
use bulkhead_abi::{hypercall, psci};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "psci-foreign",
        fate: Fate::Lives,
        what: "starts and asks about cores that are not its own, at addresses that are not its own",
        run: psci_foreign,
    },
    Attack {
        name: "system-off",
        fate: Fate::Dies,
        what: "turns the system off",
        run: system_off,
    },
    Attack {
        name: "system-reset",
        fate: Fate::Dies,
        what: "resets the system",
        run: reset,
    },
    Attack {
        name: "core-off",
        fate: Fate::Dies,
        what: "turns its only core off",
        run: core_off,
    },
    Attack {
        name: "calls-own-range",
        fate: Fate::Lives,
        what: "every call in Bulkhead's range with random arguments",
        run: own_range,
    },
    Attack {
        name: "calls-undefined",
        fate: Fate::Lives,
        what: "undefined calls inside Bulkhead's range, and immediates that are not 0",
        run: undefined,
    },
    Attack {
        name: "calls-everything",
        fate: Fate::Lives,
        what: "random function numbers of the whole calling convention by HVC and SMC",
        run: everything,
    },
    Attack {
        name: "control",
        fate: Fate::Lives,
        what: "restarts and halts other partitions without the right to",
        run: control,
    },
    Attack {
        name: "attach",
        fate: Fate::Lives,
        what: "asks for channels by keys that are not its own",
        run: attach,
    },
    Attack {
        name: "exec-outside",
        fate: Fate::Lives,
        what: "starts an image outside its memory",
        run: exec_outside,
    },
    Attack {
        name: "exec-inside",
        fate: Fate::Dies,
        what: "starts an image of its own, which gives up with the code it was handed: 0x5a5a",
        run: exec_inside,
    },
    Attack {
        name: "doorbell-flood",
        fate: Fate::Lives,
        what: "rings every doorbell index as fast as it can",
        run: doorbell_flood,
    },
    Attack {
        name: "fail",
        fate: Fate::Dies,
        what: "gives up in each of its lives",
        run: fail,
    },
];

fn call(function: u64, x1: u64, x2: u64, x3: u64) -> Result<i64, Fault> {
    probe::hypervisor_call([function, x1, x2, x3]).map(u64::cast_signed)
}

/// The answer, for a report.
fn ask(function: u64, x1: u64, x2: u64, x3: u64) -> Shown<i64> {
    Shown(call(function, x1, x2, x3))
}

fn psci_foreign(context: &mut Context<'_>) {
    let inside = context.system.memory()[0];
    for target in (0..16).chain([0x100, 0x1_0000, 1 << 32, u64::MAX]) {
        let on = ask(psci::CPU_ON, target, inside, 0);
        let state = ask(psci::AFFINITY_INFO, target, 0, 0);
        context.say(format_args!(
            "target={target:#x} cpu-on={on} affinity-info={state}"
        ));
    }
    for entry in [0, 0x4020_0000, 0xffff_ffff_f000, inside + 2] {
        let on = ask(psci::CPU_ON, 1, entry, 0);
        context.say(format_args!("entry={entry:#x} cpu-on={on}"));
    }
}

fn system_off(context: &mut Context<'_>) {
    let answer = ask(psci::SYSTEM_OFF, 0, 0, 0);
    context.say(format_args!("came back with {answer}"));
}

pub(crate) fn reset(context: &mut Context<'_>) {
    let answer = ask(psci::SYSTEM_RESET, 0, 0, 0);
    context.say(format_args!("came back with {answer}"));
}

fn core_off(context: &mut Context<'_>) {
    let answer = ask(psci::CPU_OFF, 0, 0, 0);
    context.say(format_args!("came back with {answer}"));
}

fn own_range(context: &mut Context<'_>) {
    let harmless = [
        hypercall::VERSION,
        hypercall::UP,
        hypercall::DOORBELL,
        hypercall::ATTACH,
        hypercall::DETACH,
        hypercall::CONTROL,
    ];
    let count = context.number("count", 2_000);
    let (mut granted, mut refused, mut faults) = (0, 0, 0);
    for number in 0..count {
        let function = harmless[(context.random() % harmless.len() as u64) as usize];
        let arguments = [context.random(), context.random(), context.random()];
        let [x1, x2, x3] = arguments.map(|value| value >> (number % 64));
        match call(function, x1, x2, x3) {
            Ok(result) if result >= 0 => granted += 1,
            Ok(_) => refused += 1,
            Err(_) => faults += 1,
        }
        context.beat();
    }
    context.say(format_args!(
        "granted={granted} refused={refused} faults={faults}"
    ));
}

fn undefined(context: &mut Context<'_>) {
    let mut faults = 0;
    for function in hypercall::BASE + 8..=hypercall::LAST {
        faults += u32::from(call(function, 0, 0, 0).is_err());
        context.beat();
    }
    context.say(format_args!(
        "undefined={} faults={faults}",
        hypercall::LAST - hypercall::BASE - 7
    ));
    let immediates = (1..=200).chain([0x1000, 0xffff]);
    let (hvc, smc) = (
        immediates.clone().map(|i| 0xd400_0002 | i << 5),
        immediates.map(|i| 0xd400_0003 | i << 5),
    );
    for (name, faults) in [("hvc", count_faults(hvc)), ("smc", count_faults(smc))] {
        context.say(format_args!("{name} immediates=202 faults={faults}"));
    }
}

fn count_faults(instructions: impl Iterator<Item = u32>) -> u32 {
    let mut faults = 0;
    let version = [psci::VERSION, 0, 0, 0];
    probe::execute(instructions, version, |_, result| {
        faults += u32::from(result.is_err())
    });
    faults
}

fn everything(context: &mut Context<'_>) {
    let fatal = [
        hypercall::FAIL,
        hypercall::EXEC,
        psci::CPU_OFF,
        psci::SYSTEM_OFF,
        psci::SYSTEM_RESET,
    ];
    let count = context.number("count", 5_000);
    let (mut supported, mut unsupported, mut faults) = (0, 0, 0);
    for number in 0..count {
        let function = context.random() & 0xff00_ffff | u64::from(number % 2 == 0) << 63;
        if fatal.contains(&(function & 0xffff_ffff)) {
            continue;
        }
        let arguments = [
            function,
            context.random(),
            context.random(),
            context.random(),
        ];
        let conduit = if number % 3 == 0 {
            0xd400_0003
        } else {
            0xd400_0002
        };
        match probe::execute_one(conduit, arguments).map(|x0| x0 as i32) {
            Ok(-1) => unsupported += 1,
            Ok(_) => supported += 1,
            Err(_) => faults += 1,
        }
        context.beat();
    }
    context.say(format_args!(
        "supported={supported} unsupported={unsupported} faults={faults}"
    ));
}

fn control(context: &mut Context<'_>) {
    for partition in (0..8).chain([64, u64::MAX]) {
        for request in 0..3 {
            let answer = ask(hypercall::CONTROL, partition, request, 0);
            context.say(format_args!(
                "partition={partition} request={request} answer={answer}"
            ));
        }
    }
}

fn attach(context: &mut Context<'_>) {
    let mut granted = 0;
    for key in 0..2_000 {
        let key = if key < 1_000 { key } else { context.random() };
        granted += u32::from(call(hypercall::ATTACH, key, 0, 0).is_ok_and(|answer| answer >= 0));
        granted += u32::from(call(hypercall::DETACH, key, 0, 0).is_ok_and(|answer| answer >= 0));
        context.beat();
    }
    context.say(format_args!("granted={granted}"));
}

fn exec_outside(context: &mut Context<'_>) {
    let [start, bytes] = context.system.memory();
    let (before, behind) = (start - 4, start + bytes);
    for entry in [
        0,
        0x0c00_0000,
        0x0800_0000,
        before,
        behind,
        1 << 45,
        u64::MAX,
    ] {
        let answer = ask(hypercall::EXEC, entry, 0, 0);
        context.say(format_args!("entry={entry:#x} answer={answer}"));
    }
}

fn exec_inside(context: &mut Context<'_>) {
    // mov x1, x0; mov x0, #5; movk x0, #0xc600, lsl #16; hvc #0
    let image = [0xaa00_03e1, 0xd280_00a0, 0xf2b8_c000, 0xd400_0002];
    let answer = ask(hypercall::EXEC, probe::place(image), 0x5a5a, 0);
    context.say(format_args!("came back with {answer}"));
}

/// Places an image that resets the partition. Returns its address.
pub(crate) fn place_reset() -> u64 {
    // mov x0, #9; movk x0, #0x8400, lsl #16; hvc #0; b .
    probe::place([0xd280_0120, 0xf2b0_8000, 0xd400_0002, 0x1400_0000])
}

/// Starts the image of [`place_reset`], or resets the partition.
pub(crate) fn exec_or_reset(executes: bool) {
    let _comes_back_if_refused = if executes {
        ask(hypercall::EXEC, place_reset(), 0, 0)
    } else {
        ask(psci::SYSTEM_RESET, 0, 0, 0)
    };
}

fn doorbell_flood(context: &mut Context<'_>) {
    let count = context.number("count", 50_000);
    let mut rung = 0;
    for number in 0..count {
        let index = number % 33;
        rung += u64::from(
            call(hypercall::DOORBELL, index, 0, 0).is_ok_and(|answer| answer == hypercall::OK),
        );
        if number % 16 == 0 {
            context.beat();
        }
    }
    let wild = ask(hypercall::DOORBELL, u64::MAX, 0, 0);
    context.say(format_args!("rings={count} answered={rung} wild={wild}"));
}

fn fail(context: &mut Context<'_>) {
    let answer = ask(hypercall::FAIL, 0xdead, 0, 0);
    context.say(format_args!("came back with {answer}"));
}
