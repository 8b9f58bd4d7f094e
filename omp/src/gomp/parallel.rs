//! Parallel regions, alone and combined with a worksharing construct.

use crate::gomp::loops::{long_shape, runtime_shape};
use crate::reduction;
use crate::region;
use crate::task::Body;
use crate::worker::Worker;
use crate::workshare::{self, Mode, Shape};
use core::ffi::{c_long, c_uint, c_void};

const BIND_BITS: c_uint = 7;

/// `#pragma omp parallel`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint) {
    region::run(body, data, threads, flags & BIND_BITS);
}

/// Starts a region. The caller runs the first thread's part itself.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_parallel_start(body: Body, data: *mut c_void, threads: c_uint) {
    region::fork(body, data, threads, 0, &|_| ());
}

/// Ends a region that `GOMP_parallel_start` began.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_parallel_end() {
    region::join_current();
}

/// `#pragma omp parallel reduction(task, …)`: the number of threads.
///
/// # Safety
/// The first word of `data` points to the compiler's reduction descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_parallel_reductions(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
) -> c_uint {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { data.cast::<*mut usize>().read() };
    let leader = region::fork(
        body,
        data,
        threads,
        flags & BIND_BITS,
        &|leader: &Worker| {
            let team = leader.team();
            reduction::allocate(descriptor, team.size());
            team.reductions.set(descriptor);
        },
    );
    // SAFETY: the compiler's outlined function with the argument it expects.
    unsafe { body(data) };
    let team = Worker::current_here().team();
    let size = team.size();
    region::join(leader);
    team.reductions.set(core::ptr::null_mut());
    size
}

fn with_share(body: Body, data: *mut c_void, threads: c_uint, bind: c_uint, shape: Shape) {
    let leader = fork_with_share(body, data, threads, bind, shape);
    // SAFETY: the compiler's outlined function with the argument it expects.
    unsafe { body(data) };
    region::join(leader);
}

/// The region's code asks for iterations at once, without entering the construct: all threads are
/// in it from the start.
fn fork_with_share(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    bind: c_uint,
    shape: Shape,
) -> region::Leader {
    region::fork(body, data, threads, bind, &|leader: &'static Worker| {
        workshare::prepare_first(leader.team(), workshare::make(leader, shape));
    })
}

macro_rules! parallel_loop {
    ($($(#[$doc:meta])* $name:ident: $mode:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            body: Body, data: *mut c_void, threads: c_uint,
            first: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint,
        ) {
            let shape = long_shape(first, end, step, chunk, $mode);
            with_share(body, data, threads, flags & BIND_BITS, shape);
        }
    )*};
}

parallel_loop! {
    /// `parallel for schedule(static)`.
    GOMP_parallel_loop_static: Mode::Static;
    /// `parallel for schedule(monotonic: dynamic)`.
    GOMP_parallel_loop_dynamic: Mode::Dynamic;
    /// `parallel for schedule(monotonic: guided)`.
    GOMP_parallel_loop_guided: Mode::Guided;
    /// `parallel for schedule(dynamic)`.
    GOMP_parallel_loop_nonmonotonic_dynamic: Mode::Nonmonotonic;
    /// `parallel for schedule(guided)`.
    GOMP_parallel_loop_nonmonotonic_guided: Mode::Guided;
}

macro_rules! parallel_loop_start {
    ($($(#[$doc:meta])* $name:ident: $mode:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            body: Body, data: *mut c_void, threads: c_uint,
            first: c_long, end: c_long, step: c_long, chunk: c_long,
        ) {
            fork_with_share(body, data, threads, 0, long_shape(first, end, step, chunk, $mode));
        }
    )*};
}

parallel_loop_start! {
    /// `parallel for schedule(static)`, begun only.
    GOMP_parallel_loop_static_start: Mode::Static;
    /// `parallel for schedule(dynamic)`, begun only.
    GOMP_parallel_loop_dynamic_start: Mode::Dynamic;
    /// `parallel for schedule(guided)`, begun only.
    GOMP_parallel_loop_guided_start: Mode::Guided;
}

macro_rules! parallel_runtime_loop {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            body: Body, data: *mut c_void, threads: c_uint,
            first: c_long, end: c_long, step: c_long, flags: c_uint,
        ) {
            let shape = runtime_shape(long_shape(first, end, step, 0, Mode::Static));
            with_share(body, data, threads, flags & BIND_BITS, shape);
        }
    )*};
}

parallel_runtime_loop! {
    /// `parallel for schedule(monotonic: runtime)`.
    GOMP_parallel_loop_runtime;
    /// `parallel for schedule(nonmonotonic: runtime)`.
    GOMP_parallel_loop_nonmonotonic_runtime;
    /// `parallel for schedule(runtime)`.
    GOMP_parallel_loop_maybe_nonmonotonic_runtime;
}

/// `parallel for schedule(runtime)`, begun only.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_parallel_loop_runtime_start(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    first: c_long,
    end: c_long,
    step: c_long,
) {
    let shape = runtime_shape(long_shape(first, end, step, 0, Mode::Static));
    fork_with_share(body, data, threads, 0, shape);
}

/// `parallel sections`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_parallel_sections(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    count: c_uint,
    flags: c_uint,
) {
    let shape = crate::gomp::sections::shape(count);
    with_share(body, data, threads, flags & BIND_BITS, shape);
}

/// `parallel sections`, begun only.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_parallel_sections_start(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    count: c_uint,
) {
    fork_with_share(body, data, threads, 0, crate::gomp::sections::shape(count));
}
