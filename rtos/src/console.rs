//! The partition's console
//!
//! Output goes to a recorder of bytes in memory: it never waits, survives a hang, and is read by
//! the host tool and by Linux.

use crate::lock::Lock;
use crate::{System, clock, shared};
use bulkhead_buffers::recorder::stream;
use bulkhead_guest::line::Lines;
use bulkhead_guest::recorders;
use core::fmt::{Arguments, Write};

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

/// Prints from code that may have interrupted the holder of the console's lock: gives up after a
/// limited number of attempts.
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
