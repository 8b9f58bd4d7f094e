//! A core of its own for a test, with threads under preemptive fixed priorities, and the order of what they do
#![allow(dead_code, unused_macros, reason = "each test uses a part")]

use bulkhead_hosted::{Core, Hosted, Threads};
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use bulkhead_threads::{Machine, NEVER};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

pub(crate) const CAPACITY: usize = 8;
pub(crate) type Api = Threads<FixedPriority<Preemptive, CAPACITY>, CAPACITY>;
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// Sequence of events. Plain memory: a preempted thread holds nothing here.
pub(crate) struct Log {
    entries: [AtomicU64; 64],
    count: AtomicUsize,
}

impl Log {
    pub(crate) const fn new() -> Self {
        Self {
            entries: [const { AtomicU64::new(0) }; 64],
            count: AtomicUsize::new(0),
        }
    }

    pub(crate) fn add(&self, entry: u64) {
        let place = self.count.fetch_add(1, Relaxed);
        self.entries[place].store(entry, Relaxed);
    }

    pub(crate) fn entries(&self) -> Vec<u64> {
        let count = self.count.load(Relaxed);
        let entries = self.entries[..count].iter();
        entries.map(|entry| entry.load(Relaxed)).collect()
    }
}

/// Makes the calling host thread a core and runs `bodies`, each at its priority, until all have ended.
pub(crate) fn run(api: &'static Api, bodies: &[(u8, extern "C" fn(u64) -> !)]) {
    let _core = Core::new().expect("a core");
    let mut maker = Hosted;
    api.prepare(&mut maker).expect("an idle thread");
    for &(priority, body) in bodies {
        api.spawn(&mut maker, body, Priority(priority))
            .expect("a thread");
    }
    api.run(NEVER);
}

/// Defines a thread's function, which ends with its body.
macro_rules! thread {
    ($name:ident, $api:ident, $body:block) => {
        extern "C" fn $name(_: u64) -> ! {
            $body
            $api.exit()
        }
    };
}

pub(crate) fn api() -> FixedPriority<Preemptive, CAPACITY> {
    FixedPriority::new(Preemptive)
}

/// Returns the instant of a time-out in `ticks`.
pub(crate) fn after(ticks: u64) -> u64 {
    Hosted::now() + ticks
}

pub(crate) fn spin_until(time: u64) {
    while Hosted::now() < time {
        std::hint::spin_loop();
    }
}

macro_rules! scene {
    () => {
        static API: std::sync::LazyLock<Api> =
            std::sync::LazyLock::new(|| Api::new($crate::scene::api()));
        static LOG: Log = Log::new();
    };
}
