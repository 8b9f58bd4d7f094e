//! One line of the console, assembled before it is shown
//!
//! A line reaches the recorder in one write, so that a restart in the middle of a message leaves no
//! half line, and carries the time at which it was begun: `[seconds.micros] text`.

use core::fmt::{self, Write};

/// Longest line, prefix and newline included, bytes; what is longer goes on in a line of its own.
pub const MAX_BYTES: usize = 256;

/// Splits text into stamped lines of bounded length.
pub struct Lines<F: FnMut(&[u8])> {
    bytes: [u8; MAX_BYTES],
    filled: usize,
    micros: u64,
    show: F,
}

impl<F: FnMut(&[u8])> Lines<F> {
    /// Lines of the time `micros` since power-on, each given to `show` with its newline.
    pub fn new(micros: u64, show: F) -> Self {
        Self {
            bytes: [0; MAX_BYTES],
            filled: 0,
            micros,
            show,
        }
    }

    /// Shows what stands in an unfinished line.
    pub fn finish(&mut self) {
        if self.filled > 0 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.put(b'\n');
        (self.show)(self.bytes.get(..self.filled).unwrap_or_default());
        self.filled = 0;
    }

    fn put(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.filled) {
            *place = byte;
            self.filled += 1;
        }
    }

    fn begin(&mut self) -> fmt::Result {
        let (seconds, micros) = (self.micros / 1_000_000, self.micros % 1_000_000);
        write!(Raw(self), "[{seconds}.{micros:06}] ")
    }

    fn push(&mut self, byte: u8) -> fmt::Result {
        if self.filled == 0 {
            self.begin()?;
        }
        if byte == b'\n' {
            self.flush();
            return Ok(());
        }
        if self.filled + 1 >= MAX_BYTES {
            self.flush();
            self.begin()?;
        }
        self.put(byte);
        Ok(())
    }
}

impl<F: FnMut(&[u8])> Write for Lines<F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.push(byte))
    }
}

/// Writes without looking at line ends; the prefix always fits.
struct Raw<'l, F: FnMut(&[u8])>(&'l mut Lines<F>);

impl<F: FnMut(&[u8])> Write for Raw<'_, F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.0.put(byte));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{Lines, MAX_BYTES};
    use core::fmt::Write;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::string::String;
    use std::vec::Vec;

    fn lines(micros: u64, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        let mut lines = Lines::new(micros, |line: &[u8]| {
            all.push(String::from_utf8_lossy(line).into_owned());
        });
        write!(lines, "{text}").expect("writing to memory");
        lines.finish();
        all
    }

    #[test]
    fn stamps_each_line() {
        assert_eq!(
            lines(12_000_034, "a\nb"),
            ["[12.000034] a\n", "[12.000034] b\n"]
        );
        assert_eq!(lines(0, "\n"), ["[0.000000] \n"]);
        assert!(lines(5, "").is_empty());
    }

    proptest! {
        #[test]
        fn loses_nothing_and_stays_short(micros in any::<u64>(), text in "[ -~\n]{0,900}") {
            let lines = lines(micros, &text);
            let mut joined = String::new();
            for line in &lines {
                prop_assert!(line.len() <= MAX_BYTES && line.ends_with('\n'));
                let body = line.split_once("] ").expect("a prefix").1;
                joined.push_str(body.trim_end_matches('\n'));
            }
            prop_assert_eq!(joined, text.replace('\n', ""));
        }
    }
}
