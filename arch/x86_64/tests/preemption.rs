//! Threads switch among themselves while signals preempt them at random instructions
//!
//! Each thread keeps a pattern in callee-saved registers, in SSE registers and on its stack across
//! every switch; a lost or foreign register shows as a wrong pattern.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![expect(unsafe_code, reason = "drives the switch")]

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

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
    end: Cell<Option<Instant>>,
}

fn machine() -> &'static Machine {
    // SAFETY: set before any thread runs and kept to the end of the test.
    unsafe { &*MACHINE.get() }
}

/// Round robin over the workers; the decision may be overtaken, then it is made again.
fn go_on(own: usize, mut next: usize) {
    let machine = machine();
    loop {
        while machine.core.next_event().is_some() {}
        let epoch = machine.core.scb().epoch.load(Relaxed);
        if next == own {
            return;
        }
        // SAFETY: `own` is the running thread; `next` is another one of this core.
        match unsafe { machine.core.switch(own, next, epoch) } {
            Activation::Done => return,
            Activation::Stale => machine.stale.set(machine.stale.get() + 1),
        }
        next = next % WORKERS + 1;
    }
}

extern "C" fn worker(own: usize) -> ! {
    let mut integers = [0u64; 4];
    let mut float = own as f64;
    for round in 0u64.. {
        integers = integers.map(|value| value.wrapping_mul(31).wrapping_add(own as u64 + round));
        let expected = integers;
        float += 0.5;
        let expected_float = float;
        go_on(own, own % WORKERS + 1);
        let machine = machine();
        if std::hint::black_box(integers) != expected
            || std::hint::black_box(float).to_bits() != expected_float.to_bits()
        {
            machine.wrong.set(machine.wrong.get() + 1);
        }
        machine.switches.set(machine.switches.get() + 1);
        if round % 64 == 0 && machine.end.get().is_some_and(|end| Instant::now() > end) {
            machine.end.set(None);
            go_on(own, 0);
        }
    }
    unreachable!("the range does not end")
}

extern "C" fn on_interrupt(own: usize) -> ! {
    for round in 0usize.. {
        let machine = machine();
        machine.interrupts.set(machine.interrupts.get() + 1);
        go_on(own, round % WORKERS + 1);
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

#[test]
fn registers_survive_preemption_anywhere() {
    let core = Core::new().expect("a core");
    let machine = Box::new(Machine {
        core,
        switches: Cell::new(0),
        interrupts: Cell::new(0),
        stale: Cell::new(0),
        wrong: Cell::new(0),
        end: Cell::new(Some(Instant::now() + Duration::from_secs(3))),
    });
    MACHINE.set(&raw const *machine);
    for worker_index in 1..=WORKERS {
        let thread = machine.core.spawn(worker, worker_index).expect("a stack");
        assert_eq!(thread, Some(worker_index));
        machine.core.set_importance(worker_index, 10);
    }
    let thread = machine
        .core
        .spawn(on_interrupt, INTERRUPT)
        .expect("a stack");
    assert_eq!(thread, Some(INTERRUPT));
    machine.core.set_importance(INTERRUPT, 1);
    machine
        .core
        .bind(libc::SIGALRM, INTERRUPT)
        .expect("a handler");
    let timer = start_timer(Duration::from_micros(37));
    go_on(0, 1);
    // SAFETY: the timer of this test.
    unsafe { libc::timer_delete(timer) };
    let (switches, interrupts) = (machine.switches.get(), machine.interrupts.get());
    println!(
        "{switches} switches, {interrupts} interrupts, {} stale",
        machine.stale.get()
    );
    assert_eq!(machine.wrong.get(), 0, "registers changed across a switch");
    assert!(switches > 100_000, "only {switches} switches");
    assert!(interrupts > 1_000, "only {interrupts} interrupts");
}
