//! An interface has one provider

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{ComponentDraft, Draft, items};

crate::rules::rule! {
    Error, "interface-twice",
    "an interface is provided by one component",
    "Who needs it invokes it by name; two answers to one question are one too many.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let mut seen: Vec<(&At<String>, &ComponentDraft)> = Vec::new();
        for component in &partition.components {
            for name in items(&component.provides) {
                if let Some((first, other)) = seen.iter().find(|(one, _)| one.value == name.value) {
                    let message = format!(
                        "`{}` is provided by `{}` and by `{}`",
                        name.value,
                        other.path(partition),
                        component.path(partition)
                    );
                    report.add(
                        RULE.at(&name.span, message)
                            .here("and here")
                            .label(&first.span, "here")
                            .help("give one of them another name"),
                    );
                }
                seen.push((name, component));
            }
        }
    }
}
