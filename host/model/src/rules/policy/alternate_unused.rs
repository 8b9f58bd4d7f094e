//! An alternate image is started by something

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::status::Action;

crate::rules::declaration::rule! {
    Warning, "alternate-unused",
    "an alternate image is started by some action",
    "It takes room in the boot image and is never started.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(alternate) = partition.alternate.given() else {
            continue;
        };
        if !partition
            .written_actions()
            .any(|action| action.value == Action::Alternate)
        {
            let message = format!(
                "the alternate image of `{}` is never started",
                partition.name.value
            );
            report.add(
                RULE.at(&alternate.span, message)
                    .here("no action starts it")
                    .help("for example `restart = { then = \"alternate\" }`"),
            );
        }
    }
}
