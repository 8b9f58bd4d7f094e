//! Each identifier and port is read at one endpoint of a device

use crate::diagnostic::Report;
use crate::draft::{Draft, EndpointDraft, PartitionDraft};
use crate::pipes::endpoints::is_read;

crate::rules::declaration::rule! {
    Error, "endpoint-twice",
    "the frames of a CAN identifier are read at one endpoint of a controller",
    "The bottom half hands each frame to every endpoint with the frame's identifier. Two endpoints with one identifier \
     would enforce two minimum distances for one sender, and guarantee two rates for the same frames. An endpoint \
     without an identifier receives all frames, so no second endpoint of its controller can be read.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for component in &partition.components {
            let space = &component.name.value;
            compare(partition, space, &component.endpoints, |_, _| true, report);
        }
        let at_one =
            |one: &EndpointDraft, other: &EndpointDraft| one.device.value() == other.device.value();
        compare(
            partition,
            crate::pipes::flow::AGENT,
            &partition.endpoints,
            at_one,
            report,
        );
    }
}

/// Reports endpoints of one device that receive the same frames.
fn compare(
    partition: &PartitionDraft,
    space: &str,
    ends: &[EndpointDraft],
    is_one_device: impl Fn(&EndpointDraft, &EndpointDraft) -> bool,
    report: &mut Report,
) {
    let path = |end: &EndpointDraft| format!("{space}.{}", end.name.value);
    let mut before: Vec<&EndpointDraft> = Vec::new();
    let read = ends.iter().filter(|end| is_read(partition, &path(end)));
    for end in read.filter(|end| end.address.is_absent()) {
        let same = |other: &&&EndpointDraft| {
            let [one, other_one] = [end, *other].map(|end| end.identifier.value());
            let share_frames = one.is_none() || other_one.is_none() || one == other_one;
            is_one_device(end, other) && share_frames
        };
        if let Some(first) = before.iter().find(same) {
            let message = match (end.identifier.value(), first.identifier.value()) {
                (Some(identifier), Some(_)) => format!(
                    "`{}` and `{}` receive the same frames, those of identifier {identifier:#x}",
                    path(first),
                    path(end)
                ),
                (identifier, _) => {
                    let all = identifier.map_or(end, |_| *first);
                    format!(
                        "`{}` and `{}` receive the same frames: `{}` has no `identifier` and receives all",
                        path(first),
                        path(end),
                        path(all)
                    )
                }
            };
            let span = end.identifier.span().unwrap_or(&end.name.span);
            report.add(
                RULE.at(span, message)
                    .here("received here, too")
                    .label(&first.name.span, "received here")
                    .help("let both functions read one endpoint, or give each endpoint an `identifier` of its own"),
            );
        }
        before.push(end);
    }
}
