//! Messages have types that both ends of an edge know

use crate::diagnostic::Report;
use crate::draft::{Draft, Field, PartitionDraft, PipeFunctionDraft};
use crate::pipes::message_type::{WORDS, bytes, message_type};
use crate::pipes::solution::Solution;
use crate::suggestion::advice;
use bulkhead_abi::pipe::MAX_MESSAGE;
use bulkhead_stages::message::content_bytes;
use bulkhead_tpipe::repository::MessageType;

crate::rules::declaration::rule! {
    Error, "message-type",
    "each function reads and writes messages of a described type, 1 byte to 1 MiB, and both ends of each edge of a pipe have one type",
    "A buffer has room for messages of one size, and a function that took another type for its own would compute with wrong numbers. \
     Endpoints of devices, timers and other machines carry two words.",
    solved: check
}

/// Message, place and remedy.
type Problem = (String, String, String);

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    for message in &draft.messages {
        if let Some((text, here, help)) = size_problem(&message.name.value, bytes(message)) {
            let span = message.size.span().cloned().unwrap_or_default();
            report.add(RULE.at(&span, text).here(here).help(help));
        }
    }
    for partition in &draft.partitions {
        for function in &partition.functions {
            for (field, (text, here, help)) in problems(draft, partition, function) {
                let span = field.span().cloned().unwrap_or_default();
                report.add(RULE.at(&span, text).here(here).help(help));
            }
        }
    }
    super::report_misfits(solution, &RULE, report);
}

fn size_problem(name: &str, bytes: Option<u32>) -> Option<Problem> {
    bytes.is_none().then(|| {
        (
            format!("messages of type `{name}` are too long, or empty"),
            format!("1 byte to {} KiB", MAX_MESSAGE >> 10),
            "divide long data into several messages".into(),
        )
    })
}

fn problems<'d>(
    draft: &Draft,
    partition: &PartitionDraft,
    function: &'d PipeFunctionDraft,
) -> Vec<(&'d Field<String>, Problem)> {
    let ends = [
        (&function.input_message, &function.reads, "reads"),
        (&function.output_message, &function.writes, "writes"),
    ];
    let found = ends.into_iter().filter_map(|(field, end, does)| {
        let name = field.given()?;
        let problem = match message_type(draft, field) {
            None => unknown(draft, &name.value),
            Some(one) => at_endpoint(partition, function, (end, does), one),
        };
        Some((field, problem?))
    });
    found.collect()
}

fn unknown(draft: &Draft, name: &str) -> Option<Problem> {
    let names: Vec<_> = [WORDS]
        .into_iter()
        .chain(draft.messages.iter().map(|one| one.name.value.as_str()))
        .collect();
    // One that is described has a wrong size, which is reported there.
    (!names.contains(&name)).then(|| {
        (
            format!("there is no message type `{name}`"),
            "not described".into(),
            match names.len() {
                1 => format!("describe it: `[message.{name}]` with its `size`"),
                _ => advice(name, "message type", &names),
            },
        )
    })
}

/// Endpoints carry two words; the trace records the first two of a message, and nothing reads what goes to `null`.
fn at_endpoint(
    partition: &PartitionDraft,
    function: &PipeFunctionDraft,
    (end, does): (&Field<String>, &str),
    one: MessageType,
) -> Option<Problem> {
    let endpoint = end.given()?;
    let is_long = content_bytes(one.bytes) != 0;
    let is_device = does == "reads" || !["trace", "null"].contains(&endpoint.value.as_str());
    (is_long && is_device).then(|| {
        (
            format!(
                "`{}.{}` {does} `{}`, which has no messages of {} bytes",
                partition.name.value, function.name.value, endpoint.value, one.bytes
            ),
            "an endpoint has messages of two words, 16 bytes".into(),
            "leave the type out here, and convert in this function or in one beside it".into(),
        )
    })
}
