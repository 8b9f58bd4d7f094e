//! An endpoint has one direction, and what comes there one endpoint

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft};
use crate::pipes::endpoints::{endpoints, is_read};
use crate::pipes::flow::local_name;
use crate::source::Span;

crate::rules::declaration::rule! {
    Error, "endpoint-direction",
    "an endpoint is read or written, not both, and one with a `distance` is read",
    "At an input messages come from the device, at an output they go to it. A `distance` is what the pipe counts on at an input.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (path, endpoint) in endpoints(partition) {
            let Some((writer, written)) = writer(partition, &path) else {
                continue;
            };
            let (why, at): (_, &Span) = match (reader(partition, &path), endpoint.distance.span()) {
                (Some((name, read)), _) => (format!("`{name}` reads it"), &read.span),
                (None, Some(span)) => ("it has a `distance`".to_owned(), span),
                (None, None) => continue,
            };
            report.add(
                RULE.at(
                    &written.span,
                    format!("`{writer}` writes `{path}`, which is an input"),
                )
                .here("written here")
                .label(at, why)
                .help(help(partition, &path)),
            );
        }
    }
}

fn reader<'d>(partition: &'d PartitionDraft, path: &str) -> Option<(&'d str, &'d At<String>)> {
    user(partition, path, 0)
}

fn writer<'d>(partition: &'d PartitionDraft, path: &str) -> Option<(&'d str, &'d At<String>)> {
    user(partition, path, 1)
}

/// The function that reads (0) or writes (1) an endpoint, and where that is written.
fn user<'d>(
    partition: &'d PartitionDraft,
    path: &str,
    end: usize,
) -> Option<(&'d str, &'d At<String>)> {
    partition.functions.iter().find_map(|function| {
        let named = function.ends()[end].given()?;
        let is_same = local_name(&partition.name.value, &named.value) == path;
        is_same.then_some((function.name.value.as_str(), named))
    })
}

/// The endpoints that can be written instead.
fn help(partition: &PartitionDraft, path: &str) -> String {
    let outputs = endpoints(partition)
        .filter(|(other, end)| !is_read(partition, other) && end.distance.is_absent())
        .map(|(other, _)| format!("`{other}`"));
    let outputs: Vec<_> = outputs.collect();
    let (component, _) = path.split_once('.').unwrap_or((path, ""));
    match outputs.is_empty() {
        true => format!(
            "describe an output beside it: `[partition.{}.component.{component}.endpoint.NAME]`",
            partition.name.value
        ),
        false => format!("write to an output: {}", outputs.join(" or ")),
    }
}
