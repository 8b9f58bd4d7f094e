//! Timers
//!
//! Callbacks run in one thread, of priority `osPriorityHigh`, which the first timer makes.

use super::{
    Attributes, Block, DEFAULTS, Kind, OK, PARAMETER, RESOURCE, attributes, clock_ticks, status,
};
use crate::program::{TIMERS, make_timers};
use crate::{THREADS, TIMER_COUNT};
use bulkhead_component::clock;
use bulkhead_slite::Expiry;
use core::ffi::{c_char, c_void};
use core::ptr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// `osPriorityHigh`.
const HIGH: i32 = 40;
/// `osTimerPeriodic`.
const PERIODIC: i32 = 1;

/// A timer.
struct Timer {
    number: usize,
    is_periodic: bool,
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

impl Kind for Timer {
    const MARK: u32 = u32::from_be_bytes(*b"timr");
}

type Handle = Block<Timer>;

/// Numbers that are taken, one bit each.
static TAKEN: AtomicU64 = AtomicU64::new(0);
const _: () = assert!(TIMER_COUNT <= u64::BITS as usize);
/// Index of the thread that serves them; 0: none yet.
static SERVER: AtomicU64 = AtomicU64::new(0);

pub(super) fn server() -> u64 {
    SERVER.load(Relaxed)
}

/// Makes the thread that serves timers, once.
fn serve() -> bool {
    let Some(task) = super::thread::task(HIGH) else {
        return false;
    };
    if SERVER.load(Relaxed) == 0 {
        match u64::try_from(make_timers(task)) {
            Ok(index) => SERVER.store(index, Relaxed),
            Err(_) => return false,
        }
    }
    true
}

fn take_number() -> Option<usize> {
    let take = |taken: u64| {
        let free = taken.trailing_ones();
        (free < TIMER_COUNT as u32).then_some(taken | 1 << free)
    };
    let before = TAKEN.fetch_update(Relaxed, Relaxed, take).ok()?;
    Some(before.trailing_ones() as usize)
}

fn give_number(number: usize) {
    TAKEN.fetch_and(!(1 << number), Relaxed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osTimerNew(
    function: Option<extern "C" fn(*mut c_void)>,
    kind: i32,
    argument: *mut c_void,
    given: *const Attributes,
) -> *mut Handle {
    // SAFETY: attributes, by the header.
    let given = unsafe { attributes(given, DEFAULTS) };
    let (Some(function), 0..=PERIODIC) = (function, kind) else {
        return ptr::null_mut();
    };
    if !super::kernel::is_initialised() || !serve() {
        return ptr::null_mut();
    }
    let Some(number) = take_number() else {
        return ptr::null_mut();
    };
    let timer = Timer {
        number,
        is_periodic: kind == PERIODIC,
        function,
        argument,
    };
    let made = Block::make(&given, None, timer);
    if made.is_null() {
        give_number(number);
    }
    made
}

/// Calls the function of a timer; `block` is its control block.
fn expire(block: u64, _due: u64) {
    let block: *const Handle = ptr::with_exposed_provenance(block as usize);
    // SAFETY: a control block of a timer, of which the memory stays mapped.
    if let Ok(timer) = unsafe { Block::of(block) } {
        (timer.object.function)(timer.object.argument);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osTimerGetName(timer: *const Handle) -> *const c_char {
    // SAFETY: memory of the program.
    unsafe { Block::name(timer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osTimerStart(timer: *const Handle, ticks: u32) -> i32 {
    // SAFETY: memory of the program.
    status(unsafe { Block::of(timer) }.and_then(|block| {
        if ticks == 0 {
            return Err(PARAMETER);
        }
        let distance = clock_ticks(ticks.into());
        let expiry = Expiry {
            period: if block.object.is_periodic {
                distance
            } else {
                0
            },
            action: expire,
            argument: timer.expose_provenance() as u64,
        };
        let due = clock::now().saturating_add(distance);
        let is_started = TIMERS.start(&THREADS, block.object.number, due, expiry);
        is_started.then_some(()).ok_or(RESOURCE)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osTimerStop(timer: *const Handle) -> i32 {
    // SAFETY: memory of the program.
    status(unsafe { Block::of(timer) }.and_then(|block| {
        let was_running = TIMERS.stop(&THREADS, block.object.number);
        was_running.then_some(()).ok_or(RESOURCE)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osTimerIsRunning(timer: *const Handle) -> u32 {
    // SAFETY: memory of the program.
    let block = unsafe { Block::of(timer) };
    block
        .is_ok_and(|block| TIMERS.is_running(&THREADS, block.object.number))
        .into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osTimerDelete(timer: *mut Handle) -> i32 {
    // SAFETY: memory of the program.
    let number = match unsafe { Block::of(timer) } {
        Ok(block) => block.object.number,
        Err(error) => return error,
    };
    // SAFETY: memory of the program.
    let deleted = unsafe {
        Block::delete(timer, |timer| {
            let _was_running = TIMERS.stop(&THREADS, timer.number);
        })
    };
    if deleted == OK {
        give_number(number);
    }
    deleted
}
