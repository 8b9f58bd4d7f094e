//! The console: stamped lines out, typed lines in

use nix::time::{ClockId, clock_gettime};
use std::fmt::Arguments;
use std::io::{Read, Write, stdin, stdout};

/// What is typed without an end of line is given up beyond this, bytes.
const LONGEST_LINE: usize = 4096;

/// Prints a line with Linux's own time in front, as the kernel stamps its messages.
pub(crate) fn say(text: Arguments<'_>) {
    let (seconds, micros) = clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or((0, 0), |now| (now.tv_sec(), now.tv_nsec() / 1000));
    // A console that is gone is no reason to stop controlling.
    let _ = writeln!(stdout(), "[{seconds:5}.{micros:06}] {text}");
}

/// Collects lines from the standard input.
#[derive(Default)]
pub(crate) struct Lines {
    typed: Vec<u8>,
}

impl Lines {
    /// Reads once, which must not block; gives the lines that are complete, `None` at the end.
    pub(crate) fn read(&mut self) -> Option<Vec<String>> {
        let mut bytes = [0; 256];
        match stdin().read(&mut bytes) {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(self.take(&bytes[..count])),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        self.typed.extend_from_slice(bytes);
        let mut lines = Vec::new();
        while let Some(end) = self
            .typed
            .iter()
            .position(|&byte| matches!(byte, b'\n' | b'\r'))
        {
            let line: Vec<u8> = self.typed.drain(..=end).collect();
            lines.push(String::from_utf8_lossy(&line).trim().to_owned());
        }
        if self.typed.len() > LONGEST_LINE {
            self.typed.clear();
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_LINE, Lines};

    #[test]
    fn lines_come_whole_however_they_are_typed() {
        let mut lines = Lines::default();
        assert!(lines.take(b"se").is_empty());
        assert_eq!(lines.take(b"t 90\r\nstatus\nhe"), ["set 90", "", "status"]);
        assert_eq!(lines.take(b"lp\r"), ["help"]);
        assert_eq!(lines.take(b"\xff\n").len(), 1);
        assert!(lines.take(&[b'x'; LONGEST_LINE + 1]).is_empty());
        assert_eq!(lines.take(b"stop\n"), ["stop"]);
    }
}
