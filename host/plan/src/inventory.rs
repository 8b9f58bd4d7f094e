//! The manifest of a plan

use bulkhead_abi::component::{OnFault, Part, Role};
use bulkhead_abi::status::{CAUSE_NAMES, Cause};
use bulkhead_model::board::Device;
use bulkhead_model::pipes::{Pipe, solved};
use bulkhead_model::system::{
    Channel, ChannelId, Clock, Component, Console, Criticality, End, Image, Initrd, Kind,
    Partition, PartitionId, System,
};

use std::collections::BTreeMap;
use std::path::PathBuf;

use bulkhead_tpipe::language::{Buffering, Flow};

use crate::blob::heartbeat;
use crate::device_tree::kind_name;
use crate::error::PlanError;
use crate::inputs::Inputs;
use crate::interrupts::end_name;
use crate::manifest::{
    ChannelManifest, ComponentManifest, Confined, ConsoleManifest, Emulator, Machine, Manifest,
    PartitionManifest, PathManifest, Region, Sizes, StageManifest, StreamManifest,
};
use crate::pcie::{emulator_words, forwards};
use crate::purpose::Purpose;
use crate::{Plan, dma};

/// Returns the manifest; the packer of the image fills in the image's name and digest.
///
/// # Errors
/// The plan has no place for something that must be named: a defect.
pub fn manifest(system: &System, inputs: &Inputs, plan: &Plan) -> Result<Manifest, PlanError> {
    let partitions = (0..system.partitions.len())
        .map(|id| partition(system, inputs, plan, PartitionId(id)))
        .collect::<Result<_, _>>()?;
    let channels = system
        .channels
        .iter()
        .enumerate()
        .map(|(id, entry)| channel(system, plan, ChannelId(id), entry))
        .collect::<Result<_, _>>()?;
    Ok(Manifest {
        name: system.name.clone(),
        image: String::new(),
        digest: String::new(),
        machine: machine(system, plan),
        for_ns: system.run.for_ns,
        virtual_clock: system.run.clock == Clock::Virtual,
        partitions,
        channels,
        waive: system.run.waive.clone(),
        injected: Vec::new(),
        confined: confined(system, plan)?,
        paths: system
            .pipes
            .iter()
            .flat_map(|pipe| paths(system, pipe))
            .collect(),
        sizes: sizes(inputs, plan),
    })
}

/// The paths of a pipe that is run, each with the partition that runs its last stage.
fn paths(system: &System, pipe: &Pipe) -> Vec<PathManifest> {
    if !pipe.is_run() {
        return Vec::new();
    }
    let solved = &pipe.solved;
    let name = |stage: usize| pipe.places[stage].function.clone();
    let required = solved.requirement.map(|required| required.flow);
    let runs = |stage: usize| system.partition(pipe.places[stage].partition).name.clone();
    let stage = |stage: usize| StageManifest {
        function: name(stage),
        partition: runs(stage),
        latency_ns: pipe.places[stage].ends[0]
            .as_ref()
            .map(|end| end.latency_ns),
    };
    let stages: Vec<_> = (0..pipe.places.len()).map(stage).collect();
    // A command may stop a pipe while it runs; its rate over the whole run then says nothing. A partition on the kernel
    // records that of its own pipes. Pipes through several partitions also pause while one of them restarts.
    let is_commanded = system.partitions.iter().any(|one| one.spare.is_some());
    let is_recorded = |path: &solved::Path| {
        let home = pipe.places[path.tail].partition;
        let is_one = pipe.places.iter().all(|place| place.partition == home);
        !is_commanded || is_one && system.partition(home).kind != Kind::Linux
    };
    let path = |path: &solved::Path| PathManifest {
        stages: stages.clone(),
        partition: runs(path.tail),
        pipe: pipe.name.clone(),
        number: (path.tail as u64) << 8 | path.head as u64,
        ends: [name(path.head), name(path.tail)],
        bound_ns: path.bound_ns,
        loss: match solved.buffering {
            Buffering::Fifo => 0.0,
            Buffering::FourSlot => solved.stages[path.tail].loss.percent() / 100.0,
        },
        throughput: match required {
            Some(Flow::Throughput(rate)) if is_recorded(path) => Some(rate.0 as f64 / 1e6),
            _ => None,
        },
        is_periodic: matches!(
            pipe.places[path.head].source.as_deref(),
            None | Some("timer")
        ) && is_recorded(path),
    };
    solved.paths.iter().map(path).collect()
}

fn machine(system: &System, plan: &Plan) -> Machine {
    let board = &system.board;
    let seconds = |device: &Device| Some(device.address + device.known_kind()?.seconds?);
    let cores = plan.view.cores.owner.len();
    let ram = board.memory.iter().map(|range| Region {
        pa: range.base,
        size: range.size,
    });
    let emulator = board.emulator.as_ref().map(|emulator| Emulator {
        program: emulator.program.clone(),
        minimum_version: emulator.minimum_version.clone(),
        machine: emulator.machine.clone(),
        cpu: emulator.cpu.as_ref().unwrap_or(&board.cpu.name).clone(),
        is_cpu_fixed: emulator.cpu.is_none(),
        cores: emulator.cores.unwrap_or(cores),
        options: emulator.options.clone(),
    });
    Machine {
        board: board.name.clone(),
        emulator,
        cores,
        spare_cores: plan.view.cores.spare(),
        memory: ram.collect(),
        memory_size: plan.machine.size,
        counter_hz: board.timer.frequency,
        rtc: board.devices.iter().find_map(seconds),
        devices: emulator_words(system, &plan.view.buses),
        forwards: forwards(system, &plan.view.buses),
    }
}

fn partition(
    system: &System,
    inputs: &Inputs,
    plan: &Plan,
    id: PartitionId,
) -> Result<PartitionManifest, PlanError> {
    let partition = system.partition(id);
    let programs = inputs
        .images
        .get(id.0)
        .map_or(&[][..], |images| &images.programs);
    let memory = plan.machine.memory[id.0].iter();
    let outgoing = plan.view.doorbells.outgoing(system, id).into_iter();
    let console = match partition.console {
        Console::Device(_) => None,
        Console::Memory | Console::Emulated => Some(ConsoleManifest {
            output: region(plan, Purpose::ConsoleOut(id))?,
            input: region(plan, Purpose::ConsoleIn(id))?,
        }),
    };
    Ok(PartitionManifest {
        name: partition.name.clone(),
        kind: kind_of(partition.kind).into(),
        criticality: criticality_name(partition.criticality).into(),
        standby: partition
            .standby
            .map(|id| system.partition(id).name.clone()),
        cores: plan.view.cores.of_partition[id.0].clone(),
        memory: memory
            .map(|piece| Region {
                pa: piece.pa.0,
                size: piece.size,
            })
            .collect(),
        link: plan.machine.pa(Purpose::Link(id))?.0,
        status: plan.machine.pa(Purpose::Status(id))?.0,
        heartbeat: heartbeat(&plan.machine, id)?.0,
        console,
        traces: recorders(plan, partition, id)?,
        component_log: plan
            .machine
            .region(Purpose::ComponentLog(id))
            .map(|region| region.pa.0),
        doorbells: outgoing
            .map(|bell| {
                let channel = system.channels[bell.channel.0].name.clone();
                (channel, system.partition(bell.receiver).name.clone())
            })
            .collect(),
        announces: matches!(partition.image, Image::Components(_)),
        has_agent: matches!(
            partition.image,
            Image::Linux {
                initrd: Initrd::Agent,
                ..
            }
        ),
        heartbeat_ns: partition.heartbeat_ns,
        foreseen: foreseen(partition),
        deadlines: deadlines(partition),
        bounds: bounds(partition),
        program: programs.first().cloned(),
        components: components(partition, programs),
    })
}

fn region(plan: &Plan, purpose: Purpose) -> Result<Region, PlanError> {
    let found = plan.machine.region(purpose);
    found
        .map(|region| Region {
            pa: region.pa.0,
            size: region.size,
        })
        .ok_or_else(|| PlanError::internal(format!("no memory for {purpose:?}")))
}

fn channel(
    system: &System,
    plan: &Plan,
    id: ChannelId,
    channel: &Channel,
) -> Result<ChannelManifest, PlanError> {
    let name = |end: &End| end_name(system, *end).to_owned();
    Ok(ChannelManifest {
        name: channel.name.clone(),
        kind: kind_name(channel.kind as u32).into(),
        from: name(&channel.from),
        to: channel.to.iter().map(name).collect(),
        region: region(plan, Purpose::Channel(id))?,
        message: channel.message,
        messages: channel.messages,
    })
}

fn confined(system: &System, plan: &Plan) -> Result<Option<Confined>, PlanError> {
    if plan.tables.streams.is_none() {
        return Ok(None);
    }
    let streams = dma::owned(system, &plan.view).into_iter();
    let stream = |stream: dma::Owned| StreamManifest {
        id: stream.id,
        partition: system.partition(stream.owner).name.clone(),
        devices: stream.devices,
    };
    Ok(Some(Confined {
        events: region(plan, Purpose::Events)?,
        streams: streams.map(stream).collect(),
    }))
}

fn sizes(inputs: &Inputs, plan: &Plan) -> Sizes {
    let [monitor_text, monitor_rodata, monitor_data] = inputs.monitor.sizes;
    let stacks = plan.machine.regions.iter();
    Sizes {
        monitor_text,
        monitor_rodata,
        monitor_data,
        stacks: stacks
            .filter(|region| matches!(region.purpose, Purpose::Stack(_)))
            .map(|_| crate::machine::STACK_SIZE)
            .sum(),
        boot: inputs.boot.len() as u64,
        config: plan.config.len() as u64,
        el2_tables: plan.tables.el2_size,
        streams: plan.tables.streams.map_or(0, |streams| streams.size),
        stage2_tables: plan
            .tables
            .stage2
            .iter()
            .map(|tables| tables.size)
            .collect(),
    }
}

/// The name of a kind, as in descriptions.
#[must_use]
pub const fn kind_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Rtos => "rtos",
        Kind::Linux => "linux",
        Kind::Image => "image",
    }
}

/// The name of a criticality, as in descriptions.
#[must_use]
pub const fn criticality_name(criticality: Criticality) -> &'static str {
    match criticality {
        Criticality::A => "A",
        Criticality::B => "B",
        Criticality::C => "C",
        Criticality::D => "D",
        Criticality::Qm => "QM",
    }
}

/// Returns the names of the causes for which the description names an action.
fn foreseen(partition: &Partition) -> Vec<String> {
    let causes = CAUSE_NAMES.iter().zip(partition.has_policy);
    causes
        .filter(|(_, named)| *named)
        .map(|(name, _)| (*name).into())
        .collect()
}

/// Components; their executables follow the kernel's. A thread of a component that schedules its own threads ends alone,
/// whatever the description says.
fn components(partition: &Partition, programs: &[PathBuf]) -> Vec<ComponentManifest> {
    let Image::Components(components) = &partition.image else {
        return Vec::new();
    };
    let restarts = partition.has_policy[Cause::Panic as usize];
    let component = |(number, component): (usize, &Component)| ComponentManifest {
        name: component.name.clone(),
        program: programs.get(number + 1).cloned(),
        stack: component.stack,
        has_threads: matches!(component.role, Role::Boot | Role::Scheduler),
        is_fault_foreseen: component.role != Role::Boot
            && (component.on_fault != OnFault::Fail || restarts),
        has_heartbeat: component.owns.contains(&Part::Heartbeat),
    };
    components.iter().enumerate().map(component).collect()
}

/// Deadlines of the tasks. A stage of a pipe, `PIPE.NUMBER`, is judged by its pipe's bound.
fn deadlines(partition: &Partition) -> BTreeMap<String, u64> {
    let tasks = partition.timing.tasks.iter();
    let tasks = tasks.filter(|task| !task.name.contains('.'));
    let tasks = tasks.map(|task| (task.name.clone(), task.deadline_ns));
    let threads = partition.timing.threads.iter();
    let at_priorities = threads.filter_map(|thread| thread.task.as_ref());
    let at_priorities = at_priorities.map(|task| (task.name.clone(), task.deadline_ns));
    tasks.chain(at_priorities).collect()
}

/// Bounds of the responses of the same tasks, as far as there are any.
fn bounds(partition: &Partition) -> BTreeMap<String, u64> {
    let cores = partition.timing.analyse().into_iter();
    let tasks = cores.flat_map(|core| core.tasks);
    let named = tasks.filter_map(|(index, bound)| {
        let task = partition.timing.tasks.get(index)?;
        Some((task.name.clone(), bound?))
    });
    let named = named.filter(|(name, _)| !name.contains('.'));
    let threads = partition.timing.threads.iter();
    let threads = threads.zip(partition.timing.priority_bounds());
    let at_priorities = threads
        .filter_map(|(thread, bound)| Some((thread.task.as_ref()?.name.clone(), bound.ok()?)));
    named.chain(at_priorities).collect()
}

/// The recorders of a partition, in its trace.
fn recorders(
    plan: &Plan,
    partition: &Partition,
    id: PartitionId,
) -> Result<Vec<Region>, PlanError> {
    if partition.trace == 0 {
        return Ok(Vec::new());
    }
    let trace = region(plan, Purpose::Trace(id))?;
    let size = partition.recorder_bytes();
    let count = partition.trace_owners();
    let recorder = |number| Region {
        pa: trace.pa + number * size,
        size,
    };
    Ok((0..count).map(recorder).collect())
}
