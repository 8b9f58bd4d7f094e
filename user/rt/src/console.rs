//! The partition's console: lines into a recorder in memory
//!
//! One writer: the component that opened it. Threads of one component must not print at once.
#![expect(unsafe_code, reason = "one writer, by the promise of `open`")]

use crate::clock;
use bulkhead_buffers::Region;
use bulkhead_buffers::recorder::stream;
use core::cell::UnsafeCell;
use core::fmt::{Arguments, Write};

/// Bytes of the recorder's control line.
const HEAD_BYTES: usize = 64;
/// Longest line, bytes; what is longer is cut.
const LINE_BYTES: usize = 200;

struct Output(UnsafeCell<Option<stream::Writer<'static>>>);

// SAFETY: threads of a component run on one core and print in turn, as the module says.
unsafe impl Sync for Output {}

static OUTPUT: Output = Output(UnsafeCell::new(None));

/// Prints a line, stamped with the time since power-on.
#[macro_export]
macro_rules! println {
    ($($argument:tt)*) => {
        $crate::console::print(format_args!($($argument)*))
    };
}

/// Opens the console in `region`; without it nothing is printed.
pub fn open(region: Region<'static>, bytes: u64) {
    let capacity = (bytes as usize).saturating_sub(HEAD_BYTES) & !7;
    let writer = stream::Layout::for_bytes(capacity)
        .ok()
        .and_then(|layout| stream::Writer::attach(region, &layout).ok());
    // SAFETY: nobody prints yet.
    unsafe { *OUTPUT.0.get() = writer };
}

/// Prints `text` as one line.
pub fn print(text: Arguments<'_>) {
    // SAFETY: one thread prints at a time.
    let Some(output) = (unsafe { (*OUTPUT.0.get()).as_mut() }) else {
        return;
    };
    let mut line = Line {
        bytes: [0; LINE_BYTES],
        filled: 0,
    };
    let micros = clock::now() / (clock::frequency() / 1_000_000).max(1);
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    let _cut = write!(line, "[{seconds:5}.{rest:06}] {text}");
    let end = line.filled.min(LINE_BYTES - 1);
    if let Some(place) = line.bytes.get_mut(end) {
        *place = b'\n';
    }
    output.write(line.bytes.get(..=end).unwrap_or(b"\n"));
}

struct Line {
    bytes: [u8; LINE_BYTES],
    filled: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for &byte in text.as_bytes() {
            *self.bytes.get_mut(self.filled).ok_or(core::fmt::Error)? = byte;
            self.filled += 1;
        }
        Ok(())
    }
}
