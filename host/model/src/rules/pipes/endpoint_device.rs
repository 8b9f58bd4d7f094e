//! An endpoint in Linux has a controller, and says how long Linux takes

use crate::diagnostic::Report;
use crate::draft::{Draft, EndpointDraft, FunctionDraft, PartitionDraft};
use crate::kinds::Kind;
use crate::quantity::time_text;
use crate::source::Span;
use crate::suggestion::advice;
use bulkhead_abi::device::Class;

crate::rules::declaration::rule! {
    Error, "endpoint-device",
    "an endpoint of a Linux partition names a CAN controller among its devices, and the longest that Linux takes there",
    "Its stages read and write by SocketCAN. What Linux does between the controller's interrupt and a socket is served \
     on a core without a timing analysis. Its `latency` is therefore an assumption of the description. Bounds include \
     it, and reports show the longest measured latency beside it. In an rtos partition an endpoint stands at the \
     component that drives the device.",
    check
}

/// The longest latency that can be declared, nanoseconds.
const LONGEST_NS: u64 = 1_000_000_000;

/// Place, problem and remedy.
type Problem = (Span, String, String);

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for end in &partition.endpoints {
            let problems = match misplaced(partition, end) {
                Some(problem) => vec![problem],
                None => [controller(draft, partition, end), latency(end)]
                    .into_iter()
                    .flatten()
                    .collect(),
            };
            for (span, message, help) in problems {
                report.add(RULE.at(&span, message).help(help));
            }
        }
    }
}

/// Returns whether all latencies of a partition are times that can be counted with.
pub(super) fn is_sound(partition: &PartitionDraft) -> bool {
    let mut ends = partition.endpoints.iter();
    ends.all(|end| latency(end).is_none())
}

fn misplaced(partition: &PartitionDraft, end: &EndpointDraft) -> Option<Problem> {
    let elsewhere = partition.kind.value()? != Kind::Linux;
    elsewhere.then(|| {
        let (owner, name) = (&partition.name.value, &end.name.value);
        (
            end.name.span.clone(),
            format!("`{name}` is no endpoint that `{owner}` can have: it is no Linux"),
            format!(
                "describe it at the component that drives the device: `[partition.{owner}.component.NAME.endpoint.{name}]`"
            ),
        )
    })
}

fn controller(draft: &Draft, partition: &PartitionDraft, end: &EndpointDraft) -> Option<Problem> {
    let owner = &partition.name.value;
    let Some(device) = end.device.given() else {
        return end.device.is_absent().then(|| {
            (
                end.name.span.clone(),
                format!("`{}` is at no device", end.name.value),
                "name its controller: `device = \"can0\"`".into(),
            )
        });
    };
    let owned: Vec<_> = draft.functions(partition).collect();
    let is_can = |function: &FunctionDraft| {
        // A kind that the board does not have is another rule's.
        let kind = draft.kind_of(function);
        kind.is_none_or(|kind| kind.is(Class::Can))
    };
    let cans: Vec<_> = owned
        .iter()
        .filter(|(_, function)| is_can(function))
        .collect();
    let found = cans.iter().any(|(at, _)| at.value == device.value);
    (!found).then(|| {
        let names: Vec<_> = cans.iter().map(|(at, _)| at.value.as_str()).collect();
        (
            device.span.clone(),
            format!("`{owner}` has no CAN controller `{}`", device.value),
            match names.is_empty() {
                true => format!("give it one among the `devices` of `{owner}`"),
                false => advice(&device.value, "controller", &names),
            },
        )
    })
}

fn latency(end: &EndpointDraft) -> Option<Problem> {
    let name = &end.name.value;
    let (span, message) = match end.latency.given() {
        None if !end.latency.is_absent() => return None,
        None => (
            &end.name.span,
            format!("the latency of Linux at `{name}` is missing"),
        ),
        Some(given) if (1..=LONGEST_NS).contains(&given.value) => return None,
        Some(given) => (
            &given.span,
            format!(
                "a latency of `{name}` of {} cannot be",
                time_text(given.value)
            ),
        ),
    };
    let help = "more than 0 and at most 1 s, such as `latency = \"1 ms\"`; the report of a run shows the longest that was seen";
    Some((span.clone(), message, help.into()))
}
