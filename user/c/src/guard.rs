//! Mutexes of this library, which no thread takes to its grave
//!
//! A thread that is to end while it has one of them continues until it has given back the last one.

use crate::{THREAD_COUNT, THREADS, threads};
use bulkhead_sched::policy::Priority;
use bulkhead_slite::Mutex;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU32};

/// Of each thread, by index: how many of the mutexes it has or waits for, and if it ends afterwards.
static DEPTHS: [AtomicU32; THREAD_COUNT + 1] = [const { AtomicU32::new(0) }; THREAD_COUNT + 1];
static ENDING: [AtomicBool; THREAD_COUNT + 1] =
    [const { AtomicBool::new(false) }; THREAD_COUNT + 1];

/// True while a thread has locked the kernel ([`exclusive`]).
pub(crate) static LOCKED: AtomicBool = AtomicBool::new(false);

/// Runs `act`; the calling thread does not end meanwhile.
pub(crate) fn hold<R>(act: impl FnOnce() -> R) -> R {
    let index = THREADS.current() as usize;
    let Some(depth) = DEPTHS.get(index) else {
        return act();
    };
    depth.store(depth.load(Relaxed) + 1, Relaxed);
    let result = act();
    depth.store(depth.load(Relaxed) - 1, Relaxed);
    if depth.load(Relaxed) == 0 && ENDING[index].swap(false, Relaxed) {
        threads::end_current();
    }
    result
}

/// Uses the value of a mutex of the library. `None` does not happen: the library takes them in one order.
pub(crate) fn with<T, R>(mutex: &Mutex<T>, act: impl FnOnce(&mut T) -> R) -> Option<R> {
    hold(|| mutex.with(&THREADS, act).ok())
}

/// Has a thread end as soon as it has no mutex of the library. Returns false if it has none now.
pub(crate) fn end_later(index: usize) -> bool {
    let has_some = DEPTHS
        .get(index)
        .is_some_and(|depth| depth.load(Relaxed) > 0);
    if has_some {
        ENDING[index].store(true, Relaxed);
    }
    has_some
}

/// Runs `act` while no other thread runs, unless the policy has no priorities.
pub(crate) fn exclusive<R>(act: impl FnOnce() -> R) -> R {
    let _no_priorities = THREADS.set_ceiling(Some(Priority(0)));
    let result = act();
    if !LOCKED.load(Relaxed) {
        let _no_priorities = THREADS.set_ceiling(None);
    }
    result
}
