//! The partition's console
//!
//! Output goes to a recorder of bytes in memory: it never waits, survives a hang, and is read by
//! the host tool and by Linux. Input comes from a ring of single bytes.

use crate::lock::Lock;
use crate::{System, clock, shared};
use bulkhead_buffers::recorder::stream;
use bulkhead_buffers::ring;
use bulkhead_guest::line::Lines;
use bulkhead_guest::recorders;
use core::fmt::{Arguments, Write};

/// Bytes of the ring's two cursor lines.
const INPUT_HEAD_BYTES: usize = 128;
/// Bytes that one input byte takes in the ring.
const INPUT_SLOT_BYTES: usize = 8;

static OUTPUT: Lock<Option<stream::Writer<'static>>> = Lock::new(None);

/// Prints a line to the partition's console, stamped with the time since power-on.
#[macro_export]
macro_rules! println {
    ($($argument:tt)*) => {
        $crate::console::print(format_args!($($argument)*))
    };
}

/// Prints `text` as one or more lines.
pub fn print(text: Arguments<'_>) {
    let micros = clock::micros(clock::now());
    OUTPUT.with(|output| show(output, micros, text));
}

/// The same for code that may have struck the console's own holder: gives up after a while.
pub(crate) fn print_in_distress(text: Arguments<'_>) {
    let micros = clock::micros(clock::now());
    let mut attempts = 0..PATIENCE;
    while OUTPUT
        .try_with(|output| show(output, micros, text))
        .is_none()
    {
        if attempts.next().is_none() {
            return;
        }
    }
}

/// Attempts to get at the console in distress; another core holds it for far less.
const PATIENCE: u32 = 100_000;

fn show(output: &mut Option<stream::Writer<'static>>, micros: u64, text: Arguments<'_>) {
    let Some(output) = output else { return };
    let mut lines = Lines::new(micros, |line: &[u8]| output.write(line));
    let _unbounded = lines.write_fmt(text);
    lines.finish();
}

pub(crate) fn open(system: &System) {
    let place = system.info().console_out;
    let Ok(region) = shared::region(place) else {
        return;
    };
    OUTPUT.with(|output| *output = recorders::console(region, place[1]));
}

/// Longest line of input, bytes; what is longer is cut.
const LINE_BYTES: usize = 120;

/// Lines typed at the console.
pub struct Input {
    ring: ring::Consumer<'static>,
    line: [u8; LINE_BYTES],
    filled: usize,
}

impl Input {
    /// The partition's input, if it has one.
    #[must_use]
    pub fn open(system: &System) -> Option<Self> {
        let place = system.info().console_in;
        let capacity = (place[1] as usize).saturating_sub(INPUT_HEAD_BYTES) / INPUT_SLOT_BYTES;
        let layout = ring::Layout::for_messages(1, capacity).ok()?;
        let ring = ring::Consumer::attach(shared::region(place).ok()?, &layout).ok()?;
        Some(Self {
            ring,
            line: [0; LINE_BYTES],
            filled: 0,
        })
    }

    /// The next line if one is complete, without its end; never waits. Lines that are no UTF-8 come
    /// as empty ones.
    pub fn line(&mut self) -> Option<&str> {
        let mut byte = [0];
        while self.ring.try_pop(&mut byte).is_ok() {
            match byte {
                [b'\n' | b'\r'] => {
                    let length = core::mem::take(&mut self.filled);
                    return Some(core::str::from_utf8(self.line.get(..length)?).unwrap_or(""));
                }
                [other] => self.keep(other),
            }
        }
        None
    }

    fn keep(&mut self, byte: u8) {
        if let Some(place) = self.line.get_mut(self.filled) {
            *place = byte;
            self.filled += 1;
        }
    }
}
