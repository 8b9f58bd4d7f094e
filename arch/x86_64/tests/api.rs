//! The API over hosted dispatch: order of execution
//!
//! Each test is a core of its own, with its threads under preemptive fixed priorities, and compares
//! the order in which things happened; no result depends on how fast the host is.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[macro_use]
mod scene;

use bulkhead_hosted::Hosted;
use bulkhead_sched::policy::Priority;
use bulkhead_threads::{
    Events, Expiry, Full, LockError, Machine, Mutex, NEVER, Periodic, Queue, Semaphore, TimedOut,
    Timers, Wish,
};
use scene::{Api, Log, MILLISECOND, after, run, spin_until};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn a_queue_hands_over_and_waits_for_room() {
    scene!();
    static QUEUE: Queue<u64, 2> = Queue::new(0);
    thread!(consumer, API, {
        for _ in 0..3 {
            LOG.add(QUEUE.receive(&API));
        }
        assert_eq!(QUEUE.receive_until(&API, 0), Err(TimedOut));
        assert_eq!(QUEUE.receive_until(&API, after(MILLISECOND)), Err(TimedOut));
        LOG.add(99);
        API.block(NEVER);
        for _ in 0..3 {
            LOG.add(QUEUE.receive(&API));
        }
    });
    thread!(producer, API, {
        for number in 1..=3 {
            assert_eq!(QUEUE.send(&API, &number), Ok(()));
            LOG.add(10 * number);
        }
        while LOG.entries().last() != Some(&99) {
            std::hint::spin_loop();
        }
        assert_eq!(QUEUE.send(&API, &4), Ok(()));
        assert_eq!(QUEUE.send(&API, &5), Ok(()));
        assert_eq!(QUEUE.send(&API, &6), Err(Full));
        assert_eq!(
            QUEUE.send_until(&API, &6, after(MILLISECOND / 10)),
            Err(TimedOut)
        );
        API.wakeup(3);
        assert_eq!(QUEUE.send_until(&API, &7, NEVER), Ok(()));
    });
    thread!(helper, API, {
        API.block(NEVER);
        // The producer waits for room.
        API.wakeup(1);
    });
    run(&API, &[(1, consumer), (2, producer), (3, helper)]);
    assert_eq!(LOG.entries(), [1, 10, 2, 20, 3, 30, 99, 4, 5, 7]);
}

#[test]
fn a_mutex_lends_importance_through_others() {
    scene!();
    static A: Mutex<u64> = Mutex::new(0);
    static B: Mutex<u64> = Mutex::new(0);
    static GO: Semaphore = Semaphore::new(0, 8);
    // Holds A; the middle one holds B and wants A; the high one wants B; another is in between.
    thread!(low, API, {
        let mut guard = A.lock(&API, NEVER).expect("free");
        GO.give(&API).expect("room");
        GO.give(&API).expect("room");
        GO.give(&API).expect("room");
        *guard += 1;
        LOG.add(4);
        drop(guard);
        LOG.add(40);
    });
    thread!(middle, API, {
        GO.take(&API);
        B.with(&API, |b| A.with(&API, |a| *b = *a).expect("in time"))
            .expect("free");
        LOG.add(2);
    });
    thread!(bystander, API, {
        // Woken last, and more important than the owner of the mutex that the high one wants.
        GO.take(&API);
        GO.take(&API);
        LOG.add(3);
    });
    thread!(high, API, {
        API.sleep_until(after(2 * MILLISECOND));
        LOG.add(B.with(&API, |b| *b).expect("in time"));
    });
    run(&API, &[(4, low), (2, middle), (3, bystander), (1, high)]);
    let log = LOG.entries();
    let place = |entry| log.iter().position(|&found| found == entry);
    assert_eq!(*A.lock(&API, NEVER).expect("free"), 1);
    assert!(place(4) < place(40) && log.contains(&1), "{log:?}");
}

#[test]
fn inversion_is_bounded_by_the_critical_section() {
    scene!();
    static MUTEX: Mutex<()> = Mutex::new(());
    thread!(low, API, {
        MUTEX
            .with(&API, |()| {
                LOG.add(1);
                // Wakes both others: the high one first asks for the mutex.
                API.wakeup(2);
                API.wakeup(3);
                LOG.add(2);
            })
            .expect("free");
        LOG.add(5);
    });
    thread!(high, API, {
        API.block(NEVER);
        MUTEX.with(&API, |()| LOG.add(3)).expect("in time");
    });
    thread!(middle, API, {
        API.block(NEVER);
        LOG.add(4);
    });
    run(&API, &[(3, low), (1, high), (2, middle)]);
    assert_eq!(LOG.entries(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_deadlock_is_reported_to_the_thread_that_would_close_it() {
    scene!();
    static A: Mutex<()> = Mutex::new(());
    static B: Mutex<()> = Mutex::new(());
    thread!(one, API, {
        let a = A.lock(&API, NEVER).expect("free");
        assert_eq!(A.lock(&API, NEVER).map(drop), Err(LockError::Deadlock));
        API.block(NEVER);
        let b = B.lock(&API, NEVER).expect("given back");
        LOG.add(1);
        drop((b, a));
    });
    thread!(other, API, {
        let b = B.lock(&API, NEVER).expect("free");
        // That one now wants B, and lends its turn.
        API.wakeup(1);
        let refused = A.lock(&API, NEVER).map(drop);
        assert_eq!(refused, Err(LockError::Deadlock));
        LOG.add(2);
        drop(b);
    });
    run(&API, &[(1, one), (2, other)]);
    assert_eq!(LOG.entries(), [2, 1]);
}

#[test]
fn a_mutex_is_given_up_in_time() {
    scene!();
    static MUTEX: Mutex<u64> = Mutex::new(0);
    // The owner first computes without end, then sleeps: either way the other one gives up.
    thread!(owner, API, {
        let mut guard = MUTEX.lock(&API, NEVER).expect("free");
        while LOG.entries().is_empty() {
            std::hint::spin_loop();
        }
        API.block(NEVER);
        LOG.add(2);
        *guard = 7;
    });
    thread!(hasty, API, {
        API.sleep_until(after(MILLISECOND));
        let taken = MUTEX.lock(&API, after(MILLISECOND)).map(drop);
        assert_eq!(taken, Err(LockError::TimedOut));
        LOG.add(1);
        API.sleep_until(after(MILLISECOND / 2));
        let taken = MUTEX.lock(&API, after(MILLISECOND / 2)).map(drop);
        assert_eq!(taken, Err(LockError::TimedOut));
        API.wakeup(1);
        LOG.add(MUTEX.with(&API, |value| *value).expect("in time"));
    });
    run(&API, &[(2, owner), (1, hasty)]);
    assert_eq!(LOG.entries(), [1, 2, 7]);
}

#[test]
fn a_mutex_is_handed_over_at_once_only_to_a_more_important_thread() {
    scene!();
    static MUTEX: Mutex<u64> = Mutex::new(0);
    // The waiter preempts the owner and lends its importance; then the owner becomes the more important one.
    thread!(owner, API, {
        let guard = MUTEX.lock(&API, NEVER).expect("free");
        API.wakeup(2);
        API.set_parameters(API.current(), Priority(1));
        drop(guard);
        LOG.add(1);
    });
    thread!(waiter, API, {
        API.block(NEVER);
        MUTEX.with(&API, |_| LOG.add(2)).expect("in time");
    });
    run(&API, &[(5, owner), (3, waiter)]);
    assert_eq!(LOG.entries(), [1, 2]);
}

#[test]
fn a_semaphore_serves_the_most_important_first() {
    scene!();
    static UNITS: Semaphore = Semaphore::new(0, 2);
    thread!(waiter, API, {
        UNITS.take(&API);
        LOG.add(API.current());
    });
    thread!(hasty, API, {
        assert_eq!(UNITS.wait(&API, 0), Err(TimedOut));
        assert_eq!(UNITS.wait(&API, after(MILLISECOND)), Err(TimedOut));
        LOG.add(9);
        for _ in 0..3 {
            // The low one among the waiters has not run when the others have theirs.
            assert_eq!(UNITS.give(&API), Ok(()));
        }
        assert_eq!(UNITS.give(&API), Ok(()));
        assert_eq!(UNITS.give(&API), Ok(()));
        assert_eq!(UNITS.give(&API), Err(Full));
        assert_eq!(UNITS.count(), 2);
    });
    let bodies: [(u8, extern "C" fn(u64) -> !); 4] =
        [(5, waiter), (3, waiter), (3, waiter), (6, hasty)];
    run(&API, &bodies);
    assert_eq!(LOG.entries(), [9, 2, 3, 1]);
}

#[test]
fn events_serve_all_threads_that_they_satisfy() {
    scene!();
    static EVENTS: Events = Events::new();
    thread!(any, API, {
        LOG.add(u64::from(
            EVENTS.wait(&API, Wish::any(0b011), NEVER).expect("set"),
        ));
    });
    thread!(all, API, {
        let wish = Wish::all(0b101).keeping();
        LOG.add(10 + u64::from(EVENTS.wait(&API, wish, NEVER).expect("set")));
    });
    thread!(setter, API, {
        assert_eq!(EVENTS.wait(&API, Wish::any(1), 0), Err(TimedOut));
        EVENTS.set(&API, 0b100);
        EVENTS.set(&API, 0b001);
        // What `any` wanted is cleared, what `all` wanted to keep is not.
        assert_eq!(EVENTS.clear(&API, !0), 0b100);
        let early = EVENTS.wait(&API, Wish::any(1), after(MILLISECOND));
        assert_eq!(early, Err(TimedOut));
        EVENTS.set(&API, 0b110);
        assert_eq!(EVENTS.wait(&API, Wish::all(0b110), 0), Ok(0b110));
        assert_eq!(EVENTS.clear(&API, !0), 0);
    });
    run(&API, &[(1, any), (2, all), (3, setter)]);
    assert_eq!(LOG.entries(), [1, 15]);
}

#[test]
fn periods_do_not_drift_and_overruns_are_counted() {
    scene!();
    static OVERRUNS: AtomicU64 = AtomicU64::new(0);
    const PERIOD: u64 = MILLISECOND;
    thread!(task, API, {
        let first = after(PERIOD);
        let mut task = Periodic::new(first, PERIOD);
        for job in 0..12 {
            let release = task.wait(&API);
            let now = Hosted::now();
            assert!(now >= release, "early by {}", release - now);
            LOG.add((release - first) % PERIOD);
            if job == 5 {
                let before = task.overruns();
                // Over three further releases.
                spin_until(release + 3 * PERIOD + PERIOD / 2);
                task.wait(&API);
                OVERRUNS.store(task.overruns() - before, Relaxed);
            }
        }
    });
    run(&API, &[(1, task)]);
    assert_eq!(LOG.entries(), [0; 12]);
    assert!(OVERRUNS.load(Relaxed) >= 3);
}

#[test]
fn timers_expire_in_order_and_stop() {
    scene!();
    static TIMERS: Timers<4> = Timers::new();
    static DONE: Semaphore = Semaphore::new(0, 1);
    fn note(argument: u64, _: u64) {
        LOG.add(argument);
    }
    fn thrice(_: u64, _: u64) {
        static TIMES: AtomicU64 = AtomicU64::new(0);
        LOG.add(3);
        if TIMES.fetch_add(1, Relaxed) == 2 {
            assert!(TIMERS.stop(&API, 2));
            DONE.give(&API).expect("room");
        }
    }
    extern "C" fn server(_: u64) -> ! {
        TIMERS.serve(&API)
    }
    thread!(user, API, {
        let once = |argument| Expiry {
            period: 0,
            action: note,
            argument,
        };
        let start = after(2 * MILLISECOND);
        assert!(TIMERS.start(&API, 1, start + 2, once(2)));
        assert!(TIMERS.start(&API, 0, start + 1, once(1)));
        assert!(TIMERS.start(&API, 3, start + 3, once(4)));
        assert!(TIMERS.stop(&API, 3) && !TIMERS.stop(&API, 3));
        let often = Expiry {
            period: MILLISECOND / 4,
            action: thrice,
            argument: 0,
        };
        assert!(TIMERS.start(&API, 2, start + MILLISECOND, often));
        assert!(!TIMERS.start(&API, 4, start, often));
        DONE.take(&API);
    });
    // All are started before the first is served.
    run(&API, &[(3, server), (2, user)]);
    assert_eq!(LOG.entries(), [1, 2, 3, 3, 3]);
}
