//! Functions that change control variables, events, pauses.

use super::{query, set};
use crate::detach;
use crate::environment;
use crate::icv::{self, Icv, MONOTONIC, Schedule};
use crate::task::Task;
use crate::worker::Worker;
use core::ffi::c_int;
use core::sync::atomic::Ordering;

set! {
    /// Number of threads of the next teams; nonsense is taken as 1.
    omp_set_num_threads, omp_set_num_threads_, omp_set_num_threads_8_ (threads) {
        let threads = u32::try_from(threads).unwrap_or(1).clamp(1, icv::MAX_THREADS);
        icv::modify(|icv| icv.threads.set(threads));
    }
    /// True if the team size may be adjusted.
    omp_set_dynamic, omp_set_dynamic_, omp_set_dynamic_8_ (dynamic) {
        icv::modify(|icv| icv.dynamic.set(dynamic != 0));
    }
    /// True if nested regions may be active.
    omp_set_nested, omp_set_nested_, omp_set_nested_8_ (nested) {
        let levels = if nested != 0 { u32::MAX } else { 1 };
        icv::modify(|icv| icv.max_active_levels.set(levels));
    }
    /// Most nested active regions; negative numbers are ignored.
    omp_set_max_active_levels, omp_set_max_active_levels_, omp_set_max_active_levels_8_ (levels) {
        if let Ok(levels) = u32::try_from(levels) {
            icv::modify(|icv| icv.max_active_levels.set(levels));
        }
    }
    /// Device of `target` constructs without one.
    omp_set_default_device, omp_set_default_device_, omp_set_default_device_8_ (device) {
        icv::modify(|icv| icv.device.set(device));
    }
    /// Most teams of a league.
    omp_set_num_teams, omp_set_num_teams_, omp_set_num_teams_8_ (teams) {
        icv::TEAMS.store(u32::try_from(teams).unwrap_or(0), Ordering::Relaxed);
    }
    /// Most threads of each team of a league.
    omp_set_teams_thread_limit, omp_set_teams_thread_limit_, omp_set_teams_thread_limit_8_ (limit) {
        icv::TEAMS_THREAD_LIMIT.store(u32::try_from(limit).unwrap_or(0), Ordering::Relaxed);
    }
    /// Prints the control variables, those of the implementation too if `verbose`.
    omp_display_env, omp_display_env_, omp_display_env_8_ (verbose) {
        crate::thread::start();
        environment::display(verbose != 0);
    }
}

query! {
    /// Most teams of a league.
    omp_get_max_teams, omp_get_max_teams_ -> c_int {
        crate::thread::start();
        icv::TEAMS.load(Ordering::Relaxed) as c_int
    }
    /// Most threads of each team of a league.
    omp_get_teams_thread_limit, omp_get_teams_thread_limit_ -> c_int {
        crate::thread::start();
        icv::TEAMS_THREAD_LIMIT.load(Ordering::Relaxed) as c_int
    }
}

/// Schedule of `schedule(runtime)` loops; an unknown kind is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_schedule(kind: u32, chunk: c_int) {
    let Some(schedule) = Schedule::from_number(kind) else {
        return;
    };
    icv::modify(|icv: &Icv| {
        icv.schedule.set(schedule);
        icv.monotonic.set(kind & MONOTONIC != 0);
        let least = c_int::from(schedule != Schedule::Static);
        icv.chunk.set(if chunk < 1 { least } else { chunk });
    });
}

/// Schedule of `schedule(runtime)` loops.
///
/// # Safety
/// Both point to variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule(kind: *mut u32, chunk: *mut c_int) {
    let icv = Worker::current_here().current().icv();
    let modifier = if icv.monotonic.get() { MONOTONIC } else { 0 };
    // SAFETY: the caller's promise.
    unsafe { kind.write(icv.schedule.get() as u32 | modifier) };
    // SAFETY: the caller's promise.
    unsafe { chunk.write(icv.chunk.get()) };
}

/// For Fortran.
///
/// # Safety
/// Both point to default integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_schedule_(kind: *const u32, chunk: *const c_int) {
    // SAFETY: the caller's promise.
    let kind = unsafe { kind.read() };
    // SAFETY: the caller's promise.
    omp_set_schedule(kind, unsafe { chunk.read() });
}

/// For Fortran with 8-byte integers.
///
/// # Safety
/// Both point to integers of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_schedule_8_(kind: *const u32, chunk: *const i64) {
    // SAFETY: the caller's promise.
    let kind = unsafe { kind.read() };
    // SAFETY: the caller's promise.
    omp_set_schedule(
        kind,
        unsafe { chunk.read() }.clamp(0, i64::from(i32::MAX)) as c_int,
    );
}

/// For Fortran.
///
/// # Safety
/// Both point to default integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule_(kind: *mut u32, chunk: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_get_schedule(kind, chunk) };
}

/// For Fortran with 8-byte integers.
///
/// # Safety
/// Both point to integers of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule_8_(kind: *mut u32, chunk: *mut i64) {
    let mut short = 0;
    // SAFETY: the caller's promise.
    unsafe { omp_get_schedule(kind, &mut short) };
    // SAFETY: the caller's promise.
    unsafe { chunk.write(i64::from(short)) };
}

/// Fulfils the event of a detached task.
///
/// # Safety
/// `event` is one that a task construct set and that was not fulfilled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_fulfill_event(event: *const Task) {
    // SAFETY: events are the addresses of their tasks, which stay while the event is open.
    if let Some(task) = unsafe { event.as_ref() } {
        detach::fulfill(task);
    }
}

/// Fortran name; its interface passes the event by value.
///
/// # Safety
/// As [`omp_fulfill_event`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_fulfill_event_(event: *const Task) {
    // SAFETY: the caller's promise.
    unsafe { omp_fulfill_event(event) };
}

/// Ends the threads that the caller keeps for its next regions; fails inside a region, as the specification asks.
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource_all(kind: c_int) -> c_int {
    let worker = Worker::current_here();
    if worker.team().level.get() > 0 || !(1..=2).contains(&kind) {
        return -1;
    }
    crate::region::release_threads(worker);
    0
}

/// As [`omp_pause_resource_all`], for one device.
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource(kind: c_int, device: c_int) -> c_int {
    if device == super::device::omp_get_initial_device() {
        omp_pause_resource_all(kind)
    } else {
        -1
    }
}

/// For Fortran.
///
/// # Safety
/// Points to a default integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_pause_resource_all_(kind: *const c_int) -> c_int {
    // SAFETY: the caller's promise.
    omp_pause_resource_all(unsafe { kind.read() })
}

/// For Fortran.
///
/// # Safety
/// Both point to default integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_pause_resource_(kind: *const c_int, device: *const c_int) -> c_int {
    // SAFETY: the caller's promise.
    let kind = unsafe { kind.read() };
    // SAFETY: the caller's promise.
    omp_pause_resource(kind, unsafe { device.read() })
}

/// The library has been loaded: reads the environment.
#[unsafe(no_mangle)]
pub extern "C" fn bulkhead_omp_start() {
    crate::thread::start();
}

/// The program ends: saves the trace, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn bulkhead_omp_stop() {
    crate::trace::save();
}
