//! Escalation ends a restart loop

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::status::Action;

crate::rules::declaration::rule! {
    Error, "bad-escalation",
    "when the restarts are used up, the partition halts, starts its alternate image or fails over",
    "A further restart, or the fault given back to a guest that keeps failing, would go on with the \
     loop that the budget ends.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let escalations = draft
        .partitions
        .iter()
        .filter_map(|partition| partition.restart.then.given());
    for then in escalations {
        if matches!(then.value, Action::Inject | Action::Restart) {
            report.add(
                RULE.at(&then.span, "this would not end a restart loop")
                    .here("not an escalation")
                    .help("one of \"halt\", \"alternate\", \"failover\""),
            );
        }
    }
}
