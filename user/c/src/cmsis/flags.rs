//! Event flags and thread flags

use super::{
    Attributes, Block, DEFAULTS, ERROR, Kind, PARAMETER, attributes, may_wait, refused, thread,
    until,
};
use crate::THREADS;
use crate::threads::FLAGS;
use bulkhead_slite::{Events, Wish};
use core::ffi::{c_char, c_void};

/// Bit of an error, `osFlagsError`.
const FAULTY: u32 = 1 << 31;
/// Options, as in the header.
const ALL: u32 = 1;
const NO_CLEAR: u32 = 2;

impl Kind for Events {
    const MARK: u32 = u32::from_be_bytes(*b"evnt");
}

type Flags = Block<Events>;

/// Flags, or an error of the form of the header.
fn answer(result: Result<u32, i32>) -> u32 {
    result.unwrap_or_else(|error| error as u32)
}

fn valid(flags: u32) -> Result<u32, i32> {
    match flags & FAULTY {
        0 => Ok(flags),
        _ => Err(PARAMETER),
    }
}

fn wait(events: &Events, flags: u32, options: u32, timeout: u32) -> Result<u32, i32> {
    if options & !(ALL | NO_CLEAR) != 0 {
        return Err(PARAMETER);
    }
    let wish = Wish {
        flags: valid(flags)?,
        all: options & ALL != 0,
        clear: options & NO_CLEAR == 0,
    };
    may_wait(timeout)?;
    let set = events.wait_all(&THREADS, wish, until(timeout));
    set.map_err(|error| refused(error, timeout))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osEventFlagsNew(given: *const Attributes) -> *mut Flags {
    // SAFETY: attributes, by the header.
    let given = unsafe { attributes(given, DEFAULTS) };
    Block::make(&given, None, Events::new())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osEventFlagsGetName(events: *const Flags) -> *const c_char {
    // SAFETY: memory of the program.
    unsafe { Block::name(events) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osEventFlagsSet(events: *const Flags, flags: u32) -> u32 {
    // SAFETY: memory of the program.
    answer(unsafe { Block::of(events) }.and_then(|events| {
        events.object.set(&THREADS, valid(flags)?);
        Ok(events.object.flags())
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osEventFlagsClear(events: *const Flags, flags: u32) -> u32 {
    // SAFETY: memory of the program.
    answer(
        unsafe { Block::of(events) }
            .and_then(|events| Ok(events.object.clear_all(&THREADS, valid(flags)?))),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osEventFlagsGet(events: *const Flags) -> u32 {
    // SAFETY: memory of the program.
    unsafe { Block::of(events) }.map_or(0, |events| events.object.flags())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osEventFlagsWait(
    events: *const Flags,
    flags: u32,
    options: u32,
    timeout: u32,
) -> u32 {
    // SAFETY: memory of the program.
    answer(
        unsafe { Block::of(events) }
            .and_then(|events| wait(&events.object, flags, options, timeout)),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osEventFlagsDelete(events: *mut Flags) -> i32 {
    // SAFETY: memory of the program.
    unsafe { Block::delete(events, |events| events.delete(&THREADS)) }
}

/// Flags of the calling thread.
fn caller_flags() -> Result<&'static Events, i32> {
    match THREADS.current() {
        0 => Err(ERROR),
        index => FLAGS.get(index as usize).ok_or(ERROR),
    }
}

#[unsafe(no_mangle)]
extern "C" fn osThreadFlagsSet(thread: *mut c_void, flags: u32) -> u32 {
    answer(thread::live(thread).and_then(|index| {
        let events = FLAGS.get(index as usize).ok_or(PARAMETER)?;
        events.set(&THREADS, valid(flags)?);
        Ok(events.flags())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn osThreadFlagsClear(flags: u32) -> u32 {
    answer(caller_flags().and_then(|events| Ok(events.clear_all(&THREADS, valid(flags)?))))
}

#[unsafe(no_mangle)]
extern "C" fn osThreadFlagsGet() -> u32 {
    caller_flags().map_or(0, Events::flags)
}

#[unsafe(no_mangle)]
extern "C" fn osThreadFlagsWait(flags: u32, options: u32, timeout: u32) -> u32 {
    answer(caller_flags().and_then(|events| wait(events, flags, options, timeout)))
}
