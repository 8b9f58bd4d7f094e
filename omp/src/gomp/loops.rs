//! Loops: `start` enters the construct, `next` asks for more, both say whether there are any.

use crate::barrier;
use crate::doacross::{self, Progress};
use crate::icv::{Icv, Schedule};
use crate::ordered;
use crate::reduction;
use crate::worker::Worker;
use crate::workshare::{self, Mode, Shape, WorkShare};
use core::ffi::{c_long, c_uint, c_ulonglong, c_void};

/// Number of values in `first, first + step, …` before `end`.
fn count(up: bool, first: u64, end: u64, step: u64, is_empty: bool) -> u64 {
    if is_empty {
        return 0;
    }
    let (distance, width) = if up {
        (end.wrapping_sub(first), step)
    } else {
        (first.wrapping_sub(end), step.wrapping_neg())
    };
    if width == 1 {
        distance
    } else {
        (distance - 1) / width.max(1) + 1
    }
}

/// A loop over `long`.
pub(crate) fn long_shape(
    first: c_long,
    end: c_long,
    step: c_long,
    chunk: c_long,
    mode: Mode,
) -> Shape {
    let up = step > 0;
    let is_empty = if up { first >= end } else { first <= end };
    let count = count(up, first as u64, end as u64, step as u64, is_empty);
    shape(first as u64, step as u64, count, chunk.max(0) as u64, mode)
}

/// A loop over `unsigned long long`.
pub(crate) fn ull_shape(
    up: bool,
    first: u64,
    end: u64,
    step: u64,
    chunk: u64,
    mode: Mode,
) -> Shape {
    let is_empty = if up { first >= end } else { first <= end };
    shape(
        first,
        step,
        count(up, first, end, step, is_empty),
        chunk,
        mode,
    )
}

fn shape(first: u64, step: u64, count: u64, chunk: u64, mode: Mode) -> Shape {
    let chunk = if mode == Mode::Static {
        chunk
    } else {
        chunk.max(1)
    };
    Shape {
        first,
        step,
        count,
        mode,
        chunk,
        ordered: false,
    }
}

/// Shape of the loop with the schedule that the program chose at run time.
pub(crate) fn runtime_shape(shape: Shape) -> Shape {
    let icv: &Icv = Worker::current_here().current().icv();
    let chunk = icv.chunk.get().max(0) as u64;
    let mode = match icv.schedule.get() {
        Schedule::Static | Schedule::Auto => Mode::Static,
        Schedule::Dynamic => Mode::Dynamic,
        Schedule::Guided => Mode::Guided,
    };
    let chunk = if icv.schedule.get() == Schedule::Auto {
        0
    } else {
        chunk
    };
    Shape {
        mode,
        chunk: if mode == Mode::Static {
            chunk
        } else {
            chunk.max(1)
        },
        ..shape
    }
}

/// By the number in `GOMP_loop_start` and its kin; 0 and 4 are `runtime`.
fn scheduled(shape: Shape, schedule: c_long) -> Shape {
    match schedule & 7 {
        1 => Shape {
            mode: Mode::Static,
            ..shape
        },
        2 => Shape {
            mode: Mode::Dynamic,
            chunk: shape.chunk.max(1),
            ..shape
        },
        3 => Shape {
            mode: Mode::Guided,
            chunk: shape.chunk.max(1),
            ..shape
        },
        _ => runtime_shape(shape),
    }
}

/// Caller's variables for a chunk's bounds, in the loop's own values.
#[derive(Clone, Copy)]
struct Bounds {
    start: *mut u64,
    end: *mut u64,
}

impl Bounds {
    fn long(start: *mut c_long, end: *mut c_long) -> Self {
        Self {
            start: start.cast(),
            end: end.cast(),
        }
    }

    fn ull(start: *mut c_ulonglong, end: *mut c_ulonglong) -> Self {
        Self { start, end }
    }

    /// Takes the thread's next chunk; returns false if none is left.
    #[inline(always)]
    fn take(self, share: &'static WorkShare, worker: &'static Worker) -> bool {
        let Some((start, end)) = share.take(worker) else {
            return false;
        };
        // SAFETY: the compiler passes the address of a variable.
        unsafe { self.start.write(share.value(start)) };
        // SAFETY: as above.
        unsafe { self.end.write(share.value(end)) };
        true
    }
}

fn start(shape: Shape, bounds: Bounds) -> bool {
    let worker = Worker::current_here();
    let share = workshare::enter(worker, shape, |_| ());
    bounds.take(share, worker)
}

#[inline(always)]
fn next(bounds: Bounds) -> bool {
    let worker = Worker::current_here();
    let share = current(worker);
    if share.ordered.get() {
        ordered::end_chunk(worker, share);
        ordered::stand_back(worker, share);
    }
    bounds.take(share, worker)
}

/// The construct the thread is in: the region's first if it came in with the region.
pub(crate) fn current(worker: &'static Worker) -> &'static WorkShare {
    worker
        .share
        .get()
        .unwrap_or_else(|| workshare::enter(worker, Shape::EMPTY, |_| ()))
}

fn ordered(shape: Shape) -> Shape {
    Shape {
        ordered: true,
        ..shape
    }
}

fn start_doacross(counts: &[u64], shape: Shape, bounds: Bounds) -> bool {
    let worker = Worker::current_here();
    let share = enter_doacross(worker, counts, shape, |_| ());
    bounds.take(share, worker)
}

fn enter_doacross(
    worker: &'static Worker,
    counts: &[u64],
    shape: Shape,
    prepare: impl FnOnce(&'static WorkShare),
) -> &'static WorkShare {
    let outermost = counts.first().copied().unwrap_or(0);
    let mut shape = Shape {
        first: 0,
        step: 1,
        count: outermost,
        ..shape
    };
    let share_out = outermost.div_ceil(u64::from(worker.team().size())).max(1);
    // Progress is kept per chunk, so chunks must be of one size.
    if shape.mode == Mode::Guided {
        shape.mode = Mode::Dynamic;
    }
    if worker.team().size() == 1 {
        shape.chunk = outermost.max(1);
    } else if shape.chunk == 0 {
        shape.chunk = share_out;
    }
    let is_alone = worker.team().size() == 1;
    let share = workshare::enter(worker, shape, |share| {
        if !is_alone {
            share.doacross.set(Some(Progress::new(counts, shape.chunk)));
        }
        prepare(share);
    });
    worker.nest.set(if is_alone { 0 } else { counts.len() });
    share
}

/// # Safety
/// `counts` points to `n` numbers.
unsafe fn numbers<'a>(n: c_uint, counts: *const u64) -> &'a [u64] {
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(counts, n as usize) }
}

macro_rules! long_loops {
    ($($(#[$doc:meta])* $name:ident: $mode:expr, $wrap:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            first: c_long, end: c_long, step: c_long, chunk: c_long,
            istart: *mut c_long, iend: *mut c_long,
        ) -> bool {
            start($wrap(long_shape(first, end, step, chunk, $mode)), Bounds::long(istart, iend))
        }
    )*};
}

macro_rules! ull_loops {
    ($($(#[$doc:meta])* $name:ident: $mode:expr, $wrap:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            up: bool, first: c_ulonglong, end: c_ulonglong, step: c_ulonglong,
            chunk: c_ulonglong, istart: *mut c_ulonglong, iend: *mut c_ulonglong,
        ) -> bool {
            let shape = $wrap(ull_shape(up, first, end, step, chunk, $mode));
            start(shape, Bounds::ull(istart, iend))
        }
    )*};
}

macro_rules! runtime_loops {
    ($($(#[$doc:meta])* $long:ident, $ull:ident: $wrap:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $long(
            first: c_long, end: c_long, step: c_long,
            istart: *mut c_long, iend: *mut c_long,
        ) -> bool {
            let shape = runtime_shape(long_shape(first, end, step, 0, Mode::Static));
            start($wrap(shape), Bounds::long(istart, iend))
        }

        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $ull(
            up: bool, first: c_ulonglong, end: c_ulonglong, step: c_ulonglong,
            istart: *mut c_ulonglong, iend: *mut c_ulonglong,
        ) -> bool {
            let shape = runtime_shape(ull_shape(up, first, end, step, 0, Mode::Static));
            start($wrap(shape), Bounds::ull(istart, iend))
        }
    )*};
}

macro_rules! next_chunk {
    ($($long:ident, $ull:ident;)*) => {$(
        /// The next chunk.
        #[unsafe(no_mangle)]
        pub extern "C" fn $long(istart: *mut c_long, iend: *mut c_long) -> bool {
            next(Bounds::long(istart, iend))
        }

        /// The next chunk.
        #[unsafe(no_mangle)]
        pub extern "C" fn $ull(istart: *mut c_ulonglong, iend: *mut c_ulonglong) -> bool {
            next(Bounds::ull(istart, iend))
        }
    )*};
}

use core::convert::identity as plain;

long_loops! {
    /// `for schedule(static)` where the compiler does not divide the loop itself.
    GOMP_loop_static_start: Mode::Static, plain;
    /// `for schedule(monotonic: dynamic)`.
    GOMP_loop_dynamic_start: Mode::Dynamic, plain;
    /// `for schedule(monotonic: guided)`.
    GOMP_loop_guided_start: Mode::Guided, plain;
    /// `for schedule(dynamic)`.
    GOMP_loop_nonmonotonic_dynamic_start: Mode::Nonmonotonic, plain;
    /// `for schedule(guided)`.
    GOMP_loop_nonmonotonic_guided_start: Mode::Guided, plain;
    /// `for ordered schedule(static)`.
    GOMP_loop_ordered_static_start: Mode::Static, ordered;
    /// `for ordered schedule(dynamic)`.
    GOMP_loop_ordered_dynamic_start: Mode::Dynamic, ordered;
    /// `for ordered schedule(guided)`.
    GOMP_loop_ordered_guided_start: Mode::Guided, ordered;
}

ull_loops! {
    /// `for schedule(static)`.
    GOMP_loop_ull_static_start: Mode::Static, plain;
    /// `for schedule(monotonic: dynamic)`.
    GOMP_loop_ull_dynamic_start: Mode::Dynamic, plain;
    /// `for schedule(monotonic: guided)`.
    GOMP_loop_ull_guided_start: Mode::Guided, plain;
    /// `for schedule(dynamic)`.
    GOMP_loop_ull_nonmonotonic_dynamic_start: Mode::Nonmonotonic, plain;
    /// `for schedule(guided)`.
    GOMP_loop_ull_nonmonotonic_guided_start: Mode::Guided, plain;
    /// `for ordered schedule(static)`.
    GOMP_loop_ull_ordered_static_start: Mode::Static, ordered;
    /// `for ordered schedule(dynamic)`.
    GOMP_loop_ull_ordered_dynamic_start: Mode::Dynamic, ordered;
    /// `for ordered schedule(guided)`.
    GOMP_loop_ull_ordered_guided_start: Mode::Guided, ordered;
}

runtime_loops! {
    /// `for schedule(monotonic: runtime)`.
    GOMP_loop_runtime_start, GOMP_loop_ull_runtime_start: plain;
    /// `for schedule(nonmonotonic: runtime)`.
    GOMP_loop_nonmonotonic_runtime_start, GOMP_loop_ull_nonmonotonic_runtime_start: plain;
    /// `for schedule(runtime)`.
    GOMP_loop_maybe_nonmonotonic_runtime_start, GOMP_loop_ull_maybe_nonmonotonic_runtime_start:
        plain;
    /// `for ordered schedule(runtime)`.
    GOMP_loop_ordered_runtime_start, GOMP_loop_ull_ordered_runtime_start: ordered;
}

next_chunk! {
    GOMP_loop_static_next, GOMP_loop_ull_static_next;
    GOMP_loop_dynamic_next, GOMP_loop_ull_dynamic_next;
    GOMP_loop_guided_next, GOMP_loop_ull_guided_next;
    GOMP_loop_runtime_next, GOMP_loop_ull_runtime_next;
    GOMP_loop_nonmonotonic_dynamic_next, GOMP_loop_ull_nonmonotonic_dynamic_next;
    GOMP_loop_nonmonotonic_guided_next, GOMP_loop_ull_nonmonotonic_guided_next;
    GOMP_loop_nonmonotonic_runtime_next, GOMP_loop_ull_nonmonotonic_runtime_next;
    GOMP_loop_maybe_nonmonotonic_runtime_next, GOMP_loop_ull_maybe_nonmonotonic_runtime_next;
    GOMP_loop_ordered_static_next, GOMP_loop_ull_ordered_static_next;
    GOMP_loop_ordered_dynamic_next, GOMP_loop_ull_ordered_dynamic_next;
    GOMP_loop_ordered_guided_next, GOMP_loop_ull_ordered_guided_next;
    GOMP_loop_ordered_runtime_next, GOMP_loop_ull_ordered_runtime_next;
}

macro_rules! doacross_loops {
    ($($long:ident, $ull:ident: $mode:expr;)*) => {$(
        /// `for ordered(n)` over `long`.
        ///
        /// # Safety
        /// `counts` points to `n` numbers of iterations.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $long(
            n: c_uint, counts: *const u64, chunk: c_long,
            istart: *mut c_long, iend: *mut c_long,
        ) -> bool {
            // SAFETY: the caller's promise.
            let counts = unsafe { numbers(n, counts) };
            let shape = shape(0, 1, 0, chunk.max(0) as u64, $mode);
            start_doacross(counts, shape, Bounds::long(istart, iend))
        }

        /// `for ordered(n)` over `unsigned long long`.
        ///
        /// # Safety
        /// `counts` points to `n` numbers of iterations.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ull(
            n: c_uint, counts: *const u64, chunk: c_ulonglong,
            istart: *mut c_ulonglong, iend: *mut c_ulonglong,
        ) -> bool {
            // SAFETY: the caller's promise.
            let counts = unsafe { numbers(n, counts) };
            start_doacross(counts, shape(0, 1, 0, chunk, $mode), Bounds::ull(istart, iend))
        }
    )*};
}

doacross_loops! {
    GOMP_loop_doacross_static_start, GOMP_loop_ull_doacross_static_start: Mode::Static;
    GOMP_loop_doacross_dynamic_start, GOMP_loop_ull_doacross_dynamic_start: Mode::Dynamic;
    GOMP_loop_doacross_guided_start, GOMP_loop_ull_doacross_guided_start: Mode::Guided;
}

macro_rules! doacross_runtime_loops {
    ($($name:ident, $bounds:ident, $type:ty;)*) => {$(
        /// `for ordered(n) schedule(runtime)`.
        ///
        /// # Safety
        /// `counts` points to `n` numbers of iterations.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            n: c_uint, counts: *const u64, istart: *mut $type, iend: *mut $type,
        ) -> bool {
            // SAFETY: the caller's promise.
            let counts = unsafe { numbers(n, counts) };
            let shape = runtime_shape(shape(0, 1, 0, 0, Mode::Static));
            start_doacross(counts, shape, Bounds::$bounds(istart, iend))
        }
    )*};
}

doacross_runtime_loops! {
    GOMP_loop_doacross_runtime_start, long, c_long;
    GOMP_loop_ull_doacross_runtime_start, ull, c_ulonglong;
}

/// Arguments of the general entries besides the loop.
#[derive(Clone, Copy)]
struct Extras {
    reductions: *mut usize,
    memory: *mut *mut c_void,
}

impl Extras {
    /// Enters by `enter`, then takes the first chunk unless the caller divides the loop itself.
    fn start(self, enter: impl FnOnce(&'static Worker) -> &'static WorkShare, to: Bounds) -> bool {
        let worker = Worker::current_here();
        let share = enter(worker);
        if !self.reductions.is_null() {
            reduction::join_loop(worker, share, self.reductions);
        }
        if !self.memory.is_null() {
            // SAFETY: the compiler passes a word that holds a size and takes an address.
            unsafe { reduction::shared_memory(share, self.memory) };
        }
        to.start.is_null() || to.take(share, worker)
    }

    fn prepare(self, worker: &'static Worker) -> impl FnOnce(&'static WorkShare) {
        move |share| {
            if !self.reductions.is_null() {
                reduction::begin_loop(worker, share, self.reductions);
            }
            if !self.memory.is_null() {
                // SAFETY: the compiler passes a word that holds a size.
                unsafe { reduction::allocate_shared(share, self.memory) };
            }
        }
    }
}

macro_rules! general_loops {
    ($($long:ident, $ull:ident: $wrap:expr;)*) => {$(
        /// A loop over `long` with task reductions or memory shared by its threads.
        #[unsafe(no_mangle)]
        pub extern "C" fn $long(
            first: c_long, end: c_long, step: c_long, schedule: c_long, chunk: c_long,
            istart: *mut c_long, iend: *mut c_long,
            reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let extras = Extras { reductions, memory };
            let shape = long_shape(first, end, step, chunk, Mode::Static);
            let shape = $wrap(scheduled(shape, schedule));
            let enter = |worker| workshare::enter(worker, shape, extras.prepare(worker));
            extras.start(enter, Bounds::long(istart, iend))
        }

        /// A loop over `unsigned long long` with task reductions or shared memory.
        #[unsafe(no_mangle)]
        pub extern "C" fn $ull(
            up: bool, first: c_ulonglong, end: c_ulonglong, step: c_ulonglong,
            schedule: c_long, chunk: c_ulonglong,
            istart: *mut c_ulonglong, iend: *mut c_ulonglong,
            reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let extras = Extras { reductions, memory };
            let shape = ull_shape(up, first, end, step, chunk, Mode::Static);
            let shape = $wrap(scheduled(shape, schedule));
            let enter = |worker| workshare::enter(worker, shape, extras.prepare(worker));
            extras.start(enter, Bounds::ull(istart, iend))
        }
    )*};
}

general_loops! {
    GOMP_loop_start, GOMP_loop_ull_start: plain;
    GOMP_loop_ordered_start, GOMP_loop_ull_ordered_start: ordered;
}

macro_rules! general_doacross {
    ($($name:ident, $bounds:ident, $type:ty;)*) => {$(
        /// `for ordered(n)` with task reductions or memory shared by its threads.
        ///
        /// # Safety
        /// `counts` points to `n` numbers of iterations.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            n: c_uint, counts: *const u64, schedule: c_long, chunk: $type,
            istart: *mut $type, iend: *mut $type,
            reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            // SAFETY: the caller's promise.
            let counts = unsafe { numbers(n, counts) };
            let extras = Extras { reductions, memory };
            let shape = scheduled(shape(0, 1, 0, chunk as u64, Mode::Static), schedule);
            let enter = |worker| enter_doacross(worker, counts, shape, extras.prepare(worker));
            extras.start(enter, Bounds::$bounds(istart, iend))
        }
    )*};
}

general_doacross! {
    GOMP_loop_doacross_start, long, c_long;
    GOMP_loop_ull_doacross_start, ull, c_ulonglong;
}

/// Ends a loop that has a barrier.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_loop_end() {
    barrier::wait(Worker::current_here());
}

/// Ends a `nowait` loop.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_loop_end_nowait() {}

/// Ends a loop in a region that may be cancelled: whether it was.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_loop_end_cancel() -> bool {
    barrier::wait_or_cancelled(Worker::current_here())
}

/// `#pragma omp ordered`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_ordered_start() {
    ordered::start();
}

/// Ends an ordered region; the turn passes on at the end of the chunk.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_ordered_end() {}

/// `ordered depend(source)`.
///
/// # Safety
/// `index` points to as many numbers as the nest has loops.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_doacross_post(index: *const u64) {
    // SAFETY: the caller's promise.
    doacross::post(|level| unsafe { index.wrapping_add(level).read() });
}

/// `ordered depend(source)` in a loop over `unsigned long long`.
///
/// # Safety
/// As [`GOMP_doacross_post`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_doacross_ull_post(index: *const u64) {
    // SAFETY: the caller's promise.
    unsafe { GOMP_doacross_post(index) };
}

/// `ordered depend(sink)`, the variable arguments collected by `libgomp.c`.
///
/// # Safety
/// As [`GOMP_doacross_post`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bulkhead_omp_doacross_wait(index: *const u64) {
    // SAFETY: the caller's promise.
    doacross::wait(|level| unsafe { index.wrapping_add(level).read() });
}
