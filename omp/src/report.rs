//! Messages to the user, composed without allocation.

use crate::backend::{Backend, System};
use core::fmt::{self, Write};

const LINE_BYTES: usize = 4096;

/// One line, cut where it would not fit.
struct Line {
    text: [u8; LINE_BYTES],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let Some(place) = self.text.get_mut(self.length) else {
                return Ok(());
            };
            *place = byte;
            self.length += 1;
        }
        Ok(())
    }
}

fn write(arguments: fmt::Arguments<'_>, prefix: &str) {
    let mut line = Line {
        text: [0; LINE_BYTES],
        length: 0,
    };
    let written = writeln!(line, "{prefix}{arguments}");
    if written.is_ok() {
        System::write_error(line.text.get(..line.length).unwrap_or_default());
    }
}

/// Says what was wrong in the user's input and what was done instead.
pub fn warn(arguments: fmt::Arguments<'_>) {
    write(arguments, "bulkhead-omp: warning: ");
}

/// Prints one line of information that was asked for.
pub fn inform(arguments: fmt::Arguments<'_>) {
    write(arguments, "");
}

/// Says why the program cannot go on, and ends it.
pub fn fatal(arguments: fmt::Arguments<'_>) -> ! {
    write(arguments, "bulkhead-omp: ");
    System::abort()
}
