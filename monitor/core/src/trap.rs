//! Entry to EL2
//!
//! Every entry is counted by cause. No interrupt is among them: all interrupts belong to the guest, and a
//! guest that another core stops comes in by the fault of its next access (see [`crate::lifecycle`]).

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::syndrome;
use bulkhead_abi::status::{Cause, Trap};

/// The vector through which a core came.
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Synchronous exception of the guest.
    Synchronous = 0,
    /// System error.
    SError = 1,
    /// Any exception of the monitor itself.
    Failure = 2,
}

/// Action before the guest resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Resume,
    /// The guest has failed, counted as this.
    Fault(Trap),
}

impl Verdict {
    pub(crate) const UNDEFINED: Self = Self::Fault(Trap::Undefined);
}

/// Cause of a fault that is counted as `trap`.
const fn cause(trap: Trap) -> Cause {
    match trap {
        Trap::Undefined => Cause::Undefined,
        Trap::SError => Cause::SError,
        _ => Cause::Violation,
    }
}

impl<M: Machine> Monitor<M> {
    /// Handles an entry and returns when the guest goes on.
    pub fn enter(self, entry: Entry) {
        let verdict = match entry {
            Entry::Synchronous => self.synchronous(),
            Entry::SError => Verdict::Fault(Trap::SError),
            Entry::Failure => self.break_down(),
        };
        match verdict {
            Verdict::Resume => {}
            Verdict::Fault(trap) => {
                self.core.count(trap);
                self.fault(cause(trap));
            }
        }
    }

    fn synchronous(self) -> Verdict {
        let esr = self.core.frame.esr();
        match syndrome::class(esr) {
            syndrome::DATA_ABORT if self.emulate(esr) => Verdict::Resume,
            syndrome::DATA_ABORT => Verdict::Fault(Trap::DataViolation),
            syndrome::SYSTEM_REGISTER => self.system_register(esr),
            syndrome::HVC | syndrome::SMC => self.call(esr),
            syndrome::WAIT => self.wait_for_interrupt(esr),
            syndrome::FETCH_ABORT => Verdict::Fault(Trap::FetchViolation),
            _ => Verdict::UNDEFINED,
        }
    }

    fn wait_for_interrupt(self, esr: u64) -> Verdict {
        const TIMED_OR_EVENT: u64 = 3;
        self.core.count(Trap::Wfi);
        self.skip();
        // If another core has ended the wait in order to stop this one, the next fetch comes back.
        if esr & TIMED_OR_EVENT == 0 {
            self.machine.wait(self.core.mask);
        }
        Verdict::Resume
    }

    /// Goes on after the instruction that trapped.
    #[inline(never)]
    pub(crate) fn skip(self) {
        let frame = &self.core.frame;
        let bytes = if frame.esr() & syndrome::IL == 0 {
            2
        } else {
            4
        };
        frame.set_elr(frame.elr().wrapping_add(bytes));
    }
}
