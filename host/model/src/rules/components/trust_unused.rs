//! Trust is in something that is needed

use crate::diagnostic::Report;
use crate::draft::{Draft, items};
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "trust-unused",
    "what a component trusts is among what it needs",
    "A trust that is not used is a mistake in a name, or a leftover that would hide the next mistake.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let needs: Vec<_> = items(&component.needs)
            .map(|need| need.value.as_str())
            .collect();
        for trust in items(&component.trusts).filter(|trust| !needs.contains(&trust.value.as_str()))
        {
            let message = format!(
                "`{}` does not need `{}`",
                component.path(partition),
                trust.value
            );
            report.add(
                RULE.at(&trust.span, message)
                    .here("trusted and not needed")
                    .help(advice(&trust.value, "need", &needs)),
            );
        }
    }
}
