//! The emulator's interrupt log: a witness from outside of the monitors
//!
//! `-d int` writes a few lines for each exception:
//!
//! ```text
//! Taking exception 11 [Hypervisor Call] on CPU 0
//! ...from EL1 to EL2
//! ```
//!
//! A busy machine writes gigabytes, so the log goes through a pipe and is counted as it comes.

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::error::BenchError;

/// Milliseconds between looks at whether the run is over.
const PATIENCE_MS: u8 = 50;

/// Exceptions of one core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoreExceptions {
    /// Entries to EL2 from a guest, by the emulator's name of the exception.
    pub(crate) to_el2: BTreeMap<String, u64>,
    /// Exceptions the guest handled by itself.
    pub(crate) handled: u64,
    /// Exceptions since the last entry to EL2.
    pub(crate) since_el2: u64,
}

impl CoreExceptions {
    /// All entries to EL2 from a guest.
    pub(crate) fn total(&self) -> u64 {
        self.to_el2.values().sum()
    }
}

/// Counts exceptions from the log's lines.
#[derive(Debug, Default)]
struct Counter {
    cores: BTreeMap<usize, CoreExceptions>,
    /// Exception and core of the last head line.
    pending: Option<(String, usize)>,
}

impl Counter {
    fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Taking exception ") {
            self.pending = head(rest);
        } else if let Some(levels) = line.strip_prefix("...from ") {
            let Some((name, core)) = self.pending.take() else {
                return;
            };
            let core = self.cores.entry(core).or_default();
            match levels.trim() {
                "EL0 to EL2" | "EL1 to EL2" => {
                    *core.to_el2.entry(name).or_default() += 1;
                    core.since_el2 = 0;
                }
                "EL0 to EL1" | "EL1 to EL1" => {
                    core.handled += 1;
                    core.since_el2 += 1;
                }
                _ => {}
            }
        }
    }
}

/// `11 [Hypervisor Call] on CPU 0`.
fn head(text: &str) -> Option<(String, usize)> {
    let (_, rest) = text.split_once('[')?;
    let (name, rest) = rest.split_once(']')?;
    let core = rest.trim().strip_prefix("on CPU ")?.trim().parse().ok()?;
    Some((name.to_owned(), core))
}

/// Counts the log of a run while it is written.
#[derive(Debug)]
pub(crate) struct InterruptLog {
    path: PathBuf,
    over: Arc<AtomicBool>,
    thread: JoinHandle<std::io::Result<Counter>>,
}

impl InterruptLog {
    /// Makes the pipe at `path` and begins to count what is written into it.
    pub(crate) fn start(path: &Path) -> Result<Self, BenchError> {
        // Whether there was one; `mkfifo` says if it cannot be replaced.
        let _ = std::fs::remove_file(path);
        let made = nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR);
        made.map_err(|error| BenchError::file(path)(error.into()))?;
        // For writing, too: so the pipe never ends before the run is known to be over.
        let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let fd = nix::fcntl::open(path, flags, Mode::empty());
        let pipe = fd
            .map(File::from)
            .map_err(|error| BenchError::file(path)(error.into()))?;
        let over = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let over = Arc::clone(&over);
            move || count(pipe, &over)
        });
        Ok(Self {
            path: path.into(),
            over,
            thread,
        })
    }

    /// After the run: exceptions by core.
    pub(crate) fn finish(self) -> Result<BTreeMap<usize, CoreExceptions>, BenchError> {
        self.over.store(true, Ordering::Release);
        let counted = self.thread.join();
        // It is only a name by now.
        let _ = std::fs::remove_file(&self.path);
        match counted {
            Ok(counter) => Ok(counter.map_err(BenchError::file(&self.path))?.cores),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn count(mut pipe: File, over: &AtomicBool) -> std::io::Result<Counter> {
    let mut counter = Counter::default();
    let mut partial = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        // Looked at before the pipe: what was written before the end is still read.
        let last = over.load(Ordering::Acquire);
        match pipe.read(&mut buffer) {
            Ok(count) => take(&mut counter, &mut partial, &buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock && last => return Ok(counter),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let mut waiting = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
                poll(&mut waiting, PollTimeout::from(PATIENCE_MS))?;
            }
            Err(error) => return Err(error),
        }
    }
}

fn take(counter: &mut Counter, partial: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        partial.extend_from_slice(&rest[..end]);
        if let Ok(line) = std::str::from_utf8(partial) {
            counter.line(line);
        }
        partial.clear();
        rest = &rest[end + 1..];
    }
    partial.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const LOG: &str = "\
Taking exception 5 [IRQ] on CPU 1
...from EL0 to EL1
...with ESR 0x0/0x0
Taking exception 11 [Hypervisor Call] on CPU 0
...from EL1 to EL2
...with ESR 0x16/0x5a000000
Taking exception 6 [FIQ] on CPU 0
...from EL1 to EL2
Exception return from AArch64 EL2 to AArch64 EL1 PC 0x40000000
Taking exception 5 [IRQ] on CPU 0
...from EL1 to EL1
Taking exception 6 [FIQ] on CPU 3
...from EL2 to EL2
Taking exception 13 [Secure Monitor Call] on CPU 3
...handled as PSCI call
";

    fn check(cores: &BTreeMap<usize, CoreExceptions>) {
        assert_eq!(cores[&0].total(), 2);
        assert_eq!(cores[&0].to_el2["FIQ"], 1);
        assert_eq!((cores[&0].handled, cores[&0].since_el2), (1, 1));
        assert_eq!((cores[&1].total(), cores[&1].since_el2), (0, 1));
        assert_eq!(cores[&3].total(), 0);
    }

    #[test]
    fn entries_from_guests_are_counted_by_core() {
        let mut counter = Counter::default();
        let mut partial = Vec::new();
        LOG.as_bytes()
            .chunks(7)
            .for_each(|piece| take(&mut counter, &mut partial, piece));
        check(&counter.cores);
    }

    #[test]
    fn the_pipe_is_read_to_its_end() {
        let path = std::env::temp_dir().join(format!("bulkhead-pipe-{}", std::process::id()));
        let log = InterruptLog::start(&path).unwrap();
        let mut writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        writer.write_all(LOG.as_bytes()).unwrap();
        drop(writer);
        check(&log.finish().unwrap());
        assert!(!path.exists());
    }
}
