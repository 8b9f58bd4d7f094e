//! A trace has a sensible size

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft};
use crate::quantity::size_text;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::Part;

crate::rules::declaration::rule! {
    Error, "trace-size",
    "a trace is a multiple of 4 KiB up to 16 MiB, and has 4 KiB for each component that owns it",
    "A trace is mapped into the partition's window beside its channels. At 48 bytes an event, 16 MiB \
     hold 349,525 events; older ones are overwritten, and the tool on the host reads them before.",
    check
}

/// Largest trace, bytes.
const LARGEST: u64 = 16 << 20;

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(trace) = partition.trace.given() else {
            continue;
        };
        let parts = partition.components.iter().flat_map(ComponentDraft::parts);
        let owners = parts.filter(|(part, _)| *part == Part::Trace).count() as u64;
        if trace.value < owners * PAGE_SIZE {
            let message = format!("the trace is too small for the {owners} components that own it");
            report.add(
                RULE.at(&trace.span, message)
                    .here(size_text(trace.value))
                    .help(format!("make it {} or more", size_text(owners * PAGE_SIZE))),
            );
        }
        if trace.value > LARGEST || !trace.value.is_multiple_of(PAGE_SIZE) {
            report.add(
                RULE.at(&trace.span, "a trace cannot have this size")
                    .here(size_text(trace.value))
                    .help("a multiple of 4 KiB, at most 16 MiB: `trace = \"4 MiB\"`"),
            );
        }
    }
}
