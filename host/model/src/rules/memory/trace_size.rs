//! A trace has a sensible size

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::size_text;
use bulkhead_abi::PAGE_SIZE;

crate::rules::declaration::rule! {
    Error, "trace-size",
    "a trace is a multiple of 4 KiB up to 16 MiB",
    "A trace is mapped into the partition's window beside its channels. At 48 bytes an event, 16 MiB \
     hold 349,525 events; older ones are overwritten, and the tool on the host reads them before.",
    check
}

/// Largest trace, bytes.
const LARGEST: u64 = 16 << 20;

fn check(draft: &Draft, report: &mut Report) {
    for trace in draft
        .partitions
        .iter()
        .filter_map(|partition| partition.trace.given())
    {
        if trace.value > LARGEST || !trace.value.is_multiple_of(PAGE_SIZE) {
            report.add(
                RULE.at(&trace.span, "a trace cannot have this size")
                    .here(size_text(trace.value))
                    .help("a multiple of 4 KiB, at most 16 MiB: `trace = \"4 MiB\"`"),
            );
        }
    }
}
