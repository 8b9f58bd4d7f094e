//! Starting the cores, and leaving for the resident part
#![expect(
    unsafe_code,
    reason = "the redistributor and the jump to the resident part"
)]

use crate::configuration::Configuration;
use crate::features::{self, Features};
use crate::refusal::Refusal;
use crate::registers::{El2Registers, SCTLR_EL2};
use crate::{console, firmware, identity, memory, states};
use bulkhead_abi::boot::{MONITOR_ENTRY_OFFSET, MONITOR_OFFSET};
use bulkhead_abi::config::{CoreConfig, Hardware, PartitionConfig};
use bulkhead_abi::status::MAX_CORES;
use bulkhead_arch::registers::{
    cnthp_ctl_el2, cnthp_cval_el2, cntp_ctl_el0, cntp_cval_el0, cntpct_el0, cntv_ctl_el0,
    cntv_cval_el0, icc_igrpen1_el1, icc_pmr_el1, icc_sre_el2, isr_el1,
};
use bulkhead_arch::{barrier, identification, wait};
use bulkhead_gic::Redistributor;
use bulkhead_monitor_core::Core;
use core::mem::offset_of;
use core::ptr::addr_of;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};

const WAKE_POLLS: u32 = 1_000_000;
const TIMER_POLLS: u32 = 1000;

unsafe extern "C" {
    fn boot_secondary();
    fn leave_for_monitor(registers: &El2Registers, core: u64, entry: u64, sctlr: u64) -> !;
    static mut secondary_stacks: [u64; MAX_CORES];
    static mut secondary_affinities: [u64; MAX_CORES];
}

/// How far each core has come: one of [`arrival`]. Translation is off: plain loads and stores of memory.
static ARRIVALS: [AtomicU32; MAX_CORES] = [const { AtomicU32::new(arrival::NONE) }; MAX_CORES];
/// Not 0 once all cores have arrived.
static GO: AtomicU32 = AtomicU32::new(0);

mod arrival {
    pub(super) const NONE: u32 = 0;
    pub(super) const ENTERED: u32 = 1;
    pub(super) const READY: u32 = 2;
    pub(super) const REFUSED: u32 = 3;
}

/// Starts every core but the first, each on its own EL2 stack, and waits until it is ready: one after the other,
/// so that one line at a time is written to the console.
pub(crate) fn start_others(configuration: Configuration) -> Result<(), Refusal> {
    let cores = configuration.cores()?;
    let hardware = &configuration.head.hardware;
    if cores.len() > 1 {
        firmware::check(hardware.start)?;
    }
    // No core has this affinity: entries without a core match none.
    let affinities = addr_of!(secondary_affinities) as u64;
    (0..MAX_CORES as u64).for_each(|index| {
        memory::place(affinities + index * 8, u64::MAX);
    });
    for (index, core) in cores.iter().enumerate() {
        let offset = index as u64 * 8;
        let stack = addr_of!(secondary_stacks) as u64 + offset;
        memory::place(stack, states::core_place(core));
        memory::place(affinities + offset, core.mpidr);
        // The first core runs: firmware that starts it once more is found out like that of another core.
        if index == 0 {
            announce(index, arrival::READY);
            continue;
        }
        let entry = boot_secondary as *const () as u64;
        firmware::start(hardware.start, index, core, entry)?;
        await_arrival(index, core, hardware.counter_hz)?;
    }
    Ok(())
}

/// Waits a second at most. A core that is refused, this one or one that came before, has reported why.
fn await_arrival(index: usize, core: &CoreConfig, second: u64) -> Result<(), Refusal> {
    let began = cntpct_el0::read();
    while state(index) != arrival::READY {
        if (0..MAX_CORES).any(|index| state(index) == arrival::REFUSED) {
            console::halt();
        }
        if cntpct_el0::read().wrapping_sub(began) > second {
            return Err(Refusal::CoreSilent(index, core.mpidr));
        }
        wait::pause();
    }
    Ok(())
}

fn state(index: usize) -> u32 {
    let state = ARRIVALS.get(index);
    state.map_or(arrival::NONE, |state| state.load(Acquire))
}

/// Lets all cores leave for the resident part.
pub(crate) fn release() {
    GO.store(1, Release);
    barrier::dsb_sy();
    wait::sev();
}

/// Returns whether all cores have left for the resident part.
pub(crate) fn are_released() -> bool {
    GO.load(Acquire) != 0
}

/// Marks a core as entered.
///
/// # Errors
/// The core has been entered before: the program that it ran then may still need its state.
pub(crate) fn enter(index: usize) -> Result<(), Refusal> {
    if state(index) != arrival::NONE {
        return Err(Refusal::EnteredTwice);
    }
    announce(index, arrival::ENTERED);
    Ok(())
}

/// Reports that a core is ready, and waits until all are.
pub(crate) fn arrive(index: usize) {
    announce(index, arrival::READY);
    while !are_released() {
        wait::pause();
    }
}

/// Reports that a core stays behind, once it has told why.
pub(crate) fn stay(index: usize) {
    announce(index, arrival::REFUSED);
}

fn announce(index: usize, state: u32) {
    if let Some(arrival) = ARRIVALS.get(index) {
        arrival.store(state, Release);
    }
}

/// Compares a core with the board file, and prepares what is its own.
pub(crate) fn prepare(
    configuration: Configuration,
    index: usize,
    features: Features,
) -> Result<(), Refusal> {
    let core = core_of(configuration, index)?;
    features::touch_debug();
    features::compare(&configuration.head.hardware, features)?;
    wake_interface(core, &configuration.head.hardware)?;
    let partition = partition_of(configuration, core)?;
    compare_timers(core, &configuration.head.hardware)?;
    let mask = find_mask(core, &configuration.head.hardware)?;
    memory::place(
        states::core_place(core) + offset_of!(Core, mask) as u64,
        mask,
    );
    fill_identity(core, partition.map_or(0, |partition| partition.vtcr));
    Ok(())
}

fn core_of(configuration: Configuration, index: usize) -> Result<&'static CoreConfig, Refusal> {
    let cores = configuration.cores()?;
    cores.get(index).ok_or(Refusal::Malformed("cores"))
}

fn partition_of(
    configuration: Configuration,
    core: &CoreConfig,
) -> Result<Option<&'static PartitionConfig>, Refusal> {
    Ok(configuration.partitions()?.get(core.partition as usize))
}

/// The last of the boot part on each core.
pub(crate) fn finish(
    configuration: Configuration,
    index: usize,
    load_address: u64,
    features: Features,
) -> Result<core::convert::Infallible, Refusal> {
    let core = core_of(configuration, index)?;
    let partition = partition_of(configuration, core)?;
    let registers = El2Registers::of(
        configuration.head,
        partition,
        states::affinity(core, partition),
        features,
    );
    let entry = load_address + MONITOR_OFFSET + MONITOR_ENTRY_OFFSET;
    // SAFETY: state, tables and resident part are in place; nothing of the boot part is needed again.
    unsafe { leave_for_monitor(&registers, states::core_place(core), entry, SCTLR_EL2) }
}

fn fill_identity(core: &CoreConfig, vtcr: u64) {
    let place = states::core_place(core) + offset_of!(Core, identity) as u64;
    memory::place(
        place,
        identity::guest_registers(&identification::read(), vtcr),
    );
}

/// Compares the timers' interrupts with the board file: each timer fires, and one private interrupt becomes pending.
fn compare_timers(core: &CoreConfig, hardware: &Hardware) -> Result<(), Refusal> {
    const ON: u64 = 1;
    const OFF: u64 = 0;
    // SAFETY: this is the core's own redistributor, and no guest runs on the core.
    let redistributor = unsafe { Redistributor::new(core.gicr as usize) };
    let before = redistributor.pending();
    let arrived = || {
        barrier::isb();
        let mut polls = (0..TIMER_POLLS).map(|_| redistributor.pending() & !before);
        polls.find(|new| *new != 0).map_or(0, u32::trailing_zeros)
    };
    let compare = |what, found: u32, expected: u32| match found == expected {
        true => Ok(()),
        false => Err(Refusal::Differs {
            what,
            found: found.into(),
            described: expected.into(),
        }),
    };
    let [physical, virtual_timer] = hardware.timers;
    // SAFETY: interrupts are masked, no guest runs on the core, and its start sets the timer.
    unsafe { cnthp_cval_el2::write(0) };
    // SAFETY: as above.
    unsafe { cnthp_ctl_el2::write(ON) };
    let found = arrived();
    // SAFETY: as above.
    unsafe { cnthp_ctl_el2::write(OFF) };
    compare(
        "as interrupt of the EL2 timer (timer.ppis)",
        found,
        hardware.alarm,
    )?;
    // SAFETY: as above.
    unsafe { cntp_cval_el0::write(0) };
    // SAFETY: as above.
    unsafe { cntp_ctl_el0::write(ON) };
    let found = arrived();
    // SAFETY: as above.
    unsafe { cntp_ctl_el0::write(OFF) };
    compare(
        "as interrupt of the physical timer (timer.ppis)",
        found,
        physical,
    )?;
    // SAFETY: as above.
    unsafe { cntv_cval_el0::write(0) };
    // SAFETY: as above.
    unsafe { cntv_ctl_el0::write(ON) };
    let found = arrived();
    // SAFETY: as above.
    unsafe { cntv_ctl_el0::write(OFF) };
    compare(
        "as interrupt of the virtual timer (timer.ppis)",
        found,
        virtual_timer,
    )
}

/// Finds the priority mask by trying: it has to let the EL2 timer's interrupt through. With two security states the
/// interrupt's priority is 0x80 as the interface sees it, and masks are shifted likewise only if firmware takes
/// FIQs (`SCR_EL3.FIQ`).
fn find_mask(core: &CoreConfig, hardware: &Hardware) -> Result<u64, Refusal> {
    const MASKS: [u64; 2] = [0x10, 0x88];
    const PENDING_IRQ: u64 = 1 << 7;
    // SAFETY: this is the core's own redistributor, and no guest runs on the core.
    let redistributor = unsafe { Redistributor::new(core.gicr as usize) };
    redistributor.raise(1 << hardware.alarm, true);
    let arrives = |mask: &u64| {
        // SAFETY: interrupts are masked, and no guest runs on the core.
        unsafe { icc_pmr_el1::write(*mask) };
        // SAFETY: as above.
        unsafe { icc_igrpen1_el1::write(1) };
        barrier::dsb_sy();
        barrier::isb();
        (0..1000).any(|_| isr_el1::read() & PENDING_IRQ != 0)
    };
    let found = MASKS.into_iter().find(arrives);
    redistributor.raise(1 << hardware.alarm, false);
    // SAFETY: as above; the last instructions of the boot part set both.
    unsafe { icc_igrpen1_el1::write(0) };
    found.ok_or(Refusal::InterruptControllerLacks(
        "an EL2 timer whose interrupt arrives (timer.ppis)",
    ))
}

fn wake_interface(core: &CoreConfig, hardware: &Hardware) -> Result<(), Refusal> {
    const ENABLE_AND_SRE: u64 = 0xF;
    // SAFETY: this is the core's own redistributor, and no guest runs on the core.
    let redistributor = unsafe { Redistributor::new(core.gicr as usize) };
    let affinity = redistributor.affinity();
    if affinity != core.mpidr {
        return Err(Refusal::WrongRedistributor {
            pa: core.gicr,
            found: affinity,
            described: core.mpidr,
        });
    }
    if !redistributor.wake(WAKE_POLLS) {
        return Err(Refusal::InterruptControllerLacks(
            "a redistributor that wakes up",
        ));
    }
    // SAFETY: nothing relies on the memory-mapped CPU interface.
    unsafe { icc_sre_el2::write(ENABLE_AND_SRE) };
    barrier::isb();
    features::check_interface()?;
    redistributor.reset(hardware.private);
    if !redistributor.can_enable(1 << hardware.alarm) {
        return Err(Refusal::InterruptControllerLacks(
            "the EL2 timer's interrupt as one of the non-secure state (timer.ppis)",
        ));
    }
    Ok(())
}
