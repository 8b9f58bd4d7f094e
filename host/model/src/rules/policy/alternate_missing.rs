//! A policy with an alternate image has one

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::status::Action;

crate::rules::declaration::rule! {
    Error, "alternate-missing",
    "a partition with the action `\"alternate\"` has an alternate image",
    "The alternate image is kept beside the first one, ready to be started in its place.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in draft
        .partitions
        .iter()
        .filter(|one| one.alternate.is_absent())
    {
        let actions = partition.written_actions();
        for action in actions.filter(|action| action.value == Action::Alternate) {
            let message = format!("`{}` has no alternate image", partition.name.value);
            report.add(
                RULE.at(&action.span, message)
                    .here("would start it")
                    .help("add `alternate = { crate = … }`, or choose another action"),
            );
        }
    }
}
