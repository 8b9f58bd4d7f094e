//! Fault injection, for the showcase and its tests
//!
//! `fault=linux-panic` and `fault=linux-flood` take effect 5 s after the agent's start, or
//! `fault_after_ms=NUMBER` after it, and only in the partition's first epoch.

use crate::console::say;
use crate::drive::Drive;
use bulkhead_linux::{Error, Partition, frequency_hz, ticks};

/// Default time from the agent's start to the fault, milliseconds.
const AFTER_MS: u64 = 5000;
/// How long a flood lasts, seconds, and how much of each tick it takes, per cent.
const FLOOD_S: u64 = 3;
const FLOOD_SHARE: u64 = 75;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Panic,
    Flood,
}

/// A fault that is going to be injected.
pub(crate) struct Fault {
    kind: Kind,
    begin_ticks: u64,
    announced: bool,
}

impl Fault {
    /// The fault of the arguments, if there is one, in the partition's first epoch.
    pub(crate) fn of(partition: &Partition) -> Result<Option<Self>, Error> {
        let kind = match partition.argument("fault") {
            Some("linux-panic") => Kind::Panic,
            Some("linux-flood") => Kind::Flood,
            _ => return Ok(None),
        };
        let first = partition.link(partition.name())?.state().epoch <= 1;
        let argument = partition.argument("fault_after_ms").map(str::parse);
        let after_ms = argument.and_then(Result::ok).unwrap_or(AFTER_MS);
        let begin_ticks = ticks() + after_ms * frequency_hz() / 1000;
        Ok(first.then_some(Self {
            kind,
            begin_ticks,
            announced: false,
        }))
    }

    /// Injects the fault in the tick in which it is due.
    pub(crate) fn tick(&mut self, drive: Option<&mut Drive>, tick_ticks: u64) {
        let now = ticks();
        if now < self.begin_ticks {
            return;
        }
        if !std::mem::replace(&mut self.announced, true) {
            say(format_args!("agent: fault on purpose, {:?}", self.kind));
        }
        match (self.kind, drive) {
            (Kind::Panic, _) => panic_kernel(),
            (Kind::Flood, Some(drive)) if now < self.begin_ticks + FLOOD_S * frequency_hz() => {
                drive.flood(now + tick_ticks * FLOOD_SHARE / 100);
            }
            (Kind::Flood, _) => {}
        }
    }
}

/// Does not return, unless the kernel forbids the panic.
fn panic_kernel() {
    // Output leaves before; if it is no terminal, it has left already.
    let _ = nix::sys::termios::tcdrain(std::io::stdout());
    if let Err(error) = std::fs::write("/proc/sysrq-trigger", "c") {
        say(format_args!(
            "agent: the kernel cannot be made to panic: {error}"
        ));
    }
}
