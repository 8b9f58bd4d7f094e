//! Trace of the periodic tasks of a component
//!
//! Events of several threads go through one recorder, so that a mutex orders them. A task is known by the index of its thread.

use bulkhead_abi::guest::GuestInfo;
use bulkhead_abi::kernel::Status;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_abi::{NAME_LEN, name_field};
use bulkhead_buffers::recorder::records::Writer;
use bulkhead_component::{First, clock};
use bulkhead_guest::recorders;
use bulkhead_sched::policy::Policy;
use bulkhead_threads::{Machine, Mutex, Periodic, Threads, Time};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use zerocopy::IntoBytes;

/// Records jobs of periodic tasks in the trace of the partition, if the description gives it one; of threads with indices
/// below `N`.
pub struct TaskTrace<const N: usize> {
    is_open: AtomicBool,
    records: Mutex<Records<N>>,
}

struct Records<const N: usize> {
    writer: Option<Writer<'static>>,
    jobs: [Option<Job>; N],
}

/// The newest job of a task.
#[derive(Clone, Copy)]
struct Job {
    number: u32,
    release: Time,
    start: Time,
    /// Overruns of the task before it.
    overruns: u64,
}

impl<const N: usize> TaskTrace<N> {
    /// A trace that is not open.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            is_open: AtomicBool::new(false),
            records: Mutex::new(Records {
                writer: None,
                jobs: [None; N],
            }),
        }
    }

    /// Opens the trace of the partition; does nothing if there is none.
    ///
    /// # Errors
    /// The kernel's refusal to map it.
    pub fn open<M: Machine, P: Policy, const T: usize>(
        &self,
        threads: &Threads<M, P, T>,
        first: &mut First,
        info: &GuestInfo,
    ) -> Result<(), Status> {
        if info.trace[1] == 0 {
            return Ok(());
        }
        let region = first.window(info.trace)?;
        let opened = self.records.with(threads, |records| {
            records.writer = recorders::trace(region, info.trace[1]);
            records.writer.is_some()
        });
        self.is_open.store(opened.unwrap_or(false), Relaxed);
        Ok(())
    }

    /// Waits for the next release of the calling thread's task, as [`Periodic::wait`]; records the job that has ended.
    pub fn wait<M: Machine, P: Policy, const T: usize>(
        &self,
        threads: &Threads<M, P, T>,
        task: &mut Periodic,
    ) -> Time {
        if !self.is_open.load(Relaxed) {
            return task.wait(threads);
        }
        let thread = threads.current();
        let _recorded = self.records.with(threads, |records| {
            if !records.finish(thread) {
                records.write(
                    thread,
                    EventKind::TaskBegun,
                    0,
                    [clock::now(), task.period(), task.next()],
                );
            }
        });
        let release = task.wait(threads);
        let start = clock::now();
        let _recorded = self.records.with(threads, |records| {
            records.begin(thread, [release, start], task.overruns());
        });
        release
    }

    /// Records that a thread, which is about to end, has no further jobs.
    pub fn end<M: Machine, P: Policy, const T: usize>(
        &self,
        threads: &Threads<M, P, T>,
        thread: u64,
    ) {
        if !self.is_open.load(Relaxed) {
            return;
        }
        let _recorded = self.records.with(threads, |records| {
            if records.finish(thread) {
                records.write(thread, EventKind::TaskEnded, 0, [clock::now(), 0, 0]);
            }
            if let Some(job) = records.job(thread) {
                *job = None;
            }
        });
    }
}

impl<const N: usize> Default for TaskTrace<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Records<N> {
    fn job(&mut self, thread: u64) -> Option<&mut Option<Job>> {
        self.jobs.get_mut(thread as usize)
    }

    /// Records the job of a thread, if it has had one.
    fn finish(&mut self, thread: u64) -> bool {
        let Some(job) = self.job(thread).and_then(|job| *job) else {
            return false;
        };
        let words = [job.start, job.release, clock::now()];
        self.write(thread, EventKind::Job, job.number, words);
        true
    }

    fn begin(&mut self, thread: u64, [release, start]: [Time; 2], overruns: u64) {
        let Some(place) = self.job(thread) else {
            return;
        };
        let (number, before) =
            place.map_or((0, 0), |job| (job.number.wrapping_add(1), job.overruns));
        *place = Some(Job {
            number,
            release,
            start,
            overruns,
        });
        let missed = overruns.saturating_sub(before);
        if missed > 0 {
            self.write(thread, EventKind::Overrun, number, [start, missed, 0]);
        }
    }

    fn write(&mut self, thread: u64, kind: EventKind, sequence: u32, [ticks, a, b]: [u64; 3]) {
        let event = Event {
            ticks,
            kind: kind as u32,
            sequence,
            a,
            b,
            name: name(thread),
        };
        if let Some(writer) = &mut self.writer {
            let _whole = writer.write(event.as_bytes());
        }
    }
}

/// Name of a thread's task: `thread 3`.
fn name(thread: u64) -> [u8; NAME_LEN] {
    const HUNDREDS: usize = 7;
    let mut name = name_field("thread");
    name[HUNDREDS - 1] = b' ';
    let digits = [thread / 100 % 10, thread / 10 % 10, thread % 10];
    let skipped = digits
        .iter()
        .take(2)
        .take_while(|digit| **digit == 0)
        .count();
    for (place, digit) in name[HUNDREDS..].iter_mut().zip(&digits[skipped..]) {
        *place = b'0' + *digit as u8;
    }
    name
}
