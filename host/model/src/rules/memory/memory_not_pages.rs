//! Memory is whole pages

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::size_text;
use bulkhead_abi::PAGE_SIZE;

crate::rules::declaration::rule! {
    Error, "memory-not-pages",
    "memory is a multiple of 4 KiB",
    "A page of 4 KiB is the smallest piece of memory that can be owned by one partition and kept from \
     the others.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for memory in draft
        .partitions
        .iter()
        .filter_map(|partition| partition.memory.given())
    {
        if !memory.value.is_multiple_of(PAGE_SIZE) {
            let next = memory.value.saturating_add(PAGE_SIZE) / PAGE_SIZE * PAGE_SIZE;
            report.add(
                RULE.at(&memory.span, "memory is no multiple of 4 KiB")
                    .here(size_text(memory.value))
                    .help(format!("write `memory = \"{}\"`", size_text(next))),
            );
        }
    }
}
