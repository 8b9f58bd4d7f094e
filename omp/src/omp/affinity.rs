//! Questions about places, and the printed form of a thread's affinity.

use super::{lookup, query};
use crate::affinity::{self, Partition};
use crate::backend::{Backend, CoreSet, System};
use crate::report;
use crate::spinlock::SpinLock;
use crate::worker::Worker;
use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int};
use core::fmt::{self, Write};

const MAX_FORMAT: usize = 1024;
const DEFAULT_FORMAT: &[u8] = b"level %L thread %i affinity %A";

struct Format {
    lock: SpinLock,
    text: Cell<([u8; MAX_FORMAT], usize)>,
}

// SAFETY: the text is only touched under the lock.
unsafe impl Sync for Format {}

static FORMAT: Format = Format {
    lock: SpinLock::new(),
    text: Cell::new(([0; MAX_FORMAT], usize::MAX)),
};

fn format() -> ([u8; MAX_FORMAT], usize) {
    let guard = FORMAT.lock.lock();
    if FORMAT.text.get().1 == usize::MAX {
        store(DEFAULT_FORMAT);
    }
    let format = FORMAT.text.get();
    drop(guard);
    format
}

fn store(text: &[u8]) {
    let mut stored = [0; MAX_FORMAT];
    let length = text.len().min(MAX_FORMAT);
    stored
        .iter_mut()
        .zip(text)
        .for_each(|(to, from)| *to = *from);
    FORMAT.text.set((stored, length));
}

/// Shows affinity-format-var to `each`.
pub(crate) fn with_format(each: impl FnOnce(&str)) {
    let (text, length) = format();
    each(core::str::from_utf8(text.get(..length).unwrap_or_default()).unwrap_or_default());
}

/// affinity-format-var.
pub(crate) fn set_format(text: &[u8]) {
    let guard = FORMAT.lock.lock();
    store(text);
    drop(guard);
}

fn my_place() -> Option<&'static CoreSet> {
    let place = Worker::current_here().place.get()?;
    affinity::places().get(place as usize)
}

fn partition() -> Partition {
    Worker::current_here().partition.get().resolved()
}

query! {
    /// proc-bind-var.
    omp_get_proc_bind, omp_get_proc_bind_ -> c_int {
        crate::thread::start();
        affinity::binding() as c_int
    }
    /// Number of places.
    omp_get_num_places, omp_get_num_places_ -> c_int {
        crate::thread::start();
        affinity::places().len() as c_int
    }
    /// The place of the calling thread; -1 if it is not bound.
    omp_get_place_num, omp_get_place_num_ -> c_int {
        Worker::current_here().place.get().map_or(-1, |place| place as c_int)
    }
    /// Number of places for regions of the calling thread.
    omp_get_partition_num_places, omp_get_partition_num_places_ -> c_int {
        partition().count as c_int
    }
}

fn place(number: c_int) -> Option<&'static CoreSet> {
    affinity::places().get(usize::try_from(number).ok()?)
}

lookup! {
    /// Number of cores in a place.
    omp_get_place_num_procs, omp_get_place_num_procs_, omp_get_place_num_procs_8_ (number) {
        place(number).map_or(0, |place| place.iter().count() as c_int)
    }
}

/// Writes `values` to `to`, as 4- or 8-byte integers.
fn write_all<T>(values: impl Iterator<Item = i64>, to: *mut T, convert: fn(i64) -> T) {
    for (index, value) in values.enumerate() {
        // SAFETY: the program gives room for as many as the matching question counts.
        unsafe { to.wrapping_add(index).write(convert(value)) };
    }
}

fn cores_of(number: c_int) -> impl Iterator<Item = i64> {
    place(number).into_iter().flat_map(CoreSet::iter)
}

fn partition_numbers() -> impl Iterator<Item = i64> {
    let Partition { first, count } = partition();
    i64::from(first)..i64::from(first + count)
}

/// The cores of a place.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_place_proc_ids(number: c_int, ids: *mut c_int) {
    write_all(cores_of(number), ids, |core| core as c_int);
}

/// For Fortran.
///
/// # Safety
/// `number` points to a default integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_(number: *const c_int, ids: *mut c_int) {
    // SAFETY: the caller's promise.
    omp_get_place_proc_ids(unsafe { number.read() }, ids);
}

/// For Fortran with 8-byte integers.
///
/// # Safety
/// `number` points to an 8-byte integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_8_(number: *const i64, ids: *mut i64) {
    // SAFETY: the caller's promise.
    write_all(cores_of(unsafe { number.read() } as c_int), ids, |core| {
        core
    });
}

/// The places for regions of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_partition_place_nums(numbers: *mut c_int) {
    write_all(partition_numbers(), numbers, |number| number as c_int);
}

/// For Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_partition_place_nums_(numbers: *mut c_int) {
    omp_get_partition_place_nums(numbers);
}

/// For Fortran with 8-byte integers.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_partition_place_nums_8_(numbers: *mut i64) {
    write_all(partition_numbers(), numbers, |number| number);
}

/// Text that counts on where it does not fit.
struct Bounded {
    to: *mut u8,
    room: usize,
    length: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if self.length + 1 < self.room {
                // SAFETY: the program gives `room` bytes.
                unsafe { self.to.wrapping_add(self.length).write(byte) };
            }
            self.length += 1;
        }
        Ok(())
    }
}

impl Bounded {
    fn finish(self) -> usize {
        if self.room > 0 && !self.to.is_null() {
            // SAFETY: inside the room.
            unsafe {
                self.to
                    .wrapping_add(self.length.min(self.room - 1))
                    .write(0)
            };
        }
        self.length
    }
}

/// One field, by its letter or long name.
fn field(out: &mut dyn Write, name: &str) -> fmt::Result {
    let worker = Worker::current_here();
    let team = worker.team();
    match name {
        "t" | "team_num" => write!(out, "{}", team.league.get().team),
        "T" | "num_teams" => write!(out, "{}", team.league.get().teams),
        "L" | "nesting_level" => write!(out, "{}", team.level.get()),
        "n" | "thread_num" => write!(out, "{}", worker.index()),
        "i" | "native_thread_id" => write!(out, "{}", System::thread_id()),
        "N" | "num_threads" => write!(out, "{}", team.size()),
        "a" | "ancestor_tnum" => {
            let level = team.level.get() as c_int - 1;
            write!(out, "{}", super::state::omp_get_ancestor_thread_num(level))
        }
        "P" | "process_id" => write!(out, "{}", System::process_id()),
        "H" | "host" => System::write_host_name(out),
        "A" | "thread_affinity" => match my_place() {
            Some(place) => write!(out, "{place}"),
            None => write!(out, "{}", System::core_set()),
        },
        _ => out.write_str("undefined"),
    }
}

/// Expands `%`-fields: `%[0][.][width]letter` or `%[0][.][width]{name}`.
fn expand(out: &mut dyn Write, format: &str) -> fmt::Result {
    let mut rest = format;
    while let Some((plain, after)) = rest.split_once('%') {
        out.write_str(plain)?;
        if let Some(after) = after.strip_prefix('%') {
            out.write_char('%')?;
            rest = after;
            continue;
        }
        let letters = after.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
        let pad = after.get(..after.len() - letters.len()).unwrap_or_default();
        let (name, after) = match letters
            .strip_prefix('{')
            .and_then(|long| long.split_once('}'))
        {
            Some((name, after)) => (name, after),
            None => letters.split_at_checked(1).unwrap_or((letters, "")),
        };
        padded(out, pad, name)?;
        rest = after;
    }
    out.write_str(rest)
}

/// A field in its width: left-aligned, right-aligned after `.`, with zeroes after `0.`.
fn padded(out: &mut dyn Write, pad: &str, name: &str) -> fmt::Result {
    let mut text = [0; 1024];
    let mut value = Bounded {
        to: text.as_mut_ptr(),
        room: text.len(),
        length: 0,
    };
    field(&mut value, name)?;
    let length = value.finish().min(text.len() - 1);
    let value = core::str::from_utf8(text.get(..length).unwrap_or_default()).unwrap_or_default();
    let width = pad
        .trim_start_matches(['0', '.'])
        .parse::<usize>()
        .unwrap_or(0);
    let fill = width.saturating_sub(length);
    let is_text = matches!(name, "H" | "host" | "A" | "thread_affinity");
    let (right, zero) = (pad.contains('.'), pad.starts_with('0') && !is_text);
    // Zeroes stand between a sign and the digits.
    let (before, value) = match value.strip_prefix('-') {
        Some(digits) if zero => ("-", digits),
        _ => ("", value),
    };
    out.write_str(before)?;
    if !right {
        out.write_str(value)?;
    }
    for _ in 0..fill {
        out.write_char(if right && zero { '0' } else { ' ' })?;
    }
    if right { out.write_str(value) } else { Ok(()) }
}

fn expand_into(out: &mut dyn Write, format_text: *const c_char) {
    let (stored, length) = format();
    // SAFETY: null or a terminated string.
    let given = (!format_text.is_null()).then(|| unsafe { CStr::from_ptr(format_text) });
    let given = given.map(CStr::to_bytes).filter(|text| !text.is_empty());
    let text = given.unwrap_or(stored.get(..length).unwrap_or_default());
    let _ = expand(out, core::str::from_utf8(text).unwrap_or_default());
}

/// Sets the format.
///
/// # Safety
/// A terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format(text: *const c_char) {
    // SAFETY: the caller's promise.
    set_format(unsafe { CStr::from_ptr(text) }.to_bytes());
}

/// The format: its length.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_affinity_format(buffer: *mut c_char, room: usize) -> usize {
    let (text, length) = format();
    let mut out = Bounded {
        to: buffer.cast(),
        room,
        length: 0,
    };
    let text = core::str::from_utf8(text.get(..length).unwrap_or_default()).unwrap_or_default();
    let _ = out.write_str(text);
    out.finish()
}

/// The calling thread's affinity in `format`: the text's length.
#[unsafe(no_mangle)]
pub extern "C" fn omp_capture_affinity(
    buffer: *mut c_char,
    room: usize,
    format: *const c_char,
) -> usize {
    let mut out = Bounded {
        to: buffer.cast(),
        room,
        length: 0,
    };
    expand_into(&mut out, format);
    out.finish()
}

/// Prints the calling thread's affinity in `format`.
#[unsafe(no_mangle)]
pub extern "C" fn omp_display_affinity(format: *const c_char) {
    let mut text = [0u8; 4096];
    let length = omp_capture_affinity(text.as_mut_ptr().cast(), text.len(), format);
    let message = text.get(..length.min(text.len() - 1)).unwrap_or_default();
    report::inform(format_args!(
        "{}",
        core::str::from_utf8(message).unwrap_or_default()
    ));
}

/// A blank-padded Fortran string as a terminated one.
fn terminated(text: *const c_char, length: usize, room: &mut [u8]) -> &CStr {
    // SAFETY: the program passes a string of that length.
    let text = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), length) }.trim_ascii_end();
    let last = room.len() - 1;
    room.fill(0);
    room.iter_mut()
        .take(last)
        .zip(text)
        .for_each(|(to, from)| *to = *from);
    CStr::from_bytes_until_nul(room).unwrap_or(c"")
}

/// Fills the rest of a Fortran string with blanks.
fn pad_blanks(buffer: *mut c_char, room: usize, length: usize) {
    for index in length.min(room)..room {
        // SAFETY: inside the string.
        unsafe { buffer.wrapping_add(index).write(b' ' as c_char) };
    }
}

/// For Fortran.
///
/// # Safety
/// A string of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format_(text: *const c_char, length: usize) {
    let mut room = [0; MAX_FORMAT + 1];
    set_format(terminated(text, length, &mut room).to_bytes());
}

/// For Fortran.
///
/// # Safety
/// A string of `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_affinity_format_(buffer: *mut c_char, room: usize) -> c_int {
    let length = omp_get_affinity_format(buffer, room);
    pad_blanks(buffer, room, length);
    length as c_int
}

/// For Fortran.
///
/// # Safety
/// A string of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_affinity_(text: *const c_char, length: usize) {
    let mut room = [0; MAX_FORMAT + 1];
    omp_display_affinity(terminated(text, length, &mut room).as_ptr());
}

/// For Fortran.
///
/// # Safety
/// Strings of `room` and `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_capture_affinity_(
    buffer: *mut c_char,
    text: *const c_char,
    room: usize,
    length: usize,
) -> c_int {
    let mut copy = [0; MAX_FORMAT + 1];
    let written = omp_capture_affinity(buffer, room, terminated(text, length, &mut copy).as_ptr());
    pad_blanks(buffer, room, written);
    written as c_int
}
