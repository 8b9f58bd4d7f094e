//! A part and a channel's end belong to one component

use crate::diagnostic::Report;
use crate::draft::{Draft, items, part};
use bulkhead_abi::component::Part;

crate::rules::declaration::rule! {
    Error, "part-twice",
    "a channel's end and a part of the partition, the trace aside, belong to one component",
    "Each buffer has one writer and one reader; two components at one end would corrupt it and each other. Another \
     component that needs the part invokes its owner.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    super::report_twice(
        &RULE,
        draft,
        report,
        |component| {
            // The capability to the monitor is no buffer, and each owner of the trace has a recorder of its own.
            let is_shared = |part: Part| matches!(part, Part::Monitor | Part::Trace);
            let parts = items(&component.owns)
                .filter(move |name| !part(&name.value).is_some_and(is_shared));
            let parts = parts.map(|name| (name, false));
            let channels = items(&component.channels).map(|name| (name, true));
            channels.chain(parts)
        },
        [
            "belongs",
            "to",
            "let one of them provide an interface to the other",
        ],
    );
}
