//! The console: prints stamped lines, reads commands

use nix::time::{ClockId, clock_gettime};
use std::fmt::Arguments;
use std::io::{self, BufRead, Write, stdin, stdout};
use std::thread;
use std::time::Duration;

/// Maximum bytes of a line that is being entered; a longer one is dropped.
const LONGEST_LINE: usize = 4096;

/// Number of retries, and the pause before each, while a console is full: its reader polls every
/// few milliseconds.
const PATIENCE: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// Prints a line with Linux's own time in front, like a kernel message.
pub(crate) fn say(text: Arguments<'_>) {
    let (seconds, micros) = clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or((0, 0), |now| (now.tv_sec(), now.tv_nsec() / 1000));
    // A failing console must not stop the controller.
    let _ = writeln!(stdout(), "[{seconds:5}.{micros:06}] {text}");
}

/// Writes a whole line, in parts if there is no room, or reports how much of it was written.
pub(crate) fn type_in(file: &mut impl Write, line: &str) -> io::Result<()> {
    let mut remaining = line.as_bytes();
    let mut patience = PATIENCE;
    while !remaining.is_empty() {
        let written = match file.write(remaining) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            written => written?,
        };
        remaining = remaining.get(written..).unwrap_or_default();
        if written == 0 {
            if patience == 0 {
                let (written, all) = (line.len() - remaining.len(), line.len());
                let reason = format!("nobody reads it: {written} of {all} bytes were told");
                return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
            patience -= 1;
            thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// Collects lines from the standard input.
#[derive(Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
    /// True while the rest of a line that is too long is skipped.
    long: bool,
}

impl Lines {
    /// Reads once, which must not block; gives the lines that are complete, `None` at the end.
    pub(crate) fn read(&mut self) -> Option<Vec<String>> {
        self.read_from(&mut stdin().lock())
    }

    /// Takes everything that one read delivered, because bytes left in the reader would not wake a
    /// poll of the file.
    fn read_from(&mut self, input: &mut impl BufRead) -> Option<Vec<String>> {
        let bytes = input.fill_buf().ok().filter(|bytes| !bytes.is_empty())?;
        let count = bytes.len();
        let lines = self.take(bytes);
        input.consume(count);
        Some(lines)
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        self.partial.extend_from_slice(bytes);
        let mut lines = Vec::new();
        while let Some(end) = self
            .partial
            .iter()
            .position(|&byte| matches!(byte, b'\n' | b'\r'))
        {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            if std::mem::take(&mut self.long) {
                say(format_args!(
                    "agent: a line of more than {LONGEST_LINE} bytes is not obeyed"
                ));
                continue;
            }
            lines.push(String::from_utf8_lossy(&line).trim().to_owned());
        }
        if self.partial.len() > LONGEST_LINE {
            self.partial.clear();
            self.long = true;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_LINE, Lines, PATIENCE, type_in};
    use std::io::{self, Write};

    /// A console with little room.
    struct Tight {
        room: Vec<usize>,
        taken: Vec<u8>,
    }

    impl Write for Tight {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.room.pop() {
                None | Some(0) => Err(io::ErrorKind::WouldBlock.into()),
                Some(room) => {
                    let taken = bytes.len().min(room);
                    self.taken.extend(&bytes[..taken]);
                    Ok(taken)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_told_whole_or_it_is_said_that_it_was_not() {
        let mut console = Tight {
            room: vec![100, 0, 0, 5, 3],
            taken: Vec::new(),
        };
        type_in(&mut console, "pipe list\n").expect("there is room");
        assert_eq!(console.taken, b"pipe list\n");
        console.room = vec![0; PATIENCE as usize + 2];
        console.room.push(4);
        let error = type_in(&mut console, "pipe list\n").expect_err("nobody reads");
        assert!(error.to_string().contains("4 of 10 bytes"), "{error}");
    }

    #[test]
    fn nothing_of_a_long_line_waits_for_the_next() {
        let line = "x".repeat(1000);
        let text = format!("{line}\nstatus\n");
        let mut lines = Lines::default();
        let mut input = io::BufReader::new(text.as_bytes());
        assert_eq!(
            lines.read_from(&mut input),
            Some(vec![line, "status".into()])
        );
        assert_eq!(lines.read_from(&mut input), None);
    }

    #[test]
    fn lines_are_whole_however_they_are_entered() {
        let mut lines = Lines::default();
        assert!(lines.take(b"se").is_empty());
        assert_eq!(lines.take(b"t 90\r\nstatus\nhe"), ["set 90", "", "status"]);
        assert_eq!(lines.take(b"lp\r"), ["help"]);
        assert_eq!(lines.take(b"\xff\n").len(), 1);
        assert!(lines.take(&[b'x'; LONGEST_LINE + 1]).is_empty());
        assert!(
            lines.take(b"stop\n").is_empty(),
            "it is the end of that line"
        );
        assert_eq!(lines.take(b"stop\n"), ["stop"]);
    }
}
