//! An interface has one provider, on each core

use crate::diagnostic::Report;
use crate::draft::{Draft, items};

crate::rules::declaration::rule! {
    Error, "interface-twice",
    "an interface is provided by one component, or by one on each core",
    "A component invokes an interface by name and reaches the provider of its own core. With two providers the name \
     would be ambiguous.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    super::report_twice(
        &RULE,
        draft,
        report,
        |component| {
            let core = component.core().filter(|_| !component.everywhere());
            items(&component.provides).map(move |name| (name, core))
        },
        ["is provided", "by", "give one of them another name"],
    );
}
