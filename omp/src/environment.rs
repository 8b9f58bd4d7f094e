//! The `OMP_*` variables: read once, when the library is loaded. A value that makes no sense is
//! named in a warning together with what is used instead.

mod display;
mod value;

use crate::affinity;
use crate::backend::{Backend, System};
use crate::fiber;
use crate::icv::{self, MONOTONIC, Schedule};
use crate::idle::{self, WaitPolicy};
use crate::report;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};

pub use display::display;

/// One variable: its name, what is used without it, and what it sets. The function says whether
/// the value made sense.
struct Variable {
    name: &'static CStr,
    default: &'static str,
    set: fn(&str) -> bool,
}

static VARIABLES: &[Variable] = &[
    Variable {
        name: c"OMP_NUM_THREADS",
        default: "one thread per core",
        set: threads,
    },
    Variable {
        name: c"OMP_DYNAMIC",
        default: "false",
        set: dynamic,
    },
    Variable {
        name: c"OMP_NESTED",
        default: "false",
        set: nested,
    },
    Variable {
        name: c"OMP_MAX_ACTIVE_LEVELS",
        default: "1",
        set: max_active_levels,
    },
    Variable {
        name: c"OMP_SCHEDULE",
        default: "dynamic,1",
        set: schedule,
    },
    Variable {
        name: c"OMP_THREAD_LIMIT",
        default: "no limit",
        set: thread_limit,
    },
    Variable {
        name: c"GOMP_STACKSIZE",
        default: System::STACK_TEXT,
        set: stack_bytes,
    },
    Variable {
        name: c"OMP_STACKSIZE",
        default: System::STACK_TEXT,
        set: stack_bytes,
    },
    Variable {
        name: c"OMP_WAIT_POLICY",
        default: "watch, then sleep",
        set: wait_policy,
    },
    Variable {
        name: c"GOMP_SPINCOUNT",
        default: "by wait policy",
        set: spin_count,
    },
    Variable {
        name: c"OMP_CANCELLATION",
        default: "false",
        set: cancellation,
    },
    Variable {
        name: c"OMP_MAX_TASK_PRIORITY",
        default: "0",
        set: max_task_priority,
    },
    Variable {
        name: c"OMP_NUM_TEAMS",
        default: "1",
        set: teams,
    },
    Variable {
        name: c"OMP_TEAMS_THREAD_LIMIT",
        default: "no limit",
        set: teams_thread_limit,
    },
    Variable {
        name: c"OMP_DEFAULT_DEVICE",
        default: "the host",
        set: device,
    },
    Variable {
        name: c"OMP_TARGET_OFFLOAD",
        default: "default",
        set: offload,
    },
    Variable {
        name: c"OMP_ALLOCATOR",
        default: "omp_default_mem_alloc",
        set: allocator,
    },
    Variable {
        name: c"OMP_PLACES",
        default: "cores",
        set: affinity::set_places,
    },
    Variable {
        name: c"OMP_PROC_BIND",
        default: "false",
        set: affinity::set_binding,
    },
    Variable {
        name: c"OMP_AFFINITY_FORMAT",
        default: "the built-in format",
        set: affinity_format,
    },
    Variable {
        name: c"OMP_DISPLAY_AFFINITY",
        default: "false",
        set: affinity::set_display,
    },
];

/// Reads the environment, the first time.
pub fn read_once() {
    static STATE: AtomicU32 = AtomicU32::new(0);
    const DONE: u32 = 2;
    while STATE.load(Ordering::Acquire) != DONE {
        if STATE
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            read();
            STATE.store(DONE, Ordering::Release);
        }
    }
}

fn read() {
    icv::initial().threads.set(icv::cores() as u32);
    for variable in VARIABLES {
        let Some(value) = System::environment(variable.name) else {
            continue;
        };
        let text = value.to_str().map(str::trim);
        if !text.is_ok_and(variable.set) {
            report::warn(format_args!(
                "{}=\"{}\" makes no sense and is ignored; used instead: {}",
                variable.name.to_str().unwrap_or_default(),
                text.unwrap_or("(not UTF-8)"),
                variable.default
            ));
        }
    }
    affinity::settle();
    show_if_asked();
}

fn show_if_asked() {
    let Some(value) = System::environment(c"OMP_DISPLAY_ENV") else {
        return;
    };
    match value.to_str().map(str::trim) {
        Ok(text) if value::is_word(text, "verbose") => display(true),
        Ok(text) if value::boolean(text) == Some(true) => display(false),
        Ok(text) if value::boolean(text) == Some(false) => (),
        text => report::warn(format_args!(
            "OMP_DISPLAY_ENV=\"{}\" makes no sense and is ignored; used instead: false",
            text.unwrap_or("(not UTF-8)")
        )),
    }
}

/// Applies `apply` to a value that was understood.
fn put<T>(value: Option<T>, apply: impl FnOnce(T)) -> bool {
    value.map(apply).is_some()
}

fn positive(text: &str) -> Option<u32> {
    value::number(text).filter(|n| *n > 0)
}

fn threads(text: &str) -> bool {
    let most = icv::MAX_THREADS;
    let mut levels = text
        .split(',')
        .map(|level| positive(level).filter(|n| *n <= most));
    if levels.clone().any(|level| level.is_none()) || levels.clone().count() > 8 {
        return false;
    }
    icv::initial()
        .threads
        .set(levels.next().flatten().unwrap_or(1));
    let places = icv::THREADS_BY_LEVEL.iter().skip(1);
    places
        .zip(levels.flatten())
        .for_each(|(place, n)| place.store(n, Ordering::Relaxed));
    if text.contains(',') {
        icv::initial().max_active_levels.set(u32::MAX);
    }
    true
}

fn dynamic(text: &str) -> bool {
    put(value::boolean(text), |on| icv::initial().dynamic.set(on))
}

fn nested(text: &str) -> bool {
    put(value::boolean(text), |on| {
        icv::initial()
            .max_active_levels
            .set(if on { u32::MAX } else { 1 });
    })
}

fn max_active_levels(text: &str) -> bool {
    put(value::number(text), |levels| {
        icv::initial().max_active_levels.set(levels)
    })
}

fn thread_limit(text: &str) -> bool {
    put(positive(text), |limit| {
        icv::initial().thread_limit.set(limit)
    })
}

fn stack_bytes(text: &str) -> bool {
    const LEAST: usize = 16 << 10;
    put(
        value::bytes(text).filter(|bytes| *bytes >= LEAST),
        fiber::set_stack_bytes,
    )
}

fn wait_policy(text: &str) -> bool {
    let policies = [
        ("active", WaitPolicy::Active),
        ("passive", WaitPolicy::Passive),
    ];
    put(value::word_of(text, &policies), idle::set_policy)
}

fn spin_count(text: &str) -> bool {
    let endless = [("infinite", u32::MAX), ("infinity", u32::MAX)];
    put(
        value::word_of(text, &endless).or_else(|| value::number(text)),
        idle::set_spin_rounds,
    )
}

fn cancellation(text: &str) -> bool {
    put(value::boolean(text), |on| {
        icv::CANCELLATION.store(on, Ordering::Relaxed)
    })
}

fn max_task_priority(text: &str) -> bool {
    let number = value::number(text).and_then(|n| i32::try_from(n).ok());
    put(number, |n| {
        icv::MAX_TASK_PRIORITY.store(n, Ordering::Relaxed)
    })
}

fn teams(text: &str) -> bool {
    put(positive(text), |n| icv::TEAMS.store(n, Ordering::Relaxed))
}

fn teams_thread_limit(text: &str) -> bool {
    put(positive(text), |n| {
        icv::TEAMS_THREAD_LIMIT.store(n, Ordering::Relaxed)
    })
}

fn device(text: &str) -> bool {
    let number = value::number(text).and_then(|n| i32::try_from(n).ok());
    put(number, |n| icv::initial().device.set(n))
}

fn offload(text: &str) -> bool {
    let kinds = [("default", false), ("disabled", false), ("mandatory", true)];
    put(value::word_of(text, &kinds), |on| {
        icv::OFFLOAD_MANDATORY.store(on, Ordering::Relaxed)
    })
}

fn allocator(text: &str) -> bool {
    const NAMES: [(&str, usize); 8] = [
        ("omp_default_mem_alloc", 1),
        ("omp_large_cap_mem_alloc", 2),
        ("omp_const_mem_alloc", 3),
        ("omp_high_bw_mem_alloc", 4),
        ("omp_low_lat_mem_alloc", 5),
        ("omp_cgroup_mem_alloc", 6),
        ("omp_pteam_mem_alloc", 7),
        ("omp_thread_mem_alloc", 8),
    ];
    put(value::word_of(text, &NAMES), |handle| {
        icv::initial().allocator.set(handle)
    })
}

fn affinity_format(text: &str) -> bool {
    crate::omp::affinity::set_format(text.as_bytes());
    true
}

fn schedule(text: &str) -> bool {
    let (modifier, rest) = match text.split_once(':') {
        Some((modifier, rest)) => (modifier.trim(), rest),
        None => ("", text),
    };
    let modifiers = [("", 0), ("monotonic", MONOTONIC), ("nonmonotonic", 0)];
    let kinds = [
        ("static", Schedule::Static),
        ("dynamic", Schedule::Dynamic),
        ("guided", Schedule::Guided),
        ("auto", Schedule::Auto),
    ];
    let (kind, chunk) = match rest.split_once(',') {
        Some((kind, chunk)) => (
            kind,
            value::number(chunk).and_then(|n| i32::try_from(n).ok()),
        ),
        None => (rest, Some(0)),
    };
    let modifier = value::word_of(modifier, &modifiers);
    let (Some(modifier), Some(kind), Some(chunk)) =
        (modifier, value::word_of(kind.trim(), &kinds), chunk)
    else {
        return false;
    };
    let icv = icv::initial();
    icv.schedule.set(kind);
    icv.monotonic.set(modifier != 0);
    let least = i32::from(matches!(kind, Schedule::Dynamic | Schedule::Guided));
    icv.chunk.set(chunk.max(least));
    true
}
