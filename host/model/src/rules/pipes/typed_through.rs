//! Linux partitions in which typed flows may have stages

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft};
use crate::pipes::described::Described;
use crate::resolve::spare;
use crate::system::{Kind, PartitionId};

crate::rules::rule! {
    Error, "typed-through",
    "flows that are typed in an rtos partition go through Linux partitions that have pipe functions, each of which runs stages for one such partition",
    "Who solves a flow counts what it typed itself in Linux. Of what another one had there it would know nothing.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let names = partition.typed_through.given().into_iter();
        for name in names.flat_map(|names| &names.value) {
            if let Some((message, help)) = problem(draft, partition, name) {
                report.add(RULE.at(&name.span, message).help(help));
            }
        }
    }
}

fn problem(
    draft: &Draft,
    partition: &PartitionDraft,
    name: &At<String>,
) -> Option<(String, &'static str)> {
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
            "name Linux partitions of the description",
        ));
    };
    if known.kind.value().is_some_and(|kind| kind != Kind::Linux) || known.functions.is_empty() {
        return Some((
            format!("`{other}` is no Linux partition with pipe functions"),
            "an rtos partition has its own flows; give a Linux partition functions: `[partition.NAME.function.NAME]`",
        ));
    }
    let all = draft.partitions.iter();
    let all = all.flat_map(|one| {
        one.typed_through
            .given()
            .into_iter()
            .flat_map(|all| &all.value)
    });
    let mut others = all.filter(|one| one.value == *other && one.span != name.span);
    if others.next().is_some() {
        return Some((
            format!("`{other}` is named twice"),
            "let flows be typed through it in one partition",
        ));
    }
    let foreign = foreign(draft, own, other)?;
    Some((
        format!("`{foreign}` has stages in `{other}`, and none in `{own}`"),
        "what is typed could take from it, and who judges there knows nothing of it: take it elsewhere",
    ))
}

/// A described pipe with stages in the second of two partitions and none in the first.
fn foreign(draft: &Draft, own: &str, other: &str) -> Option<String> {
    let described = Described::of(draft).filter(|_| !draft.pipes.is_empty())?;
    let pipes = described.solve()?.ok()?;
    let id = |name: &str| {
        let mut all = draft.partitions.iter();
        all.position(|one| one.name.value == name).map(PartitionId)
    };
    let [own, other] = [id(own)?, id(other)?];
    let mut pipes = pipes.into_iter();
    let found = pipes.find(|pipe| pipe.runs_in(other) && !pipe.runs_in(own));
    found.map(|pipe| pipe.name)
}
