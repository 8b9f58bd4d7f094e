//! Calls of the guest: Bulkhead's own, and PSCI by way of [`crate::psci`]

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::{Partition, request};
use crate::status_pages::bump;
use crate::syndrome;
use crate::trap::Verdict;
use bulkhead_abi::config::{Attachment, flags};
use bulkhead_abi::hypercall::{
    ATTACH, BASE, CONTROL, DENIED, DETACH, DOORBELL, EXEC, FAIL, INVALID, LAST, OK, UP, VERSION,
};
use bulkhead_abi::status::{Cause, State, Trap};
use bulkhead_formats::gicv3::ISPENDR;
use bulkhead_limiter::Limiter;
use core::sync::atomic::Ordering::Relaxed;

const PAGE: u64 = bulkhead_abi::PAGE_SIZE;

impl<M: Machine> Monitor<M> {
    pub(crate) fn call(self, esr: u64) -> Verdict {
        const IMMEDIATE: u64 = 0xFFFF;
        self.core.count(Trap::Call);
        // An SMC that is trapped has not been stepped over yet, an HVC has.
        if syndrome::class(esr) == syndrome::SMC {
            self.skip();
        }
        let function = self.x(0) & 0xFFFF_FFFF;
        let answer = if esr & IMMEDIATE != 0 {
            None
        } else if (BASE..=LAST).contains(&function) {
            self.bulkhead_call(function)
        } else {
            Some(self.psci(function))
        };
        let frame = &self.core.frame;
        if let Some(answer) = answer {
            frame.set_x(0, answer.cast_unsigned());
            return Verdict::Resume;
        }
        // The fault is the call's, so that is where the guest is told it happened.
        frame.set_elr(frame.elr().wrapping_sub(4));
        Verdict::UNDEFINED
    }

    /// The answer; `None` to an undefined call.
    fn bulkhead_call(self, function: u64) -> Option<i64> {
        Some(match function {
            VERSION => i64::from(bulkhead_abi::VERSION),
            UP => self.up(),
            DOORBELL => self.ring(self.x(1)),
            ATTACH | DETACH => self.change_mapping(function == ATTACH, self.x(1)),
            FAIL => {
                self.core.frame.set_esr(self.x(1));
                self.surrender(Cause::Panic)
            }
            EXEC => {
                let [start, bytes] = self.core.partition.config.memory;
                if self.x(1).wrapping_sub(start) >= bytes {
                    return Some(INVALID);
                }
                self.request_exec(self.x(1), self.x(2))
            }
            CONTROL => self.control(self.x(1), self.x(2)),
            _ => return None,
        })
    }

    /// The leader starts the image, as it does for each start, when all cores have left the old one.
    #[inline(always)]
    fn request_exec(self, entry: u64, argument: u64) -> ! {
        let partition = self.core.partition;
        if let Some(leader) = partition.leader() {
            leader.entry.store(entry, Relaxed);
            leader.context.store(argument, Relaxed);
        }
        self.signal(partition, request::EXEC);
        self.idle()
    }

    pub(crate) fn x(self, n: usize) -> u64 {
        self.core.frame.x(n)
    }

    fn up(self) -> i64 {
        self.core.partition.status.keep_counters();
        self.core
            .partition
            .link
            .change(State::Up, 0, self.machine.counter());
        OK
    }

    fn ring(self, index: u64) -> i64 {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let partition = self.core.partition;
        let cells = (
            partition.limits.get(index),
            partition.status.doorbells.get(index),
        );
        let (Some(doorbell), (Some(limit), Some(counters))) =
            (partition.doorbells.get(index), cells)
        else {
            return INVALID;
        };
        let passes = admits(limit, self.machine.counter());
        bump(if passes {
            &counters.sent
        } else {
            &counters.dropped
        });
        if passes {
            let word = u64::from(doorbell.intid >> 5).wrapping_mul(4);
            let register = partition.gicd.wrapping_add(ISPENDR).wrapping_add(word);
            self.machine.write32(register, 1 << (doorbell.intid & 31));
        }
        OK
    }

    fn change_mapping(self, attach: bool, key: u64) -> i64 {
        let mut attachments = self.core.partition.attachments.iter();
        let Some(attachment) = attachments.find(|attachment| attachment.key == key) else {
            return INVALID;
        };
        self.map(attachment, attach);
        if attach {
            self.core.frame.set_x(1, attachment.ipa);
            self.core.frame.set_x(2, attachment.size);
        }
        self.machine
            .forget_translations(self.core.partition.config.vttbr);
        OK
    }

    #[inline(never)]
    pub(crate) fn map(self, attachment: &Attachment, present: bool) {
        let mut offset = 0_u64;
        let mut entry_pa = attachment.entry_pa;
        while offset < attachment.size {
            let entry = attachment.entry_value.wrapping_add(offset);
            self.machine
                .write64(entry_pa, if present { entry } else { 0 });
            entry_pa = entry_pa.wrapping_add(8);
            offset = offset.wrapping_add(PAGE);
        }
    }

    fn control(self, partition: u64, what: u64) -> i64 {
        if self.core.partition.config.flags & flags::PRIVILEGED == 0 {
            return DENIED;
        }
        let index = usize::try_from(partition).unwrap_or(usize::MAX);
        let Some(target) = self.core.partitions.get(index).copied() else {
            return INVALID;
        };
        let request = match what {
            0 if may_start(target) => request::RESTART,
            0 => return DENIED,
            1 => request::HALT,
            _ => return INVALID,
        };
        self.signal(target, request);
        OK
    }
}

/// Returns whether the limit admits one more event.
#[inline(never)]
pub(crate) fn admits(limit: &Option<Limiter>, now: u64) -> bool {
    limit.as_ref().is_some_and(|limit| limit.admit(now))
}

/// A partition and its standby own the same devices: only one of them may run.
fn may_start(partition: &Partition) -> bool {
    let stopped = |partition: &Partition| partition.stopped.load(Relaxed) != 0;
    let idle_standby = partition.config.flags & flags::STANDBY != 0 && stopped(partition);
    !idle_standby && partition.standby.is_none_or(stopped)
}
