//! The more critical does not depend on the less, unless it says so

use crate::diagnostic::Report;
use crate::draft::{Draft, items};

crate::rules::declaration::rule! {
    Error, "component-criticality",
    "a component is not more critical than its partition, and needs nothing of a less critical one unless it trusts it",
    "A provider that answers wrongly or never takes its client with it. `trusts` says that the client was \
     written to work without the answer.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let Some(level) = partition.criticality_of(component) else {
            continue;
        };
        let path = component.path(partition);
        // `A` is the least in order.
        if partition
            .criticality
            .value()
            .is_some_and(|whole| level < whole)
        {
            report.add(
                RULE.at(
                    &component.place(&component.criticality),
                    format!("`{path}` is more critical than its partition"),
                )
                .here("above the partition's")
                .label(&partition.place(&partition.criticality), "the partition's")
                .help("raise the partition's criticality"),
            );
        }
        for (need, provider) in super::providers(partition, component) {
            let less = partition
                .criticality_of(provider)
                .is_some_and(|other| level < other);
            let trusted = items(&component.trusts).any(|trust| trust.value == need.value);
            if less && !trusted {
                let message = format!(
                    "`{path}` needs `{}` of the less critical `{}`",
                    need.value,
                    provider.path(partition)
                );
                let help = format!(
                    "if it works without its answers, write `trusts = [\"{}\"]`",
                    need.value
                );
                report.add(
                    RULE.at(&need.span, message)
                        .here("less critical")
                        .label(&provider.place(&provider.criticality), "provided here")
                        .help(help),
                );
            }
        }
    }
}
