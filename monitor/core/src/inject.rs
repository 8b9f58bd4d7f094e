//! Faults that a guest is told about
//!
//! As the architecture would report them to EL1 (Arm ARM D1.3): an abort as a synchronous external abort,
//! a trapped instruction as undefined, a system error as a virtual one.

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::syndrome;
use bulkhead_abi::status::Cause;

const EXTERNAL_ABORT: u64 = 0x10;
const AARCH32: u64 = 1 << 4;
const SP_EL1: u64 = 1 << 0;
const EL_MASK: u64 = 3 << 2;
const SAME_LEVEL: u64 = 1;
const PAN: u64 = 1 << 22;
/// `SCTLR_EL1`: PAN stays as it is on an exception.
const SPAN: u64 = 1 << 23;
const EL1H_MASKED: u64 = 0x3C5;
const VECTOR_SIZE: u64 = 0x80;

/// Offset of the vector for a synchronous exception taken to EL1 from that state.
const fn vector(spsr: u64) -> u64 {
    if spsr & AARCH32 != 0 {
        0x600
    } else if spsr & EL_MASK == 0 {
        0x400
    } else if spsr & SP_EL1 != 0 {
        0x200
    } else {
        0x000
    }
}

/// Returns `ESR_EL1` for a fault with the given `ESR_EL2`.
const fn syndrome_at_el1(cause: Cause, esr: u64, same_level: bool) -> u64 {
    let il = esr & syndrome::IL;
    match cause {
        Cause::Violation => {
            let level = if same_level { SAME_LEVEL } else { 0 };
            let class = syndrome::class(esr) | level;
            let data = if class < syndrome::DATA_ABORT {
                0
            } else {
                syndrome::CM | syndrome::WNR
            };
            class << 26 | il | esr & data | EXTERNAL_ABORT
        }
        _ => il,
    }
}

impl<M: Machine> Monitor<M> {
    /// Returns whether the fault can be injected: not while the guest executes the vector that would handle it, because
    /// the guest would fault there again for ever.
    pub(crate) fn can_tell(self, cause: Cause) -> bool {
        let inside = self.core.frame.elr().wrapping_sub(self.vector());
        match cause {
            Cause::Violation | Cause::Undefined => inside >= VECTOR_SIZE,
            Cause::SError => true,
            _ => false,
        }
    }

    #[inline(always)]
    fn vector(self) -> u64 {
        self.machine
            .vbar()
            .wrapping_add(vector(self.core.frame.spsr()))
    }

    /// Raises the fault at EL1.
    pub(crate) fn inject(self, cause: Cause) {
        if cause == Cause::SError {
            return self.machine.raise_serror();
        }
        let frame = &self.core.frame;
        let offset = vector(frame.spsr());
        let same_level = offset < 0x400;
        self.machine
            .set_el1_syndrome(syndrome_at_el1(cause, frame.esr(), same_level), frame);
        let pan = if self.machine.sctlr() & SPAN == 0 {
            PAN
        } else {
            frame.spsr() & PAN
        };
        frame.set_elr(self.machine.vbar().wrapping_add(offset));
        frame.set_spsr(EL1H_MASKED | pan);
    }
}
