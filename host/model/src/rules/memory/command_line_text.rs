//! A command line is plain text

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "command-line-text",
    "a command line is printable ASCII",
    "Kernels read it byte by byte up to the first zero byte; anything but printable ASCII would end it \
     early or be misread.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for text in draft
        .partitions
        .iter()
        .filter_map(|partition| partition.command_line.given())
    {
        let wrong = |character: &char| !matches!(character, ' '..='~');
        if let Some(character) = text.value.chars().find(wrong) {
            report.add(
                RULE.at(
                    &text.span,
                    format!("a command line cannot hold {character:?}"),
                )
                .here("not printable ASCII")
                .help("separate words by single spaces, leave other characters out"),
            );
        }
    }
}
