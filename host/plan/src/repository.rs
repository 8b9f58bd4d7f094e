//! What pipes can be made of that are typed, in the form in which who solves them reads it
//!
//! See [`bulkhead_abi::repository`].

use bulkhead_abi::{name_field, repository as abi};
use bulkhead_model::pipes::{Offered, Pipe, Place};
use bulkhead_model::system::{PartitionId, System, Through};
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
    let own = |pipe: &&Pipe| pipe.runs_in(partition);
    let (text, flows) = flows(system, partition, system.pipes.iter().filter(own));
    let through = system.partition(partition).typed_through.iter();
    let through = through.filter_map(|one| through_of(system, offered, one));
    let through: Vec<_> = through.collect();
    offered.pipes.with(|all| {
        let mut loads: Vec<_> = all.loads.iter().map(load).collect();
        let others = system.pipes.iter().filter(|pipe| !own(pipe));
        loads.extend(others.flat_map(|pipe| of_stages(pipe, all)));
        let functions: Vec<_> = all
            .functions
            .iter()
            .zip(&offered.places)
            .map(function)
            .collect();
        let head = abi::Head {
            magic: abi::REPOSITORY_MAGIC,
            cores: all.cores.len() as u32,
            loads: loads.len() as u32,
            ios: all.ios.len() as u32,
            devices: all.devices.len() as u32,
            functions: functions.len() as u32,
            flows: flows.len() as u32,
            through: through.len() as u32,
            text: text.len() as u32,
            core: core as u32,
            spare_stages: spare.stages,
            spare_bytes: spare.buffer_bytes,
            reserved: 0,
        };
        let cores = all.cores.iter().enumerate();
        let cores: Vec<_> = cores
            .map(|(number, core)| core_of(core, offered.number_of(number)))
            .collect();
        let ios: Vec<_> = all.ios.iter().map(io).collect();
        let devices: Vec<_> = all.devices.iter().map(device).collect();
        let parts = [
            head.as_bytes(),
            cores.as_bytes(),
            loads.as_bytes(),
            ios.as_bytes(),
            devices.as_bytes(),
            functions.as_bytes(),
            flows.as_bytes(),
            through.as_bytes(),
            text.as_bytes(),
        ];
        parts.concat()
    })
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

/// Whether others may add to the delay of a pipe, or say how long it took.
fn is_shared(system: &System, partition: PartitionId, pipe: &Pipe) -> bool {
    let elsewhere = |place: &Place| place.partition != partition;
    let types = |place: &Place| system.partition(place.partition).spare.is_some();
    let ends_elsewhere = pipe.places.last().is_some_and(elsewhere);
    let mut places = pipe.places.iter();
    ends_elsewhere || places.any(|place| elsewhere(place) && types(place))
}

/// A partition without functions has no stages of what is typed.
fn through_of(system: &System, offered: &Offered, through: &Through) -> Option<abi::Through> {
    Some(abi::Through {
        channel: name_field(&system.channels[through.channel.0].name),
        space: offered.first_core(through.partition)? as u32,
        buffers: through.buffers,
    })
}

fn core_of(core: &tpipe::Core<'_>, number: usize) -> abi::Core {
    let policy = match core.policy {
        tpipe::Policy::RateMonotonic => abi::Policy::RateMonotonic,
        tpipe::Policy::Edf => abi::Policy::Edf,
        tpipe::Policy::Deadline => abi::Policy::Deadline,
    };
    abi::Core {
        name: abi::long_name_field(core.name),
        policy: policy as u32,
        space: core.space as u32,
        number: number as u32,
        reserved: 0,
    }
}

fn load(load: &tpipe::Load) -> abi::Load {
    abi::Load {
        core: load.core as u32,
        reserved: 0,
        capacity_ns: load.server.capacity,
        period_ns: load.server.period,
    }
}

/// The stages of a pipe that runs elsewhere, or nowhere, are loads as well: they were counted when all were solved.
fn of_stages<'p>(
    pipe: &'p Pipe,
    all: &'p tpipe::Repository<'_>,
) -> impl Iterator<Item = abi::Load> + use<'p> {
    pipe.solved.stages.iter().filter_map(|stage| {
        let core = all.cores.iter().position(|core| core.name == stage.core)?;
        Some(abi::Load {
            core: core as u32,
            reserved: 0,
            capacity_ns: stage.capacity_ns,
            period_ns: stage.period_ns,
        })
    })
}

fn io(io: &tpipe::Io<'_>) -> abi::Io {
    // A whole number of percent is what it was made of.
    let percent = (u128::from(io.utilisation.0) * 100) >> 40;
    abi::Io {
        name: abi::long_name_field(io.name),
        core: io.core as u32,
        percent: percent as u32,
        wcet_ns: io.wcet,
        sharers: io.sharers,
    }
}

fn device(device: &tpipe::Device<'_>) -> abi::Device {
    let [capacity_ns, period_ns] = device
        .main
        .map_or([0; 2], |main| [main.capacity, main.period]);
    abi::Device {
        name: abi::long_name_field(device.name),
        io: device.io as u32,
        reserved: 0,
        capacity_ns,
        period_ns,
        sharers: device.sharers,
        distance_ns: device.distance.unwrap_or(0),
    }
}

fn function((function, place): (&tpipe::Function<'_>, &Place)) -> abi::Function {
    let number = |device: Option<usize>| device.map_or(abi::NONE, |device| device as u32);
    let end = |end: &Option<String>| {
        let name = end.as_deref().unwrap_or_default();
        name_field(name.rsplit('.').next().unwrap_or(name))
    };
    abi::Function {
        name: abi::long_name_field(function.name),
        function: name_field(&place.function),
        source: end(&place.source),
        sink: end(&place.sink),
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
        endpoint: place.at_endpoint.into(),
        wcet_ns: function.wcet,
        wcmt_ns: place.wcmt_ns.unwrap_or(0),
        period_ns: function.period,
    }
}
