//! Starting the cores, and leaving for the resident part
#![expect(
    unsafe_code,
    reason = "calls to firmware and the jump to the resident part"
)]

use crate::configuration::Configuration;
use crate::features::{self, Features};
use crate::memory;
use crate::refusal::Refusal;
use crate::registers::{El2Registers, SCTLR_EL2};
use crate::{identity, states};
use bulkhead_abi::boot::{MONITOR_ENTRY_OFFSET, MONITOR_OFFSET};
use bulkhead_abi::config::CoreConfig;
use bulkhead_abi::psci;
use bulkhead_arch::registers::icc_sre_el2;
use bulkhead_arch::{barrier, identification};
use bulkhead_gic::Redistributor;
use bulkhead_monitor_core::{Core, MONITOR_PRIVATE, MONITOR_SGI};
use core::arch::asm;
use core::mem::offset_of;
use core::ptr::addr_of;

/// PPI of the EL2 physical timer, by which monitors wake themselves.
const ALARM: u32 = 26;
const WAKE_POLLS: u32 = 1_000_000;

unsafe extern "C" {
    fn boot_secondary();
    fn leave_for_monitor(registers: &El2Registers, core: u64, entry: u64, sctlr: u64) -> !;
    static mut secondary_stacks: [u64; 8];
}

/// Starts every core but the first, each on its own EL2 stack.
pub(crate) fn start_others(configuration: Configuration) -> Result<(), Refusal> {
    for (index, core) in configuration.cores()?.iter().enumerate().skip(1) {
        let slot = addr_of!(secondary_stacks) as u64 + index as u64 * 8;
        memory::place(slot, states::core_place(core));
        let error = cpu_on(core.mpidr, boot_secondary as *const () as u64, index as u64);
        if error != psci::SUCCESS {
            return Err(Refusal::CoreFails(index, error));
        }
    }
    Ok(())
}

/// Asks the firmware, which QEMU and EL3 firmware answer by SMC.
fn cpu_on(mpidr: u64, entry: u64, context: u64) -> i64 {
    let result;
    // SAFETY: PSCI CPU_ON keeps all but x0 to x3 of the caller (SMCCC 1.1; to x17 before).
    unsafe {
        asm!("smc #0", inout("x0") psci::CPU_ON => result, in("x1") mpidr, in("x2") entry,
            in("x3") context, clobber_abi("C"));
    }
    result
}

/// The last of the boot part on each core.
pub(crate) fn finish(
    configuration: Configuration,
    index: usize,
    load_address: u64,
    features: Features,
) -> Result<core::convert::Infallible, Refusal> {
    let cores = configuration.cores()?;
    let core = cores.get(index).ok_or(Refusal::Malformed("cores"))?;
    wake_interface(core)?;
    fill_identity(core);
    let partitions = configuration.partitions()?;
    let partition = partitions.get(core.partition as usize);
    let registers = El2Registers::of(configuration.head, partition, features);
    let entry = load_address + MONITOR_OFFSET + MONITOR_ENTRY_OFFSET;
    // SAFETY: state, tables and resident part are in place; nothing of the boot part is needed again.
    unsafe { leave_for_monitor(&registers, states::core_place(core), entry, SCTLR_EL2) }
}

fn fill_identity(core: &CoreConfig) {
    let place = states::core_place(core) + offset_of!(Core, identity) as u64;
    memory::place(place, identity::shown(&identification::read()));
}

fn wake_interface(core: &CoreConfig) -> Result<(), Refusal> {
    const ENABLE_AND_SRE: u64 = 0xF;
    // SAFETY: this is the core's own redistributor, and no guest runs on the core.
    let redistributor = unsafe { Redistributor::new(core.gicr as usize) };
    if !redistributor.wake(WAKE_POLLS) {
        return Err(Refusal::InterruptControllerLacks(
            "a redistributor that wakes up",
        ));
    }
    // SAFETY: nothing relies on the memory-mapped CPU interface.
    unsafe { icc_sre_el2::write(ENABLE_AND_SRE) };
    barrier::isb();
    features::check_interface()?;
    redistributor.reset(MONITOR_PRIVATE);
    redistributor.enable(1 << MONITOR_SGI | 1 << ALARM);
    Ok(())
}
