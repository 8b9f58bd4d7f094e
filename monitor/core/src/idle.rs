//! A core at EL2 with no guest to run
//!
//! A spare core, a core that is off, a partition that is stopped: all wait here for requests, for a
//! start that is due, for a heartbeat that fails.

use crate::machine::Machine;
use crate::state::{Core, Power};
use core::sync::atomic::Ordering::Acquire;

/// The monitor of one core. That of a spare core has a partition without cores, memory or image.
#[derive(Clone, Copy, Debug)]
pub struct Monitor<M> {
    /// The processor.
    pub machine: M,
    /// Its state.
    pub core: &'static Core,
}

impl<M: Machine> Monitor<M> {
    /// Waits for something to do; does not return, but enters guests.
    pub fn idle(self) -> ! {
        self.machine.disown();
        loop {
            let watch = self.watch();
            let start = self.pass_time();
            self.machine.alarm(watch.min(start));
            self.machine.wait();
        }
    }

    /// Serves requests and starts what is due; the time at which more will be.
    fn pass_time(self) -> u64 {
        self.serve();
        if self.core.power.load(Acquire) == Power::Pending as u64 {
            self.enter_pending();
        }
        self.start_if_due()
    }

    /// An exception of the monitor itself: its core is lost, and its partition with it; nobody else.
    pub(crate) fn break_down(self) -> ! {
        self.record_breakdown();
        self.machine.disown();
        loop {
            self.machine.wait();
        }
    }
}
