//! Messages of other machines that enter a pipe have a distance and a fallback

use crate::diagnostic::Report;
use crate::draft::{Draft, ImportDraft, PartitionDraft};
use crate::quantity::time_text;
use crate::source::Span;
use bulkhead_tpipe::repository::LONGEST;

crate::rules::declaration::rule! {
    Error, "bridge-stage",
    "an import that functions read says how close its messages may come, and is nothing that is a channel's",
    "A pipe's buffers and its bound rely on a minimum distance of incoming messages. The network guarantees none, so \
     the bridge enforces it. Where nothing comes, the function's `fallback` takes its place, and no bytes.",
    check
}

/// Place, problem and remedy.
type Problem = (Span, String, String);

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (path, import) in partition.imports() {
            let is_read = partition.imports_read().any(|(read, _)| read == path);
            let problems = match is_read {
                true => [
                    channel(draft, &path, import),
                    distance(import),
                    fallback(import),
                ],
                false => [missing_distance(draft, import), None, None],
            };
            for (span, message, help) in problems.into_iter().flatten() {
                report.add(RULE.at(&span, message).help(help));
            }
        }
    }
}

/// Returns whether all distances of a partition are times that can be counted with.
pub(crate) fn is_sound(partition: &PartitionDraft) -> bool {
    let mut imports = partition.imports_read();
    imports.all(|(_, import)| distance(import).is_none())
}

fn channel(draft: &Draft, path: &str, import: &ImportDraft) -> Option<Problem> {
    let name = &import.name;
    draft.channel(&name.value)?;
    Some((
        name.span.clone(),
        format!("`{}` is a channel, and functions read `{path}`", name.value),
        "give what functions read another name: both may have the same `from`".into(),
    ))
}

fn distance(import: &ImportDraft) -> Option<Problem> {
    let name = &import.name.value;
    let (span, message) = match import.distance.given() {
        None if !import.distance.is_absent() => return None,
        None => (
            &import.name.span,
            format!("the minimum distance of messages of `{name}` is missing"),
        ),
        Some(given) if (1000..=LONGEST).contains(&given.value) => return None,
        Some(given) => (
            &given.span,
            format!(
                "messages of `{name}` cannot be {} apart",
                time_text(given.value)
            ),
        ),
    };
    let help = "at least 1 us and at most a day, such as `distance = \"10 ms\"`; what comes faster for long is dropped, and counted";
    Some((span.clone(), message, help.into()))
}

fn fallback(import: &ImportDraft) -> Option<Problem> {
    let span = import.fallback.span()?.clone();
    Some((
        span,
        format!(
            "bytes take the place of nothing that enters a pipe by `{}`",
            import.name.value
        ),
        "give the function that reads it a `fallback`, and the pipe a `max_age`".into(),
    ))
}

/// An import into a channel needs no distance.
fn missing_distance(draft: &Draft, import: &ImportDraft) -> Option<Problem> {
    let (name, distance) = (&import.name.value, import.distance.span()?);
    draft.channel(name)?;
    Some((
        distance.clone(),
        format!("messages of the channel `{name}` are not kept apart"),
        format!(
            "leave `distance` out, or let a function read `bridge.{name}`, where no channel has that name"
        ),
    ))
}
