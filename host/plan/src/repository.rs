//! Functions and endpoints of run-time pipes, in binary form for the planner on the target
//!
//! See [`bulkhead_abi::repository`].

use crate::pipes::endpoint_name;
use bulkhead_abi::pipe::ANY;
use bulkhead_abi::timing::Doorbell;
use bulkhead_abi::{name_field, repository as abi};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::overhead::Jobs;
use bulkhead_model::pipes::{Offered, Pipe, Place, Served};
use bulkhead_model::system::{PartitionId, RemotePartition, System};
use bulkhead_tpipe::language::Buffering;
use bulkhead_tpipe::repository as tpipe;
use zerocopy::IntoBytes;

/// The repository of a partition; nothing where no flow can be typed there.
#[must_use]
pub fn pack(system: &System, partition: PartitionId) -> Vec<u8> {
    let spare = system.partition(partition).spare;
    let (Some(offered), Some(spare)) = (&system.offered, spare) else {
        return Vec::new();
    };
    let Some(core) = offered.first_core(partition) else {
        return Vec::new();
    };
    let is_here = |pipe: &&Pipe| pipe.runs_in(partition);
    let (text, flows) = flows(system, partition, system.pipes.iter().filter(is_here));
    let remote = remote_partitions(system, partition, offered);
    let serves = serves(system, partition, offered);
    offered.pipes.with(|all| {
        let mut loads: Vec<_> = all.loads.iter().map(load).collect();
        let counted = Counted::of(all.decisions);
        let others = system.pipes.iter().filter(|pipe| !is_here(pipe));
        loads.extend(others.flat_map(|pipe| of_stages(pipe, all)));
        let functions = all.functions.iter().zip(&offered.places);
        let functions: Vec<_> = functions.map(function).collect();
        let head = abi::Head {
            magic: abi::REPOSITORY_MAGIC,
            cores: all.cores.len() as u32,
            loads: loads.len() as u32,
            ios: all.ios.len() as u32,
            devices: all.devices.len() as u32,
            functions: functions.len() as u32,
            flows: flows.len() as u32,
            remote_partitions: remote.len() as u32,
            text: text.len() as u32,
            core: core as u32,
            spare_stages: spare.stages,
            spare_bytes: spare.buffer_bytes,
            counted: counted.cores.len() as u32,
            jobs: counted.jobs.len() as u32,
            doorbells: counted.doorbells.len() as u32,
            serves: serves.len() as u32,
            reserved: 0,
        };
        let cores = cores(all, offered);
        let ios: Vec<_> = all.ios.iter().map(io).collect();
        let devices = all.devices.iter().zip(&offered.served);
        let devices = devices.map(|(one, served)| device(one, vcpus(system, partition, served)));
        let devices: Vec<_> = devices.collect();
        let parts = [
            head.as_bytes(),
            cores.as_bytes(),
            loads.as_bytes(),
            counted.cores.as_bytes(),
            counted.jobs.as_bytes(),
            counted.doorbells.as_bytes(),
            ios.as_bytes(),
            devices.as_bytes(),
            functions.as_bytes(),
            flows.as_bytes(),
            remote.as_bytes(),
            serves.as_bytes(),
            text.as_bytes(),
        ];
        parts.concat()
    })
}

/// Scheduling overhead, core by core.
#[derive(Default)]
struct Counted {
    cores: Vec<abi::Counted>,
    jobs: Vec<abi::Jobs>,
    doorbells: Vec<Doorbell>,
}

impl Counted {
    fn of(all: &[tpipe::Decisions<'_>]) -> Self {
        let mut counted = Self::default();
        for one in all {
            counted.cores.push(abi::Counted {
                core: one.core as u32,
                jobs: one.jobs.len() as u32,
                doorbells: one.doorbells.len() as u32,
                reserved: 0,
                decision_ns: one.overhead.decision,
                interrupt_ns: one.overhead.interrupt,
                stage_ns: one.overhead.stage,
                blocking_ns: one.overhead.blocking,
                quantum_ns: one.keeping.quantum.unwrap_or(0),
            });
            counted.jobs.extend(one.jobs.iter().map(jobs));
            let doorbells = one.doorbells.iter();
            let doorbells = doorbells.map(|&(limit, per_ns)| Doorbell { limit, per_ns });
            counted.doorbells.extend(doorbells);
        }
        counted
    }
}

/// Numbers of the VCPUs of a partition that serve an endpoint, and scatter or gather for it.
fn vcpus(system: &System, partition: PartitionId, served: &Served) -> [u32; 2] {
    let all = &system.partition(partition).timing.vcpus;
    let number = |name: &str| {
        let is_here = served.partition == partition;
        let found = all.iter().position(|vcpu| is_here && vcpu.name == name);
        found.map_or(abi::NONE, |number| number as u32)
    };
    let scatter = served.scatter.as_deref();
    [number(&served.io), scatter.map_or(abi::NONE, number)]
}

/// The text of all flows, and where each stands in it.
fn flows<'p>(
    system: &System,
    partition: PartitionId,
    pipes: impl Iterator<Item = &'p Pipe>,
) -> (String, Vec<abi::Flow>) {
    let mut text = String::new();
    let flows = pipes.map(|pipe| {
        let start = text.len() as u32;
        text.push_str(&pipe.solved.flow);
        abi::Flow {
            start,
            length: pipe.solved.flow.len() as u32,
            shared: is_shared(system, partition, pipe).into(),
            reserved: 0,
        }
    });
    let flows = flows.collect();
    (text, flows)
}

/// Returns `true` if other partitions may add to the delay of a pipe, or report it. Only one partition accepts run-time flows
/// through the same partitions.
fn is_shared(system: &System, partition: PartitionId, pipe: &Pipe) -> bool {
    let elsewhere = |place: &Place| place.partition != partition;
    let types = |place: &Place| {
        let asks = system.client_with_stages_in(place.partition);
        let is_client = asks.is_some_and(|(asks, _)| asks == partition);
        system.partition(place.partition).spare.is_some() && !is_client
    };
    let ends_elsewhere = pipe.places.last().is_some_and(elsewhere);
    let mut places = pipe.places.iter();
    ends_elsewhere || places.any(|place| elsewhere(place) && types(place))
}

/// Partitions that run stages. A partition without functions runs none.
fn remote_partitions(
    system: &System,
    partition: PartitionId,
    offered: &Offered,
) -> Vec<abi::RemotePartition> {
    let all = system.partition(partition).remote_partitions.iter();
    let packed = all.filter_map(|one| between(system, one.partition, one, offered));
    packed.collect()
}

/// The one that has stages run here, if one has.
fn serves(system: &System, partition: PartitionId, offered: &Offered) -> Vec<abi::RemotePartition> {
    let asks = system.client_with_stages_in(partition).into_iter();
    let packed = asks.filter_map(|(asks, one)| between(system, asks, one, offered));
    packed.collect()
}

/// The channel to the `other` one.
fn between(
    system: &System,
    other: PartitionId,
    remote: &RemotePartition,
    offered: &Offered,
) -> Option<abi::RemotePartition> {
    Some(abi::RemotePartition {
        channel: name_field(&system.channels[remote.channel.0].name),
        space: offered.first_core(other)? as u32,
        buffers: remote.buffers,
    })
}

fn cores(all: &tpipe::Repository<'_>, offered: &Offered) -> Vec<abi::Core> {
    let cores = all.cores.iter().enumerate();
    let cores = cores.map(|(number, core)| {
        let first = offered.first_of(number);
        let runs = number == first || offered.runs_stages(number);
        core_of(core, runs.then_some(number - first), first)
    });
    cores.collect()
}

/// A core with stages, by its number in the partition.
fn core_of(core: &tpipe::Core<'_>, number: Option<usize>, first: usize) -> abi::Core {
    let policy = match core.policy {
        tpipe::Policy::RateMonotonic => abi::Policy::RateMonotonic,
        tpipe::Policy::Edf => abi::Policy::Edf,
        tpipe::Policy::Deadline => abi::Policy::Deadline,
    };
    abi::Core {
        name: abi::long_name_field(core.name),
        policy: policy as u32,
        space: core.space as u32,
        number: self::number(number),
        first: first as u32,
    }
}

fn load(load: &tpipe::Load) -> abi::Load {
    let (stage, jobs, [reads, writes]) = match load.runs {
        tpipe::Runs::Tasks { jobs } => (0, jobs, [abi::NONE; 2]),
        tpipe::Runs::Stage { devices, messages } => (1, messages, devices.map(number)),
    };
    abi::Load {
        core: load.core as u32,
        stage,
        reads,
        writes,
        jobs,
        capacity_ns: load.server.capacity,
        period_ns: load.server.period,
    }
}

fn jobs(jobs: &Jobs) -> abi::Jobs {
    abi::Jobs {
        period_ns: jobs.period,
        late_ns: jobs.late,
        pieces: jobs.pieces,
    }
}

/// Something by its number, if there is one.
fn number(one: Option<usize>) -> u32 {
    one.map_or(abi::NONE, |one| one as u32)
}

/// The stages of a pipe that runs elsewhere, or nowhere, are loads as well: they were counted when all were solved.
fn of_stages<'p>(
    pipe: &'p Pipe,
    all: &'p tpipe::Repository<'_>,
) -> impl Iterator<Item = abi::Load> + use<'p> {
    pipe.solved.stages.iter().filter_map(|stage| {
        let core = all.cores.iter().position(|core| core.name == stage.core)?;
        let mut functions = all.functions.iter();
        let function = functions.find(|function| function.name == stage.name)?;
        let server = Reservation::new(stage.capacity_ns, stage.period_ns)?;
        let runs = tpipe::Runs::Stage {
            devices: [function.source, function.sink],
            messages: stage.messages,
        };
        Some(load(&tpipe::Load { core, server, runs }))
    })
}

fn io(io: &tpipe::Io<'_>) -> abi::Io {
    abi::Io {
        name: abi::long_name_field(io.name),
        core: io.core as u32,
        percent: io.percent(),
        wcet_ns: io.wcet,
        sharers: io.sharers,
    }
}

/// A device that these VCPUs of the partition serve.
fn device(device: &tpipe::Device<'_>, [vcpu, scatter]: [u32; 2]) -> abi::Device {
    let [capacity_ns, period_ns] = device
        .main
        .map_or([0; 2], |main| [main.capacity, main.period]);
    abi::Device {
        name: abi::long_name_field(device.name),
        io: device.io as u32,
        vcpu,
        scatter,
        reserved: 0,
        capacity_ns,
        period_ns,
        sharers: device.sharers,
        distance_ns: device.distance.unwrap_or(0),
    }
}

fn function((function, place): (&tpipe::Function<'_>, &Place)) -> abi::Function {
    abi::Function {
        name: abi::long_name_field(function.name),
        function: name_field(&place.function),
        source: endpoint_name(place, 0),
        sink: endpoint_name(place, 1),
        core: function.core as u32,
        inputs: function.inputs,
        outputs: function.outputs,
        buffering: match function.buffering {
            None => 0,
            Some(Buffering::FourSlot) => 1,
            Some(Buffering::Fifo) => 2,
        },
        reads: number(function.source),
        writes: number(function.sink),
        on_overrun: place.on_overrun as u32,
        message_types: function.messages.map(|one| one.number as u16),
        message_bytes: function.messages.map(|one| one.bytes),
        identifiers: place.identifiers.map(|one| one.unwrap_or(ANY)),
        addresses: place.at_card.map_or([0; 2], |at| at.addresses),
        port: place.at_card.map_or(0, |at| at.port),
        endpoint_kinds: place.endpoints().map(|kind| kind as u8),
        wcet_ns: function.wcet,
        wcmt_ns: place.wcmt_ns.unwrap_or(0),
        period_ns: function.period,
    }
}
