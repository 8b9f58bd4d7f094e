//! Jobs of a task that are not recorded yet: one thread of a component records, and it is not the task's

use bulkhead_component::Environment;
use bulkhead_guest::{Home, Job};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Jobs between two recordings.
const ROOM: usize = 64;

/// A queue from the task's thread to the recording one.
pub(crate) struct Unrecorded {
    /// Release, start and end, ticks.
    times: [[AtomicU64; 3]; ROOM],
    added: AtomicU64,
    recorded: AtomicU64,
}

impl Unrecorded {
    pub(crate) const fn new() -> Self {
        Self {
            times: [const { [const { AtomicU64::new(0) }; 3] }; ROOM],
            added: AtomicU64::new(0),
            recorded: AtomicU64::new(0),
        }
    }

    /// Adds the job of that number.
    pub(crate) fn add(&self, number: u64, times: [u64; 3]) {
        assert!(
            number - self.recorded.load(Acquire) < ROOM as u64,
            "jobs are recorded too late"
        );
        for (place, time) in self.times[number as usize % ROOM].iter().zip(times) {
            place.store(time, Relaxed);
        }
        self.added.store(number + 1, Release);
    }

    /// Records all jobs of the task `name`.
    pub(crate) fn record(&self, name: &[u8; 16]) {
        for number in self.recorded.load(Relaxed)..self.added.load(Acquire) {
            let times = self.times[number as usize % ROOM].each_ref();
            let [release, start, end] = times.map(|time| time.load(Relaxed));
            let job = Job {
                number,
                release,
                start,
                skipped: 0,
            };
            Environment::record(&job.event(*name, end));
            self.recorded.store(number + 1, Release);
        }
    }
}
