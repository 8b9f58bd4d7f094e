//! A colour is named once

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "colour-given-twice",
    "a partition names each of its colours once",
    "A colour named twice was probably meant to be another one.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for list in draft
        .partitions
        .iter()
        .filter_map(|partition| partition.colours.given())
    {
        for (index, colour) in list.value.iter().enumerate() {
            let first = list.value[..index]
                .iter()
                .find(|first| first.value == colour.value);
            if let Some(first) = first {
                report.add(
                    RULE.at(
                        &colour.span,
                        format!("colour {} is named twice", colour.value),
                    )
                    .here("second time")
                    .label(&first.span, "first time")
                    .help("leave one of them out"),
                );
            }
        }
    }
}
