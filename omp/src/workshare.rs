//! Worksharing constructs: what the threads of a team share while they are in one.
//!
//! Constructs of a region form a chain; the thread that arrives first at a place adds the link. A thread
//! that enters the next construct lets go of the one before, and the last to let go recycles it: a
//! `nowait` never waits. Iterations are counted from zero in `u64`, whatever the loop's own type
//! and direction, and handed out by fetch-and-add.
//!
//! A dynamic loop that need not be monotonic is divided into [`PARTS`], each with a counter in a cache line of its own. A
//! thread begins with its own part and goes to the next one when a part is used up, so that threads contend only
//! at the end of the loop. Parts consist of whole chunks. The loop's last chunk is in no part and is handed out last: GCC's
//! `lastprivate` and `linear` require that the thread of the last iteration gets no further chunk.

#![expect(unsafe_code, reason = "constructs are linked by address")]

use crate::memory;
use crate::pool::{Pool, Slot};
use crate::report;
use crate::team::Team;
use crate::tsan;
use crate::worker::Worker;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// How iterations are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In chunks, round robin by thread number; chunk 0: one block each.
    Static,
    /// In chunks, on request, each thread's in the order of their iterations.
    Dynamic,
    /// In chunks, on request, in any order.
    Nonmonotonic,
    /// In shrinking chunks, on request.
    Guided,
    /// Like [`Mode::Dynamic`], but never several at once: the sections of a construct.
    Sections,
}

/// A loop in its own terms: `first + i * step` for `i` in `0..count`, all wrapping.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Value of the first iteration.
    pub first: u64,
    /// Distance of two iterations, as two's complement.
    pub step: u64,
    /// Number of iterations.
    pub count: u64,
    /// How they are handed out.
    pub mode: Mode,
    /// Least number of iterations handed out at once.
    pub chunk: u64,
    /// True if it has ordered regions.
    pub ordered: bool,
}

impl Shape {
    /// No iterations.
    pub const EMPTY: Self = Self {
        first: 0,
        step: 1,
        count: 0,
        mode: Mode::Static,
        chunk: 1,
        ordered: false,
    };
}

/// Parts of a loop that is divided; threads beyond that number share them.
const PARTS: u32 = 8;

/// How [`WorkShare::take`] finds the next iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    /// By one addition: the counter of taken iterations cannot wrap.
    Dynamic,
    /// By one addition to the counter of a part.
    Parts,
    /// Like [`Division::Dynamic`], for counts so large that the counter could wrap.
    Careful,
    Static,
    Guided,
}

/// One construct.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct WorkShare {
    first: Cell<u64>,
    step: Cell<u64>,
    count: Cell<u64>,
    chunk: Cell<u64>,
    division: Cell<Division>,
    /// True if the loop has ordered regions.
    pub(crate) ordered: Cell<bool>,
    /// `cancel for` or `cancel sections` has been met.
    pub cancelled: AtomicBool,
    pub(crate) doacross: Cell<Option<crate::doacross::Progress>>,
    pub(crate) reductions: Cell<*mut usize>,
    pub(crate) memory: Cell<*mut u8>,
    home: &'static Pool<WorkShare>,
    next: AtomicPtr<WorkShare>,
    threads: AtomicU32,
    taken: CounterLine,
    /// First iteration of the chunk that has the turn in ordered regions.
    pub(crate) turn: CounterLine,
    parts: [Part; PARTS as usize],
}

/// A part of a divided loop, in chunks. Processors fetch cache lines in pairs.
#[repr(C, align(128))]
#[derive(Debug)]
struct Part {
    next: AtomicU64,
    end: Cell<u64>,
}

impl Part {
    const fn empty() -> Self {
        Self {
            next: AtomicU64::new(0),
            end: Cell::new(0),
        }
    }
}

#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct CounterLine(pub(crate) AtomicU64);

// SAFETY: cells are written by the thread that makes the construct, before it is published.
unsafe impl Sync for WorkShare {}

/// A thread's place in its construct.
#[derive(Debug, Default)]
pub struct LoopState {
    /// Chunks taken so far, in static loops; parts found used up so far, in divided ones.
    trips: Cell<u64>,
    /// The chunk it works on: `start..end` in iterations.
    chunk: Cell<(u64, u64)>,
    /// The thread has waited for its turn since it last stood back; see `ordered`.
    pub(crate) has_waited: Cell<bool>,
}

impl LoopState {
    /// Nothing taken.
    pub const fn new() -> Self {
        Self {
            trips: Cell::new(0),
            chunk: Cell::new((0, 0)),
            has_waited: Cell::new(false),
        }
    }

    /// The chunk that the thread works on, in iterations.
    pub fn chunk(&self) -> (u64, u64) {
        self.chunk.get()
    }
}

impl Slot for WorkShare {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.next
    }

    fn home(&self) -> &'static Pool<Self> {
        self.home
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::place(Self {
            first: Cell::new(0),
            step: Cell::new(1),
            count: Cell::new(0),
            chunk: Cell::new(1),
            division: Cell::new(Division::Static),
            ordered: Cell::new(false),
            cancelled: AtomicBool::new(false),
            doacross: Cell::new(None),
            reductions: Cell::new(ptr::null_mut()),
            memory: Cell::new(ptr::null_mut()),
            home,
            next: AtomicPtr::new(ptr::null_mut()),
            threads: AtomicU32::new(0),
            taken: CounterLine(AtomicU64::new(0)),
            turn: CounterLine(AtomicU64::new(0)),
            parts: [const { Part::empty() }; PARTS as usize],
        })
    }
}

fn follow(share: &AtomicPtr<WorkShare>) -> Option<&'static WorkShare> {
    // SAFETY: links hold `'static` constructs or null.
    unsafe { share.load(Ordering::Acquire).as_ref() }
}

/// A construct that no other thread knows yet.
pub(crate) fn make(worker: &'static Worker, shape: Shape) -> &'static WorkShare {
    let Some(share) = worker.work_shares().get() else {
        report::fatal(format_args!("no memory for a worksharing construct"))
    };
    share.describe(shape, worker.team().size());
    share.cancelled.store(false, Ordering::Relaxed);
    share.doacross.set(None);
    share.reductions.set(ptr::null_mut());
    share.memory.set(ptr::null_mut());
    share.next.store(ptr::null_mut(), Ordering::Relaxed);
    share.threads.store(worker.team().size(), Ordering::Relaxed);
    share.taken.0.store(0, Ordering::Relaxed);
    share.turn.0.store(0, Ordering::Relaxed);
    share
}

/// Makes `share` the first construct of a region that has not started.
pub(crate) fn prepare_first(team: &Team, share: &'static WorkShare) {
    team.first_share
        .store(ptr::from_ref(share).cast_mut(), Ordering::Relaxed);
}

/// Enters the thread's next construct; the first thread to come makes it of `shape`, and `prepare`
/// completes it before others see it.
pub(crate) fn enter(
    worker: &'static Worker,
    shape: Shape,
    prepare: impl FnOnce(&'static WorkShare),
) -> &'static WorkShare {
    let previous = worker.share.get();
    let place = previous.map_or(&worker.team().first_share, |previous| &previous.next);
    let share = follow(place).unwrap_or_else(|| {
        let new = make(worker, shape);
        prepare(new);
        tsan::release(new);
        publish(worker, place, new)
    });
    tsan::acquire(share);
    worker.share.set(Some(share));
    worker.nest.set(0);
    worker.loop_state.trips.set(0);
    worker.loop_state.chunk.set((0, 0));
    worker.loop_state.has_waited.set(false);
    if let Some(previous) = previous {
        let_go(worker, previous);
    }
    share
}

fn publish(
    worker: &'static Worker,
    place: &AtomicPtr<WorkShare>,
    new: &'static WorkShare,
) -> &'static WorkShare {
    let address = ptr::from_ref(new).cast_mut();
    let (won, lost) = (Ordering::AcqRel, Ordering::Acquire);
    if place
        .compare_exchange(ptr::null_mut(), address, won, lost)
        .is_ok()
    {
        return new;
    }
    recycle(worker, new);
    follow(place).unwrap_or(new)
}

fn let_go(worker: &'static Worker, share: &'static WorkShare) {
    tsan::release(share);
    if share.threads.fetch_sub(1, Ordering::AcqRel) == 1 {
        tsan::acquire(share);
        recycle(worker, share);
    }
}

fn recycle(worker: &'static Worker, share: &'static WorkShare) {
    crate::doacross::release(share);
    crate::reduction::release(share);
    worker.work_shares().put(share);
}

/// At the end of a region.
#[inline]
pub(crate) fn leave_last(worker: &'static Worker) {
    worker.nest.set(0);
    if let Some(share) = worker.share.take() {
        let_go(worker, share);
    }
}

impl WorkShare {
    /// In a team of one thread a loop is a single chunk.
    fn describe(&self, shape: Shape, threads: u32) {
        self.first.set(shape.first);
        self.step.set(shape.step);
        self.count.set(shape.count);
        self.ordered.set(shape.ordered);
        let is_whole = threads == 1 && shape.mode != Mode::Sections;
        let chunk = if is_whole {
            shape.count.max(1)
        } else {
            shape.chunk
        };
        self.chunk.set(chunk);
        let overtaken = chunk.checked_mul(u64::from(threads) + 1);
        let wraps = overtaken
            .and_then(|overtaken| shape.count.checked_add(overtaken))
            .is_none();
        self.division.set(match shape.mode {
            _ if is_whole && !wraps => Division::Dynamic,
            Mode::Nonmonotonic if !wraps => Division::Parts,
            Mode::Dynamic | Mode::Sections if !wraps => Division::Dynamic,
            Mode::Dynamic | Mode::Nonmonotonic | Mode::Sections => Division::Careful,
            Mode::Static => Division::Static,
            Mode::Guided => Division::Guided,
        });
        if self.division.get() == Division::Parts {
            let parts = threads.min(PARTS);
            let chunks = shape.count.div_ceil(chunk).saturating_sub(1);
            for (number, part) in (0..parts).zip(&self.parts) {
                let block = static_block(chunks, u64::from(number), u64::from(parts));
                let (next, end) = block.unwrap_or_default();
                part.next.store(next, Ordering::Relaxed);
                part.end.set(end);
            }
        }
    }

    /// The program's value of an iteration.
    #[inline(always)]
    pub fn value(&self, iteration: u64) -> u64 {
        let distance = iteration.wrapping_mul(self.step.get());
        self.first.get().wrapping_add(distance)
    }

    /// True if each thread's chunks are determined in advance.
    pub(crate) fn is_static(&self) -> bool {
        self.division.get() == Division::Static
    }

    /// True if a thread may still find iterations that are not taken.
    pub(crate) fn has_iterations(&self) -> bool {
        self.taken.0.load(Ordering::Relaxed) < self.count.get()
    }

    /// The thread's next iterations, as `start..end` in iterations; nothing when none are left.
    #[inline]
    pub fn take(&self, worker: &'static Worker) -> Option<(u64, u64)> {
        if self.cancelled.load(Ordering::Relaxed) {
            return None;
        }
        let chunk = if self.division.get() == Division::Dynamic {
            self.take_dynamic()
        } else {
            self.take_otherwise(worker)
        };
        worker.loop_state.chunk.set(chunk.unwrap_or((0, 0)));
        chunk
    }

    #[inline(always)]
    fn take_dynamic(&self) -> Option<(u64, u64)> {
        let (count, chunk) = (self.count.get(), self.chunk.get());
        // Beside other threads the load would fetch the line once more.
        if chunk >= count && self.taken.0.load(Ordering::Relaxed) >= count {
            return None;
        }
        let start = self.taken.0.fetch_add(chunk, Ordering::Relaxed);
        (start < count).then(|| (start, count.min(start + chunk)))
    }

    #[inline(never)]
    fn take_otherwise(&self, worker: &'static Worker) -> Option<(u64, u64)> {
        let (count, chunk) = (self.count.get(), self.chunk.get());
        match self.division.get() {
            Division::Static => take_static(count, chunk, worker),
            Division::Parts => self.take_of_parts(count, chunk, worker),
            Division::Guided => self.take_guided(chunk, worker.team().size()),
            _ => self.take_carefully(|taken| chunk.min(count - taken)),
        }
    }

    /// A counter passes its part's end by at most a chunk per thread: a thread does not return to a part.
    fn take_of_parts(&self, count: u64, chunk: u64, worker: &'static Worker) -> Option<(u64, u64)> {
        let parts = worker.team().size().min(PARTS) as usize;
        let first = worker.index() as usize;
        let used_up = &worker.loop_state.trips;
        while used_up.get() < parts as u64 {
            let part = self.parts.get((first + used_up.get() as usize) % parts)?;
            let number = part.next.fetch_add(1, Ordering::Relaxed);
            if number < part.end.get() {
                return Some((number * chunk, (number + 1) * chunk));
            }
            used_up.set(used_up.get() + 1);
        }
        let is_last = count > 0 && self.taken.0.swap(count, Ordering::Relaxed) == 0;
        is_last.then(|| ((count - 1) / chunk * chunk, count))
    }

    fn take_guided(&self, chunk: u64, threads: u32) -> Option<(u64, u64)> {
        let count = self.count.get();
        self.take_carefully(|taken| {
            let remaining = count - taken;
            remaining
                .div_ceil(u64::from(threads))
                .max(chunk)
                .min(remaining)
        })
    }

    /// For chunks that depend on what is left, and for counts so large that overtaking would wrap.
    fn take_carefully(&self, chunk: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        let count = self.count.get();
        let mut start = self.taken.0.load(Ordering::Relaxed);
        while start < count {
            let end = start + chunk(start);
            let (won, lost) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.taken.0.compare_exchange_weak(start, end, won, lost) {
                Ok(_) => return Some((start, end)),
                Err(other) => start = other,
            }
        }
        None
    }
}

fn take_static(count: u64, chunk: u64, worker: &'static Worker) -> Option<(u64, u64)> {
    let state = &worker.loop_state;
    let trip = state.trips.get();
    state.trips.set(trip + 1);
    let threads = u64::from(worker.team().size());
    let thread = u64::from(worker.index());
    if chunk == 0 {
        return if trip == 0 {
            static_block(count, thread, threads)
        } else {
            None
        };
    }
    let turn = trip.checked_mul(threads)?.checked_add(thread)?;
    let start = turn.checked_mul(chunk)?;
    (start < count).then(|| (start, count.min(start.saturating_add(chunk))))
}

/// The equal part of thread number `thread`; the first ones get one more where it does not divide.
fn static_block(count: u64, thread: u64, threads: u64) -> Option<(u64, u64)> {
    let (part, rest) = (count / threads, count % threads);
    let start = part * thread + thread.min(rest);
    let end = start + part + u64::from(thread < rest);
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::static_block;
    use proptest::prelude::{prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn static_blocks_tile_the_loop(count in 0u64..10_000, threads in 1u64..70) {
            let mut next = 0;
            for (start, end) in (0..threads).filter_map(|t| static_block(count, t, threads)) {
                prop_assert_eq!(start, next);
                next = end;
            }
            prop_assert_eq!(next, count);
        }
    }
}
