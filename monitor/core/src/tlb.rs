//! TLB maintenance of partitions with `tlbi = "trap"`
//!
//! The guest's broadcast reaches its own cores only, each of which forgets all stage-1 translations of
//! the VMID: more than was asked for, which is always allowed.

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::Power;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

impl<M: Machine> Monitor<M> {
    pub(crate) fn forget_everywhere(self) {
        self.machine.forget_stage1();
        for core in self.siblings().filter(|core| core.is(Power::On)) {
            let ticket = core.flushes_asked.fetch_add(1, Release).wrapping_add(1);
            self.machine.kick(core.target);
            self.await_core(core, 0, ticket);
        }
    }

    /// Does what other cores of the partition asked for, also while this core waits for them.
    #[inline(never)]
    pub(crate) fn serve_flush(self) {
        let asked = self.core.flushes_asked.load(Acquire);
        if asked != self.core.flushes_done.load(Relaxed) {
            self.machine.forget_stage1();
            self.core.flushes_done.store(asked, Release);
        }
    }
}
