//! A policy with failover has a standby

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::status::Action;

crate::rules::declaration::rule! {
    Error, "standby-missing",
    "a partition with the action `\"failover\"` has a standby",
    "Failing over means to stop and to let another partition take over devices, interrupts and \
     channels.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in draft
        .partitions
        .iter()
        .filter(|one| one.standby.is_absent())
    {
        let actions = partition.written_actions();
        for action in actions.filter(|action| action.value == Action::Failover) {
            let message = format!("`{}` has no standby to fail over to", partition.name.value);
            report.add(
                RULE.at(&action.span, message)
                    .here("would start it")
                    .help("add `standby = \"NAME\"`, or choose another action"),
            );
        }
    }
}
