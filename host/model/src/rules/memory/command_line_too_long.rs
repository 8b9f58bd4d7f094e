//! A command line has its limit

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Kind;

crate::rules::declaration::rule! {
    Error, "command-line-too-long",
    "a command line is not too long for its guest",
    "Linux on arm64 takes 2048 bytes, of which the tool needs some; argument words of other guests \
     have 256 bytes, of which the tool keeps some for a run (`fault=…`).",
    check
}

/// Longest text of a kind, bytes.
const fn longest(kind: Kind) -> usize {
    match kind {
        Kind::Linux => 1536,
        Kind::Rtos | Kind::Image => 192,
    }
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let (Some(kind), Some(text)) = (partition.kind.value(), partition.command_line.given())
        else {
            continue;
        };
        if text.value.len() > longest(kind) {
            report.add(
                RULE.at(&text.span, "this command line is too long")
                    .here(format!("{} bytes", text.value.len()))
                    .help(format!(
                        "at most {} bytes for this kind of guest",
                        longest(kind)
                    )),
            );
        }
    }
}
