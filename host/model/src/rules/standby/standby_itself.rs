//! A standby is another partition

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "standby-itself",
    "a partition is not its own standby",
    "To start the same partition again is a restart.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let is_itself = |name: &&crate::document::At<String>| name.value == partition.name.value;
        if let Some(name) = partition.standby.given().filter(is_itself) {
            report.add(
                RULE.at(
                    &name.span,
                    format!("`{}` cannot stand in for itself", name.value),
                )
                .here("itself")
                .help("name another partition, or use \"restart\""),
            );
        }
    }
}
