//! Needed interfaces have a provider

use crate::diagnostic::Report;
use crate::draft::{Draft, items};
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "interface-unprovided",
    "an interface that a component needs is provided by another one of the partition",
    "The boot component cannot create the capability for an interface without a provider.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let provided = partition.components.iter().flat_map(|c| items(&c.provides));
        let names: Vec<_> = provided.map(|name| name.value.as_str()).collect();
        for need in items(&component.needs).filter(|need| !names.contains(&need.value.as_str())) {
            let message = format!(
                "`{}` needs `{}`, which no component provides",
                component.path(partition),
                need.value
            );
            report.add(
                RULE.at(&need.span, message)
                    .here("no such interface in this partition")
                    .help(advice(&need.value, "interface", &names)),
            );
        }
    }
}
