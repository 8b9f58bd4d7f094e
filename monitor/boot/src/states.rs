//! The monitors' state, built once

use crate::configuration::Configuration;
use crate::features::Features;
use crate::refusal::Refusal;
use crate::{memory, registers};
use bulkhead_abi::config::{CoreConfig, Doorbell, NO_PARTITION, PartitionConfig, flags};
use bulkhead_abi::status::{
    Action, CAUSES, CoreCounters, LINK_MAGIC, LinkPage, MAX_CORES, MAX_DOORBELLS, STATUS_MAGIC,
    State, Status,
};
use bulkhead_arch::registers::cntpct_el0;
use bulkhead_limiter::Limiter;
use bulkhead_monitor_core::{
    Core, Frame, IDENTITY_REGISTERS, Image, NEVER, NO_FAULT, Partition, Power,
};
use core::mem::offset_of;
use core::sync::atomic::AtomicU64;
use zerocopy::FromZeros;

/// Returns the address of a core's state: the upper end of its stack.
pub(crate) fn core_place(core: &CoreConfig) -> u64 {
    core.stack_top - size_of::<Core>() as u64
}

fn owner(core: &CoreConfig) -> Option<usize> {
    (core.partition != NO_PARTITION).then_some(core.partition as usize)
}

/// A core as a target of `ICC_SGI1R_EL1`.
fn target(mpidr: u64) -> u64 {
    let byte = |shift: u32| mpidr >> shift & 0xFF;
    byte(32) << 48 | byte(0) >> 4 << 44 | byte(16) << 32 | byte(8) << 16 | 1 << (byte(0) & 15)
}

/// Affinity of a core as its guest sees it. A guest that sends inter-processor interrupts by itself names
/// physical affinities.
pub(crate) fn affinity(core: &CoreConfig, partition: Option<&PartitionConfig>) -> u64 {
    let is_direct = |partition: &PartitionConfig| partition.flags & flags::DIRECT_IPI != 0;
    if partition.is_some_and(is_direct) {
        core.mpidr
    } else {
        u64::from(core.rank)
    }
}

/// `GICR_TYPER` of a core's emulated redistributor. Guests walk the redistributors until the last one.
fn typer(core: &CoreConfig, partition: Option<&PartitionConfig>) -> u64 {
    const LAST: u64 = 1 << 4;
    let cores = partition.map_or(0, |partition| partition.cores.count_ones());
    let last = if core.rank + 1 == cores { LAST } else { 0 };
    let affinity = affinity(core, partition);
    let packed = affinity >> 8 & 0xFF00_0000 | affinity & 0x00FF_FFFF;
    packed << 32 | u64::from(core.rank) << 8 | last
}

/// Builds everything; the identification registers are filled in by each core for itself.
pub(crate) fn build(configuration: Configuration, features: Features) -> Result<(), Refusal> {
    let partitions = configuration.partitions()?;
    for (index, partition) in partitions.iter().enumerate() {
        build_pages(index, partition);
        let state = partition_state(configuration, index, partition)?;
        memory::place(partition.state_pa, state);
    }
    for (index, core) in configuration.cores()?.iter().enumerate() {
        let state = core_state(configuration, index, core, features)?;
        memory::place(core_place(core), state);
    }
    Ok(())
}

fn build_pages(index: usize, partition: &PartitionConfig) {
    memory::clear(partition.link_pa, bulkhead_abi::PAGE_SIZE);
    memory::clear(partition.status_pa, bulkhead_abi::status::STATUS_SIZE);
    let link = LinkPage {
        magic: LINK_MAGIC,
        state: State::Down as u32,
        name: partition.name,
        ..LinkPage::new_zeroed()
    };
    memory::place(partition.link_pa, link);
    memory::place(
        partition.status_pa + offset_of!(Status, magic) as u64,
        STATUS_MAGIC,
    );
    memory::place(
        partition.status_pa + offset_of!(Status, partition) as u64,
        index as u32,
    );
    let cores = partition.cores.count_ones();
    memory::place(
        partition.status_pa + offset_of!(Status, core_count) as u64,
        cores,
    );
    memory::place(
        partition.status_pa + offset_of!(Status, name) as u64,
        partition.name,
    );
}

fn partition_state(
    configuration: Configuration,
    index: usize,
    config: &'static PartitionConfig,
) -> Result<Partition, Refusal> {
    let doorbells = configuration.slice::<Doorbell>(config.doorbells, "doorbells")?;
    let mut limits = [const { None }; MAX_DOORBELLS];
    for (limit, doorbell) in limits.iter_mut().zip(doorbells) {
        *limit = limiter(
            u64::from(doorbell.limit),
            doorbell.period_ticks,
            "doorbell limits",
        )?;
    }
    Ok(Partition {
        config,
        cores: cores_of(configuration, index, config)?,
        link: memory::forward_reference(config.link_pa),
        status: memory::forward_reference(config.status_pa),
        images: [
            Image {
                segments: configuration.slice(config.segments, "segments")?,
                entry: config.entry,
                argument: config.argument,
            },
            Image {
                segments: configuration.slice(config.alternate_segments, "alternate segments")?,
                entry: config.alternate_entry,
                argument: config.alternate_argument,
            },
        ],
        gates: configuration.slice(config.gates, "gates")?,
        doorbells,
        attachments: configuration.slice(config.attachments, "attachments")?,
        standby: state_of(configuration, config.standby)?,
        gicd: configuration.head.gicd,
        limits,
        restart_limit: limiter(
            config.restart_limit,
            config.restart_period_ticks,
            "restart limits",
        )?,
        distributor_enables: AtomicU64::new(0),
        stopped: AtomicU64::new(1),
        stoppers: AtomicU64::new(0),
        image: AtomicU64::new(0),
        fault_ticks: AtomicU64::new(0),
        progress: [const { AtomicU64::new(0) }; 2],
        actions: config.actions.map(action),
        escalation: escalation(config.escalation),
    })
}

/// Decodes an action of the configuration; an unknown value gives the safest action.
fn action(byte: u8) -> Action {
    let actions = [
        Action::Inject,
        Action::Restart,
        Action::Alternate,
        Action::Failover,
    ];
    actions
        .into_iter()
        .find(|action| *action as u8 == byte)
        .unwrap_or(Action::Halt)
}

/// When no restart is left, none is made.
fn escalation(byte: u8) -> Action {
    match action(byte) {
        Action::Failover => Action::Failover,
        Action::Alternate => Action::Alternate,
        Action::Inject | Action::Restart | Action::Halt => Action::Halt,
    }
}

/// No event at all is written as a limit of 0.
fn limiter(events: u64, period_ticks: u64, what: &'static str) -> Result<Option<Limiter>, Refusal> {
    if events == 0 {
        return Ok(None);
    }
    let events = u32::try_from(events).unwrap_or(u32::MAX);
    let limiter = Limiter::new(events, period_ticks).map_err(|_| Refusal::Malformed(what))?;
    Ok(Some(limiter.starting_at(cntpct_el0::read())))
}

/// The cores of a partition by rank, in a list behind its state.
fn cores_of(
    configuration: Configuration,
    index: usize,
    config: &PartitionConfig,
) -> Result<&'static [&'static Core], Refusal> {
    const INCOMPLETE: Refusal = Refusal::Malformed("cores of partitions");
    let cores = configuration.cores()?;
    let of_rank = |rank: u32| {
        cores
            .iter()
            .find(|core| owner(core) == Some(index) && core.rank == rank)
    };
    let mut count = 0;
    for (rank, place) in (0..config.cores.count_ones()).zip(list_places(config, CORE_LIST)) {
        let core = of_rank(rank).ok_or(INCOMPLETE)?;
        memory::place(place, memory::forward_reference::<Core>(core_place(core)));
        count += 1;
    }
    if count == 0 {
        return Err(INCOMPLETE);
    }
    Ok(memory::forward_list(config.state_pa + CORE_LIST, count))
}

/// Lists in a partition's state page.
const CORE_LIST: u64 = 4096 - 2 * LIST_SIZE;
/// In that of the first one: all partitions.
const PARTITION_LIST: u64 = 4096 - LIST_SIZE;
const LIST_SIZE: u64 = 8 * MAX_CORES as u64;
const _: () = assert!(size_of::<Partition>() as u64 <= CORE_LIST);

fn list_places(config: &PartitionConfig, list: u64) -> impl Iterator<Item = u64> {
    let start = config.state_pa + list;
    (start..start + LIST_SIZE).step_by(8)
}

fn partition_list(configuration: Configuration) -> Result<&'static [&'static Partition], Refusal> {
    let partitions = configuration.partitions()?;
    let [first, ..] = partitions else {
        return Ok(&[]);
    };
    for (partition, place) in partitions.iter().zip(list_places(first, PARTITION_LIST)) {
        memory::place(
            place,
            memory::forward_reference::<Partition>(partition.state_pa),
        );
    }
    Ok(memory::forward_list(
        first.state_pa + PARTITION_LIST,
        partitions.len(),
    ))
}

fn state_of(
    configuration: Configuration,
    index: u32,
) -> Result<Option<&'static Partition>, Refusal> {
    if index == NO_PARTITION {
        return Ok(None);
    }
    match configuration.partitions()?.get(index as usize) {
        Some(partition) => Ok(Some(memory::forward_reference(partition.state_pa))),
        None => Err(Refusal::Malformed("references to partitions")),
    }
}

/// The partition of a spare core: at the lower end of its stack, which never grows that far.
fn empty_partition(core: &CoreConfig, gicd: u64) -> &'static Partition {
    let state_pa = core.stack_top - bulkhead_abi::PAGE_SIZE;
    let config_pa = (state_pa + size_of::<Partition>() as u64).next_multiple_of(8);
    let config = memory::place(config_pa, PartitionConfig::new_zeroed());
    memory::place(
        state_pa,
        Partition {
            config,
            cores: &[],
            // A spare core neither counts nor records.
            link: memory::forward_reference(config_pa),
            status: memory::forward_reference(config_pa),
            images: [Image::default(); 2],
            gates: &[],
            doorbells: &[],
            attachments: &[],
            standby: None,
            gicd,
            limits: [const { None }; MAX_DOORBELLS],
            restart_limit: None,
            distributor_enables: AtomicU64::new(0),
            stopped: AtomicU64::new(1),
            stoppers: AtomicU64::new(0),
            image: AtomicU64::new(0),
            fault_ticks: AtomicU64::new(0),
            progress: [const { AtomicU64::new(0) }; 2],
            actions: [Action::Halt; CAUSES],
            escalation: Action::Halt,
        },
    )
}

fn core_state(
    configuration: Configuration,
    index: usize,
    config: &'static CoreConfig,
    features: Features,
) -> Result<Core, Refusal> {
    let partitions = configuration.partitions()?;
    let partition = owner(config).and_then(|owner| partitions.get(owner));
    // A spare core has no guest to count for; its cells are never touched.
    let counters = partition.map_or(config.stack_top - 4096, |partition| {
        let cell = offset_of!(Status, cores) + config.rank as usize * size_of::<CoreCounters>();
        partition.status_pa + cell as u64
    });
    let flags = partition.map_or(0, |partition| partition.flags);
    let hardware = &configuration.head.hardware;
    let starts = partition.is_some() && config.rank == 0 && flags & flags::STANDBY == 0;
    Ok(Core {
        frame: Frame::new(),
        index: index as u32,
        rank: config.rank,
        affinity: [affinity(config, partition), config.mpidr],
        typer: typer(config, partition),
        target: target(config.mpidr),
        gicr: config.gicr,
        alarm: 1 << hardware.alarm,
        private: !hardware.private,
        hcr: registers::hcr(flags, features),
        partition: state_of(configuration, config.partition)?
            .unwrap_or_else(|| empty_partition(config, configuration.head.gicd)),
        watches: configuration.slice(config.watches, "watches")?,
        partitions: partition_list(configuration)?,
        counters: memory::forward_reference(counters),
        mask: 0,
        identity: [const { AtomicU64::new(0) }; IDENTITY_REGISTERS],
        power: AtomicU64::new(Power::Off as u64),
        entry: AtomicU64::new(0),
        context: AtomicU64::new(0),
        requests: AtomicU64::new(0),
        fault: AtomicU64::new(NO_FAULT),
        start_ticks: AtomicU64::new(if starts { 0 } else { NEVER }),
    })
}
