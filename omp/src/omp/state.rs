//! Questions about threads, teams, tasks and time.

use super::{lookup, query};
use crate::backend::{Backend, System};
use crate::icv;
use crate::reduction;
use crate::task::Flags;
use crate::team::Team;
use crate::worker::Worker;
use core::ffi::c_int;
use core::sync::atomic::Ordering;

/// The current thread's team at nesting level `level`, and the thread's number in it.
fn at_level(level: c_int) -> Option<(&'static Team, u32)> {
    let mut worker = Worker::current_here();
    let level = u32::try_from(level).ok()?;
    loop {
        let team = worker.team();
        if team.level.get() == level {
            return Some((team, worker.index()));
        }
        if team.level.get() < level {
            return None;
        }
        worker = team.encountered_by.get()?;
    }
}

/// A task that learned its thread's number may rely on it: from then on it stays there.
fn thread_number() -> c_int {
    let worker = Worker::current_here();
    let task = worker.current();
    if !task.has(Flags::UNTIED) {
        reduction::pin(task, worker);
    }
    worker.index() as c_int
}

query! {
    /// Number of threads in the team.
    omp_get_num_threads, omp_get_num_threads_ -> c_int {
        Worker::current_here().team().size() as c_int
    }
    /// The calling thread's number in the team.
    omp_get_thread_num, omp_get_thread_num_ -> c_int { thread_number() }
    /// Number of threads of the next team.
    omp_get_max_threads, omp_get_max_threads_ -> c_int {
        Worker::current_here().current().icv().threads.get() as c_int
    }
    /// Number of cores available to the process.
    omp_get_num_procs, omp_get_num_procs_ -> c_int {
        crate::thread::start();
        icv::cores() as c_int
    }
    /// True if an active parallel region is around.
    omp_in_parallel, omp_in_parallel_ -> c_int {
        c_int::from(Worker::current_here().team().active_level.get() > 0)
    }
    /// True if the team size may be adjusted.
    omp_get_dynamic, omp_get_dynamic_ -> c_int {
        c_int::from(Worker::current_here().current().icv().dynamic.get())
    }
    /// True if nested regions may be active.
    omp_get_nested, omp_get_nested_ -> c_int {
        let worker = Worker::current_here();
        let levels = worker.current().icv().max_active_levels.get();
        c_int::from(levels > 1 && levels > worker.team().active_level.get())
    }
    /// Most threads that there may be.
    omp_get_thread_limit, omp_get_thread_limit_ -> c_int {
        let limit = Worker::current_here().current().icv().thread_limit.get();
        c_int::try_from(limit).unwrap_or(c_int::MAX)
    }
    /// Most nested active regions that there may be.
    omp_get_max_active_levels, omp_get_max_active_levels_ -> c_int {
        let levels = Worker::current_here().current().icv().max_active_levels.get();
        c_int::try_from(levels).unwrap_or(c_int::MAX)
    }
    /// Most nested active regions that the runtime supports.
    omp_get_supported_active_levels, omp_get_supported_active_levels_ -> c_int { c_int::MAX }
    /// Number of parallel regions around.
    omp_get_level, omp_get_level_ -> c_int {
        Worker::current_here().team().level.get() as c_int
    }
    /// Number of active parallel regions around.
    omp_get_active_level, omp_get_active_level_ -> c_int {
        Worker::current_here().team().active_level.get() as c_int
    }
    /// True if the current task is final.
    omp_in_final, omp_in_final_ -> c_int {
        c_int::from(Worker::current_here().current().has(Flags::FINAL))
    }
    /// True if the caller is inside an explicit task.
    omp_in_explicit_task, omp_in_explicit_task_ -> c_int {
        c_int::from(!Worker::current_here().current().has(Flags::IMPLICIT))
    }
    /// True if `cancel` has an effect.
    omp_get_cancellation, omp_get_cancellation_ -> c_int {
        crate::thread::start();
        c_int::from(icv::CANCELLATION.load(Ordering::Relaxed))
    }
    /// Highest priority that makes a difference.
    omp_get_max_task_priority, omp_get_max_task_priority_ -> c_int {
        crate::thread::start();
        icv::MAX_TASK_PRIORITY.load(Ordering::Relaxed)
    }
    /// Number of teams of the league.
    omp_get_num_teams, omp_get_num_teams_ -> c_int {
        Worker::current_here().team().league.get().teams as c_int
    }
    /// The team's number in the league.
    omp_get_team_num, omp_get_team_num_ -> c_int {
        Worker::current_here().team().league.get().team as c_int
    }
    /// Seconds since some fixed time.
    omp_get_wtime, omp_get_wtime_ -> f64 { System::now_ns() as f64 * 1e-9 }
    /// Resolution of `omp_get_wtime` in seconds.
    omp_get_wtick, omp_get_wtick_ -> f64 { 1e-9 }
}

lookup! {
    /// The calling thread's, or its ancestor's, number at a nesting level; -1 if there is none.
    omp_get_ancestor_thread_num, omp_get_ancestor_thread_num_, omp_get_ancestor_thread_num_8_ (level) {
        at_level(level).map_or(-1, |(_, number)| number as c_int)
    }
    /// Size of the team at a nesting level; -1 if there is none.
    omp_get_team_size, omp_get_team_size_, omp_get_team_size_8_ (level) {
        at_level(level).map_or(-1, |(team, _)| team.size() as c_int)
    }
}
