//! Binary form of pipes for the runtimes of their stages
//!
//! An rtos partition finds it behind its timing data, Linux in its device tree; see [`bulkhead_abi::pipe`].

use crate::pcie::Bus;
use bulkhead_abi::pipe::EndpointKind;
use bulkhead_abi::{NAME_LEN, name_field, pipe as abi};
use bulkhead_model::pipes::{Crossing, Pipe, Place};
use bulkhead_model::system::{Image, Partition, PartitionId, System};
use bulkhead_tpipe::language::Buffering;
use zerocopy::IntoBytes;

/// The pipes of which a partition runs a stage; empty if there are none. Linux finds endpoints by the places of their devices on
/// `buses`.
#[must_use]
pub fn pack(system: &System, partition: PartitionId, buses: &[Bus]) -> Vec<u8> {
    let run = system.pipes.iter().filter(|pipe| pipe.runs_in(partition));
    let run: Vec<_> = run.collect();
    let functions = functions(system.partition(partition));
    if run.is_empty() && functions.is_empty() {
        return Vec::new();
    }
    let mut stages = Vec::new();
    let mut crossings = Vec::new();
    for pipe in &run {
        let ends = pipe.crossings.iter();
        let here = ends.filter(|one| {
            [one.from, one.to]
                .iter()
                .any(|&stage| pipe.places[stage].partition == partition)
        });
        crossings.extend(here.map(|one| crossing(system, one, stages.len())));
        let places = pipe.places.iter().enumerate();
        stages.extend(places.map(|(index, place)| {
            let [source, sink] = [0, 1].map(|which| endpoint(system, place, which, buses));
            abi::Stage {
                source: source.1,
                sink: sink.1,
                endpoint_kinds: [source.0 as u8, sink.0 as u8],
                ..stage(system, partition, pipe, index)
            }
        }));
    }
    let head = abi::Head {
        magic: abi::PIPES_MAGIC,
        pipes: run.len() as u32,
        stages: stages.len() as u32,
        crossings: crossings.len() as u32,
        functions: functions.len() as u32,
    };
    let pipes: Vec<_> = run.into_iter().map(packed).collect();
    let parts = [
        head.as_bytes(),
        pipes.as_bytes(),
        stages.as_bytes(),
        crossings.as_bytes(),
        functions.as_bytes(),
    ];
    parts.concat()
}

/// The functions that components of the partition execute.
fn functions(partition: &Partition) -> Vec<abi::ComponentFunction> {
    let Image::Components(components) = &partition.image else {
        return Vec::new();
    };
    let all = partition.component_functions.iter();
    let numbered = all.filter_map(|[name, component]| {
        let component = components.iter().position(|one| one.name == *component)?;
        Some(abi::ComponentFunction {
            name: name_field(name),
            component: component as u64,
        })
    });
    numbered.collect()
}

fn packed(pipe: &Pipe) -> abi::Pipe {
    let bounds = pipe.solved.paths.iter().map(|path| path.bound_ns);
    abi::Pipe {
        name: name_field(&pipe.name),
        stages: pipe.places.len() as u32,
        fifo: u32::from(pipe.solved.buffering == Buffering::Fifo),
        interval_ns: pipe.solved.interval_ns,
        bound_ns: bounds.max().unwrap_or(0),
        max_age_ns: pipe.max_age_ns.unwrap_or(0),
    }
}

fn stage(system: &System, partition: PartitionId, pipe: &Pipe, index: usize) -> abi::Stage {
    let (stage, place) = (&pipe.solved.stages[index], &pipe.places[index]);
    let is_here = place.partition == partition;
    let vcpus = &system.partition(partition).timing.vcpus;
    let number = |name: &str| {
        let found = vcpus.iter().position(|vcpu| is_here && vcpu.name == name);
        found.map_or(abi::NONE, |number| number as u32)
    };
    abi::Stage {
        function: name_field(&place.function),
        fallback: name_field(place.fallback.as_deref().unwrap_or_default()),
        core: match is_here {
            true => place.core as u32,
            false => abi::NONE,
        },
        vcpu: number(&pipe.vcpu(index)),
        io: place.io.as_deref().map_or(abi::NONE, number),
        scatter: place
            .scatter
            .each_ref()
            .map(|name| name.as_deref().map_or(abi::NONE, number)),
        from: stage.from.into(),
        to: stage.to.into(),
        messages: stage.messages as u32,
        buffer: stage.buffer as u32,
        on_overrun: place.on_overrun as u32,
        message_bytes: place.message_bytes,
        identifiers: place.identifiers.map(|one| one.unwrap_or(abi::ANY)),
        addresses: place.at_card.map_or([0; 2], |at| at.addresses),
        port: place.at_card.map_or(0, |at| at.port),
        distance_ns: distance(pipe, place),
        wcet_ns: stage.wcet_ns,
        capacity_ns: stage.capacity_ns,
        period_ns: stage.period_ns,
        ..abi::Stage::default()
    }
}

/// The shortest distance of the messages that a stage reads at a device: what is declared, or as a lossless pipe takes them.
fn distance(pipe: &Pipe, place: &Place) -> u64 {
    let reads = place.at_endpoint[0] && !place.linux;
    match (pipe.solved.buffering, place.distance_ns) {
        _ if !reads => 0,
        (_, Some(declared)) => declared,
        (Buffering::Fifo, None) => pipe.solved.interval_ns,
        (Buffering::FourSlot, None) => 0,
    }
}

/// Source or sink of a stage, with its name if it is a device's; in Linux that is the address of the device.
fn endpoint(
    system: &System,
    place: &Place,
    which: usize,
    buses: &[Bus],
) -> (EndpointKind, [u8; NAME_LEN]) {
    let Some(at) = place.ends[which].as_ref() else {
        return (place.endpoints()[which], endpoint_name(place, which));
    };
    let address = buses.iter().find_map(|bus| {
        let owned = bus.is_of(system, place.partition);
        owned.then(|| bus.address(system, &at.device))?
    });
    // The device of a stage of another partition has no address here.
    address.map_or_else(Default::default, |address| {
        (EndpointKind::Device, name_field(&address))
    })
}

/// Name of the device's endpoint that a function reads or writes, without its component; else zeros.
pub(crate) fn endpoint_name(place: &Place, which: usize) -> [u8; NAME_LEN] {
    let name = [&place.source, &place.sink][which].as_deref();
    let name = name.filter(|_| place.endpoints()[which] == EndpointKind::Device);
    let name = name.unwrap_or_default();
    name_field(name.rsplit('.').next().unwrap_or(name))
}

/// Its stages counted from the first of its pipe.
fn crossing(system: &System, crossing: &Crossing, first: usize) -> abi::Crossing {
    abi::Crossing {
        channel: crossing.channel.map_or([0; NAME_LEN], |channel| {
            name_field(&system.channels[channel.0].name)
        }),
        from: (first + crossing.from) as u32,
        to: (first + crossing.to) as u32,
    }
}
