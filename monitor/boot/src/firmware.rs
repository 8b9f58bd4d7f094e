//! Firmware: how the other cores are started
#![expect(unsafe_code, reason = "calls to firmware")]

use crate::refusal::Refusal;
use crate::{console, memory};
use bulkhead_abi::config::{CoreConfig, start};
use bulkhead_abi::psci;
use bulkhead_arch::{barrier, wait};
use core::arch::asm;

/// PSCI 0.2, the first version with fixed function numbers (Arm DEN0022F, 5.1.1).
const FIRST_FIXED: i64 = 0x0000_0002;

/// Checks that firmware answers as the board file says.
pub(crate) fn check(way: u32) -> Result<(), Refusal> {
    if way != start::PSCI_SMC {
        return Ok(());
    }
    // The last line if nothing at EL3 handles the call, which then never comes back.
    console::say(format_args!("calls the firmware by SMC (firmware.start)"));
    // SAFETY: PSCI_VERSION has no effect.
    let version = unsafe { call(psci::VERSION, [0; 3]) };
    if version < FIRST_FIXED {
        return Err(Refusal::NoPsci(version));
    }
    Ok(())
}

/// Orders a core to begin at `entry`.
pub(crate) fn start(way: u32, index: usize, core: &CoreConfig, entry: u64) -> Result<(), Refusal> {
    if way == start::SPIN_TABLE {
        memory::place(core.release, entry);
        barrier::dsb_sy();
        wait::sev();
        return Ok(());
    }
    // SAFETY: `entry` is the first instruction of a core that has a stack.
    let error = unsafe { call(psci::CPU_ON, [core.mpidr, entry, index as u64]) };
    match error {
        psci::SUCCESS => Ok(()),
        _ => Err(Refusal::CoreFails(index, core.mpidr, error)),
    }
}

/// Calls firmware at EL3.
///
/// # Safety
/// The function is harmless to the running program.
unsafe fn call(function: u64, [first, second, third]: [u64; 3]) -> i64 {
    let result;
    // SAFETY: PSCI keeps all but x0 to x17 of the caller (SMCCC 1.0; but x0 to x3 from 1.1 on).
    unsafe {
        asm!("smc #0", inout("x0") function => result, in("x1") first, in("x2") second,
            in("x3") third, clobber_abi("C"));
    }
    result
}
