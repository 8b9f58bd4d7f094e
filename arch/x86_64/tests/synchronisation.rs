//! Locks, conditions and semaphores of the RTOS interface over hosted dispatch: order of execution, deletion and the end of threads
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[macro_use]
mod scene;

use bulkhead_sched::policy::Priority;
use bulkhead_threads::{
    AttributeMutex, Attributes, Condition, ConditionVariable, Events, LockError, Mutex, NEVER,
    ReadWriteLock, Semaphore, WaitError, Wish,
};
use scene::{Api, Log, MILLISECOND, after, run, spin_until};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const PLAIN: Attributes = Attributes {
    recursive: false,
    robust: false,
    ceiling: None,
};

const fn ceiling(priority: u8) -> Attributes {
    Attributes {
        recursive: false,
        robust: false,
        ceiling: Some(Priority(priority)),
    }
}

#[test]
fn ceilings_hold_whatever_the_order_of_release() {
    scene!();
    static A: AttributeMutex = AttributeMutex::new(ceiling(3));
    static B: AttributeMutex = AttributeMutex::new(ceiling(1));
    thread!(middle, API, {
        API.block(NEVER);
        LOG.add(20);
        API.block(NEVER);
        LOG.add(21);
    });
    thread!(low, API, {
        assert_eq!(B.acquire(&API, NEVER), Ok(()));
        assert_eq!(A.acquire(&API, NEVER), Ok(()));
        assert_eq!(A.acquire(&API, NEVER), Err(LockError::Deadlock));
        API.wakeup(1);
        LOG.add(1);
        // B's ceiling goes, and A's stays: above the middle thread all the same.
        assert!(B.release(&API));
        LOG.add(2);
        assert!(A.release(&API));
        LOG.add(3);
        assert!(!A.release(&API));
        // An explicit ceiling stays under those of mutexes.
        assert!(API.set_ceiling(Some(Priority(0))));
        assert_eq!(A.acquire(&API, NEVER), Ok(()));
        API.wakeup(1);
        assert!(A.release(&API));
        LOG.add(4);
        assert!(API.set_ceiling(None));
        LOG.add(5);
    });
    run(&API, &[(4, middle), (5, low)]);
    assert_eq!(LOG.entries(), [1, 2, 20, 3, 4, 21, 5]);
}

#[test]
fn a_recursive_mutex_is_free_after_its_last_release() {
    scene!();
    static MUTEX: AttributeMutex = AttributeMutex::new(Attributes {
        recursive: true,
        robust: false,
        ceiling: None,
    });
    thread!(high, API, {
        API.block(NEVER);
        assert_eq!(MUTEX.acquire(&API, 0), Err(LockError::TimedOut));
        assert!(!MUTEX.release(&API));
        assert_eq!(MUTEX.owner(), Some(2));
        assert_eq!(MUTEX.acquire(&API, NEVER), Ok(()));
        LOG.add(10);
        assert!(MUTEX.release(&API));
    });
    thread!(low, API, {
        for _ in 0..3 {
            assert_eq!(MUTEX.acquire(&API, NEVER), Ok(()));
        }
        API.wakeup(1);
        for number in 1..=3 {
            LOG.add(number);
            assert!(MUTEX.release(&API));
        }
        assert_eq!(MUTEX.owner(), None);
        LOG.add(4);
    });
    run(&API, &[(1, high), (2, low)]);
    assert_eq!(LOG.entries(), [1, 2, 3, 10, 4]);
}

#[test]
fn the_end_of_a_thread_frees_robust_mutexes_and_wakes_its_joiners() {
    scene!();
    static ROBUST: AttributeMutex = AttributeMutex::new(Attributes {
        recursive: true,
        robust: true,
        ceiling: Some(Priority(2)),
    });
    static OTHER: AttributeMutex = AttributeMutex::new(Attributes {
        recursive: false,
        robust: false,
        ceiling: None,
    });
    static UNITS: Semaphore = Semaphore::new(0, 4);
    // It ends while it waits.
    thread!(victim, API, {
        assert_eq!(ROBUST.acquire(&API, NEVER), Ok(()));
        assert_eq!(ROBUST.acquire(&API, NEVER), Ok(()));
        assert_eq!(OTHER.acquire(&API, NEVER), Ok(()));
        LOG.add(1);
        UNITS.take(&API);
        LOG.add(99);
    });
    thread!(heir, API, {
        assert_eq!(ROBUST.acquire(&API, NEVER), Ok(()));
        LOG.add(10);
        assert!(ROBUST.release(&API));
        assert_eq!(
            OTHER.acquire(&API, after(MILLISECOND)),
            Err(LockError::TimedOut)
        );
        assert_eq!(OTHER.owner(), None);
        LOG.add(11);
    });
    thread!(joiner, API, {
        assert_eq!(
            API.join(1, after(MILLISECOND / 10)),
            Err(WaitError::TimedOut)
        );
        LOG.add(20);
        assert_eq!(API.join(1, NEVER), Ok(()));
        LOG.add(21);
        // It takes the unit that the victim does not.
        UNITS.take(&API);
        LOG.add(22);
    });
    thread!(killer, API, {
        spin_until(after(2 * MILLISECOND));
        assert_eq!(API.condition(1), Some(Condition::Blocked));
        assert!(API.end(1));
        assert!(!API.end(1));
        assert_eq!(API.condition(1), None);
        assert_eq!(API.join(1, 0), Ok(()));
        LOG.add(30);
        assert_eq!(UNITS.give(&API), Ok(()));
        // Ends itself.
        API.end(API.current());
        LOG.add(98);
    });
    run(&API, &[(3, victim), (4, heir), (5, joiner), (6, killer)]);
    assert_eq!(LOG.entries(), [1, 20, 10, 21, 30, 22, 11]);
}

#[test]
fn deletion_ends_all_waits() {
    scene!();
    static MUTEX: AttributeMutex = AttributeMutex::new(PLAIN);
    static LENT: AttributeMutex = AttributeMutex::new(PLAIN);
    static UNITS: Semaphore = Semaphore::new(0, 1);
    static FLAGS: Events = Events::new();
    static LOCK: ReadWriteLock = ReadWriteLock::new();
    static INNER: Mutex<()> = Mutex::new(());
    static CONDITION: ConditionVariable = ConditionVariable::new();
    thread!(on_mutex, API, {
        API.block(NEVER);
        // The owner is ready: this thread lends it its turn.
        assert_eq!(LENT.acquire(&API, NEVER), Err(LockError::Deleted));
        LOG.add(1);
        assert_eq!(MUTEX.acquire(&API, NEVER), Err(LockError::Deleted));
        LOG.add(2);
    });
    thread!(on_semaphore, API, {
        assert_eq!(UNITS.wait(&API, NEVER), Err(WaitError::Deleted));
        LOG.add(3);
        assert_eq!(
            FLAGS.wait(&API, Wish::all(3), NEVER),
            Err(WaitError::Deleted)
        );
        LOG.add(4);
        assert_eq!(LOCK.write(&API, NEVER), Err(LockError::Deleted));
        LOG.add(5);
        INNER.acquire(&API, NEVER).expect("free");
        assert_eq!(CONDITION.wait(&API, &INNER, NEVER), Err(LockError::Deleted));
        LOG.add(6);
        assert!(INNER.release(&API));
    });
    thread!(owner, API, {
        assert_eq!(MUTEX.acquire(&API, NEVER), Ok(()));
        assert_eq!(LOCK.read(&API, NEVER), Ok(()));
        assert_eq!(LENT.acquire(&API, NEVER), Ok(()));
        API.wakeup(1);
        LENT.delete(&API);
        API.block(NEVER);
        LOG.add(99);
    });
    thread!(deleter, API, {
        LOG.add(50);
        MUTEX.delete(&API);
        UNITS.delete(&API);
        FLAGS.delete(&API);
        LOCK.delete(&API);
        CONDITION.delete(&API);
        LOG.add(51);
    });
    run(
        &API,
        &[(1, on_mutex), (2, on_semaphore), (3, owner), (4, deleter)],
    );
    assert_eq!(LOG.entries(), [1, 50, 2, 3, 4, 5, 6, 51]);
}

#[test]
fn a_condition_loses_no_signal() {
    scene!();
    static NUMBER: Mutex<()> = Mutex::new(());
    static VALUE: AtomicU64 = AtomicU64::new(0);
    static CHANGED: ConditionVariable = ConditionVariable::new();
    static NEVER_SIGNALLED: ConditionVariable = ConditionVariable::new();
    extern "C" fn consumer(index: u64) -> ! {
        let want = 10 * (index + 1);
        NUMBER.acquire(&API, NEVER).expect("no circle");
        while VALUE.load(Relaxed) < want {
            assert_eq!(CHANGED.wait(&API, &NUMBER, NEVER), Ok(()));
        }
        LOG.add(index);
        assert_eq!(
            NEVER_SIGNALLED.wait(&API, &NUMBER, after(MILLISECOND / 10)),
            Err(LockError::TimedOut)
        );
        assert!(NUMBER.release(&API));
        assert_eq!(CHANGED.wait(&API, &NUMBER, NEVER), Err(LockError::Deadlock));
        API.exit()
    }
    thread!(producer, API, {
        for _ in 0..40 {
            NUMBER.acquire(&API, NEVER).expect("no circle");
            VALUE.fetch_add(1, Relaxed);
            // With the mutex, and without.
            if VALUE.load(Relaxed).is_multiple_of(2) {
                CHANGED.broadcast(&API);
                assert!(NUMBER.release(&API));
            } else {
                assert!(NUMBER.release(&API));
                CHANGED.broadcast(&API);
            }
        }
        LOG.add(99);
    });
    run(
        &API,
        &[(3, consumer), (2, consumer), (1, consumer), (5, producer)],
    );
    assert_eq!(LOG.entries(), [1, 2, 3, 99]);
}

#[test]
fn readers_and_writers_take_turns() {
    scene!();
    static LOCK: ReadWriteLock = ReadWriteLock::new();
    extern "C" fn reader(index: u64) -> ! {
        API.block(NEVER);
        assert_eq!(LOCK.read(&API, NEVER), Ok(()));
        assert_eq!(LOCK.read(&API, NEVER), Err(LockError::Deadlock));
        LOG.add(index);
        API.block(NEVER);
        assert!(LOCK.release(&API));
        API.exit()
    }
    extern "C" fn writer(index: u64) -> ! {
        API.block(NEVER);
        assert_eq!(LOCK.write(&API, NEVER), Ok(()));
        LOG.add(index);
        API.block(NEVER);
        assert!(LOCK.release(&API));
        assert!(!LOCK.release(&API));
        API.exit()
    }
    // 1, 2: readers; 3, 4: writers; 5: reader.
    thread!(script, API, {
        let step = |thread: u64| {
            LOG.add(100 + thread);
            API.wakeup(thread);
        };
        step(1); // reads
        step(3); // waits for 1
        step(2); // behind the writer
        step(4); // behind both
        step(1); // releases: 3 writes
        step(5); // waits with 2
        step(3); // releases: 2 and 5 read before 4 writes
        // A writer that gives up lets readers in.
        assert_eq!(LOCK.write(&API, 0), Err(LockError::TimedOut));
        step(2);
        step(5); // the last reader: 4 writes
        step(4);
        assert_eq!(LOCK.write(&API, 0), Ok(()));
        assert!(LOCK.release(&API));
    });
    run(
        &API,
        &[
            (2, reader),
            (2, reader),
            (2, writer),
            (2, writer),
            (2, reader),
            (6, script),
        ],
    );
    assert_eq!(
        LOG.entries(),
        [
            101, 1, 103, 102, 104, 101, 3, 105, 103, 2, 5, 102, 105, 4, 104
        ]
    );
}

#[test]
fn a_writer_that_gives_up_admits_the_readers_behind_it() {
    scene!();
    static LOCK: ReadWriteLock = ReadWriteLock::new();
    thread!(late, API, {
        assert_eq!(
            LOCK.write(&API, after(2 * MILLISECOND)),
            Err(LockError::TimedOut)
        );
        LOG.add(1);
    });
    thread!(reader, API, {
        assert_eq!(LOCK.read(&API, NEVER), Ok(()));
        LOG.add(2);
        assert!(LOCK.release(&API));
    });
    thread!(holder, API, {
        assert_eq!(LOCK.read(&API, NEVER), Ok(()));
        API.wakeup(1);
        API.wakeup(2);
        spin_until(after(4 * MILLISECOND));
        LOG.add(3);
        assert!(LOCK.release(&API));
    });
    extern "C" fn held(index: u64) -> ! {
        API.block(NEVER);
        if index == 1 {
            late(index)
        } else {
            reader(index)
        }
    }
    run(&API, &[(1, held), (2, held), (3, holder)]);
    assert_eq!(LOG.entries(), [1, 2, 3]);
}

#[test]
fn a_suspended_thread_keeps_what_it_is_granted() {
    scene!();
    static UNITS: Semaphore = Semaphore::new(0, 1);
    static MUTEX: Mutex<()> = Mutex::new(());
    thread!(high, API, {
        UNITS.take(&API);
        LOG.add(1);
        MUTEX.acquire(&API, NEVER).expect("free");
        assert!(API.suspend(API.current()));
        LOG.add(2);
        assert!(MUTEX.release(&API));
        // Its time-out comes while it is suspended.
        assert_eq!(
            UNITS.wait(&API, after(MILLISECOND)),
            Err(WaitError::TimedOut)
        );
        LOG.add(3);
    });
    thread!(waiter, API, {
        API.block(NEVER);
        // The owner is suspended: it waits.
        MUTEX.acquire(&API, NEVER).expect("no circle");
        LOG.add(20);
        assert!(MUTEX.release(&API));
    });
    thread!(low, API, {
        assert!(API.suspend(1));
        assert_eq!(UNITS.give(&API), Ok(()));
        assert_eq!(API.condition(1), Some(Condition::Blocked));
        API.wakeup(1);
        LOG.add(10);
        assert!(API.resume(1));
        LOG.add(11);
        API.wakeup(2);
        LOG.add(12);
        assert!(API.resume(1));
        assert!(!API.resume(1));
        assert!(!API.suspend(7));
        assert!(API.suspend(1));
        spin_until(after(2 * MILLISECOND));
        LOG.add(13);
        assert!(API.resume(1));
    });
    run(&API, &[(1, high), (2, waiter), (3, low)]);
    assert_eq!(LOG.entries(), [10, 1, 11, 12, 2, 20, 13, 3]);
}
