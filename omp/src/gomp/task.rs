//! Explicit tasks.

use crate::depend;
use crate::depend_list;
use crate::detach;
use crate::reduction;
use crate::task::{Blueprint, Body, Copier, Flags, Task};
use crate::taskgroup;
use crate::worker::Worker;
use core::ffi::{c_int, c_long, c_uint, c_void};

pub(crate) const UNTIED: c_uint = 1;
const FINAL: c_uint = 2;
const DEPEND: c_uint = 8;
const PRIORITY: c_uint = 16;
const DETACH: c_uint = 1 << 13;

/// Clauses of a task construct.
#[derive(Clone, Copy)]
pub(crate) struct Clauses {
    pub(crate) flags: c_uint,
    pub(crate) depend: *const *mut c_void,
    pub(crate) priority: c_int,
    pub(crate) detach: *mut c_void,
    /// First two words of a taskloop task's arguments.
    pub(crate) bounds: Option<[u64; 2]>,
}

impl Clauses {
    fn set_bounds(&self, task: &Task) {
        if let Some(bounds) = self.bounds {
            // SAFETY: the arguments of a taskloop's task start with its bounds.
            unsafe { task.argument().cast::<[u64; 2]>().write(bounds) };
        }
    }
}

/// `#pragma omp task`.
///
/// # Safety
/// As the compiler calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_task(
    body: Body,
    data: *mut c_void,
    copier: Option<Copier>,
    size: c_long,
    align: c_long,
    deferred: bool,
    flags: c_uint,
    depend: *const *mut c_void,
    priority: c_int,
    detach: *mut c_void,
) {
    let clauses = flags & (FINAL | DEPEND | PRIORITY | DETACH);
    // Each case is a function of its own, so that none saves registers for another; arguments stay in theirs.
    let worker = match Worker::attached() {
        Some(worker) if clauses == 0 && copier.is_none() => worker,
        _ => {
            return task_with_clauses(
                body, data, copier, size, align, deferred, flags, depend, priority, detach,
            );
        }
    };
    if !deferred || worker.current().has(Flags::UNDEFERS) || worker.has_plenty() {
        run_plain(body, data, worker, flags);
    } else {
        defer_plain(body, data, worker, size, align, flags);
    }
}

/// The task's flag for the construct's flag [`UNTIED`].
fn untied(flags: c_uint) -> u32 {
    if flags & UNTIED != 0 {
        Flags::UNTIED
    } else {
        0
    }
}

/// [`GOMP_task`] with more than a body.
#[inline(never)]
extern "C" fn task_with_clauses(
    body: Body,
    data: *mut c_void,
    copier: Option<Copier>,
    size: c_long,
    align: c_long,
    deferred: bool,
    flags: c_uint,
    depend: *const *mut c_void,
    priority: c_int,
    detach: *mut c_void,
) {
    let (size, align) = (size as usize, align as usize);
    let plan = Blueprint {
        body,
        data,
        copier,
        size,
        align,
        flags: untied(flags),
    };
    let clauses = Clauses {
        flags,
        depend,
        priority,
        detach,
        bounds: None,
    };
    with_clauses(Worker::current_here(), plan, deferred, clauses);
}

/// [`GOMP_task`] with nothing but a body, which must or may run at once.
#[inline(never)]
fn run_plain(body: Body, data: *mut c_void, worker: &'static Worker, flags: c_uint) {
    match worker.tasks().get_kept() {
        Some(task) => task.run_undeferred(worker, body, data, untied(flags)),
        None => run_fresh(body, data, worker, flags),
    }
}

/// [`run_plain`] where a descriptor has to be made.
#[cold]
#[inline(never)]
fn run_fresh(body: Body, data: *mut c_void, worker: &'static Worker, flags: c_uint) {
    let plan = Blueprint {
        body,
        data,
        copier: None,
        size: 0,
        align: 1,
        flags: untied(flags),
    };
    run_now(worker, &plan, None);
}

/// [`GOMP_task`] with nothing but a body.
#[inline(never)]
fn defer_plain(
    body: Body,
    data: *mut c_void,
    worker: &'static Worker,
    size: c_long,
    align: c_long,
    flags: c_uint,
) {
    let plan = Blueprint {
        body,
        data,
        copier: None,
        size: size as usize,
        align: align as usize,
        flags: untied(flags),
    };
    let Some(task) = Task::create(worker, &plan) else {
        return run_now(worker, &plan, None);
    };
    worker.count_created();
    worker.enqueue(task);
    if worker.is_flooded() {
        worker.yield_task();
    }
}

#[cold]
fn run_now(worker: &'static Worker, plan: &Blueprint, clauses: Option<&Clauses>) {
    let parent = worker.current();
    let Some(task) = Task::create_undeferred(worker, plan) else {
        crate::report::fatal(format_args!("no memory for a task"))
    };
    if let Some(clauses) = clauses {
        clauses.set_bounds(task);
    }
    // A copy constructor may have waited, and gone on elsewhere.
    task.run_in_place(Worker::current_here(), parent);
}

pub(crate) fn with_clauses(
    worker: &'static Worker,
    mut plan: Blueprint,
    deferred: bool,
    clauses: Clauses,
) {
    if clauses.flags & FINAL != 0 {
        plan.flags |= Flags::FINAL;
    }
    let included = worker.current().has(Flags::FINAL);
    let outside = worker.current().has(Flags::OUTSIDE) && clauses.flags & DETACH == 0;
    let deferred = deferred && !included && !outside;
    if !deferred && clauses.flags & DETACH == 0 {
        if clauses.flags & DEPEND != 0 {
            // SAFETY: the compiler's dependence array, alive during the call.
            depend::wait(unsafe { depend_list::decode(clauses.depend) });
        }
        return run_now(Worker::current_here(), &plan, Some(&clauses));
    }
    if deferred {
        return submit(worker, &plan, clauses);
    }
    // An undeferred task with an event holds up its creator until the event is fulfilled.
    taskgroup::start();
    submit(worker, &plan, clauses);
    taskgroup::end();
}

fn submit(worker: &'static Worker, plan: &Blueprint, clauses: Clauses) {
    let Some(task) = Task::create(worker, plan) else {
        return run_now(worker, plan, Some(&clauses));
    };
    clauses.set_bounds(task);
    // A copy constructor may have waited, and gone on elsewhere.
    let worker = Worker::current_here();
    worker.count_created();
    queue(worker, task, clauses);
    if worker.is_flooded() {
        worker.yield_task();
    }
}

fn queue(worker: &'static Worker, task: &'static Task, clauses: Clauses) {
    let limit = crate::icv::MAX_TASK_PRIORITY.load(core::sync::atomic::Ordering::Relaxed);
    let priority = if clauses.flags & PRIORITY != 0 {
        clauses.priority.clamp(0, limit)
    } else {
        0
    };
    task.priority.set(priority);
    if clauses.flags & DETACH != 0 {
        detach::arm(task, worker.team());
        let event = clauses.detach.cast::<*const Task>();
        // SAFETY: the compiler passes the address of the event's variable.
        unsafe { event.write(task) };
        // SAFETY: the first word of the arguments is the task's own copy of that variable.
        unsafe { task.argument().cast::<*const Task>().write(task) };
    }
    if clauses.flags & DEPEND != 0 {
        // SAFETY: the compiler's dependence array, alive during the call.
        depend::submit(worker, task, unsafe { depend_list::decode(clauses.depend) });
    } else if priority > 0 {
        worker.team().urgent().push(task);
        worker.notify();
    } else {
        worker.enqueue(task);
    }
}

/// `#pragma omp taskwait`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskwait() {
    let worker = Worker::current_here();
    worker.current().wait_for_children(worker);
}

/// `#pragma omp taskyield`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskyield() {
    Worker::current_here().yield_task();
}

/// `#pragma omp taskgroup`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_start() {
    taskgroup::start();
}

/// Waits for the taskgroup's tasks and closes it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_end() {
    taskgroup::end();
}

/// `#pragma omp taskwait depend(…)`.
///
/// # Safety
/// `depend` is the compiler's dependence array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskwait_depend(depend: *const *mut c_void) {
    // SAFETY: the caller's promise.
    depend::wait(unsafe { depend_list::decode(depend) });
}

extern "C" fn nothing(_: *mut c_void) {}

/// `#pragma omp taskwait depend(…) nowait`: an empty task in the order of its siblings.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskwait_depend_nowait(depend: *const *mut c_void) {
    let data = core::ptr::null_mut();
    let plan = Blueprint {
        body: nothing,
        data,
        copier: None,
        size: 0,
        align: 1,
        flags: 0,
    };
    let (flags, detach) = (DEPEND, core::ptr::null_mut());
    with_clauses(
        Worker::current_here(),
        plan,
        true,
        Clauses {
            flags,
            depend,
            priority: 0,
            detach,
            bounds: None,
        },
    );
}

/// `taskgroup task_reduction(…)`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_reduction_register(descriptor: *mut usize) {
    reduction::register(descriptor);
}

/// The compiler has combined the copies.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_reduction_unregister(descriptor: *mut usize) {
    reduction::free(descriptor);
}

/// `task in_reduction(…)`: from addresses that the task knows to those of its thread's copies.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_task_reduction_remap(count: usize, originals: usize, addresses: *mut usize) {
    reduction::remap(count, originals, addresses);
}

/// Ends the taskgroup around a worksharing construct with task reductions.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_workshare_task_reduction_unregister(cancelled: bool) {
    let copies = reduction::copies_of_loop(Worker::current_here());
    taskgroup::end();
    if !cancelled {
        crate::barrier::wait(Worker::current_here());
    }
    reduction::leave_loop(copies);
}
