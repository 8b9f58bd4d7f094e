//! Consoles: bytes from a recorder or from the UART's log, cut into printable lines

use bulkhead_buffers::View;
use bulkhead_buffers::recorder::stream::{Layout, Reader};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::error::RunError;

/// Control line of a recorder, bytes.
const CONTROL_BYTES: u64 = 64;
/// A line is cut here even if it does not end, bytes.
const LONGEST_LINE: usize = 4096;

/// A console that is followed.
pub(super) struct Console<'m> {
    source: Source<'m>,
    lines: Lines,
}

enum Source<'m> {
    Recorder(Reader<'m>),
    Log { path: PathBuf, file: Option<File> },
}

impl<'m> Console<'m> {
    /// A recorder of bytes that fills a region of `size` bytes.
    pub(super) fn of_recorder(view: View<'m>, size: u64) -> Result<Self, RunError> {
        let reader = Reader::attach(view, &recorder_layout(size)?).map_err(damaged)?;
        Ok(Self {
            source: Source::Recorder(reader),
            lines: Lines::default(),
        })
    }

    /// A growing file, which may not exist yet.
    pub(super) fn of_log(path: PathBuf) -> Self {
        Self {
            source: Source::Log { path, file: None },
            lines: Lines::default(),
        }
    }

    /// Gives each new whole line to `take`; returns how many bytes were lost.
    pub(super) fn poll(&mut self, mut take: impl FnMut(String)) -> u64 {
        let mut buffer = [0; 4096];
        let mut lost = 0;
        loop {
            let (count, missed) = self.source.read(&mut buffer);
            lost += missed;
            self.lines.feed(&buffer[..count], &mut take);
            if count < buffer.len() {
                return lost;
            }
        }
    }
}

/// Layout of a recorder of bytes that fills a region of `size` bytes.
pub(super) fn recorder_layout(size: u64) -> Result<Layout, RunError> {
    Layout::for_bytes(size.saturating_sub(CONTROL_BYTES) as usize).map_err(damaged)
}

/// The manifest does not fit.
pub(super) fn damaged(error: impl std::fmt::Display) -> RunError {
    RunError::Damaged {
        path: "manifest.json".into(),
        message: error.to_string(),
    }
}

impl Source<'_> {
    /// Bytes read and bytes lost.
    fn read(&mut self, buffer: &mut [u8]) -> (usize, u64) {
        match self {
            Self::Recorder(reader) => reader
                .read(buffer)
                .map_or((0, 1), |read| (read.count, read.lost)),
            Self::Log { path, file } => {
                if file.is_none() {
                    *file = File::open(path).ok();
                }
                let count = file
                    .as_mut()
                    .map_or(0, |file| file.read(buffer).unwrap_or(0));
                (count, 0)
            }
        }
    }
}

/// Cuts bytes into lines.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    /// Adds `bytes` and gives each line they complete to `take`, made printable.
    pub fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(String)) {
        for &byte in bytes {
            if byte != b'\n' {
                self.partial.push(byte);
            }
            if byte == b'\n' || self.partial.len() == LONGEST_LINE {
                take(printable(&self.partial));
                self.partial.clear();
            }
        }
    }
}

/// Returns the printable part: no control characters and no escape sequences, so that a guest cannot control the
/// user's terminal.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' if characters.peek() == Some(&'[') => {
                characters.next();
                // A control sequence ends with a character from `@` on (ECMA-48, 5.4).
                let _ = characters.by_ref().find(|c| ('@'..='~').contains(c));
            }
            '\t' => out.push('\t'),
            character if character.is_control() => {}
            character => out.push(character),
        }
    }
    out
}

/// The moment a line says it was printed, `[seconds.fraction] …` at its start, nanoseconds.
#[must_use]
pub fn stamp_ns(line: &str) -> Option<u64> {
    let (stamp, _) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, fraction) = stamp.trim().split_once('.')?;
    let digits = fraction.len();
    if digits > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: u64 = seconds.parse().ok()?;
    let fraction = fraction.parse::<u64>().ok()? * 10u64.pow(9 - digits as u32);
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut out = Vec::new();
        pieces
            .iter()
            .for_each(|piece| lines.feed(piece, |line| out.push(line)));
        out
    }

    #[test]
    fn lines_are_put_together_from_pieces() {
        assert_eq!(
            lines(&[b"he", b"llo\r\nwor", b"ld", b"\n\nrest"]),
            ["hello", "world", ""]
        );
        let long = vec![b'x'; LONGEST_LINE + 1];
        assert_eq!(lines(&[&long]).len(), 1);
    }

    #[test]
    fn guests_cannot_play_with_the_terminal() {
        assert_eq!(
            printable(b"a\x1b[2Jb\x1b[1;31mc\x07\x1b]0;t\x07"),
            "abc]0;t"
        );
        assert_eq!(printable(b"\x1b["), "");
        assert_eq!(printable(b"\xff\xfe!"), "\u{fffd}\u{fffd}!");
    }

    #[test]
    fn stamps_of_both_styles() {
        assert_eq!(stamp_ns("[12.000345] up"), Some(12_000_345_000));
        assert_eq!(stamp_ns("[    0.000000] Booting Linux"), Some(0));
        for line in [
            "",
            "[",
            "[x.1]",
            "[1.x]",
            "[1]",
            "1.2",
            "[1.1234567890]",
            "[99999999999999999999.0]",
        ] {
            assert_eq!(stamp_ns(line), None, "{line}");
        }
    }
}
