//! The order of things
#![expect(
    unsafe_code,
    reason = "called by the first instructions, reads the header they follow"
)]

use crate::configuration::Configuration;
use crate::features;
use crate::refusal::Refusal;
use crate::{console, cores, devices, exceptions, memory, states};
use bulkhead_abi::boot::BootHeader;
use bulkhead_abi::config::PartitionConfig;
use bulkhead_abi::status::MAX_CORES;
use bulkhead_arch::registers::mpidr_el1;
use bulkhead_gic::Distributor;
use core::arch::global_asm;
use core::convert::Infallible;

global_asm!(include_str!("start.s"), MAX_CORES = const MAX_CORES);

unsafe extern "C" {
    static boot_header: BootHeader;
    static LOAD_ADDRESS: u8;
}

const AFFINITY: u64 = 0xFF_00FF_FFFF;

fn header() -> &'static BootHeader {
    // SAFETY: part of the image; written by the packer, before.
    unsafe { &boot_header }
}

fn built_for() -> u64 {
    (&raw const LOAD_ADDRESS) as u64
}

/// The core that the loader starts.
#[unsafe(no_mangle)]
extern "C" fn boot_first(loaded_at: u64, address: u64) -> ! {
    console::open(header().uart, header().uart_kind);
    match first(loaded_at, address) {
        Err(refusal) => console::refuse(&refusal),
    }
}

/// The other cores.
#[unsafe(no_mangle)]
extern "C" fn boot_other(index: usize) -> ! {
    match other(index) {
        Err(refusal) => {
            // A core that comes back from its guest leaves the others running.
            let what = if cores::are_released() {
                "stopped"
            } else {
                "not started"
            };
            console::say(format_args!("{what}: core {index}: {refusal}"));
            cores::stay(index);
            console::halt()
        }
    }
}

fn first(loaded_at: u64, address: u64) -> Result<Infallible, Refusal> {
    if loaded_at != address {
        return Err(Refusal::WrongAddress(loaded_at, address));
    }
    let features = features::check()?;
    exceptions::catch();
    let configuration = Configuration::find(header())?.verify()?;
    configuration.verify_images()?;
    check_first_core(configuration)?;
    compare_distributor(configuration)?;
    for clear in configuration.clears()? {
        memory::clear(clear.pa, clear.size);
    }
    states::build(configuration, features)?;
    prepare_distributor(configuration)?;
    devices::set(configuration.settings()?)?;
    // The last line if EL3 traps one of them: the access never comes back.
    console::say(format_args!(
        "uses registers that the firmware leaves open (firmware.leaves)"
    ));
    cores::prepare(configuration, 0, features)?;
    cores::start_others(configuration)?;
    announce(configuration)?;
    cores::release();
    cores::finish(configuration, 0, address, features)
}

fn other(index: usize) -> Result<Infallible, Refusal> {
    cores::enter(index)?;
    let features = features::check()?;
    exceptions::catch();
    let configuration = Configuration::find(header())?;
    cores::prepare(configuration, index, features)?;
    cores::arrive(index);
    cores::finish(configuration, index, built_for(), features)
}

fn check_first_core(configuration: Configuration) -> Result<(), Refusal> {
    let mpidr = mpidr_el1::read() & AFFINITY;
    match configuration.cores()? {
        [first, ..] if first.mpidr == mpidr => Ok(()),
        _ => Err(Refusal::WrongCore(mpidr)),
    }
}

fn distributor(configuration: Configuration) -> Distributor {
    // SAFETY: the configuration names the board's distributor; no guest runs yet.
    unsafe { Distributor::new(configuration.head.gicd as usize) }
}

/// Compares the interrupt controller with the board file.
fn compare_distributor(configuration: Configuration) -> Result<(), Refusal> {
    let distributor = distributor(configuration);
    let hardware = &configuration.head.hardware;
    let states = if distributor.single_security_state() {
        1
    } else {
        2
    };
    let spis = distributor.intids() - 32;
    // The controller counts SPIs by 32.
    let described = hardware.spis.next_multiple_of(32).min(988);
    let differences = [
        (
            "as version of the interrupt controller (interrupts.kind)",
            distributor.version().min(3),
            3,
        ),
        (
            "security states of the interrupt controller (firmware.security_states)",
            states,
            hardware.security_states,
        ),
        // More SPIs do no harm: all that the controller counts are silenced.
        (
            "SPIs, counted by 32 (interrupts.spis)",
            spis.min(described),
            described,
        ),
    ];
    let found = differences
        .iter()
        .find(|(_, found, described)| found != described);
    found.map_or(Ok(()), |&(what, found, described)| {
        Err(Refusal::Differs {
            what,
            found: found.into(),
            described: described.into(),
        })
    })
}

/// SPIs silent, with the trigger modes of the board, each on its way to its owner's first core.
fn prepare_distributor(configuration: Configuration) -> Result<(), Refusal> {
    let distributor = distributor(configuration);
    distributor.reset();
    for line in configuration.lines()? {
        distributor.set_edge(line.intid, line.edge != 0);
    }
    for partition in configuration.partitions()? {
        let leader = partition.cores.trailing_zeros() as usize;
        let cores = configuration.cores()?;
        let leader = cores.get(leader).ok_or(Refusal::Malformed("partitions"))?;
        spis(partition).for_each(|intid| distributor.route(intid, leader.mpidr));
    }
    distributor.enable();
    Ok(())
}

fn spis(partition: &PartitionConfig) -> impl Iterator<Item = u32> {
    (32..1020).filter(|intid| {
        let word = partition.spis.get(*intid as usize / 32);
        word.is_some_and(|word| word >> (intid % 32) & 1 == 1)
    })
}

fn announce(configuration: Configuration) -> Result<(), Refusal> {
    let [first, second, third, fourth, ..] = configuration.head.digest;
    console::say(format_args!(
        "{} cores, {} partitions, configuration {first:02x}{second:02x}{third:02x}{fourth:02x}",
        configuration.cores()?.len(),
        configuration.partitions()?.len(),
    ));
    Ok(())
}
