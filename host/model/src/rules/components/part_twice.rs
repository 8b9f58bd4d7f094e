//! A part and a channel's end belong to one component

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{ComponentDraft, Draft, items};

crate::rules::rule! {
    Error, "part-twice",
    "a channel's end and a part of the partition belong to one component",
    "Each buffer has one writer and one reader; two components at one end would corrupt it and each \
     other. Who else needs it invokes the one that has it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let mut seen: Vec<(&At<String>, &ComponentDraft, bool)> = Vec::new();
        for component in &partition.components {
            let channels = items(&component.channels).map(|name| (name, true));
            let parts = items(&component.owns).map(|name| (name, false));
            for (name, channel) in channels.chain(parts) {
                let before = seen
                    .iter()
                    .find(|(one, _, was)| one.value == name.value && *was == channel);
                if let Some((first, other, _)) = before {
                    let message = format!(
                        "`{}` belongs to `{}` and to `{}`",
                        name.value,
                        other.path(partition),
                        component.path(partition)
                    );
                    report.add(
                        RULE.at(&name.span, message)
                            .here("and here")
                            .label(&first.span, "here")
                            .help("let one of them provide an interface to the other"),
                    );
                }
                seen.push((name, component, channel));
            }
        }
    }
}
