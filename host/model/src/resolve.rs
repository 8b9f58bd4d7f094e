//! From a sound draft to the system: names become ids, defaults are filled in

use crate::board::Board;
use crate::bridge;
use crate::document::At;
use crate::draft::{
    ChannelDraft, ComponentDraft, CoresDraft, Draft, Field, FunctionDraft, HOST, ImageDraft,
    PartitionDraft, RateDraft, STACK_DEFAULT, SharedDraft, TaskDraft, items,
};
use crate::pipes::Pipe;
use crate::pipes::component_functions;
use crate::pipes::crossing;
use crate::pipes::message_contents;
use crate::pipes::schedule;
use crate::pipes::shared_state::SharedState;
use crate::pipes::solution::Solution;
use crate::system::{
    Channel, ChannelId, Clock, Component, Console, Cores, DeviceId, End, Function, FunctionId,
    Image, Initrd, Kernel, Kind, Partition, PartitionId, Progress, Rate, RemotePartition, Restart,
    Run, SharedMemory, Spare, System, Trapping,
};
use bulkhead_abi::component::{ANY_CORE, OnFault, Role};
use bulkhead_abi::device::Class;
use bulkhead_abi::guest::ChannelKind;
use bulkhead_abi::status::{Action, CAUSES, Cause};
use bulkhead_tpipe::language::{Buffering, SOURCE};
use std::collections::BTreeSet;

/// Kernels that the set-up fetches.
pub(crate) const PACKAGED_KERNELS: &[&str] = &["debian", "debian-rt", "pseudo-nmi"];
/// The initial file system that the tool makes.
pub(crate) const AGENT: &str = "agent";
/// Default budget of restarts: limit and window in nanoseconds.
pub(crate) const RESTART_DEFAULT: (u64, u64) = (10, 10_000_000_000);
/// Default of `spare_buffers` for each stage, bytes.
const SPARE_BUFFER: u64 = 2048;

/// All causes, in order.
pub(crate) const ALL_CAUSES: [Cause; CAUSES] = [
    Cause::Violation,
    Cause::Undefined,
    Cause::Hang,
    Cause::Panic,
    Cause::Reset,
    Cause::Off,
    Cause::Control,
    Cause::SError,
];

/// The system of a draft in which no rule found an error; nothing where a rule should have.
pub(crate) fn system(solution: &Solution<'_>) -> Option<System> {
    let draft = solution.draft;
    let board = draft.board.clone()?;
    let pipes = solution.pipes().to_vec();
    if pipes.len() < draft.pipes.len() {
        return None;
    }
    let has_spare = draft.partitions.iter().any(|one| spare(one).is_some());
    let offered = match has_spare {
        true => Some(solution.catalogue()?.offered()),
        false => None,
    };
    let mut partitions = all(&draft.partitions, |partition| {
        resolve_partition(draft, &board, partition)
    })?;
    let channels = arrange(draft, &mut partitions, &pipes)?;
    let around = bridge::Around {
        partitions: &partitions,
        channels: &channels,
        pipes: &pipes,
    };
    let ids = (0..partitions.len()).map(PartitionId);
    let bridges = ids.map(|id| bridge::resolve(draft, id, &around));
    let bridges: Vec<_> = bridges.collect::<Option<_>>()?;
    for (partition, bridge) in partitions.iter_mut().zip(bridges) {
        partition.bridge = bridge;
    }
    Some(System {
        name: draft.system.name.value()?,
        description: draft.system.description.or(String::new())?,
        folder: draft.folder.clone(),
        profile: draft.system.profile.value(),
        cores: draft.system.cores.value().map(|cores| cores as usize),
        partitions,
        channels,
        functions: all(&draft.functions, |function| {
            resolve_function(&board, function)
        })?,
        pipes,
        offered,
        run: Run {
            for_ns: draft.run.length.value(),
            clock: draft.run.clock.or(Clock::Virtual)?,
            waive: plain(&draft.run.waive.or(Vec::new())?, String::clone),
        },
        sources: draft.sources.clone(),
        board,
    })
}

/// All channels; and what partitions have for their pipes and for flows that are typed.
fn arrange(draft: &Draft, partitions: &mut [Partition], pipes: &[Pipe]) -> Option<Vec<Channel>> {
    let mut channels = all(&draft.channels, |channel| resolve_channel(draft, channel))?;
    channels.extend(crossing::channels(pipes));
    let first_number = channels.len();
    channels.extend(draft.remote_channels());
    let remote_partitions = |index| draft.remote_partitions(PartitionId(index), first_number);
    let remote_partitions: Vec<_> = (0..partitions.len()).map(remote_partitions).collect();
    for (index, partition) in partitions.iter_mut().enumerate() {
        let id = PartitionId(index);
        schedule::extend(&mut partition.timing, pipes, (id, &draft.partitions[index]));
        if let Some(shared_state) = SharedState::of(pipes, id, &draft.partitions[index]) {
            shared_state.arrange(partition);
        }
        component_functions::arrange(partition, id, pipes);
        message_contents::arrange(partition, id, pipes, &draft.partitions[index]);
        hold_crossings(partition, id, pipes);
        let cores = draft.partitions[index].remote_cores();
        hold_remote(partition, id, &remote_partitions, &cores);
    }
    for (partition, remote_partitions) in partitions.iter_mut().zip(remote_partitions) {
        partition.remote_partitions = remote_partitions;
    }
    Some(channels)
}

/// Gives the scheduler of each core, which runs the core's stages, their ends of channels. The
/// scheduler with the first stages of a lossless pipe also gets those ends of the pipe, because it
/// begins only when the partitions at the other ends are up.
fn hold_crossings(partition: &mut Partition, id: PartitionId, pipes: &[Pipe]) {
    let Image::Components(components) = &mut partition.image else {
        return;
    };
    let schedulers = components.iter_mut();
    for scheduler in schedulers.filter(|one| one.role == Role::Scheduler) {
        for pipe in pipes {
            let is_in = |stage: usize| pipe.places[stage].partition == id;
            let is_here =
                |stage: usize| is_in(stage) && pipe.places[stage].core == scheduler.core as usize;
            let begins = pipe.solved.buffering == Buffering::Fifo
                && (0..pipe.places.len())
                    .any(|stage| pipe.solved.stages[stage].from == SOURCE && is_here(stage));
            let held = pipe.crossings.iter().filter(|one| {
                let concerned = is_in(one.from) || is_in(one.to);
                is_here(one.from) || is_here(one.to) || begins && concerned
            });
            scheduler
                .channels
                .extend(held.filter_map(|one| one.channel));
        }
    }
}

/// Gives the scheduler of the first core the channels to partitions in which it requests stages,
/// and to the partition that requests stages here. `through` is indexed by the requesting
/// partition. The buffers of a requesting partition are for stages on each of `cores`.
fn hold_remote(
    partition: &mut Partition,
    id: PartitionId,
    remote_partitions: &[Vec<RemotePartition>],
    cores: &BTreeSet<usize>,
) {
    let Image::Components(components) = &mut partition.image else {
        return;
    };
    let schedulers = components.iter_mut();
    for scheduler in schedulers.filter(|one| one.role == Role::Scheduler) {
        let is_first = scheduler.core == 0;
        let runs = is_first || cores.contains(&(scheduler.core as usize));
        for (asks, remote_partitions) in remote_partitions.iter().enumerate() {
            let asks_itself = PartitionId(asks) == id && runs;
            let concerned = |one: &&RemotePartition| asks_itself || one.partition == id && is_first;
            let held = remote_partitions.iter().filter(concerned);
            scheduler.channels.extend(held.map(|one| one.channel));
        }
    }
}

fn all<T, U>(items: &[T], resolve: impl Fn(&T) -> Option<U>) -> Option<Vec<U>> {
    items.iter().map(resolve).collect()
}

fn resolve_partition(
    draft: &Draft,
    board: &Board,
    partition: &PartitionDraft,
) -> Option<Partition> {
    let kind = partition.kind.value()?;
    let primary = draft.primary_of(partition);
    let devices = device_ids(board, primary.unwrap_or(partition));
    Some(Partition {
        name: partition.name.value.clone(),
        span: partition.name.span.clone(),
        kind,
        criticality: partition.criticality.value()?,
        cores: cores(partition)?,
        memory: partition.memory.value()?,
        colours: plain(&partition.colours.or(Vec::new())?, |&colour| colour as u32),
        image: match partition.components.as_slice() {
            [] => image(draft, &partition.image.value()?)?,
            _ => Image::Components(components(draft, partition)?),
        },
        alternate: match partition.alternate.value() {
            Some(alternate) => Some(image(draft, &alternate)?),
            None => None,
        },
        console: console(board, partition, kind, &devices)?,
        devices,
        functions: function_ids(draft, primary.unwrap_or(partition)),
        unconfined: partition.unconfined.or(false)?,
        trace: partition.trace.or(0)?,
        command_line: partition.command_line.or(String::new())?,
        faults: plain(&partition.faults.or(Vec::new())?, String::clone),
        privileged: partition.privileged.or(false)?,
        wfi: partition.wfi.or(Trapping::Direct)?,
        tlbi: partition.tlbi.or(Trapping::Direct)?,
        ipi: partition.ipi.or(Trapping::Trap)?,
        heartbeat_ns: partition.heartbeat.value(),
        progress: match partition.progress.given() {
            Some(text) => Some(Progress::parse(&text.value)?),
            None => None,
        },
        startup_ns: partition.startup.or(default_startup_ns(kind))?,
        actions: actions(partition)?,
        has_policy: partition.has_policy(),
        restart: restart(partition)?,
        standby: match partition.standby.given() {
            Some(name) => Some(partition_id(draft, &name.value)?),
            None => None,
        },
        is_standby: primary.is_some(),
        timing: draft.timing(partition)?,
        pipe_functions: partition
            .functions
            .iter()
            .map(|function| function.name.value.clone())
            .collect(),
        component_functions: component_functions::all(partition),
        spare: spare(partition),
        remote_partitions: Vec::new(),
        shared: all(&partition.shared, resolve_shared)?,
        bridge: None,
    })
}

/// Room for pipes that are typed, where the partition says how many stages.
pub(crate) fn spare(partition: &PartitionDraft) -> Option<Spare> {
    let stages = partition.spare_stages.value()?;
    let buffer_bytes = partition.spare_buffers.or(stages * SPARE_BUFFER)?;
    Some(Spare {
        stages: stages as u32,
        buffer_bytes: u32::try_from(buffer_bytes).unwrap_or(u32::MAX),
    })
}

fn resolve_shared(shared: &SharedDraft) -> Option<SharedMemory> {
    Some(SharedMemory {
        name: shared.name.value.clone(),
        size: shared.size.value()?,
        components: plain(&shared.components.value()?, String::clone),
    })
}

fn partition_id(draft: &Draft, name: &str) -> Option<PartitionId> {
    draft
        .partitions
        .iter()
        .position(|partition| partition.name.value == name)
        .map(PartitionId)
}

fn resolve_function(board: &Board, function: &FunctionDraft) -> Option<Function> {
    let kinds = &board.pcie.as_ref()?.kinds;
    let kind = function.kind.value()?;
    Some(Function {
        name: function.name.value.clone(),
        span: function.name.span.clone(),
        kind: kinds.iter().position(|row| row.name == kind)?,
        bus: function.bus.or(function.name.value.clone())?,
        forward: ports(&function.forward),
        forward_tcp: ports(&function.forward_tcp),
    })
}

fn ports(forward: &Field<Vec<At<u64>>>) -> Option<[u16; 2]> {
    let mut numbers = items(forward).map(|port| port.value as u16);
    Some([numbers.next()?, numbers.next()?])
}

fn function_ids(draft: &Draft, owner: &PartitionDraft) -> Vec<FunctionId> {
    let listed = items(&owner.devices);
    listed
        .filter_map(|name| function_id(draft, &name.value))
        .collect()
}

fn function_id(draft: &Draft, name: &str) -> Option<FunctionId> {
    let named = |function: &FunctionDraft| function.name.value == name;
    draft.functions.iter().position(named).map(FunctionId)
}

fn device_ids(board: &Board, owner: &PartitionDraft) -> Vec<DeviceId> {
    let names = owner
        .devices
        .given()
        .into_iter()
        .flat_map(|list| &list.value);
    names
        .filter_map(|name| device_id(board, &name.value))
        .collect()
}

fn device_id(board: &Board, name: &str) -> Option<DeviceId> {
    board
        .devices
        .iter()
        .position(|device| device.name == name)
        .map(DeviceId)
}

fn cores(partition: &PartitionDraft) -> Option<Cores> {
    Some(match partition.cores.or(CoresDraft::Count(1))? {
        CoresDraft::Count(count) => Cores::Count(count as usize),
        CoresDraft::These(list) => {
            Cores::These(list.iter().map(|core| core.value as usize).collect())
        }
    })
}

fn plain<T, U>(list: &[At<T>], of: impl Fn(&T) -> U) -> Vec<U> {
    list.iter().map(|item| of(&item.value)).collect()
}

/// The boot component first, as the kernel wants it.
fn components(draft: &Draft, partition: &PartitionDraft) -> Option<Vec<Component>> {
    let mut components = all(&partition.components, |component| {
        resolve_component(draft, partition, component)
    })?;
    components.sort_by_key(|component| component.role != Role::Boot);
    Some(components)
}

fn resolve_component(
    draft: &Draft,
    partition: &PartitionDraft,
    component: &ComponentDraft,
) -> Option<Component> {
    let names =
        |list: &Field<Vec<At<String>>>| items(list).map(|name| name.value.clone()).collect();
    let channel = |name: &At<String>| {
        let named = |channel: &ChannelDraft| channel.name.value == name.value;
        draft.channels.iter().position(named).map(ChannelId)
    };
    Some(Component {
        name: component.name.value.clone(),
        span: component.name.span.clone(),
        role: component.role()?,
        core: match component.everywhere() {
            true => ANY_CORE,
            false => component.core()? as u32,
        },
        program: component.program(draft)?,
        provides: names(&component.provides),
        needs: names(&component.needs),
        channels: items(&component.channels)
            .map(channel)
            .collect::<Option<_>>()?,
        doorbells: items(&component.doorbells)
            .map(channel)
            .collect::<Option<_>>()?,
        owns: component.parts().map(|(part, _)| part).collect(),
        function: items(&component.owns).find_map(|name| function_id(draft, &name.value)),
        memory: component.memory.or(0)?,
        stack: component.stack.or(STACK_DEFAULT)?,
        priority: match component.priority.value() {
            Some(priority) => Some(u32::try_from(priority).ok()?),
            None => None,
        },
        tasks: component
            .task_names()
            .filter(|name| partition.task(name).is_none_or(TaskDraft::has_vcpu))
            .map(|name| {
                let mut tasks = partition.vcpu_tasks();
                tasks.position(|task| task.name.value == *name)
            })
            .collect::<Option<_>>()?,
        budget_ns: component
            .budget
            .value()
            .zip(component.period.value())
            .map(|(budget, period)| [budget, period]),
        criticality: partition.criticality_of(component)?,
        on_fault: component.on_fault.or(OnFault::Fail)?,
        restart: [
            component.restart.limit.or(RESTARTS[0])?,
            component.restart.per.or(RESTARTS[1])?,
        ],
        job_stacks: 0,
        contents: 0,
    })
}

/// Restarts of a component, and in how many nanoseconds, where the description is silent.
const RESTARTS: [u64; 2] = [10, 10_000_000_000];

fn image(draft: &Draft, image: &ImageDraft) -> Option<Image> {
    if let Some(name) = image.built.value() {
        return Some(Image::Crate(name));
    }
    if let Some(file) = image.file.given() {
        return Some(Image::File {
            path: draft.path(file),
            load: image.load.value(),
            entry: image.entry.value(),
            device_tree: image.device_tree.or(false)?,
        });
    }
    let kernel = image.kernel.given()?;
    Some(Image::Linux {
        kernel: match PACKAGED_KERNELS.contains(&kernel.value.as_str()) {
            true => Kernel::Packaged(kernel.value.clone()),
            false => Kernel::File(draft.path(kernel)),
        },
        initrd: match image.initrd.given() {
            Some(file) if file.value != AGENT => Initrd::File(draft.path(file)),
            _ => Initrd::Agent,
        },
    })
}

fn console(
    board: &Board,
    partition: &PartitionDraft,
    kind: Kind,
    devices: &[DeviceId],
) -> Option<Console> {
    let uart = devices.iter().find(|id| board.device(**id).is(Class::Uart));
    match (
        partition
            .console
            .given()
            .map(|console| console.value.as_str()),
        uart,
        kind,
    ) {
        (Some("memory"), _, _) | (None, None, Kind::Rtos) => Some(Console::Memory),
        (Some("emulated"), _, _) | (None, None, _) => Some(Console::Emulated),
        (Some(name), _, _) => device_id(board, name).map(Console::Device),
        (None, Some(uart), _) => Some(Console::Device(*uart)),
    }
}

fn actions(partition: &PartitionDraft) -> Option<[Action; CAUSES]> {
    let mut actions = [Action::Restart; CAUSES];
    for cause in ALL_CAUSES {
        actions[cause as usize] = partition.action(cause)?;
    }
    Some(actions)
}

/// Time from a start to the first sign of life, where the description names none.
pub(crate) const fn default_startup_ns(kind: Kind) -> u64 {
    const SECOND: u64 = 1_000_000_000;
    match kind {
        Kind::Rtos => SECOND,
        Kind::Linux | Kind::Image => 60 * SECOND,
    }
}

fn restart(partition: &PartitionDraft) -> Option<Restart> {
    let restart = &partition.restart;
    Some(Restart {
        limit: restart.limit.or(RESTART_DEFAULT.0)?,
        per_ns: restart.per.or(RESTART_DEFAULT.1)?,
        backoff_ns: restart.backoff.or(0)?,
        then: restart.then.or(Action::Halt)?,
    })
}

fn resolve_channel(draft: &Draft, channel: &ChannelDraft) -> Option<Channel> {
    let kind = channel.kind.value()?;
    let end = |name: &str| match name {
        HOST => Some(End::Host),
        _ => partition_id(draft, name).map(End::Partition),
    };
    Some(Channel {
        name: channel.name.value.clone(),
        span: channel.name.span.clone(),
        kind,
        from: end(&channel.from.value()?)?,
        to: channel
            .readers()
            .map(|reader| end(&reader.value))
            .collect::<Option<_>>()?,
        message: u32::try_from(channel.message.value()?).ok()?,
        messages: u32::try_from(channel.messages.or(1)?).ok()?,
        contents: 0,
        reader_writes: !channel
            .read_only
            .or(matches!(kind, ChannelKind::Recorder))?,
        doorbell: rate(channel.doorbell.value()),
        reply_doorbell: rate(channel.reply_doorbell.value()),
        key: channel.key.value(),
    })
}

fn rate(rate: Option<RateDraft>) -> Option<Rate> {
    let rate = rate?;
    Some(Rate {
        limit: u32::try_from(rate.limit.value()?).ok()?,
        per_ns: rate.per.value()?,
    })
}
