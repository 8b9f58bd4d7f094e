//! Threads
//!
//! A thread is named by its index and the number of threads that had its place before, so that the name of a thread that
//! has ended is never taken for another's.

use super::{ERROR, OK, PARAMETER, RESOURCE, kernel, may_wait, refused, status, until};
use crate::program::make;
use crate::threads::{self, JoinError, Request, StackRequest, place};
use crate::{THREAD_COUNT, THREADS};
use bulkhead_sched::policy::Task;
use bulkhead_slite::Condition;
use core::ffi::{c_char, c_void};
use core::ptr;

/// `osPriority_t`: none, the least, the usual and the most important one, an error.
const NO_PRIORITY: i32 = 0;
const IDLE: i32 = 1;
const NORMAL: i32 = 24;
const MOST: i32 = 56;
const PRIORITY_ERROR: i32 = -1;

// `osThreadState_t`.
const STATE_READY: i32 = 1;
const STATE_RUNNING: i32 = 2;
const STATE_BLOCKED: i32 = 3;
const STATE_TERMINATED: i32 = 4;
const STATE_ERROR: i32 = -1;

/// `osThreadJoinable`.
const JOINABLE: u32 = 1;

/// The structure of the header.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    name: *const c_char,
    bits: u32,
    block: *mut c_void,
    block_size: u32,
    stack: *mut u8,
    stack_size: u32,
    priority: i32,
    zone: u32,
    reserved: u32,
}

const DEFAULTS: Attributes = Attributes {
    name: ptr::null(),
    bits: 0,
    block: ptr::null_mut(),
    block_size: 0,
    stack: ptr::null_mut(),
    stack_size: 0,
    priority: NO_PRIORITY,
    zone: 0,
    reserved: 0,
};

/// Parameters of a thread of a priority. Priority 0 is that of a thread that has locked the kernel.
pub(super) fn task(priority: i32) -> Option<Task> {
    let given = (IDLE..=MOST).contains(&priority);
    given.then_some(Task {
        priority: (MOST + 1 - priority) as u8,
        ..Task::default()
    })
}

/// Bits of the index in a name.
const INDEX_BITS: u32 = 8;
const _: () = assert!(THREAD_COUNT < 1 << INDEX_BITS);

/// Name of the thread at an index.
pub(super) fn name_of(index: u64) -> *mut c_void {
    let generation = place(index, |place| place.generation);
    generation.map_or(ptr::null_mut(), |generation| {
        ptr::without_provenance_mut((u64::from(generation) << INDEX_BITS | index) as usize)
    })
}

/// Index of a thread, which may have ended and not be joined yet.
fn index_of(name: *mut c_void) -> Result<u64, i32> {
    let index = name.addr() as u64 & ((1 << INDEX_BITS) - 1);
    let is_it = !name.is_null() && name_of(index) == name;
    let is_there = || {
        THREADS.condition(index).is_some() || place(index, |place| place.is_joinable) == Some(true)
    };
    (is_it && is_there()).then_some(index).ok_or(PARAMETER)
}

/// Index of a thread that has not ended.
pub(super) fn live(name: *mut c_void) -> Result<u64, i32> {
    let index = index_of(name)?;
    THREADS.condition(index).map(|_| index).ok_or(RESOURCE)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osThreadNew(
    function: Option<extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
    given: *const Attributes,
) -> *mut c_void {
    // SAFETY: attributes, by the header.
    let given = unsafe { super::attributes(given, DEFAULTS) };
    let priority = match given.priority {
        NO_PRIORITY => NORMAL,
        priority => priority,
    };
    let (Some(function), Some(task), true) = (function, task(priority), kernel::is_initialised())
    else {
        return ptr::null_mut();
    };
    let has_bad_memory = !given.block.is_null() && given.block_size == 0
        || !given.stack.is_null() && given.stack_size == 0
        || given.bits & !JOINABLE != 0;
    if has_bad_memory {
        return ptr::null_mut();
    }
    let bytes = given.stack_size.into();
    let index = make(&Request {
        entry: threads::body,
        words: [function as *mut c_void, argument],
        task,
        stack: match given.stack.is_null() {
            true => StackRequest::Bytes(bytes),
            false => StackRequest::Given(given.stack, bytes),
        },
        is_joinable: given.bits & JOINABLE != 0,
        name: given.name,
    });
    u64::try_from(index).map_or(ptr::null_mut(), name_of)
}

#[unsafe(no_mangle)]
extern "C" fn osThreadGetName(thread: *mut c_void) -> *const c_char {
    let name = index_of(thread)
        .ok()
        .and_then(|index| place(index, |place| place.name));
    name.unwrap_or(ptr::null())
}

#[unsafe(no_mangle)]
extern "C" fn osThreadGetId() -> *mut c_void {
    name_of(THREADS.current())
}

#[unsafe(no_mangle)]
extern "C" fn osThreadGetState(thread: *mut c_void) -> i32 {
    let Ok(index) = index_of(thread) else {
        return STATE_ERROR;
    };
    match THREADS.condition(index) {
        Some(Condition::Running) => STATE_RUNNING,
        Some(Condition::Ready) => STATE_READY,
        Some(Condition::Blocked) => STATE_BLOCKED,
        None => STATE_TERMINATED,
    }
}

#[unsafe(no_mangle)]
extern "C" fn osThreadGetStackSize(thread: *mut c_void) -> u32 {
    stack(thread).map_or(0, |[bytes, _]| bytes as u32)
}

#[unsafe(no_mangle)]
extern "C" fn osThreadGetStackSpace(thread: *mut c_void) -> u32 {
    stack(thread).map_or(0, |[bytes, used]| (bytes - used) as u32)
}

/// Bytes of a thread's stack, and those that were ever used.
fn stack(thread: *mut c_void) -> Option<[u64; 2]> {
    let index = index_of(thread).ok()?;
    let stack = place(index, |place| place.stack)??;
    Some([stack.bytes(), stack.used()])
}

#[unsafe(no_mangle)]
extern "C" fn osThreadSetPriority(thread: *mut c_void, priority: i32) -> i32 {
    status(task(priority).ok_or(PARAMETER).and_then(|task| {
        let index = live(thread)?;
        place(index, |place| place.task = task);
        let is_set = THREADS.set_parameters(index, task);
        is_set.then_some(()).ok_or(RESOURCE)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn osThreadGetPriority(thread: *mut c_void) -> i32 {
    let task = live(thread)
        .ok()
        .and_then(|index| place(index, |place| place.task));
    task.map_or(PRIORITY_ERROR, |task| MOST + 1 - i32::from(task.priority))
}

#[unsafe(no_mangle)]
extern "C" fn osThreadYield() -> i32 {
    match THREADS.current() {
        0 => ERROR,
        _ => {
            THREADS.yield_now();
            OK
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn osThreadSuspend(thread: *mut c_void) -> i32 {
    status(live(thread).and_then(|index| {
        if index == THREADS.current() {
            may_wait(1)?;
        }
        THREADS.suspend(index).then_some(()).ok_or(RESOURCE)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn osThreadResume(thread: *mut c_void) -> i32 {
    status(live(thread).and_then(|index| THREADS.resume(index).then_some(()).ok_or(RESOURCE)))
}

#[unsafe(no_mangle)]
extern "C" fn osThreadDetach(thread: *mut c_void) -> i32 {
    status(index_of(thread).and_then(|index| {
        let was_joinable = place(index, |place| core::mem::take(&mut place.is_joinable));
        (was_joinable == Some(true)).then_some(()).ok_or(RESOURCE)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn osThreadJoin(thread: *mut c_void) -> i32 {
    status(index_of(thread).and_then(|index| {
        may_wait(1)?;
        threads::join(index, until(super::FOREVER)).map_err(|error| match error {
            JoinError::NotJoinable => RESOURCE,
            JoinError::Waited(error) => refused(error, super::FOREVER),
        })
    }))
}

#[unsafe(no_mangle)]
extern "C" fn osThreadExit() -> ! {
    threads::end_current()
}

#[unsafe(no_mangle)]
extern "C" fn osThreadTerminate(thread: *mut c_void) -> i32 {
    status(live(thread).and_then(|index| match threads::end(index) {
        OK => Ok(()),
        _ => Err(RESOURCE),
    }))
}

/// Threads that have not ended, but for the one that serves timers.
fn live_threads() -> impl Iterator<Item = *mut c_void> {
    let others = (1..=THREAD_COUNT as u64).filter(|index| *index != super::timer::server());
    others
        .filter(|index| THREADS.condition(*index).is_some())
        .map(name_of)
}

#[unsafe(no_mangle)]
extern "C" fn osThreadGetCount() -> u32 {
    live_threads().count() as u32
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osThreadEnumerate(places: *mut *mut c_void, count: u32) -> u32 {
    if places.is_null() {
        return 0;
    }
    let mut found = 0;
    for name in live_threads().take(count as usize) {
        // SAFETY: the caller's places, of that number.
        unsafe { places.wrapping_add(found).write(name) };
        found += 1;
    }
    found as u32
}
