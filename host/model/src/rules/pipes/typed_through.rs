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
    "flows that are typed in an rtos partition go through others that have pipe functions, each of which runs stages for one such partition and types none",
    "Who solves a flow counts what it typed itself elsewhere. Of what another one had there it would know nothing.",
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
    let (own, other) = (&partition.name.value, &name.value);
    if spare(partition).is_none_or(|spare| spare.stages == 0) {
        let message = format!("no stages can be typed in `{own}`");
        return Some((
            message,
            "give it `spare_stages`, and pipe functions of its own",
        ));
    }
    let known = draft.partitions.iter().find(|one| one.name.value == *other);
    let Some(known) = known else {
        return Some((
            format!("there is no partition `{other}`"),
            "name other partitions of the description",
        ));
    };
    if let Some(found) = unfit(own, known) {
        return Some(found);
    }
    let all = draft.partitions.iter();
    let mut others = all.flat_map(names).filter(|one| one.value == *other);
    if others.any(|one| one.span != name.span) {
        return Some((
            format!("`{other}` is named twice"),
            "let flows be typed through it in one partition",
        ));
    }
    let foreign = foreign(solution, own, known)?;
    Some((
        format!("`{foreign}` has stages in `{other}`, and none in `{own}`"),
        "what is typed could take from it, and who judges there knows nothing of it: take it elsewhere",
    ))
}

/// The partitions that one names.
fn names(partition: &PartitionDraft) -> impl Iterator<Item = &At<String>> {
    let names = partition.typed_through.given().into_iter();
    names.flat_map(|names| &names.value)
}

/// Why a partition runs no stages for others.
fn unfit(own: &str, other: &PartitionDraft) -> Option<(String, &'static str)> {
    let name = &other.name.value;
    if name == own {
        return Some((
            format!("`{own}` names itself"),
            "its own functions can be typed there in any case",
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
            format!("no stages can be typed in `{name}`"),
            "an rtos partition has threads, budgets and buffers for them with `spare_stages`",
        ));
    }
    let through = names(other).next()?;
    Some((
        format!("`{name}` types flows itself, through `{}`", through.value),
        "who runs stages for another partition types none: who judges has to know of all of them",
    ))
}

/// A static pipe with stages in the second of two partitions and none in the first, which would
/// have to judge it. An rtos partition judges pipes that are wholly its own.
fn foreign(solution: &Solution<'_>, own: &str, other: &PartitionDraft) -> Option<String> {
    let (draft, pipes) = (solution.draft, solution.pipes());
    let id = |name: &str| {
        let mut all = draft.partitions.iter();
        all.position(|one| one.name.value == name).map(PartitionId)
    };
    let linux = other.kind.value()? == Kind::Linux;
    let [own, other] = [id(own)?, id(&other.name.value)?];
    let is_judged = |pipe: &Pipe| {
        let mut places = pipe.places.iter();
        pipe.runs_in(own) || !linux && places.all(|place| place.partition == other)
    };
    let mut pipes = pipes.iter();
    let found = pipes.find(|pipe| pipe.runs_in(other) && !is_judged(pipe));
    found.map(|pipe| pipe.name.clone())
}
