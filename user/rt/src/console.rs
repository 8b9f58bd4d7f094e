//! The console: stamped lines, to the partition's recorder or to the component that owns the
//! console
//!
//! Threads of one component must not print at once.
#![expect(unsafe_code, reason = "one writer, by the promise of `open`")]

use crate::clock;
use crate::invocation::invoke;
use bulkhead_abi::component::console::{BYTES, PRINT};
use bulkhead_buffers::Region;
use bulkhead_buffers::recorder::stream;
use bulkhead_guest::line::Lines;
use bulkhead_guest::recorders;
use core::cell::UnsafeCell;
use core::fmt::{self, Arguments, Write};

enum Way {
    /// No console is open.
    Closed,
    /// The recorder of this component.
    Recorder(stream::Writer<'static>),
    /// Invocations of the capability in that slot.
    Interface(u64),
}

struct Output(UnsafeCell<Way>);

// SAFETY: threads of a component run on one core and print in turn, as the module says.
unsafe impl Sync for Output {}

static OUTPUT: Output = Output(UnsafeCell::new(Way::Closed));

/// Prints a line, stamped with the time since power-on.
#[macro_export]
macro_rules! println {
    ($($argument:tt)*) => {
        $crate::console::print(format_args!($($argument)*))
    };
}

/// Opens the console in `region`; without it nothing is printed.
pub fn open(region: Region<'static>, bytes: u64) {
    if let Some(writer) = recorders::console(region, bytes) {
        set(Way::Recorder(writer));
    }
}

/// Closes the console: nothing is printed any more.
pub fn close() {
    set(Way::Closed);
}

/// Prints from now on through the interface behind the capability at `slot`.
pub fn open_through(slot: u64) {
    set(Way::Interface(slot));
}

fn set(way: Way) {
    // SAFETY: no thread prints yet.
    unsafe { *OUTPUT.0.get() = way };
}

/// Prints `text` as one or more lines.
pub fn print(text: Arguments<'_>) {
    let micros = clock::micros(clock::now());
    let mut lines = Lines::new(micros, write);
    let _unbounded = lines.write_fmt(text);
    lines.finish();
}

/// Prints a text of any bytes as one or more lines.
pub fn print_bytes(text: &[u8]) {
    print(format_args!("{}", Text(text)));
}

/// Bytes as text; invalid UTF-8 is replaced.
struct Text<'b>(&'b [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.utf8_chunks().try_for_each(|chunk| {
            out.write_str(chunk.valid())?;
            match chunk.invalid() {
                [] => Ok(()),
                _ => out.write_char(char::REPLACEMENT_CHARACTER),
            }
        })
    }
}

/// Writes a whole line, newline included.
pub fn write(line: &[u8]) {
    // SAFETY: one thread prints at a time.
    match unsafe { &mut *OUTPUT.0.get() } {
        Way::Closed => {}
        Way::Recorder(writer) => writer.write(line),
        Way::Interface(slot) => line.chunks(BYTES).for_each(|part| pass(*slot, part)),
    }
}

/// Writes a part of a line; if the console's owner does not run, it is lost.
fn pass(slot: u64, part: &[u8]) {
    let mut bytes = [0; BYTES];
    for (place, byte) in bytes.iter_mut().zip(part) {
        *place = *byte;
    }
    let (words, _) = bytes.as_chunks();
    let word = |index: usize| words.get(index).copied().map_or(0, u64::from_le_bytes);
    let message = [PRINT, part.len() as u64, word(0), word(1), word(2)];
    let _taken = invoke(slot, message);
}
