//! Calls to the kernel, against a machine that follows a script

extern crate std;
use super::*;
use bulkhead_sched::Account;
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use core::sync::atomic::AtomicU64;
use std::boxed::Box;
use std::cell::Cell;
use std::thread_local;

type Policy = FixedPriority<Preemptive, 2>;
type Scene = Threads<Scripted, Policy, 2>;

/// The more important thread, and the other one.
const URGENT: u64 = 1;
const OTHER: u64 = 2;
/// Of the first one's next release.
const RELEASE: Time = 1000;

thread_local! {
    static SCB: &'static bulkhead_abi::dispatch::Scb = Box::leak(Box::default());
    static SCENE: &'static Scene = Box::leak(Box::new(Threads::new(FixedPriority::new(Preemptive))));
    /// The time-out fires at the next reading of the clock under the lock.
    static FIRES: Cell<bool> = const { Cell::new(false) };
    /// Time-out that the kernel observes while a thread continues.
    static TIMEOUT: Cell<Time> = const { Cell::new(NEVER) };
    static RUNS: Cell<u64> = const { Cell::new(OWN) };
    /// Rest of an account's time.
    static LEFT: Cell<Time> = const { Cell::new(0) };
}

fn epoch() -> &'static AtomicU64 {
    &SCB.with(|scb| *scb).epoch
}

struct Scripted;

// SAFETY: no switch takes place.
unsafe impl Machine for Scripted {
    type Maker = ();
    type Error = ();

    const REFUSED: () = ();
    const SAME_TIME: u64 = u64::MAX;

    fn scheduler_thread() -> u64 {
        OWN
    }

    fn scheduler_time() -> u64 {
        0
    }

    /// Fires the time-out at its scripted time. The scheduler's own thread then runs, requests the lock, which is
    /// taken, and helps the owner, which continues here.
    fn now() -> Time {
        if FIRES.take() {
            TIMEOUT.set(NEVER);
            epoch().fetch_add(1, Relaxed);
            assert_eq!(SCENE.with(|scene| scene.lock.ask(OWN)), Some(URGENT));
        }
        10
    }

    fn frequency() -> u64 {
        1_000_000_000
    }

    fn scb() -> &'static bulkhead_abi::dispatch::Scb {
        SCB.with(|scb| *scb)
    }

    fn make(_: &mut (), _: extern "C" fn(u64) -> !, index: u64) -> Result<u64, ()> {
        Ok(index)
    }

    /// To the scheduler's own thread there is no way: an event came.
    unsafe fn switch(_: u64, next: u64, _: u64, decided: u64) -> bool {
        let goes = next != OWN && decided == epoch().load(Relaxed);
        if goes {
            RUNS.set(next);
        }
        goes
    }

    fn dispatch(name: u64, _: u64, timeout: Option<Time>, decided: u64) -> bool {
        let goes = decided == epoch().load(Relaxed);
        if goes {
            RUNS.set(name);
            TIMEOUT.set(timeout.unwrap_or(TIMEOUT.get()));
        }
        goes
    }

    fn time(_: &mut ()) -> Result<u64, ()> {
        Ok(7)
    }

    fn grant(_: u64, budget: Time) {
        LEFT.set(budget);
    }

    fn remaining(_: u64) -> Option<Time> {
        Some(LEFT.get())
    }

    fn take_back(_: u64) -> Option<Time> {
        Some(LEFT.take())
    }

    fn receive_end(_: &mut (), _: u64) -> Result<[u64; 2], ()> {
        Err(())
    }

    fn served(_: u64) -> Time {
        0
    }

    fn receive(_: u64) -> Result<u64, ()> {
        Err(())
    }

    fn fetch() {}

    fn sleep() {}
}

extern "C" fn never_runs(_: u64) -> ! {
    unreachable!("nobody switches")
}

/// A thread blocks until its release; as scripted, the time-out fires during the decision.
fn blocks(fires: bool) {
    let scene = SCENE.with(|scene| *scene);
    for priority in [1, 2] {
        let made = scene.spawn(&mut (), never_runs, Priority(priority));
        made.expect("there is room");
    }
    Scripted::scb().current.store(URGENT, Relaxed);
    FIRES.set(fires);
    let _not_yet = scene.block(RELEASE);
    assert_eq!(RUNS.get(), OTHER);
    assert_eq!(TIMEOUT.get(), RELEASE, "the kernel observes the release");
}

#[test]
fn a_release_is_observed() {
    blocks(false);
}

#[test]
fn a_release_is_observed_after_a_wait_for_the_lock() {
    blocks(true);
}

/// The kernel reports the end of the budget in force, with the given rest; returns the reported thread.
fn ends(remaining: Time, taken_back_before: bool) -> Option<u64> {
    let scene = SCENE.with(|scene| *scene);
    let made = scene.spawn(&mut (), never_runs, Priority(1));
    made.expect("there is room");
    let server = ServerId(0);
    scene.enforce(&mut (), server).expect("there is room");
    let account = Account {
        server,
        budget: 100,
        timer: NEVER,
    };
    scene.with(|state| state.accounts.grant::<Scripted>(Some(account)));
    LEFT.set(remaining);
    if taken_back_before {
        // The running thread decided and granted anew; the event must notice that.
        scene.with(|state| {
            state.take_in::<Scripted>();
            state.accounts.grant::<Scripted>(Some(account));
        });
    }
    let scb = Scripted::scb();
    scb.events[0].thread.store(URGENT as u32, Relaxed);
    scb.events[0].kind.store(EventKind::Expired as u32, Relaxed);
    scb.produced.store(1, Relaxed);
    scene.with(State::take_in::<Scripted>);
    let notified = scene.with(State::take_stopped::<Scripted>);
    notified.map(|(index, ..)| index)
}

#[test]
fn a_budget_that_is_used_up_is_told() {
    assert_eq!(ends(0, false), Some(URGENT));
}

/// The timer fires during a decision: the budget in force is empty then, because it was taken back.
#[test]
fn a_budget_that_was_taken_back_did_not_end() {
    assert_eq!(ends(40, false), None);
    assert_eq!(ends(40, true), None);
}
