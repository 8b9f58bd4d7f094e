//! A reader is named once

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "reader-twice",
    "a channel names each reader once",
    "A second mapping of the same memory into the same partition has no use.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for channel in &draft.channels {
        let readers: Vec<_> = channel.readers().collect();
        for (index, reader) in readers.iter().enumerate() {
            let earlier = readers[..index]
                .iter()
                .find(|earlier| earlier.value == reader.value);
            if let Some(first) = earlier {
                report.add(
                    RULE.at(
                        &reader.span,
                        format!("`{}` is named as reader twice", reader.value),
                    )
                    .here("second time")
                    .label(&first.span, "first time")
                    .help("leave one of them out"),
                );
            }
        }
    }
}
