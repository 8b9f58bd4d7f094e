//! Attacks that end their own life: hangs that nothing of the guest's can be woken from, faults
//!
//! Each says `stuck` before; what comes next is the watchdog's, and the policy's.

use crate::attack::{Attack, Context, Fate};
use crate::{calls, probe, thread};
use bulkhead_rtos::cores::Start;
use bulkhead_rtos::{Stack, clock, println};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "hang",
        fate: Fate::Dies,
        what: "spins with everything masked",
        run: |c| stick(c, || {}, spin),
    },
    Attack {
        name: "sleep",
        fate: Fate::Dies,
        what: "sleeps with everything masked",
        run: |c| stick(c, || {}, sleep),
    },
    Attack {
        name: "wait-event",
        fate: Fate::Dies,
        what: "waits for events with everything masked",
        run: |c| stick(c, || {}, wait_for_events),
    },
    Attack {
        name: "exceptions",
        fate: Fate::Dies,
        what: "takes one exception after the other",
        run: |c| stick(c, || {}, take_exceptions),
    },
    Attack {
        name: "active-priorities",
        fate: Fate::Dies,
        what: "claims the highest running priority and spins",
        run: |c| stick(c, claim_priority, spin),
    },
    Attack {
        name: "active-priorities-sleep",
        fate: Fate::Dies,
        what: "claims the highest running priority and sleeps",
        run: |c| stick(c, claim_priority, sleep),
    },
    Attack {
        name: "priority-hold",
        fate: Fate::Dies,
        what: "takes its timer's interrupt at the highest priority it can get and never ends it",
        run: |c| stick(c, hold_priority, spin),
    },
    Attack {
        name: "silent",
        fate: Fate::Dies,
        what: "stays healthy but lets its heartbeat stop",
        run: silent,
    },
    Attack {
        name: "fault-storm",
        fate: Fate::Lives,
        what: "writes outside its memory and is not sorry",
        run: fault_storm,
    },
    Attack {
        name: "nested-fault",
        fate: Fate::Dies,
        what: "faults with vectors that lie outside its memory",
        run: nested_fault,
    },
    Attack {
        name: "vectors-lost",
        fate: Fate::Stalls,
        what: "faults with vectors that its own tables do not map, for ever, without the monitor",
        run: vectors_lost,
    },
    Attack {
        name: "wait-for-events",
        fate: Fate::Stalls,
        what: "waits for events in a loop, with one there each time",
        run: starve_clock,
    },
    Attack {
        name: "stack-overflow",
        fate: Fate::Dies,
        what: "recurses for ever",
        run: stack_overflow,
    },
    Attack {
        name: "panic",
        fate: Fate::Dies,
        what: "a Rust panic",
        run: |context| panic!("asked to, as {}", context.name),
    },
    Attack {
        name: "siblings",
        fate: Fate::Lives,
        what: "its second core hangs with everything masked, then the first one faults",
        run: siblings,
    },
    Attack {
        name: "exec-against-reset",
        fate: Fate::Dies,
        what: "one core starts an image of its own while the other one resets the partition (lives=N)",
        run: exec_against_reset,
    },
];

fn stick(context: &mut Context<'_>, prepare: fn(), stay: fn() -> !) {
    context.say(format_args!("stuck"));
    thread::mask_all();
    prepare();
    stay()
}

fn spin() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

fn sleep() -> ! {
    loop {
        thread::sleep();
    }
}

fn wait_for_events() -> ! {
    loop {
        thread::wait_for_event();
    }
}

fn take_exceptions() -> ! {
    thread::set_vectors(thread::exception_loop_place());
    loop {
        thread::call_supervisor();
    }
}

fn claim_priority() {
    thread::set_active_priorities(1);
}

/// The recipe that a clamp at 0x20 does not stop: the coarsest binary point makes any group-1
/// priority preempt, and an acknowledged interrupt holds its priority for ever.
fn hold_priority() {
    thread::set_binary_point(7);
    thread::set_virtual_timer(1);
    while thread::acknowledge() >= 1020 {}
}

fn silent(context: &mut Context<'_>) {
    context.say(format_args!("stuck"));
    spin()
}

fn fault_storm(context: &mut Context<'_>) {
    let place = context.number("target", 0x7fff_f000);
    let result = probe::store(place, 0);
    context.say(format_args!("place={place:#x} reached={}", result.is_ok()));
}

/// An address that is executable at stage 1 and unmapped at stage 2: behind the memory, within the 2 MiB that the
/// runtime maps by pages.
const HOLE: u64 = 0x401f_f000;

fn nested_fault(context: &mut Context<'_>) {
    let [start, bytes] = context.system.memory();
    if start + bytes > HOLE {
        return context.say(format_args!("needs a memory below {HOLE:#x}"));
    }
    let _maintenance_faults = probe::map_executable(HOLE);
    context.say(format_args!("stuck"));
    thread::set_vectors(HOLE);
    let _deadly = probe::store(0x7fff_e000, 0);
}

fn vectors_lost(context: &mut Context<'_>) {
    context.say(format_args!("stuck"));
    thread::set_vectors(0x7fff_f000);
    let _deadly = probe::store(0x7fff_e000, 0);
}

fn starve_clock(context: &mut Context<'_>) {
    context.say(format_args!("stuck"));
    thread::mask_all();
    loop {
        thread::send_event();
        thread::wait_for_event();
    }
}

fn stack_overflow(context: &mut Context<'_>) {
    context.say(format_args!("stuck"));
    let depth = deeper(1);
    context.say(format_args!("depth={depth}"));
}

#[expect(unconditional_recursion, reason = "it is the attack")]
fn deeper(depth: u64) -> u64 {
    let room = core::hint::black_box([depth; 32]);
    deeper(depth + 1) + room[(depth % 32) as usize]
}

static SIBLING: Start = Start::new();
static SIBLING_STACK: Stack<0x2000> = Stack::new();

fn siblings(context: &mut Context<'_>) {
    let started = SIBLING.start(context.system, 1, &SIBLING_STACK, |rank| {
        println!("attack siblings: core {rank} stuck");
        thread::mask_all();
        claim_priority();
        spin()
    });
    match started {
        Ok(()) => context.say(format_args!("started")),
        Err(error) => context.say(format_args!("not started: {error}")),
    }
    context
        .system
        .wait_until(clock::now() + clock::ticks(5_000));
    fault_storm(context);
}

/// When both cores of [`exec_against_reset`] act.
static MEETING: AtomicU64 = AtomicU64::new(0);
/// Which of its calls this core makes.
static EXECUTES: AtomicBool = AtomicBool::new(false);

fn exec_against_reset(context: &mut Context<'_>) {
    let life = u64::from(context.system.link().read().epoch);
    // The roles change from life to life, and the distance: from one core half a turn early to half a turn late.
    let meeting = clock::now() + clock::ticks(1_000);
    let early = clock::ticks(1) * (life / 2);
    EXECUTES.store(life % 2 == 0, Relaxed);
    MEETING.store(meeting + clock::ticks(6), Relaxed);
    let started = SIBLING.start(context.system, 1, &SIBLING_STACK, |_| {
        while clock::now() < MEETING.load(Relaxed) {}
        calls::exec_or_reset(EXECUTES.load(Relaxed));
        spin()
    });
    if let Err(error) = started {
        context.say(format_args!("not started: {error}"));
    }
    while clock::now() < meeting + early {}
    calls::exec_or_reset(!EXECUTES.load(Relaxed));
    context.say(format_args!("came back"));
}
