//! Partitions in which typed flows may have stages

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::PartitionDraft;
use crate::ids::PartitionId;
use crate::kinds::Kind;
use crate::pipes::Pipe;
use crate::pipes::solution::Solution;
use crate::resolve::spare;

crate::rules::declaration::rule! {
    Error, "typed-through",
    "run-time flows of an rtos partition have stages in other partitions only if these have pipe functions, run stages \
     for no third partition and accept no flows themselves",
    "The partition that solves a run-time flow counts the stages that it started in other partitions. It does not know \
     the stages that a third partition started there.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    for partition in &solution.draft.partitions {
        for name in names(partition) {
            if let Some((message, help)) = problem(solution, partition, name) {
                report.add(RULE.at(&name.span, message).help(help));
            }
        }
    }
}

fn problem(
    solution: &Solution<'_>,
    partition: &PartitionDraft,
    name: &At<String>,
) -> Option<(String, &'static str)> {
    let draft = solution.draft;
    let (client, other) = (&partition.name.value, &name.value);
    if spare(partition).is_none_or(|spare| spare.stages == 0) {
        let message = format!("`{client}` accepts no run-time stages");
        return Some((
            message,
            "give it `spare_stages`, and pipe functions of its own",
        ));
    }
    let found = draft.partitions.iter().find(|one| one.name.value == *other);
    let Some(found) = found else {
        return Some((
            format!("there is no partition `{other}`"),
            "name other partitions of the description",
        ));
    };
    if let Some(found) = unfit(client, found) {
        return Some(found);
    }
    let all = draft.partitions.iter();
    let mut others = all.flat_map(names).filter(|one| one.value == *other);
    if others.any(|one| one.span != name.span) {
        return Some((
            format!("`{other}` is named twice"),
            "name it in `typed_through` of one partition only",
        ));
    }
    let foreign = foreign(solution, client, found)?;
    Some((
        format!("`{foreign}` has stages in `{other}`, and none in `{client}`"),
        "run-time flows could take its time, and the partition that admits them does not know this pipe: move its \
         stages",
    ))
}

/// The partitions that one names.
fn names(partition: &PartitionDraft) -> impl Iterator<Item = &At<String>> {
    let names = partition.typed_through.given().into_iter();
    names.flat_map(|names| &names.value)
}

/// Why a partition runs no stages for others.
fn unfit(client: &str, other: &PartitionDraft) -> Option<(String, &'static str)> {
    let name = &other.name.value;
    if name == client {
        return Some((
            format!("`{client}` names itself"),
            "run-time flows of a partition can use its own functions in any case",
        ));
    }
    if other.functions.is_empty() {
        return Some((
            format!("`{name}` has no pipe functions"),
            "give it some: `[partition.NAME.function.NAME]`",
        ));
    }
    // What is not said is missed by other rules.
    if other.kind.value()? == Kind::Linux {
        return None;
    }
    if spare(other).is_none_or(|spare| spare.stages == 0) {
        return Some((
            format!("`{name}` accepts no run-time stages"),
            "an rtos partition has threads, budgets and buffers for them with `spare_stages`",
        ));
    }
    let remote = names(other).next()?;
    Some((
        format!(
            "`{name}` accepts run-time flows itself, through `{}`",
            remote.value
        ),
        "a partition that runs stages for another one admits no flows itself, because the \
         admitting partition must know all stages",
    ))
}

/// A static pipe with stages in the second of two partitions and none in the first, which would
/// have to judge it. An rtos partition judges pipes that are wholly its own.
fn foreign(solution: &Solution<'_>, client: &str, other: &PartitionDraft) -> Option<String> {
    let (draft, pipes) = (solution.draft, solution.pipes());
    let id = |name: &str| {
        let mut all = draft.partitions.iter();
        all.position(|one| one.name.value == name).map(PartitionId)
    };
    let linux = other.kind.value()? == Kind::Linux;
    let [client, other] = [id(client)?, id(&other.name.value)?];
    let is_judged = |pipe: &Pipe| {
        let mut places = pipe.places.iter();
        pipe.runs_in(client) || !linux && places.all(|place| place.partition == other)
    };
    let mut pipes = pipes.iter();
    let found = pipes.find(|pipe| pipe.runs_in(other) && !is_judged(pipe));
    found.map(|pipe| pipe.name.clone())
}
