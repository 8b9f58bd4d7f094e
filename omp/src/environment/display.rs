//! `OMP_DISPLAY_ENV`.

use crate::affinity;
use crate::backend::{Backend, System};
use crate::fiber;
use crate::icv::{self, Schedule};
use crate::idle::{self, WaitPolicy};
use crate::report::inform;
use core::fmt::Display;
use core::sync::atomic::Ordering;

fn line(name: &str, value: impl Display) {
    inform(format_args!("  {name} = '{value}'"));
}

fn boolean(on: bool) -> &'static str {
    if on { "TRUE" } else { "FALSE" }
}

/// Numbers beyond `int` stand for no limit.
fn limit(value: u32) -> u32 {
    value.min(i32::MAX as u32)
}

fn schedule_name(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::Static => "STATIC",
        Schedule::Dynamic => "DYNAMIC",
        Schedule::Guided => "GUIDED",
        Schedule::Auto => "AUTO",
    }
}

/// Prints the control variables; those of this runtime alone too if `verbose`.
pub fn display(verbose: bool) {
    inform(format_args!("\nOPENMP DISPLAY ENVIRONMENT BEGIN"));
    line("_OPENMP", 201_511);
    display_threads();
    display_tasks();
    line("OMP_PROC_BIND", affinity::binding_name());
    line("OMP_PLACES", affinity::PlaceList);
    line("OMP_DISPLAY_AFFINITY", boolean(affinity::is_displayed()));
    crate::omp::affinity::with_format(|format| line("OMP_AFFINITY_FORMAT", format));
    if verbose {
        line("GOMP_SPINCOUNT", idle::spin_rounds());
        line("BULKHEAD_OMP_VERSION", env!("CARGO_PKG_VERSION"));
        line("BULKHEAD_OMP_CORES", icv::cores());
        line("BULKHEAD_OMP_TIME_NS", System::now_ns());
    }
    inform(format_args!("OPENMP DISPLAY ENVIRONMENT END"));
}

fn display_threads() {
    let icv = icv::initial();
    line("OMP_DYNAMIC", boolean(icv.dynamic.get()));
    line("OMP_NESTED", boolean(icv.max_active_levels.get() > 1));
    line("OMP_NUM_THREADS", icv.threads.get());
    line("OMP_THREAD_LIMIT", limit(icv.thread_limit.get()));
    line("OMP_MAX_ACTIVE_LEVELS", limit(icv.max_active_levels.get()));
    line("OMP_STACKSIZE", fiber::stack_bytes());
    let policy = if idle::policy() == WaitPolicy::Active {
        "ACTIVE"
    } else {
        "PASSIVE"
    };
    line("OMP_WAIT_POLICY", policy);
    line("OMP_NUM_TEAMS", icv::TEAMS.load(Ordering::Relaxed));
    line(
        "OMP_TEAMS_THREAD_LIMIT",
        icv::TEAMS_THREAD_LIMIT.load(Ordering::Relaxed),
    );
}

fn display_tasks() {
    let icv = icv::initial();
    let (kind, chunk) = (schedule_name(icv.schedule.get()), icv.chunk.get());
    match chunk {
        0 | 1 => line("OMP_SCHEDULE", kind),
        chunk => line("OMP_SCHEDULE", format_args!("{kind},{chunk}")),
    }
    line(
        "OMP_CANCELLATION",
        boolean(icv::CANCELLATION.load(Ordering::Relaxed)),
    );
    line(
        "OMP_MAX_TASK_PRIORITY",
        icv::MAX_TASK_PRIORITY.load(Ordering::Relaxed),
    );
    line("OMP_DEFAULT_DEVICE", icv.device.get());
    let mandatory = icv::OFFLOAD_MANDATORY.load(Ordering::Relaxed);
    line(
        "OMP_TARGET_OFFLOAD",
        if mandatory { "MANDATORY" } else { "DEFAULT" },
    );
    line("OMP_ALLOCATOR", icv.allocator.get());
}
