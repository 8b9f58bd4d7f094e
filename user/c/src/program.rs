//! Start, time, threads, timers, notifications, output

use bulkhead_abi::guest::{ChannelEnd, GuestInfo, NONE};
use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_component::call::call;
use bulkhead_component::first::argument_text;
use bulkhead_component::{First, clock, console};
use bulkhead_sched::policy::{Chosen, Task};
use bulkhead_slite::{Expiry, Mutex, NEVER, Periodic, Timers};
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

use crate::resources::{MEANS, TASKS};
use crate::threads::{self, JoinError, Request, StackRequest};
use crate::{Number, OK, REFUSED, THREAD_COUNT, THREADS, TIMER_COUNT, guard, heap, task_of, woken};

type Body = extern "C" fn(*mut c_void);
type Action = extern "C" fn(*mut c_void, u64);

unsafe extern "C" {
    fn slite_main() -> i32;
}

/// Environment of the component, with its channels.
static INFO: Mutex<Option<GuestInfo>> = Mutex::new(None);
/// Threads were made.
static HAS_THREADS: AtomicBool = AtomicBool::new(false);
/// Actions of the timers and their arguments.
static ACTIONS: [[AtomicPtr<c_void>; 2]; TIMER_COUNT] =
    [const { [const { AtomicPtr::new(core::ptr::null_mut()) }; 2] }; TIMER_COUNT];
pub(crate) static TIMERS: Timers<TIMER_COUNT> = Timers::new();

bulkhead_component::component!(run);

fn run(mut first: First) -> ! {
    let started = start(&mut first);
    let _kept = guard::with(&MEANS, |means| means.first = Some(first));
    let code = match started {
        Ok(()) => {
            heap::open();
            bulkhead_libc::construct();
            // SAFETY: the program's own.
            unsafe { slite_main() }
        }
        Err(status) => {
            console::print(format_args!("not started: {status:?}"));
            status as i32
        }
    };
    bulkhead_libc::flush();
    if code == OK {
        THREADS.run(NEVER);
        loop {
            clock::wait_for_interrupt();
        }
    }
    bulkhead_exit(code)
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_exit(code: i32) -> ! {
    console::print(format_args!("stopped: {code}"));
    let _gone = call(first::MONITOR, Operation::Fail, [code as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_thread_number() -> u32 {
    THREADS.current() as u32
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_now_ns() -> u64 {
    clock::nanos(clock::now())
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_sleep_ns(ns: u64) {
    THREADS.sleep_until(clock::now().saturating_add(clock::ticks(ns)));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_print(text: *const u8, length: usize) {
    // SAFETY: the caller's.
    unsafe { slite_print(text, length) }
}

fn start(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    THREADS.prepare(first)?;
    TASKS.open(&THREADS, first, &info)?;
    if let Some(name) = argument_text(&info, "policy") {
        if !THREADS.with_policy(|policy, _| policy.choose(name, quantum(0))) {
            return Err(Status::BadArgument);
        }
        NAMED.store(1, Relaxed);
    }
    let _kept = guard::with(&INFO, |kept| *kept = Some(info));
    Ok(())
}

/// True if the description chooses the policy.
static NAMED: AtomicUsize = AtomicUsize::new(0);

/// A quantum of so many ticks; 0: a millisecond.
fn quantum(ticks: u64) -> u64 {
    match ticks {
        0 => clock::frequency() / 1000,
        ticks => ticks,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_policy(name: *const c_char, ticks: u64) -> i32 {
    // SAFETY: a string of the caller's.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("");
    if HAS_THREADS.load(Relaxed) || !Chosen::<THREAD_COUNT>::NAMES.contains(&name) {
        return REFUSED;
    }
    if NAMED.load(Relaxed) == 0 {
        THREADS.with_policy(|policy, _| policy.choose(name, quantum(ticks)));
    }
    OK
}

#[unsafe(no_mangle)]
extern "C" fn slite_now() -> u64 {
    clock::now()
}

#[unsafe(no_mangle)]
extern "C" fn slite_frequency() -> u64 {
    clock::frequency()
}

#[unsafe(no_mangle)]
extern "C" fn slite_after_us(us: u64) -> u64 {
    clock::now().saturating_add(us.saturating_mul(clock::frequency()) / 1_000_000)
}

extern "C" fn serve_timers(_: u64) -> ! {
    TIMERS.serve(&THREADS)
}

/// Makes a thread. Returns its index or an error.
pub(crate) fn make(request: &Request) -> i32 {
    HAS_THREADS.store(true, Relaxed);
    threads::create(request).map_or_else(|error| error, |index| index as i32)
}

/// Makes the thread that serves the timers.
pub(crate) fn make_timers(task: Task) -> i32 {
    make(&Request {
        entry: serve_timers,
        words: [core::ptr::null_mut(); 2],
        task,
        stack: StackRequest::Bytes(0),
        is_joinable: false,
        name: c"timers".as_ptr(),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_thread(function: Body, argument: *mut c_void, task: *const Task) -> i32 {
    // SAFETY: the caller's.
    let task = unsafe { task_of(task) };
    make(&Request {
        entry: threads::body,
        words: [function as *mut c_void, argument],
        task,
        stack: StackRequest::Bytes(0),
        is_joinable: false,
        name: core::ptr::null(),
    })
}

/// The structure of the header.
#[repr(C)]
struct ThreadAttributes {
    task: Task,
    stack: *mut u8,
    stack_bytes: usize,
    name: *const c_char,
    joinable: i32,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_thread_create(
    function: Body,
    argument: *mut c_void,
    attributes: *const ThreadAttributes,
) -> i32 {
    // SAFETY: the caller's.
    let attributes = unsafe { &*attributes };
    let bytes = attributes.stack_bytes as u64;
    make(&Request {
        entry: threads::body,
        words: [function as *mut c_void, argument],
        task: attributes.task,
        stack: match attributes.stack.is_null() {
            true => StackRequest::Bytes(bytes),
            false => StackRequest::Given(attributes.stack, bytes),
        },
        is_joinable: attributes.joinable != 0,
        name: attributes.name,
    })
}

#[unsafe(no_mangle)]
extern "C" fn slite_thread_join(thread: i32, until: u64) -> i32 {
    match threads::join(thread as u64, until) {
        Ok(()) => OK,
        Err(JoinError::NotJoinable) => REFUSED,
        Err(JoinError::Waited(error)) => error.number(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn slite_thread_end(thread: i32) -> i32 {
    threads::end(thread as u64)
}

#[unsafe(no_mangle)]
extern "C" fn slite_thread_suspend(thread: i32) -> i32 {
    if THREADS.suspend(thread as u64) {
        OK
    } else {
        REFUSED
    }
}

#[unsafe(no_mangle)]
extern "C" fn slite_thread_resume(thread: i32) -> i32 {
    if THREADS.resume(thread as u64) {
        OK
    } else {
        REFUSED
    }
}

/// The structure of the header.
#[repr(C)]
struct ThreadFigures {
    stack_bytes: u64,
    stack_used: u64,
    run_time: u64,
    name: *const c_char,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_thread_figures(thread: i32, figures: *mut ThreadFigures) -> i32 {
    let found = threads::place(thread as u64, |place| (place.stack, place.name));
    let Some((Some(stack), name)) = found else {
        return REFUSED;
    };
    let found = ThreadFigures {
        stack_bytes: stack.bytes(),
        stack_used: stack.used(),
        run_time: THREADS.run_time(thread as u64),
        name,
    };
    // SAFETY: the caller's.
    unsafe { figures.write(found) };
    OK
}

#[unsafe(no_mangle)]
extern "C" fn slite_idle_time() -> u64 {
    THREADS.run_time(u64::MAX)
}

#[unsafe(no_mangle)]
extern "C" fn slite_thread_self() -> i32 {
    THREADS.current() as i32
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_thread_task(thread: i32, task: *const Task) -> i32 {
    // SAFETY: the caller's.
    let task = unsafe { task_of(task) };
    if THREADS.set_parameters(thread as u64, task) {
        OK
    } else {
        REFUSED
    }
}

#[unsafe(no_mangle)]
extern "C" fn slite_thread_exit() -> ! {
    threads::end_current()
}

#[unsafe(no_mangle)]
extern "C" fn slite_yield() {
    THREADS.yield_now();
}

#[unsafe(no_mangle)]
extern "C" fn slite_block(until: u64) -> i32 {
    woken(THREADS.block(until))
}

#[unsafe(no_mangle)]
extern "C" fn slite_wakeup(thread: i32) {
    THREADS.wakeup(thread as u64);
}

#[unsafe(no_mangle)]
extern "C" fn slite_sleep_until(until: u64) {
    THREADS.sleep_until(until);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_periodic_wait(task: *mut Periodic) -> u64 {
    // SAFETY: the caller's own.
    let task = unsafe { &mut *task };
    guard::hold(|| TASKS.wait(&THREADS, task))
}

/// Calls the function that C set for the timer.
fn expire(timer: u64, due: u64) {
    if let Some([action, argument]) = ACTIONS.get(timer as usize) {
        // SAFETY: `slite_timer_start` stored a function.
        let action: Action = unsafe { core::mem::transmute(action.load(Relaxed)) };
        action(argument.load(Relaxed), due);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_timers(task: *const Task) -> i32 {
    // SAFETY: the caller's.
    let task = unsafe { task_of(task) };
    make_timers(task)
}

#[unsafe(no_mangle)]
extern "C" fn slite_timer_start(
    timer: i32,
    due: u64,
    period: u64,
    action: Action,
    argument: *mut c_void,
) -> i32 {
    let Some(place) = ACTIONS.get(timer as usize) else {
        return REFUSED;
    };
    TIMERS.stop(&THREADS, timer as usize);
    place[0].store(action as *mut c_void, Relaxed);
    place[1].store(argument, Relaxed);
    let expiry = Expiry {
        period,
        action: expire,
        argument: timer as u64,
    };
    TIMERS.start(&THREADS, timer as usize, due, expiry);
    OK
}

#[unsafe(no_mangle)]
extern "C" fn slite_timer_stop(timer: i32) -> i32 {
    if TIMERS.stop(&THREADS, timer as usize) {
        OK
    } else {
        REFUSED
    }
}

/// The structure of the header.
#[repr(C)]
struct ReceiveEnd {
    receive: u64,
    send: u64,
}

fn status(result: Result<u64, Status>) -> i32 {
    result.map_or(REFUSED, |value| value as i32)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_end_point(thread: i32, place: *mut ReceiveEnd) -> i32 {
    let sides = guard::with(&MEANS, |means| {
        let first = means.first.as_mut()?;
        THREADS.receive_end(first, thread as u64).ok()
    });
    let Some(Some([receive, send])) = sides else {
        return REFUSED;
    };
    // SAFETY: the caller's own.
    unsafe { place.write(ReceiveEnd { receive, send }) };
    OK
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_wait_notified(place: *const ReceiveEnd) -> i32 {
    // SAFETY: the caller's own.
    let receive = unsafe { (*place).receive };
    status(THREADS.wait_notified(receive))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_notify(place: *const ReceiveEnd) -> i32 {
    // SAFETY: the caller's own.
    let send = unsafe { (*place).send };
    status(call(send, Operation::Send, []))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_listen(place: *const ReceiveEnd, intid: u64) -> i32 {
    // SAFETY: the caller's own.
    let send = unsafe { (*place).send };
    status(call(first::INTERRUPT, Operation::Listen, [intid, send]))
}

/// A number of this partition's end of a channel; nothing if it has no such end.
fn of_channel(name: *const c_char, number: impl FnOnce(&ChannelEnd) -> u32) -> Option<u64> {
    // SAFETY: a string of the caller's.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let found = guard::with(&INFO, |info| {
        let ends = &info.as_ref()?.channels;
        let end = ends
            .iter()
            .find(|end| name_text(&end.name).as_bytes() == name);
        end.map(number).filter(|number| *number != NONE)
    });
    found.flatten().map(u64::from)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_doorbell(channel: *const c_char) -> u64 {
    of_channel(channel, |end| end.doorbell_in).unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_ring(channel: *const c_char) -> i32 {
    let Some(doorbell) = of_channel(channel, |end| end.doorbell_out) else {
        return REFUSED;
    };
    status(call(first::MONITOR, Operation::Ring, [doorbell]).map(|_| 0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn slite_print(text: *const u8, length: usize) {
    static LINE: Mutex<()> = Mutex::new(());
    let bytes = match length {
        0 => &[],
        // SAFETY: the caller's.
        _ => unsafe { core::slice::from_raw_parts(text, length) },
    };
    let _in_turn = guard::with(&LINE, |()| console::print_bytes(bytes));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn slite_up() {
    let _refused_never = call(first::MONITOR, Operation::Up, []);
}
