//! Threads switch among themselves while signals preempt them: at random, and at every instruction
//!
//! Each thread keeps a pattern in callee-saved registers, in SSE registers and on its stack across
//! every switch; a lost or foreign register shows as a wrong pattern.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![expect(unsafe_code, reason = "drives the switch")]

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bulkhead_hosted::{Activation, Core};

const WORKERS: usize = 6;
const INTERRUPT: usize = WORKERS + 1;

thread_local! {
    static MACHINE: Cell<*const Machine> = const { Cell::new(std::ptr::null()) };
}

struct Machine {
    core: Box<Core>,
    switches: Cell<u64>,
    interrupts: Cell<u64>,
    stale: Cell<u64>,
    wrong: Cell<u64>,
    over: Cell<bool>,
    /// Rounds in which the processor traps after so many instructions; 0: the timer's interrupts.
    stepped: u64,
}

impl Machine {
    /// Enough of both has happened.
    fn is_done(&self) -> bool {
        let required = if self.stepped > 0 {
            self.stepped
        } else {
            4_000
        };
        self.switches.get() >= required && self.interrupts.get() >= required / 2
    }
}

/// Longest way between two interrupts, instructions: more than a switch and its decision take.
const SWEEP: u64 = 400;
/// Instructions until the interrupt.
static LEFT: AtomicU64 = AtomicU64::new(0);
/// The processor's trap flag.
const TRAP: i64 = 1 << 8;

/// An instruction was executed: the last one of the countdown raises the interrupt.
extern "C" fn on_trap(_: i32, _: *mut libc::siginfo_t, frame: *mut libc::ucontext_t) {
    if LEFT.fetch_sub(1, Relaxed) > 1 {
        return;
    }
    // SAFETY: the kernel built the frame.
    unsafe { (*frame).uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP };
    // SAFETY: delivered when this handler is left, at the instruction that was reached.
    unsafe { libc::raise(libc::SIGALRM) };
}

/// Has the processor trap after each instruction, or no longer.
#[inline(always)]
fn step(on: bool) {
    if on {
        // SAFETY: a handler is there.
        unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    } else {
        // SAFETY: no traps any more.
        unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
    }
}

fn machine() -> &'static Machine {
    // SAFETY: set before any thread runs and kept to the end of the test.
    unsafe { &*MACHINE.get() }
}

/// Round robin over the workers; the decision may be overtaken, then it is made again.
fn go_on(caller: usize, mut next: usize) {
    let machine = machine();
    loop {
        while machine.core.next_event().is_some() {}
        let epoch = machine.core.scb().epoch.load(Relaxed);
        if next == caller {
            return;
        }
        // SAFETY: `own` is the running thread; `next` is another one of this core.
        match unsafe { machine.core.switch(caller, next, epoch) } {
            Activation::Done => return,
            Activation::Stale => machine.stale.set(machine.stale.get() + 1),
        }
        next = next % WORKERS + 1;
    }
}

extern "C" fn worker(index: u64) -> ! {
    let caller = index as usize;
    let mut integers = [0u64; 4];
    let mut float = caller as f64;
    for round in 0u64.. {
        integers = integers.map(|value| value.wrapping_mul(31).wrapping_add(caller as u64 + round));
        let expected = integers;
        float += 0.5;
        let expected_float = float;
        let machine = machine();
        if machine.stepped > 0 {
            LEFT.store(1 + machine.switches.get() % SWEEP, Relaxed);
            step(true);
        }
        go_on(caller, caller % WORKERS + 1);
        step(false);
        if std::hint::black_box(integers) != expected
            || std::hint::black_box(float).to_bits() != expected_float.to_bits()
        {
            machine.wrong.set(machine.wrong.get() + 1);
        }
        machine.switches.set(machine.switches.get() + 1);
        if machine.is_done() && !machine.over.replace(true) {
            go_on(caller, 0);
        }
    }
    unreachable!("the range does not end")
}

extern "C" fn on_interrupt(index: u64) -> ! {
    let caller = index as usize;
    for round in 0usize.. {
        let machine = machine();
        machine.interrupts.set(machine.interrupts.get() + 1);
        go_on(caller, round % WORKERS + 1);
    }
    unreachable!("the range does not end")
}

fn start_timer(period: Duration) -> libc::timer_t {
    // SAFETY: all-zero is a valid event description.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGALRM;
    // SAFETY: no arguments.
    event.sigev_notify_thread_id = unsafe { libc::gettid() };
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: valid pointers.
    let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
    assert_eq!(made, 0, "timer_create");
    let span = libc::timespec {
        tv_sec: 0,
        tv_nsec: period.as_nanos() as i64,
    };
    let setting = libc::itimerspec {
        it_interval: span,
        it_value: span,
    };
    // SAFETY: the timer just made.
    let set = unsafe { libc::timer_settime(timer, 0, &raw const setting, std::ptr::null_mut()) };
    assert_eq!(set, 0, "timer_settime");
    timer
}

/// Runs until enough has happened, and checks that no register was lost.
fn run(stepped: u64) {
    let core = Core::new().expect("a core");
    let machine = Box::new(Machine {
        core,
        switches: Cell::new(0),
        interrupts: Cell::new(0),
        stale: Cell::new(0),
        wrong: Cell::new(0),
        over: Cell::new(false),
        stepped,
    });
    MACHINE.set(&raw const *machine);
    for worker_index in 1..=WORKERS {
        machine.core.spawn(worker_index, worker).expect("a stack");
        machine.core.set_importance(worker_index, 10);
    }
    machine
        .core
        .spawn(INTERRUPT, on_interrupt)
        .expect("a stack");
    machine.core.set_importance(INTERRUPT, 1);
    machine
        .core
        .bind(libc::SIGALRM, INTERRUPT)
        .expect("a handler");
    let timer = (stepped == 0).then(|| start_timer(Duration::from_micros(67)));
    go_on(0, 1);
    if let Some(timer) = timer {
        // SAFETY: the timer of this test.
        unsafe { libc::timer_delete(timer) };
    }
    println!(
        "{} switches, {} interrupts, {} stale",
        machine.switches.get(),
        machine.interrupts.get(),
        machine.stale.get()
    );
    assert_eq!(machine.wrong.get(), 0, "registers changed across a switch");
}

#[test]
fn registers_survive_preemption_by_a_timer() {
    run(0);
}

#[test]
fn registers_survive_preemption_at_every_instruction() {
    // SAFETY: all-zero is a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_trap as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: a valid set to fill.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    // SAFETY: the handler has the signature that SA_SIGINFO asks for.
    let set = unsafe { libc::sigaction(libc::SIGTRAP, &raw const action, std::ptr::null_mut()) };
    assert_eq!(set, 0, "sigaction");
    run(4 * SWEEP);
}
