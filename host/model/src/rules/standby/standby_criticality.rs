//! A standby is as critical as the partition that it replaces

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "standby-criticality",
    "a standby has the criticality of the partition it stands in for",
    "The standby takes over the function and the devices of that partition. The other partitions \
     rely on the level of this function.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (primary, name, standby) in super::pairs(draft) {
        let levels = (primary.criticality.given(), standby.criticality.given());
        let (Some(required), Some(level)) = levels else {
            continue;
        };
        if required.value != level.value {
            let message = format!("`{}` is not of the same criticality", name.value);
            report.add(
                RULE.at(&level.span, message)
                    .here("standby")
                    .label(&required.span, format!("`{}`", primary.name.value))
                    .help("give both the same"),
            );
        }
    }
}
