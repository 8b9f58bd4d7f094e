//! Quiescence in time: when pages, slots and addresses may be reused
//!
//! A page, a slot or an address that one core gives up may still be held by another: as a translation in
//! its TLB, or as a reference that a path of its kernel has loaded. No core is told. Instead each enters
//! its kernel at least once in a period, forgets its translations there, and notes the time before: of
//! pages that were given up until then it holds nothing, since no path of the kernel is interrupted. A call that would
//! use such a page again is refused until all other cores that run have noted a later time than
//! the one at which it was given up. A partition that runs on one core never waits.

use crate::frame::{Rest, State};
use crate::object::{Core, STARTED};
use crate::slot::{Slot, Vacant};
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{MAX_CORES, NEVER, Status};

impl<'h, H: Hal> Kernel<'h, H> {
    /// Begins a rest: from now on no core finds an object that has been given up.
    #[inline(never)]
    pub(crate) fn rest(self) -> Rest {
        self.0.settle();
        Rest::since(self.0.now())
    }

    /// Returns true if no core holds an object that has rested so long.
    #[inline(never)]
    pub(crate) fn is_quiet(self, rest: Rest) -> bool {
        let this_core = self.0.core();
        (0..this_core.count().get().min(MAX_CORES as u64)).all(|rank| {
            let at = this_core.first().reference().plus(rank);
            let core = Core::new(at, self.0.frame(at));
            at == this_core.at()
                || core.stage().get() != STARTED
                || rest.is_before(core.quiet().first())
        })
    }

    /// A page that can be made something.
    #[inline(never)]
    pub(crate) fn free(self, state: &State) -> Result<u64, Status> {
        state.free(|rest| self.is_quiet(rest))
    }

    /// A slot that can be filled.
    #[inline(never)]
    pub(crate) fn vacant(self, slot: Slot<'h>) -> Result<Vacant<'h>, Status> {
        slot.vacant(|rest| self.is_quiet(rest))
    }

    /// Notes that the calling core holds nothing that was given up before `now`, if that is due.
    pub(crate) fn quiesce(self, now: u64) {
        if now >= self.0.core().due().get() {
            self.note(now);
        }
    }

    /// Makes the core quiet up to half a period before that is due: a core that enters the kernel anyway need not be
    /// interrupted for it. To be called before a path has loaded anything that can be given up.
    #[inline(always)]
    pub(crate) fn quiesce_in_passing(self) {
        let now = self.0.now();
        if now >= self.0.core().early().get() {
            self.note(now);
        }
    }

    #[inline(never)]
    fn note(self, now: u64) {
        let core = self.0.core();
        self.0.forget_translations();
        core.quiet().publish(now);
        let period = core.period().get();
        let alone = core.count().get() == 1;
        let next = |after| {
            if alone {
                NEVER
            } else {
                now.saturating_add(after)
            }
        };
        core.due().set(next(period));
        core.early().set(next(period / 2));
        if core.late().get() != 0 {
            self.interrupt_late();
        }
    }
}
