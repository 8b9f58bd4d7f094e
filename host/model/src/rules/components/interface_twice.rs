//! An interface has one provider

use crate::diagnostic::Report;
use crate::draft::{Draft, items};

crate::rules::rule! {
    Error, "interface-twice",
    "an interface is provided by one component",
    "Who needs it invokes it by name; two answers to one question are one too many.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    super::report_twice(
        &RULE,
        draft,
        report,
        |component| items(&component.provides).map(|name| (name, false)),
        ["is provided", "by", "give one of them another name"],
    );
}
