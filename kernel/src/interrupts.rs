//! GICv3 as a guest sees it, and the interrupts that arrive
//!
//! Arm IHI 0069, chapter 12. The monitor answers accesses to the frames, all of them before the
//! partition is up; acknowledging and ending are system registers and enter nothing.
#![expect(unsafe_code, reason = "registers of a device")]

use crate::registers;
use crate::space::LINEAR;
use bulkhead_abi::kernel::Status;
use bulkhead_kernel_core::{Hal, Kernel};
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

const GICD_CTLR: u64 = 0x0000;
const GICD_ISENABLER: u64 = 0x0100;
const GICD_ICENABLER: u64 = 0x0180;
const GICD_IPRIORITYR: u64 = 0x0400;
const GICD_ICFGR: u64 = 0x0c00;
const GICD_IROUTER: u64 = 0x6000;
const GICR_TYPER: u64 = 0x0008;
const GICR_WAKER: u64 = 0x0014;
/// From a redistributor to the next.
const STRIDE: u64 = 0x2_0000;
/// The SGI frame of a redistributor; its offsets are those of the distributor.
const SGI_FRAME: u64 = 0x1_0000;
/// ARE and group 1.
const CONTROL: u32 = 1 << 4 | 1 << 1;
const PROCESSOR_SLEEP: u32 = 1 << 1;
const CHILDREN_ASLEEP: u32 = 1 << 2;
/// Reads of a sleeping redistributor until it is given up.
const POLLS: u32 = 1000;
/// The middle of what guests may use.
const PRIORITY: u8 = 0xa0;
/// Of levels, which stay active while their threads serve them: everything else interrupts.
const LEVEL_PRIORITY: u8 = 0xc0;
/// GICD_ICFGR: the upper of an interrupt's two bits.
const EDGE: u32 = 2;
/// The software-generated interrupt by which other cores have this one attend to its mailbox.
const MAIL: u64 = 0;
const FIRST_SHARED: u64 = 32;
/// INTIDs from here on mean that none was pending (IHI 0069, 2.2.1).
const SPECIAL: u64 = 1020;
const INTID: u64 = 0xff_ffff;

static DISTRIBUTOR: AtomicU64 = AtomicU64::new(0);
static REDISTRIBUTORS: AtomicU64 = AtomicU64::new(0);
/// INTID of the virtual timer.
static TIMER: AtomicU64 = AtomicU64::new(0);

/// Brings up the distributor, on the first core.
pub(crate) fn start([distributor, redistributors]: [u64; 2], timer: u32) {
    TIMER.store(timer.into(), Ordering::Relaxed);
    DISTRIBUTOR.store(distributor + LINEAR, Ordering::Relaxed);
    REDISTRIBUTORS.store(redistributors + LINEAR, Ordering::Relaxed);
    write(distributor + LINEAR + GICD_CTLR, CONTROL);
}

/// Affinity of the core of `rank`, as PSCI wants it.
pub(crate) fn affinity(rank: u64) -> u64 {
    let affinity = read_double(redistributor(rank) + GICR_TYPER) >> 32;
    (affinity & 0xff00_0000) << 8 | affinity & 0x00ff_ffff
}

fn redistributor(rank: u64) -> u64 {
    REDISTRIBUTORS.load(Ordering::Relaxed) + rank * STRIDE
}

/// Value of ICC_SGI1R_EL1 that has the core of that affinity attend to its mailbox (IHI 0069, 12.2.22).
pub(crate) fn mail_for(affinity: u64) -> u64 {
    let [aff0, aff1, aff2, aff3] = [0, 8, 16, 32].map(|shift| affinity >> shift & 0xff);
    let place = aff3 << 48 | aff2 << 32 | aff1 << 16;
    place | (aff0 >> 4) << 44 | MAIL << 24 | 1 << (aff0 & 0xf)
}

/// The affinity in such a value.
pub(crate) fn affinity_in(mail: u64) -> u64 {
    let [aff3, aff2, aff1] = [48, 32, 16].map(|shift| mail >> shift & 0xff);
    let aff0 = (mail >> 44 & 0xf) << 4 | u64::from((mail & 0xffff).trailing_zeros());
    aff3 << 32 | aff2 << 16 | aff1 << 8 | aff0
}

/// Brings up the interface of the calling core, of `rank`, and lets timer and mail through.
pub(crate) fn start_core(rank: u64) {
    let redistributor = redistributor(rank);
    let waker = read(redistributor + GICR_WAKER);
    write(redistributor + GICR_WAKER, waker & !PROCESSOR_SLEEP);
    let awake = |_: &u32| read(redistributor + GICR_WAKER) & CHILDREN_ASLEEP == 0;
    let _found_awake = (0..POLLS).find(awake);
    registers::set_gic_system_registers(7);
    registers::set_priority_mask(0xff);
    registers::set_binary_point(0);
    registers::set_interrupt_control(0);
    registers::enable_interrupt_group(1);
    let private = redistributor + SGI_FRAME;
    let timer = TIMER.load(Ordering::Relaxed);
    for intid in [MAIL, timer] {
        write_byte(private + GICD_IPRIORITYR + intid, PRIORITY);
    }
    write(
        private + GICD_ISENABLER,
        1_u32.wrapping_shl(timer as u32) | 1 << MAIL,
    );
    registers::set_timer_deadline(u64::MAX);
    registers::set_timer_control(1);
}

/// Lets a shared interrupt in, on the calling core; whether it is a level, as the monitor has set it.
pub(crate) fn enable_shared(intid: u64) -> Result<bool, Status> {
    if !(FIRST_SHARED..SPECIAL).contains(&intid) {
        return Err(Status::Refused);
    }
    let distributor = DISTRIBUTOR.load(Ordering::Relaxed);
    let triggers = read(distributor + GICD_ICFGR + intid / 16 * 4);
    let level = triggers >> (intid % 16 * 2) & EDGE == 0;
    let priority = if level { LEVEL_PRIORITY } else { PRIORITY };
    write_byte(distributor + GICD_IPRIORITYR + intid, priority);
    let route = registers::affinity() & 0xff_00ff_ffff;
    write_double(distributor + GICD_IROUTER + 8 * intid, route);
    write(
        distributor + GICD_ISENABLER + intid / 32 * 4,
        1 << (intid % 32),
    );
    Ok(level)
}

/// Lets a shared interrupt that was let in no longer in.
pub(crate) fn disable_shared(intid: u64) {
    let distributor = DISTRIBUTOR.load(Ordering::Relaxed);
    let register = distributor + GICD_ICENABLER + intid / 32 * 4;
    write(register, 1 << (intid % 32));
}

/// Serves what is pending, since `began`.
#[inline(always)]
pub(crate) fn serve<H: Hal>(kernel: Kernel<'_, H>, began: u64) {
    kernel.interrupted(began);
    let intid = registers::acknowledge() & INTID;
    let timer = TIMER.load(Ordering::Relaxed);
    let done = if intid == timer {
        kernel.tick(began);
        true
    } else if intid == MAIL {
        kernel.attend(began);
        true
    } else {
        intid < SPECIAL && kernel.interrupt(intid, began)
    };
    if done {
        registers::end_interrupt(intid);
    }
    if intid != timer {
        kernel.leave_interrupt();
    }
}

// The instruction is spelled out: a compiler may choose one with write-back or of a pair. The syndrome of
// such an instruction does not describe the access (ISV = 0), so the monitor refuses it.
macro_rules! access {
    ($function:ident, $instruction:literal, read $type:ty) => {
        fn $function(address: u64) -> $type {
            let value: u64;
            // SAFETY: a register of the interrupt controller, mapped by `space`.
            unsafe {
                asm!($instruction, in(reg) address, out(reg) value, options(nostack, preserves_flags));
            }
            value as $type
        }
    };
    ($function:ident, $instruction:literal, write $type:ty) => {
        fn $function(address: u64, value: $type) {
            // SAFETY: as above; what it does to interrupts is confined by the monitor.
            unsafe {
                asm!($instruction, in(reg) address, in(reg) u64::from(value),
                    options(nostack, preserves_flags));
            }
        }
    };
}

access!(read, "ldr {1:w}, [{0}]", read u32);
access!(read_double, "ldr {1}, [{0}]", read u64);
access!(write, "str {1:w}, [{0}]", write u32);
access!(write_double, "str {1}, [{0}]", write u64);
access!(write_byte, "strb {1:w}, [{0}]", write u8);
