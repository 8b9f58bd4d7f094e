//! A fallback function exists, and fits into the budget

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, PipeFunctionDraft};
use crate::quantity::time_text;
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "function-fallback",
    "the `fallback` of a pipe function is another function of its partition that takes no longer and has messages of the same types",
    "It runs in the stage's place, on the stage's budget, with the inputs that came last, and fills the same buffers: long messages lie in \
     memory that only the component of the stage's function writes.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for function in &partition.functions {
            if let Some((message, here, help)) = problem(partition, function) {
                let span = function.fallback.span().cloned().unwrap_or_default();
                report.add(RULE.at(&span, message).here(here).help(help));
            }
        }
    }
}

/// Place, problem and remedy.
fn problem(
    partition: &PartitionDraft,
    function: &PipeFunctionDraft,
) -> Option<(String, String, String)> {
    let fallback = function.fallback.given()?;
    let (owner, name) = (&partition.name.value, &function.name.value);
    let mut others = partition.functions.iter();
    let found = others.find(|other| other.name.value == fallback.value);
    let Some(found) = found.filter(|other| other.name.value != *name) else {
        let names = partition
            .functions
            .iter()
            .map(|one| one.name.value.as_str());
        let others: Vec<_> = names.filter(|other| other != name).collect();
        return Some((
            format!("`{owner}` has no other function `{}`", fallback.value),
            "not described".into(),
            match others.is_empty() {
                true => format!(
                    "describe it: `[partition.{owner}.function.{}]`",
                    fallback.value
                ),
                false => advice(&fallback.value, "function", &others),
            },
        ));
    };
    if let Some(problem) = other_messages(function, found) {
        return Some(problem);
    }
    let (wcet, other) = (function.wcet.value()?, found.wcet.value()?);
    (other > wcet).then(|| {
        (
            format!(
                "`{}` takes longer than `{name}`, whose place it takes",
                fallback.value
            ),
            format!(
                "{}, and the stage's budget is for {}",
                time_text(other),
                time_text(wcet)
            ),
            format!("a `wcet` of `{name}` that covers both, or a quicker fallback"),
        )
    })
}

/// The fallback has other messages, or is in another component while messages may be long.
fn other_messages(
    function: &PipeFunctionDraft,
    fallback: &PipeFunctionDraft,
) -> Option<(String, String, String)> {
    let types = |one: &PipeFunctionDraft| [one.input_message.value(), one.output_message.value()];
    let has_types = types(function).iter().any(Option::is_some);
    let names = [&fallback.name.value, &function.name.value];
    if types(function) != types(fallback) {
        return Some((
            format!(
                "`{}` has messages of other types than `{}`",
                names[0], names[1]
            ),
            "and takes its place".into(),
            "write the same `input_message` and `output_message` for both".into(),
        ));
    }
    (has_types && function.component.value() != fallback.component.value()).then(|| {
        (
            format!("`{}` is in another component than `{}`", names[0], names[1]),
            "and has to fill the same buffers".into(),
            "write the same `component` for both".into(),
        )
    })
}
