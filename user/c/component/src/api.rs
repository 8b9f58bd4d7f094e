//! The functions of `include/bulkhead.h`, which documents them

use crate::env;
use bulkhead_abi::guest::ChannelEnd;
use bulkhead_abi::kernel::Status;
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_buffers::Error;
use bulkhead_component::invocation::invoke;
use bulkhead_component::pipes::{Pipes, Refused};
use bulkhead_component::{Environment, clock};
use bulkhead_guest::release::Releases;
use bulkhead_guest::{Arrival, BytesReceiver, BytesSender, Home, Job, Period, trace};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_long};
use core::ptr;
use core::sync::atomic::Ordering::Release;

const OK: c_int = 0;
const UNKNOWN: c_int = -1;
const FULL: c_int = -2;
const EMPTY: c_int = -3;
const SIZE: c_int = -4;
const CORRUPT: c_int = -5;
const REFUSED: c_int = -6;

/// # Safety
/// `text` is a string.
unsafe fn text<'t>(text: *const c_char) -> &'t str {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

const fn number(error: Error) -> c_int {
    match error {
        Error::Full | Error::Floor => FULL,
        Error::Empty => EMPTY,
        Error::Length => SIZE,
        Error::Corrupt => CORRUPT,
    }
}

fn status<T>(result: Result<T, Status>) -> c_int {
    match result {
        Ok(_) => OK,
        Err(Status::NoCapability) => UNKNOWN,
        Err(_) => REFUSED,
    }
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_name() -> *const c_char {
    // Names have at most 15 characters, so that the field ends with a zero.
    env().info().name.as_ptr().cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_argument(key: *const c_char, place: *mut u8, size: usize) -> c_long {
    // SAFETY: a string of the caller's.
    let Some(value) = env().argument(unsafe { text(key) }) else {
        return c_long::from(UNKNOWN);
    };
    if let Some(room) = size.checked_sub(1) {
        let count = room.min(value.len());
        // SAFETY: the caller's place.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), place, count) };
        // SAFETY: as above, `count` is below `size`.
        unsafe { place.wrapping_add(count).write(0) };
    }
    value.len() as c_long
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_argument_number(key: *const c_char, usual: u64) -> u64 {
    // SAFETY: a string of the caller's.
    env().number(unsafe { text(key) }, usual)
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_up() -> c_int {
    status(env().ready())
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_beat() -> c_int {
    let word = env().heartbeat();
    word.map_or(UNKNOWN, |word| {
        word.store(clock::now(), Release);
        OK
    })
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_now() -> u64 {
    clock::now()
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_frequency() -> u64 {
    clock::frequency()
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_after_us(us: u64) -> u64 {
    clock::now().saturating_add(clock::ticks(us.saturating_mul(1000)))
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_sleep_until(tick: u64) {
    env().sleep_until(tick);
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_yield() {
    env().give_way();
}

/// The structure of the header.
#[repr(C)]
struct Periodic {
    period: u64,
    next: u64,
    number: u64,
    overruns: u64,
    name: *const c_char,
    release: u64,
    start: u64,
}

impl Periodic {
    fn event_name(&self) -> trace::Name {
        // SAFETY: the caller's string, which stays.
        name_field(unsafe { text(self.name) })
    }

    fn record(&self, kind: EventKind, [ticks, a, b]: [u64; 3]) {
        Environment::record(&Event {
            ticks,
            kind: kind as u32,
            sequence: (self.number as u32).wrapping_sub(1),
            a,
            b,
            name: self.event_name(),
        });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_periodic_start(
    task: *mut Periodic,
    name: *const c_char,
    period_ns: u64,
) {
    let now = clock::now();
    let releases = Releases::after(now, Period::from_nanos(period_ns), clock::frequency());
    let begun = Periodic {
        period: releases.period_ticks(),
        next: releases.next_ticks(),
        number: 0,
        overruns: 0,
        name,
        release: 0,
        start: 0,
    };
    begun.record(EventKind::TaskBegun, [now, begun.period, begun.next]);
    // SAFETY: the caller's place.
    unsafe { task.write(begun) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_periodic_wait(task: *mut Periodic) -> u64 {
    // SAFETY: the caller's own.
    let task = unsafe { &mut *task };
    let now = clock::now();
    if task.number > 0 {
        let job = Job {
            number: task.number - 1,
            release: task.release,
            start: task.start,
            skipped: 0,
        };
        Environment::record(&job.event(task.event_name(), now));
    }
    let late = now.saturating_sub(task.next).checked_div(task.period);
    let skipped = late.unwrap_or(0);
    task.next += skipped * task.period;
    env().sleep_until(task.next);
    (task.release, task.start) = (task.next, clock::now());
    task.number += 1;
    task.overruns += skipped;
    task.next += task.period;
    if skipped > 0 {
        task.record(EventKind::Overrun, [task.start, skipped, 0]);
    }
    task.release
}

/// An open end of a channel.
enum End {
    Sending(BytesSender<Environment>),
    Receiving(BytesReceiver<Environment>),
}

impl End {
    fn open(name: &str) -> Option<Self> {
        match BytesSender::open(env(), name) {
            Ok(sender) => Some(Self::Sending(sender)),
            Err(_) => BytesReceiver::open(env(), name).ok().map(Self::Receiving),
        }
    }

    const fn channel_end(&self) -> &ChannelEnd {
        match self {
            Self::Sending(sender) => sender.channel_end(),
            Self::Receiving(receiver) => receiver.channel_end(),
        }
    }
}

const CHANNELS: usize = bulkhead_abi::guest::MAX_CHANNELS;

struct Ends(UnsafeCell<[Option<End>; CHANNELS]>);

// SAFETY: the component's one thread reaches them.
unsafe impl Sync for Ends {}

static ENDS: Ends = Ends(UnsafeCell::new([const { None }; CHANNELS]));

fn ends() -> &'static mut [Option<End>; CHANNELS] {
    // SAFETY: one thread, and no function here keeps them over a call of another one.
    unsafe { &mut *ENDS.0.get() }
}

fn end(channel: c_int) -> Option<&'static mut End> {
    ends().get_mut(usize::try_from(channel).ok()?)?.as_mut()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_channel(name: *const c_char) -> c_int {
    // SAFETY: a string of the caller's.
    let name = unsafe { text(name) };
    for (number, place) in (0..).zip(ends().iter_mut()) {
        match place {
            Some(end) if end.channel_end().name == name_field(name) => return number,
            Some(_) => {}
            None => {
                *place = End::open(name);
                return if place.is_some() { number } else { UNKNOWN };
            }
        }
    }
    UNKNOWN
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_message_size(channel: c_int) -> c_long {
    let size = end(channel).map(|end| c_long::from(end.channel_end().message_size));
    size.unwrap_or(c_long::from(UNKNOWN))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_send(channel: c_int, message: *mut u8, size: usize) -> c_int {
    let Some(End::Sending(sender)) = end(channel) else {
        return UNKNOWN;
    };
    if size != sender.channel_end().message_size as usize {
        return SIZE;
    }
    // SAFETY: the caller's message.
    let message = unsafe { core::slice::from_raw_parts_mut(message, size) };
    sender.send(message).map_or_else(number, |()| OK)
}

/// The structure of the header.
#[repr(C)]
struct Arrived {
    sequence: u64,
    ticks: u64,
    missed: u64,
    fresh: c_int,
}

impl From<Arrival> for Arrived {
    fn from(arrival: Arrival) -> Self {
        Self {
            sequence: arrival.stamp.sequence,
            ticks: arrival.stamp.ticks,
            missed: arrival.missed,
            fresh: arrival.fresh.into(),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_receive(
    channel: c_int,
    message: *mut u8,
    size: usize,
    place: *mut Arrived,
) -> c_int {
    let Some(End::Receiving(receiver)) = end(channel) else {
        return UNKNOWN;
    };
    if size != receiver.channel_end().message_size as usize {
        return SIZE;
    }
    // SAFETY: the caller's message.
    let message = unsafe { core::slice::from_raw_parts_mut(message, size) };
    match receiver.receive(message) {
        Ok(arrival) => {
            if !place.is_null() {
                // SAFETY: the caller's place.
                unsafe { place.write(arrival.into()) };
            }
            OK
        }
        Err(error) => number(error),
    }
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_ring(channel: c_int) -> c_int {
    end(channel).map_or(UNKNOWN, |end| status(env().ring(end.channel_end())))
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_wait() -> c_long {
    env()
        .served()
        .map_or(c_long::from(REFUSED), |count| count as c_long)
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_peer_is_up(channel: c_int) -> c_int {
    let link = end(channel).and_then(|end| env().peer_link(end.channel_end()));
    link.is_some_and(|link| link.is_up()).into()
}

#[unsafe(no_mangle)]
extern "C" fn bulkhead_peer_epoch(channel: c_int) -> u32 {
    let link = end(channel).and_then(|end| env().peer_link(end.channel_end()));
    link.map_or(0, |link| link.read().epoch)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_shared(name: *const c_char, bytes: *mut usize) -> *const u8 {
    // SAFETY: a string of the caller's.
    let words = env().shared(unsafe { text(name) }).map(|(_, words)| words);
    let words = words.unwrap_or_default();
    if !bytes.is_null() {
        // SAFETY: the caller's place.
        unsafe { bytes.write(size_of_val(words)) };
    }
    match words {
        [] => ptr::null(),
        words => words.as_ptr().cast(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_wake(name: *const c_char) -> c_int {
    // SAFETY: a string of the caller's.
    let shared = env().shared(unsafe { text(name) });
    shared.map_or(UNKNOWN, |(number, _)| status(env().wake(number)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_interface(name: *const c_char) -> c_int {
    // SAFETY: a string of the caller's.
    let slot = env().interface(unsafe { text(name) });
    slot.map_or(UNKNOWN, |slot| slot as c_int)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_invoke(
    interface: c_int,
    message: *const [u64; 5],
    place: *mut u64,
) -> c_int {
    let Ok(slot) = u64::try_from(interface) else {
        return UNKNOWN;
    };
    // SAFETY: the caller's message.
    let reply = invoke(slot, unsafe { message.read() });
    if reply.status != 0 {
        return REFUSED;
    }
    if !place.is_null() {
        // SAFETY: the caller's place.
        unsafe { place.write(reply.value) };
    }
    OK
}

unsafe extern "C" {
    /// Of a program with `BULKHEAD_SERVE`.
    fn bulkhead_answer(token: u64, message: *const [u64; 5]) -> u64;
}

fn answer(token: u64, message: [u64; 5]) -> u64 {
    // SAFETY: the program's function.
    unsafe { bulkhead_answer(token, &raw const message) }
}

// One of each thread that can be in the component at once, and two more.
bulkhead_component::serve!(answer, threads: 18, stack: 4096, entry: bulkhead_invoked_c);

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_trace_signal(name: *const c_char, tick: u64, value: f64) {
    // SAFETY: a string of the caller's.
    trace::signal::<Environment>(unsafe { text(name) }, tick, value);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_trace_mark(name: *const c_char, a: u64, b: u64) {
    // SAFETY: a string of the caller's.
    trace::mark::<Environment>(unsafe { text(name) }, a, b);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_trace_delivered(
    path: *const c_char,
    number: u32,
    entered: u64,
    exited: u64,
) {
    // SAFETY: a string of the caller's.
    trace::delivered::<Environment>(unsafe { text(path) }, number, [entered, exited]);
}

/// Has the scheduler execute a command on a pipe.
fn command(act: impl FnOnce(Pipes) -> Result<(), Refused>) -> c_int {
    match Pipes::open(env()).map(act) {
        None => UNKNOWN,
        Some(Err(Refused)) => REFUSED,
        Some(Ok(())) => OK,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_pipe_create(name: *const c_char, flow: *const c_char) -> c_int {
    // SAFETY: strings of the caller's.
    let [name, flow] = [name, flow].map(|one| unsafe { text(one) });
    command(|pipes| pipes.create(name, flow))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_pipe_replace(name: *const c_char, flow: *const c_char) -> c_int {
    // SAFETY: strings of the caller's.
    let [name, flow] = [name, flow].map(|one| unsafe { text(one) });
    command(|pipes| pipes.replace(name, flow))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_pipe_remove(name: *const c_char) -> c_int {
    // SAFETY: a string of the caller's.
    let name = unsafe { text(name) };
    command(|pipes| pipes.remove(name))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_pipe_stop(name: *const c_char) -> c_int {
    // SAFETY: a string of the caller's.
    let name = unsafe { text(name) };
    command(|pipes| pipes.stop(name))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_pipe_start(name: *const c_char) -> c_int {
    // SAFETY: a string of the caller's.
    let name = unsafe { text(name) };
    command(|pipes| pipes.start(name))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_pipe_answer(place: *mut u8, size: usize) -> c_long {
    let (Some(pipes), Some(room)) = (Pipes::open(env()), size.checked_sub(1)) else {
        return c_long::from(UNKNOWN);
    };
    // SAFETY: the caller's place of so many bytes.
    let bytes = unsafe { core::slice::from_raw_parts_mut(place, size) };
    let length = pipes.answer(&mut bytes[..room]).len();
    bytes[length] = 0;
    length as c_long
}

/// The structure of the header.
#[repr(C)]
struct PipeFigures {
    state: u64,
    bound_ns: u64,
    stages: u64,
    delivered: u64,
    lost: u64,
    longest_ns: u64,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bulkhead_pipe_query(name: *const c_char, place: *mut PipeFigures) -> c_int {
    // SAFETY: a string of the caller's.
    let name = unsafe { text(name) };
    let Some(pipe) = Pipes::open(env()).and_then(|pipes| pipes.query(name)) else {
        return UNKNOWN;
    };
    let figures = PipeFigures {
        state: pipe.state as u64,
        bound_ns: pipe.bound_ns,
        stages: pipe.stages,
        delivered: pipe.delivered,
        lost: pipe.lost,
        longest_ns: pipe.longest_ns,
    };
    // SAFETY: the caller's place.
    unsafe { place.write(figures) };
    OK
}
