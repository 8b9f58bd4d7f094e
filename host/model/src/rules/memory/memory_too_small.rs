//! Memory suffices for what runs in it

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::kinds::Kind;
use crate::quantity::size_text;

crate::rules::declaration::rule! {
    Error, "memory-too-small",
    "memory suffices for the kind of guest",
    "An rtos image needs 64 KiB for its code, stack and tables, a Linux 64 MiB to come up at all, any \
     other image a page. Whether the very image fits is checked where its file is there.",
    check
}

/// Least memory of a kind, bytes.
const fn least(kind: Kind) -> u64 {
    match kind {
        Kind::Rtos => 64 << 10,
        Kind::Linux => 64 << 20,
        Kind::Image => 4 << 10,
    }
}

fn check(draft: &Draft, report: &mut Report) {
    draft
        .partitions
        .iter()
        .for_each(|partition| check_one(partition, report));
}

fn check_one(partition: &PartitionDraft, report: &mut Report) {
    let (Some(kind), Some(memory)) = (partition.kind.value(), partition.memory.given()) else {
        return;
    };
    let least = least(kind);
    if memory.value < least {
        let message = format!("the memory of `{}` is too small", partition.name.value);
        report.add(
            RULE.at(&memory.span, message)
                .here(size_text(memory.value))
                .help(format!(
                    "at least {} for this kind of guest",
                    size_text(least)
                )),
        );
    }
}
