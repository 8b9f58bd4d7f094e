//! The bridge to other machines, where the description has one
//!
//! A program of its own, since what it brings along is no part of what an agent needs. It is started behind the stages, which
//! make its buffers, and again when it ended.

use crate::console::say;
use bulkhead_linux::Partition;
use std::process::{Child, Command, Stdio};

/// The program.
const PROGRAM: &str = "/bin/bulkhead-bridge";
/// Seconds between its end and its next start.
const PAUSE_S: u64 = 5;

/// It runs, or will.
pub(crate) struct Bridge {
    child: Option<Child>,
    /// Ticks of the agent until the next start.
    pause: u64,
    /// That many are in [`PAUSE_S`].
    pauses: u64,
}

impl Bridge {
    /// Starts it, if the description has one; `second` is how many ticks of the agent a second has.
    pub(crate) fn start(partition: &Partition, second: u64) -> Option<Self> {
        partition.bridge()?;
        let mut bridge = Self {
            child: None,
            pause: 0,
            pauses: PAUSE_S * second,
        };
        bridge.tick();
        Some(bridge)
    }

    /// Looks whether it still runs.
    pub(crate) fn tick(&mut self) {
        let Some(child) = &mut self.child else {
            if self.pause > 0 {
                self.pause -= 1;
                return;
            }
            // What is typed is the agent's.
            match Command::new(PROGRAM).stdin(Stdio::null()).spawn() {
                Ok(child) => self.child = Some(child),
                Err(error) => self.wait(format_args!("is not started: {error}")),
            }
            return;
        };
        if let Ok(Some(status)) = child.try_wait() {
            self.child = None;
            self.wait(format_args!("ended: {status}"));
        }
    }

    fn wait(&mut self, why: std::fmt::Arguments<'_>) {
        say(format_args!(
            "agent: the bridge {why}; it is started again in {PAUSE_S} s"
        ));
        self.pause = self.pauses;
    }
}
