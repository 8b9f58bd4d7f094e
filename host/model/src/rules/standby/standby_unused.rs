//! A standby is started by something

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::status::Action;

crate::rules::declaration::rule! {
    Warning, "standby-unused",
    "a standby is started by some action",
    "A standby does not run before its partition fails over. Without the action `\"failover\"` it never \
     runs, and its core and memory lie idle.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (primary, name, _) in super::pairs(draft) {
        if !primary
            .written_actions()
            .any(|action| action.value == Action::Failover)
        {
            report.add(
                RULE.at(&name.span, format!("`{}` is never started", name.value))
                    .here("no action fails over")
                    .help("for example `on_hang = \"failover\"`, or `restart = { then = \"failover\" }`"),
            );
        }
    }
}
