//! Components hold ends that their partition has

use crate::diagnostic::Report;
use crate::draft::{Draft, items};
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "unknown-end",
    "the channels of a component are mapped into its partition from the start",
    "The kernel maps what the partition's window has. A channel on demand (`key`) is not there yet when \
     components are made.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let ends: Vec<_> = super::ends(draft, partition).collect();
        let names: Vec<_> = ends.iter().map(|end| end.name.value.as_str()).collect();
        for name in items(&component.channels) {
            let path = component.path(partition);
            let end = ends.iter().find(|end| end.name.value == name.value);
            match end.map(|end| end.key.span()) {
                None => report.add(
                    RULE.at(
                        &name.span,
                        format!("`{path}` has no end of a channel `{}`", name.value),
                    )
                    .here("no such end")
                    .help(advice(&name.value, "channel", &names)),
                ),
                Some(Some(key)) => report.add(
                    RULE.at(&name.span, format!("`{path}` cannot hold `{}`", name.value))
                        .here("not there from the start")
                        .label(key, "mapped on demand")
                        .help("leave out the `key`"),
                ),
                Some(None) => {}
            }
        }
    }
}
