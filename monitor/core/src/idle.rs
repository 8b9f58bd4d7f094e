//! A core at EL2 with no guest to run
//!
//! A spare core, a core that is off, a partition that is stopped: all wait here for requests, for a
//! start that is due, for a heartbeat that fails. WFI ends by the monitor's own interrupt, the one of
//! the EL2 timer, which other cores make pending, too. The interrupt is never taken, only withdrawn.

use crate::machine::Machine;
use crate::state::{Core, Power};
use bulkhead_formats::gicv3::{FRAME_SIZE, ICENABLER, ICPENDR, ISENABLER, ISPENDR};
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
        self.set_private(self.core, ISENABLER);
        loop {
            self.withdraw();
            let watch = self.watch();
            let start = self.pass_time();
            self.machine.alarm(watch.min(start));
            self.machine.wait(self.core.mask);
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

    /// An exception of the monitor itself: its core is lost, and its partition with it; no other.
    #[inline(always)]
    pub(crate) fn break_down(self) -> ! {
        self.record_breakdown();
        self.machine.disown();
        loop {
            self.withdraw();
            self.machine.wait(self.core.mask);
        }
    }

    /// Wakes the monitor of a core that waits.
    #[inline(never)]
    pub(crate) fn wake(self, core: &Core) {
        self.machine.order();
        self.set_private(core, ISPENDR);
        self.machine.notify();
    }

    /// Wakes a core whatever it does: its guest sleeps, or its monitor. Its partition is cut, so that a guest
    /// never sees the interrupt.
    #[inline(never)]
    pub(crate) fn summon(self, core: &Core) {
        self.set_private(core, ISENABLER);
        self.wake(core);
    }

    /// Hides the monitor's interrupt from the guest that this core is about to enter.
    #[inline(always)]
    pub(crate) fn hide_alarm(self) {
        self.set_private(self.core, ICENABLER);
        self.withdraw();
    }

    /// Ends the monitor's interrupt before the reason for it is looked for: the read waits until the write
    /// has reached the redistributor.
    #[inline(never)]
    fn withdraw(self) {
        let register = self.set_private(self.core, ICPENDR);
        self.machine.read32(register);
    }

    /// Sets the bit of the monitor's interrupt in a register of a core's redistributor.
    #[inline(never)]
    fn set_private(self, core: &Core, register: u64) -> u64 {
        let register = core.gicr.wrapping_add(FRAME_SIZE).wrapping_add(register);
        self.machine.write32(register, core.alarm);
        register
    }
}
