//! Room for pipes in the schedulers and in the solver

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::kinds::Kind;
use crate::pipes::catalogue::Catalogue;
use crate::pipes::flow::parse;
use crate::pipes::settlement::Crowded;
use crate::pipes::solution::Solution;
use crate::source::Span;
use bulkhead_abi::pipe::MAX_VCPUS;
use bulkhead_abi::repository::{MAX_PIPES, MAX_STAGES};
use bulkhead_stages::message::HEADS;
use bulkhead_stages::work::ENDS;
use bulkhead_tpipe::language::SOURCE;

crate::rules::declaration::rule! {
    Error, "pipe-room",
    "there are no more pipes, stages and VCPUs than what runs them has room for",
    "The scheduler of an rtos partition has room for 24 stages of the pipes that have a stage there, stages elsewhere included, for 16 such \
     pipes, and for 48 VCPUs; a pipe has at most 4 first stages and a stage 4 inputs and 4 outputs. The solver has room for 64 VCPUs of \
     the system, those of stages among them, 16 I/O VCPUs and 32 endpoints that they serve.",
    solved: check
}

/// A limit that the system exceeds: what, of which the count is beyond the most; and the remedy.
struct Exceeded {
    span: Span,
    message: String,
    here: String,
    help: &'static str,
}

/// A pipe by the partitions of its stages.
struct Counted<'d> {
    span: &'d Span,
    partitions: Vec<usize>,
}

const FEWER: &str = "do the work of several functions in one, or move pipes to another partition";

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    let Some(catalogue) = solution.catalogue().filter(|_| !draft.pipes.is_empty()) else {
        return;
    };
    for found in exceeded(draft, catalogue) {
        report.add(
            RULE.at(&found.span, found.message)
                .here(found.here)
                .help(found.help),
        );
    }
}

fn exceeded(draft: &Draft, catalogue: &Catalogue<'_>) -> Vec<Exceeded> {
    let pipes = catalogue.partitions_of_stages();
    let pipes: Vec<_> = pipes
        .into_iter()
        .map(|(flow, partitions)| Counted {
            span: &flow.span,
            partitions,
        })
        .collect();
    let partitions = draft.partitions.iter().enumerate();
    let rtos = partitions.filter(|(_, one)| one.kind.value() == Some(Kind::Rtos));
    let of_partitions = rtos.flat_map(|(index, partition)| of_partition(index, partition, &pipes));
    let of_flows = draft.pipes.iter().filter_map(|pipe| {
        let flow = pipe.flow.given()?;
        of_flow(&flow.value).map(|(message, help)| Exceeded {
            span: flow.span.clone(),
            message: format!("`{}` {message}", pipe.name.value),
            here: String::new(),
            help,
        })
    });
    of_solver(catalogue, &pipes)
        .into_iter()
        .chain(of_partitions)
        .chain(of_flows)
        .collect()
}

fn of_solver(catalogue: &Catalogue<'_>, pipes: &[Counted<'_>]) -> Option<Exceeded> {
    let Crowded { what, count, most } = catalogue.crowded()?;
    let stages: usize = pipes.iter().map(|pipe| pipe.partitions.len()).sum();
    let vcpus = catalogue.pipes.vcpus();
    Some(Exceeded {
        span: pipes.last()?.span.clone(),
        message: format!("the system has {count} {what}, and the solver has room for {most}"),
        here: match what {
            "VCPUs" => format!("with {stages} stages of pipes, a VCPU each, and {vcpus} others"),
            _ => String::new(),
        },
        help: FEWER,
    })
}

fn of_partition(
    index: usize,
    partition: &PartitionDraft,
    pipes: &[Counted<'_>],
) -> Option<Exceeded> {
    let here = || pipes.iter().filter(|pipe| pipe.partitions.contains(&index));
    let all: usize = here().map(|pipe| pipe.partitions.len()).sum();
    let partitions = here().flat_map(|pipe| &pipe.partitions);
    let partitions = partitions.filter(|one| **one == index).count();
    // The recorder and the planner have one each.
    let vcpus = partitions + partition.vcpus.len() + 2;
    let name = &partition.name.value;
    let counts = [
        (
            "stages in the pipes",
            all,
            MAX_STAGES,
            format!("of which {partitions} run in `{name}`"),
        ),
        ("pipes", here().count(), MAX_PIPES, String::new()),
        (
            "VCPUs",
            vcpus,
            MAX_VCPUS,
            format!(
                "{partitions} of stages, {} described, 2 of the scheduler",
                partition.vcpus.len()
            ),
        ),
    ];
    let (what, count, most, here_text) = counts
        .into_iter()
        .find(|(_, count, most, _)| count > most)?;
    Some(Exceeded {
        span: here().next_back()?.span.clone(),
        message: format!("`{name}` has {count} {what}, and its scheduler has room for {most}"),
        here: here_text,
        help: FEWER,
    })
}

/// Limit of one stage or one message that a flow exceeds, and the remedy.
fn of_flow(flow: &str) -> Option<(String, &'static str)> {
    let pipeline = parse(flow).ok()?;
    let stages = pipeline.stages();
    let heads = stages.iter().filter(|stage| stage.from == SOURCE).count();
    if heads > HEADS {
        let message =
            format!("has {heads} first stages, and a message has room for {HEADS} of them");
        return Some((message, "join some of them in a pipe of their own"));
    }
    stages.iter().find_map(|stage| {
        let fed = stages
            .iter()
            .filter(|one| stage.from != SOURCE && one.to == stage.from);
        let feeds = stages.iter().filter(|one| one.from == stage.to);
        let (inputs, outputs) = (fed.count(), feeds.count());
        let (count, what) = match inputs > ENDS {
            true => (inputs, "inputs"),
            false => (outputs, "outputs"),
        };
        (count > ENDS).then(|| {
            let name = stage.name;
            (
                format!("connects {count} {what} of `{name}`, and a stage has room for {ENDS}"),
                "put a stage between that joins or divides some of them",
            )
        })
    })
}
