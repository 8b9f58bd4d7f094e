//! `ordered(n)` loops: iterations that wait for particular earlier ones.
//!
//! One thread runs a chunk's iterations in order, so how far a chunk has come is one number: the
//! rank, inside the chunk, behind the last iteration that posted. Waiting for an iteration is
//! waiting for its chunk's number to exceed its rank.
#![expect(unsafe_code, reason = "tables sized by the program's loop")]

use crate::backend::{Backend, System};
use crate::memory;
use crate::report;
use crate::tsan;
use crate::worker::Worker;
use crate::workshare::WorkShare;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

/// How far the chunks of a loop have come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    chunks: *mut AtomicU64,
    /// Iterations of the outermost loop per chunk.
    chunk: u64,
    /// Number of iterations of each loop, behind the chunks' numbers; the outermost is not used.
    counts: &'static [u64],
}

impl Progress {
    /// No iteration has posted: for the first thread that enters the loop.
    pub(crate) fn new(counts: &[u64], chunk: u64) -> Self {
        let outermost = counts.first().copied().unwrap_or(0);
        let chunks = outermost.div_ceil(chunk) as usize;
        let bytes = (chunks + counts.len()).max(1) * size_of::<AtomicU64>();
        let Some(table) = memory::allocate_zeroed(bytes, 64) else {
            report::fatal(format_args!(
                "no memory for an ordered loop of {outermost} iterations"
            ))
        };
        let copied = table.cast::<u64>().as_ptr().wrapping_add(chunks);
        // SAFETY: the table has room for the counts behind the chunks' numbers.
        unsafe { copied.copy_from_nonoverlapping(counts.as_ptr(), counts.len()) };
        Self {
            chunks: table.as_ptr().cast(),
            chunk,
            // SAFETY: as above; the table lives until no thread is in the loop.
            counts: unsafe { core::slice::from_raw_parts(copied, counts.len()) },
        }
    }

    /// The chunk's number, and the rank in it of the iteration that `index` names.
    #[inline(always)]
    fn locate(&self, index: impl Fn(usize) -> u64) -> (&AtomicU64, u64) {
        let outermost = index(0);
        let (number, mut rank) = match self.chunk {
            1 => (outermost, 0),
            chunk => (outermost / chunk, outermost % chunk),
        };
        for (level, count) in self.counts.iter().enumerate().skip(1) {
            rank = rank * count + index(level);
        }
        let number = self.chunks.wrapping_add(number as usize);
        // SAFETY: the compiler names only iterations of the loop.
        (unsafe { &*number }, rank)
    }
}

/// Progress of the loop that the thread is in; nothing in a team of one thread, which runs the iterations in their order.
#[inline(always)]
fn progress() -> Option<(&'static Worker, Progress)> {
    let worker = Worker::attached().filter(|worker| worker.nest.get() != 0)?;
    Some((worker, worker.share.get()?.doacross.get()?))
}

/// Marks the iteration as past its `depend(source)`; `index` gives its number in each loop of the nest.
#[inline(always)]
pub fn post(index: impl Fn(usize) -> u64) {
    if let Some((worker, progress)) = progress() {
        post_in_team(worker, progress, index);
    }
}

#[inline(never)]
fn post_in_team(worker: &'static Worker, progress: Progress, index: impl Fn(usize) -> u64) {
    let (number, rank) = progress.locate(index);
    tsan::release(number);
    number.store(rank + 1, Ordering::Release);
    worker.team().wake_all();
}

/// Waits until the iteration has posted.
pub fn wait(index: impl Fn(usize) -> u64) {
    let Some((worker, progress)) = progress() else {
        return;
    };
    let (number, rank) = progress.locate(index);
    let has_posted = || number.load(Ordering::Acquire) > rank;
    if !has_posted() && !worker.watch_for(&has_posted) {
        worker.wait_until(&has_posted);
    }
    tsan::acquire(number);
}

/// The last thread has left the loop.
pub(crate) fn release(share: &WorkShare) {
    if let Some(progress) = share.doacross.take()
        && let Some(table) = NonNull::new(progress.chunks)
    {
        // SAFETY: from `Progress::new`; no thread is in the loop any more.
        unsafe { System::release(table.cast()) };
    }
}
