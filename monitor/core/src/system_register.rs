//! System registers and instructions that are trapped
//!
//! `ESR_EL2.ISS` of class 0x18 (Arm ARM D19.2.37, "MSR, MRS, or System instruction execution").

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::syndrome;
use crate::trap::Verdict;
use bulkhead_abi::status::Trap;
use core::sync::atomic::Ordering::Relaxed;

const READ: u64 = 1;

/// Encoding as in the syndrome: Op0, Op2, Op1, CRn, CRm.
const fn encoding(op0: u64, op1: u64, crn: u64, crm: u64, op2: u64) -> u64 {
    op0 << 20 | op2 << 17 | op1 << 14 | crn << 10 | crm << 1
}

const OP2: u64 = encoding(0, 0, 0, 0, 7);
const CRM: u64 = encoding(0, 0, 0, 15, 0);
const ALL: u64 = encoding(3, 7, 15, 15, 7);

const INTERRUPTS: u64 = encoding(3, 0, 12, 0, 0);
const ICC_SGI1R: u64 = encoding(3, 0, 12, 11, 5);
const ACTLR: u64 = encoding(3, 0, 1, 0, 1);
const IDENTIFICATION: u64 = encoding(3, 0, 0, 0, 0);
const TLB_MAINTENANCE: u64 = encoding(1, 0, 8, 0, 0);
const CACHE_MAINTENANCE: u64 = encoding(1, 0, 7, 0, 0);

impl<M: Machine> Monitor<M> {
    pub(crate) fn system_register(self) -> Verdict {
        let esr = self.core.frame.esr();
        let register = syndrome::register(esr >> 5);
        let key = esr & ALL;
        let trap = match key & !OP2 & !CRM {
            // Of these only the three that send are trapped; two are of groups the guest has not.
            INTERRUPTS => {
                if key == ICC_SGI1R && esr & READ == 0 {
                    self.send_ipi(self.x(register));
                }
                Trap::Ipi
            }
            IDENTIFICATION if esr & READ != 0 => {
                self.core.frame.set_x(register, self.identity(key));
                Trap::IdRegister
            }
            TLB_MAINTENANCE => {
                self.forget_everywhere();
                Trap::Tlbi
            }
            // Sets and ways are the physical cache's, shared with others, and no way to maintain it for
            // a guest anyway: its memory is clean to the point of coherency at each start.
            CACHE_MAINTENANCE => Trap::SetWay,
            _ if key == ACTLR => {
                if esr & READ != 0 {
                    self.core.frame.set_x(register, 0);
                }
                Trap::IdRegister
            }
            _ => return Verdict::UNDEFINED,
        };
        self.core.count(trap);
        self.skip();
        Verdict::Resume
    }

    fn identity(self, key: u64) -> u64 {
        let row = (key >> 1 & 0xF).wrapping_sub(1);
        let index = row << 3 | key >> 17 & 7;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.core
            .identity
            .get(index)
            .map_or(0, |value| value.load(Relaxed))
    }
}
