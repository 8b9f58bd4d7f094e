//! `taskloop`: a loop cut into tasks, in a taskgroup unless told otherwise.

use crate::gomp::task::{Clauses, UNTIED, with_clauses};
use crate::reduction;
use crate::task::{Blueprint, Body, Copier, Flags};
use crate::taskgroup;
use crate::worker::Worker;
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};

const UP: c_uint = 1 << 8;
const GRAINSIZE: c_uint = 1 << 9;
const IF: c_uint = 1 << 10;
const NOGROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;
const STRICT: c_uint = 1 << 14;
/// Flags of a taskloop that its tasks have as well.
const TASK_FLAGS: c_uint = 1 | 2 | 4 | 16;

/// Tasks per thread where the program does not say: enough to balance, few enough to be cheap.
const TASKS_PER_THREAD: u64 = 4;

/// First two words of the arguments: the task's bounds; with reductions, the third is their set.
#[repr(C)]
struct Head {
    bounds: [u64; 2],
    reductions: *mut usize,
}

#[derive(Clone, Copy)]
struct Loop {
    plan: Blueprint,
    flags: c_uint,
    tasks: c_ulong,
    priority: c_int,
    first: u64,
    step: u64,
    count: u64,
}

impl Loop {
    /// Number of tasks.
    fn tasks(&self) -> u64 {
        let requested = self.tasks.max(1);
        if self.flags & GRAINSIZE != 0 && self.flags & STRICT != 0 {
            return self.count.div_ceil(requested);
        }
        if self.flags & GRAINSIZE != 0 {
            return (self.count / requested).max(1);
        }
        let team = u64::from(Worker::current_here().team().size());
        let target = if self.tasks == 0 {
            team * TASKS_PER_THREAD
        } else {
            requested
        };
        target.min(self.count)
    }

    fn run(self) {
        let grouped = self.flags & NOGROUP == 0;
        let head = self.plan.data.cast::<Head>();
        if grouped {
            taskgroup::start();
        }
        if grouped && self.flags & REDUCTION != 0 {
            // SAFETY: with the flag the arguments have the third word.
            reduction::register(unsafe { (*head).reductions });
        }
        if self.count != 0 {
            self.make_tasks();
        }
        if grouped {
            taskgroup::end();
        }
    }

    fn make_tasks(&self) {
        let tasks = self.tasks();
        let strict = self.flags & (GRAINSIZE | STRICT) == GRAINSIZE | STRICT;
        let (part, rest) = if strict {
            (self.tasks.max(1), 0)
        } else {
            (self.count / tasks, self.count % tasks)
        };
        let mut start = 0;
        for task in 0..tasks {
            let end = self.count.min(start + part + u64::from(task < rest));
            let value = |i: u64| self.first.wrapping_add(i.wrapping_mul(self.step));
            self.make_task([value(start), value(end)]);
            start = end;
        }
    }

    fn make_task(&self, bounds: [u64; 2]) {
        let clauses = Clauses {
            flags: self.flags & TASK_FLAGS,
            depend: core::ptr::null(),
            priority: self.priority,
            detach: core::ptr::null_mut(),
            bounds: Some(bounds),
        };
        with_clauses(
            Worker::current_here(),
            self.plan,
            self.flags & IF != 0,
            clauses,
        );
    }
}

fn blueprint(
    body: Body,
    data: *mut c_void,
    copier: Option<Copier>,
    size: c_long,
    align: c_long,
    flags: c_uint,
) -> Blueprint {
    let untied = if flags & UNTIED != 0 {
        Flags::UNTIED
    } else {
        0
    };
    Blueprint {
        body,
        data,
        copier,
        size: size as usize,
        align: align as usize,
        flags: untied,
    }
}

/// `#pragma omp taskloop` over `long`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskloop(
    body: Body,
    data: *mut c_void,
    copier: Option<Copier>,
    size: c_long,
    align: c_long,
    flags: c_uint,
    tasks: c_ulong,
    priority: c_int,
    start: c_long,
    end: c_long,
    step: c_long,
) {
    let shape =
        crate::gomp::loops::long_shape(start, end, step, 1, crate::workshare::Mode::Dynamic);
    let plan = blueprint(body, data, copier, size, align, flags);
    let (first, step, count) = (shape.first, shape.step, shape.count);
    Loop {
        plan,
        flags,
        tasks,
        priority,
        first,
        step,
        count,
    }
    .run();
}

/// `#pragma omp taskloop` over `unsigned long long`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskloop_ull(
    body: Body,
    data: *mut c_void,
    copier: Option<Copier>,
    size: c_long,
    align: c_long,
    flags: c_uint,
    tasks: c_ulong,
    priority: c_int,
    start: c_ulonglong,
    end: c_ulonglong,
    step: c_ulonglong,
) {
    let up = flags & UP != 0;
    let shape =
        crate::gomp::loops::ull_shape(up, start, end, step, 1, crate::workshare::Mode::Dynamic);
    let plan = blueprint(body, data, copier, size, align, flags);
    let (first, step, count) = (shape.first, shape.step, shape.count);
    Loop {
        plan,
        flags,
        tasks,
        priority,
        first,
        step,
        count,
    }
    .run();
}
