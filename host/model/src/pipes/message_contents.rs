//! Memory for the contents of long messages
//!
//! The program of a stage's function writes the contents of the buffers behind it into its own memory, which the other programs of the core
//! can read (`bulkhead_abi::component::message_contents`). Contents for other cores and partitions lie in the buffers between them, to which
//! only schedulers have access. A component reads and writes copies of them in its own memory; the scheduler copies.

use super::pipe::Pipe;
use crate::draft::PartitionDraft;
use crate::system::{Component, Image, Partition, PartitionId};
use bulkhead_abi::component::Role;
use bulkhead_abi::pipe::MAX_MESSAGE;
use bulkhead_stages::message::content_bytes;
use bulkhead_tpipe::language::SOURCE;

/// Bytes of a cache line, of which each content takes whole ones.
const LINE: usize = 64;

/// Gives the components of a partition memory for the contents of messages.
pub(crate) fn arrange(
    partition: &mut Partition,
    id: PartitionId,
    pipes: &[Pipe],
    draft: &PartitionDraft,
) {
    let executors = partition.component_functions.clone();
    let spare = partition.spare.map_or(0, |spare| spare.buffer_bytes.into());
    let Image::Components(components) = &mut partition.image else {
        return;
    };
    for component in components.iter_mut() {
        let executes = |function: &str, core: usize| {
            let mut named = executors.iter().filter(|[name, _]| name == function);
            match named.next() {
                Some([_, executor]) => *executor == component.name,
                None => component.role == Role::Scheduler && component.core as usize == core,
            }
        };
        let mut functions = draft.functions.iter();
        let has_types = functions.any(|function| {
            let core = function.core.or(0).unwrap_or(0) as usize;
            let mut types = [&function.input_message, &function.output_message].into_iter();
            executes(&function.name.value, core) && types.any(|one| one.given().is_some())
        });
        let of_stages: usize = pipes
            .iter()
            .flat_map(|pipe| (0..pipe.places.len()).map(move |stage| (pipe, stage)))
            .filter(|(pipe, stage)| {
                let place = &pipe.places[*stage];
                place.partition == id && !place.linux && executes(&place.function, place.core)
            })
            .map(|(pipe, stage)| of_stage(pipe, stage, component))
            .sum();
        let of_requests = if has_types { spare } else { 0 };
        component.contents = of_stages as u64 + of_requests;
    }
}

/// Bytes that a stage takes of the memory of the component that executes its function.
fn of_stage(pipe: &Pipe, stage: usize, component: &Component) -> usize {
    let place = &pipe.places[stage];
    let lines = |bytes: u32| content_bytes(bytes).next_multiple_of(LINE);
    let [input, output] = place.message_bytes.map(lines);
    let stages = &pipe.solved.stages;
    let is_here = |other: usize| {
        let other = &pipe.places[other];
        other.partition == place.partition && other.core == place.core
    };
    let readers = (stage + 1..stages.len())
        .filter(|&other| stages[other].from != SOURCE && stages[other].from == stages[stage].to);
    let (near, far): (Vec<_>, Vec<_>) = readers.partition(|&reader| is_here(reader));
    let buffers: usize = near.iter().map(|&to| pipe.shape(to).content_bytes()).sum();
    let is_executor = component.role != Role::Scheduler;
    let writers = (0..stage).filter(|&other| stages[other].to == stages[stage].from);
    let from_far = match is_executor {
        true => writers.filter(|&writer| !is_here(writer)).count(),
        false => 0,
    };
    let beside = match near.is_empty() && (is_executor || far.is_empty()) {
        true => output,
        false => 0,
    };
    buffers + beside + from_far * input
}

const _: () = assert!(
    MAX_MESSAGE as u64 * 64 <= bulkhead_abi::component::message_contents::MOST,
    "a ring of the longest messages has room"
);
