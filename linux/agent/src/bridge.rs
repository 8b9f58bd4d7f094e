//! The bridge to other machines, if the description has one
//!
//! The bridge is a program of its own, because an agent does not need its libraries. The agent
//! starts it after the stages, which create its buffers, and again after it ends.

use crate::console::say;
use bulkhead_linux::Partition;
use std::process::{Child, Command, Stdio};

/// The program.
const PROGRAM: &str = "/bin/bulkhead-bridge";
/// Seconds between its end and its next start.
const PAUSE_S: u64 = 5;

/// Running, or is about to start.
pub(crate) struct Bridge {
    child: Option<Child>,
    /// Ticks of the agent until the next start.
    pause: u64,
    /// Ticks of the agent in [`PAUSE_S`].
    pauses: u64,
}

impl Bridge {
    /// Starts the bridge, if the description has one; `second` is the number of ticks of the agent
    /// in a second.
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

    /// Checks that it still runs, and restarts it after the pause otherwise.
    pub(crate) fn tick(&mut self) {
        let Some(child) = &mut self.child else {
            if self.pause > 0 {
                self.pause -= 1;
                return;
            }
            // Console input belongs to the agent.
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
