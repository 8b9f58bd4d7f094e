//! Calls to the kernel, against a machine that follows a script

extern crate std;
use super::*;
use crate::Moved;
use bulkhead_abi::dispatch::{EventKind, NOT_IN_FORCE};
use bulkhead_sched::Account;
use bulkhead_sched::policy::{FixedPriority, Preemptive};
use core::sync::atomic::AtomicU64;
use std::boxed::Box;
use std::cell::Cell;
use std::thread_local;

type Policy = FixedPriority<Preemptive, 2>;
type Scene = Threads<Scripted, Policy, 2>;

/// The more important thread, and the other one.
const URGENT: u64 = 1;
const OTHER: u64 = 2;
/// The machine's name of a budget's time.
const TIME: u64 = 7;
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

    fn dispatch(
        name: u64,
        _: u64,
        timeout: Option<Time>,
        decided: u64,
        moved: Option<Moved>,
    ) -> bool {
        let goes = decided == epoch().load(Relaxed);
        if goes {
            if let Some(Moved { cycles, .. }) = moved {
                Self::scb().grants.fetch_add(1, Relaxed);
                shows(cycles);
            }
            RUNS.set(name);
            TIMEOUT.set(timeout.unwrap_or(TIMEOUT.get()));
        }
        goes
    }

    fn time(_: &mut ()) -> Result<u64, ()> {
        Ok(TIME)
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

/// The kernel took the limited time out of force, with so much rest of it.
fn shows(rest: Time) {
    Scripted::scb().budget.store(rest | NOT_IN_FORCE, Relaxed);
}

const BUDGET: Time = 100;
const SERVER: ServerId = ServerId(0);

/// The thread runs, on a budget that is enforced.
fn runs_on_budget() {
    let scene = SCENE.with(|scene| *scene);
    let made = scene.spawn(&mut (), never_runs, Priority(1));
    made.expect("there is room");
    scene.enforce(&mut (), SERVER).expect("there is room");
    grants(true);
}

/// A decision grants the whole budget, and the kernel makes or refuses it.
fn grants(makes: bool) {
    let moved = moved(Some(BUDGET));
    let decided = epoch().load(Relaxed) + u64::from(!makes);
    assert_eq!(Scripted::dispatch(0, TIME, None, decided, moved), makes);
}

/// The accounts, without the charge that comes with the lock.
fn accounts() -> &'static mut Accounts<2> {
    &mut SCENE.with(|scene| *scene).state_locked().accounts
}

/// Cycles that are charged now.
fn charged() -> Option<Time> {
    accounts().used::<Scripted>()
}

/// Returns the time that a decision with that budget moves.
fn moved(budget: Option<Time>) -> Option<Moved> {
    let account = budget.map(|budget| Account {
        server: SERVER,
        budget,
        timer: NEVER,
    });
    accounts().fund::<Scripted>(account).moved
}

/// The kernel reports the end of the budget in force, with the given rest; returns the reported thread.
fn ends(rest: Time, refused_before: bool) -> Option<u64> {
    let scene = SCENE.with(|scene| *scene);
    runs_on_budget();
    shows(rest);
    if refused_before {
        grants(false);
        shows(0);
    }
    let scb = Scripted::scb();
    scb.events[0].thread.store(URGENT as u32, Relaxed);
    scb.events[0].kind.store(EventKind::Expired as u32, Relaxed);
    scb.produced.store(1, Relaxed);
    scene.with(|state| {
        state.settle::<Scripted>();
        state.hear::<Scripted>();
    });
    let notified = scene.with(State::take_stopped::<Scripted>);
    notified.map(|(index, ..)| index)
}

#[test]
fn a_budget_that_is_used_up_is_told() {
    assert_eq!(ends(0, false), Some(URGENT));
}

#[test]
fn a_budget_with_a_rest_did_not_end() {
    assert_eq!(ends(40, false), None);
}

/// The former budget ended, on which only the decision ran.
#[test]
fn a_budget_that_ends_behind_a_decision_did_not_end() {
    assert_eq!(ends(40, true), None);
}

#[test]
fn a_grant_that_the_kernel_refused_charges_nothing() {
    runs_on_budget();
    shows(BUDGET - 30);
    assert_eq!(charged(), Some(30));
    grants(false);
    shows(BUDGET - 50);
    assert_eq!(
        charged(),
        None,
        "the policy regards another thread as running"
    );
    grants(true);
    shows(BUDGET - 20);
    assert_eq!(charged(), Some(20));
}

/// The rest of the former budget goes back with the next grant, also where a grant was refused between.
#[test]
fn the_former_budget_is_taken_back() {
    runs_on_budget();
    assert_eq!(charged(), Some(0));
    grants(false);
    let former = moved(None).map(|moved| moved.former);
    assert_eq!(former, Some(TIME));
}

/// While the budget in force is what the policy says, threads switch in user mode.
#[test]
fn the_same_budget_is_not_granted_again() {
    runs_on_budget();
    let ends = Scripted::now() + 60;
    Scripted::scb().budget.store(ends, Relaxed);
    assert_eq!(charged(), Some(40));
    assert_eq!(moved(Some(60)), None);
    assert!(moved(Some(59)).is_some(), "the policy has less");
    assert_eq!(charged(), None, "the kernel was not asked");
}

#[test]
fn a_budget_that_is_not_in_force_is_granted_again() {
    runs_on_budget();
    shows(60);
    assert_eq!(charged(), Some(40));
    let again = Moved {
        cycles: 60,
        former: TIME,
    };
    assert_eq!(moved(Some(60)), Some(again));
}
