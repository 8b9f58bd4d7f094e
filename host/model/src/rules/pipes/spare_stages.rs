//! Room for run-time pipes

use crate::diagnostic::Report;
use crate::draft::PartitionDraft;
use crate::ids::PartitionId;
use crate::kinds::Kind;
use crate::pipes::solution::Solution;
use crate::pipes::{Offered, Pipe};
use crate::quantity::size_text;
use crate::resolve::spare;
use crate::source::Span;
use crate::system::Spare;
use bulkhead_abi::repository::{
    MAX_BUFFERS, MAX_CORES, MAX_COUNTED, MAX_DOORBELLS, MAX_FUNCTIONS, MAX_JOBS, MAX_STAGES,
    MAX_VCPUS,
};
use bulkhead_stages::link::{GATHERED_PLACES, Kind as Buffer, Shape};

crate::rules::declaration::rule! {
    Error, "spare-stages",
    "an rtos partition with pipe functions has room for its run-time stages and their buffers",
    "The program that runs a partition's stages has threads for 24 of them and 64 KiB for the buffers between them, \
     those of static pipes included. The planner of run-time pipes has room for 16 cores, 64 functions (a function \
     with a unique name counts twice) and 64 VCPUs of the system. At most 4 cores of the system may have functions for \
     run-time flows, each with at most 22 tasks and 8 doorbells.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    for (index, partition) in solution.draft.partitions.iter().enumerate() {
        let Some((span, message, help)) = problem(solution, PartitionId(index), partition) else {
            continue;
        };
        report.add(RULE.at(&span, message).help(help));
    }
}

fn problem(
    solution: &Solution<'_>,
    id: PartitionId,
    partition: &PartitionDraft,
) -> Option<(Span, String, &'static str)> {
    let keys = [&partition.spare_stages, &partition.spare_buffers];
    let span = keys.into_iter().find_map(|key| key.span().cloned())?;
    let name = &partition.name.value;
    let Some(spare) = spare(partition) else {
        let message = format!("`{name}` has buffers for stages that are typed, and no such stages");
        return Some((span, message, "give it `spare_stages`, too"));
    };
    if partition.kind.value() != Some(Kind::Rtos) || partition.functions.is_empty() {
        let message = format!("no flow can be typed in `{name}`");
        return Some((
            span,
            message,
            "only an rtos partition with pipe functions runs what is typed",
        ));
    }
    let catalogue = solution.catalogue()?;
    let pipes = solution.pipes();
    if pipes.len() < solution.draft.pipes.len() {
        return None;
    }
    let message =
        crowded(&catalogue.offered(), pipes).or_else(|| too_many(name, id, spare, pipes))?;
    Some((span, message, "leave less room, or describe less"))
}

/// Limits of the solver that the system exceeds.
fn crowded(Offered { pipes, .. }: &Offered, run: &[Pipe]) -> Option<String> {
    let stages: usize = run.iter().map(|pipe| pipe.places.len()).sum();
    let counts = pipes.with(|all| {
        let jobs = all.decisions.iter().map(|one| one.jobs.len());
        let doorbells = all.decisions.iter().map(|one| one.doorbells.len());
        [
            (
                "tasks besides stages on a core",
                jobs.max().unwrap_or(0),
                MAX_JOBS,
            ),
            (
                "doorbells on a core",
                doorbells.max().unwrap_or(0),
                MAX_DOORBELLS,
            ),
            (
                "cores on which flows can be typed",
                all.decisions.len(),
                MAX_COUNTED,
            ),
            ("cores", all.cores.len(), MAX_CORES),
            ("names of functions", all.functions.len(), MAX_FUNCTIONS),
            ("VCPUs", pipes.vcpus() + stages, MAX_VCPUS),
        ]
    });
    let found = counts.into_iter().find(|(_, count, most)| count > most);
    found.map(|(what, count, most)| {
        format!(
            "the system has {count} {what}; a partition with run-time flows has room for \
                 {most}"
        )
    })
}

/// Limits that the partition exceeds.
fn too_many(name: &str, id: PartitionId, spare: Spare, pipes: &[Pipe]) -> Option<String> {
    let here = pipes.iter().filter(|pipe| pipe.runs_in(id));
    let stages: usize = here.clone().map(|pipe| pipe.places.len()).sum();
    if stages + spare.stages as usize > MAX_STAGES {
        let spare = spare.stages;
        return Some(format!(
            "`{name}` would have {stages} stages and {spare} spare ones, of at most {MAX_STAGES}"
        ));
    }
    let taken = here.map(buffers).sum::<u64>();
    let required = taken + u64::from(spare.buffer_bytes);
    (required > MAX_BUFFERS).then(|| {
        format!(
            "the buffers of `{name}` would take {}, of at most {}",
            size_text(required),
            size_text(MAX_BUFFERS)
        )
    })
}

/// Maximum bytes of the buffers between stages of one partition and before gatherers.
fn buffers(pipe: &Pipe) -> u64 {
    let stages = &pipe.solved.stages;
    let between = |(index, reader): (usize, &crate::pipes::solved::Stage)| {
        let writers = stages.iter().take(index);
        let bytes = pipe.shape(index).header_bytes();
        let bytes = bytes.unwrap_or(usize::MAX).next_multiple_of(64);
        writers.filter(|writer| writer.to == reader.from).count() as u64 * bytes as u64
    };
    let gathered = Shape::from(Buffer::Each(GATHERED_PLACES)).bytes();
    let gathered = gathered.unwrap_or(usize::MAX).next_multiple_of(64) as u64;
    let gatherers = pipe
        .places
        .iter()
        .filter(|place| place.scatter[1].is_some());
    stages.iter().enumerate().map(between).sum::<u64>() + gatherers.count() as u64 * gathered
}
