//! System registers and instructions that are trapped
//!
//! `ESR_EL2.ISS` of class 0x18 (Arm ARM D19.2.37, "MSR, MRS, or System instruction execution").

use crate::idle::Monitor;
use crate::machine::{Interface, Machine};
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

/// Families: registers that differ in CRm and Op2.
const INTERRUPTS: u64 = encoding(3, 0, 12, 0, 0);
const PRIORITIES: u64 = encoding(3, 0, 4, 0, 0);
const AUXILIARY: u64 = encoding(3, 0, 1, 0, 0);
const IDENTIFICATION: u64 = encoding(3, 0, 0, 0, 0);
const TLB_MAINTENANCE: u64 = encoding(1, 0, 8, 0, 0);
const CACHE_MAINTENANCE: u64 = encoding(1, 0, 7, 0, 0);

/// CRm and Op2 of registers of a family. Of `INTERRUPTS`, SGI1R and the two behind it send.
const ICC_IAR0: u64 = 0o100;
const ICC_HPPIR0: u64 = 0o102;
const ICC_DIR: u64 = 0o131;
const ICC_RPR: u64 = 0o133;
const ICC_SGI1R: u64 = 0o135;
const ICC_SGI0R: u64 = 0o137;
const ICC_CTLR: u64 = 0o144;
const ACTLR: u64 = 0o001;
const FIRST_IDENTIFICATION: u64 = 0o010;

impl<M: Machine> Monitor<M> {
    pub(crate) fn system_register(self, esr: u64) -> Verdict {
        let register = syndrome::register(esr >> 5);
        let key = esr & ALL;
        let family = key & !OP2 & !CRM;
        let member = (key >> 1 & 0xF) << 3 | key >> 17 & 7;
        let is_read = esr & READ != 0;
        let written = self.x(register);
        let (trap, value) = match family {
            INTERRUPTS if matches!(member, ICC_SGI1R..=ICC_SGI0R) => {
                if member == ICC_SGI1R && !is_read {
                    self.send_ipi(written);
                }
                (Trap::Ipi, 0)
            }
            INTERRUPTS | PRIORITIES => {
                let written = (!is_read).then_some(written);
                (Trap::Interface, self.interface(family, member, written))
            }
            IDENTIFICATION if is_read => (Trap::IdRegister, self.identity(member)),
            TLB_MAINTENANCE => {
                self.machine.forget_stage1();
                (Trap::Tlbi, 0)
            }
            // Sets and ways are the physical cache's, shared with others, and no way to maintain it for
            // a guest anyway: its memory is clean to the point of coherency at each start.
            CACHE_MAINTENANCE => (Trap::SetWay, 0),
            AUXILIARY if member == ACTLR => (Trap::IdRegister, 0),
            _ => return Verdict::UNDEFINED,
        };
        if is_read {
            self.core.frame.set_x(register, value);
        }
        self.core.count(trap);
        self.skip();
        Verdict::Resume
    }

    /// Shared registers of the CPU interface are the physical ones. Group 0 is empty: nothing is pending, the
    /// rest reads as zero.
    fn interface(self, family: u64, member: u64, written: Option<u64>) -> u64 {
        const NONE_PENDING: u64 = 1023;
        let register = match member {
            _ if family == PRIORITIES => Interface::PriorityMask,
            ICC_CTLR => Interface::Control,
            ICC_RPR => Interface::RunningPriority,
            ICC_DIR => Interface::Deactivate,
            ICC_IAR0 | ICC_HPPIR0 => return NONE_PENDING,
            _ => return 0,
        };
        self.machine.interface(register, written)
    }

    fn identity(self, member: u64) -> u64 {
        let index = usize::try_from(member.wrapping_sub(FIRST_IDENTIFICATION));
        self.core
            .identity
            .get(index.unwrap_or(usize::MAX))
            .map_or(0, |value| value.load(Relaxed))
    }
}
