//! The file of what was measured can be read

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::profile::Named;

crate::rules::declaration::rule! {
    Warning, "profile-file",
    "the file that `profile` names is one that `bulkhead profile` wrote",
    "Without it, functions have the WCET that the description gives them, or none.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    if let (Named::Unread(why), Some(name)) = (&draft.measured, draft.system.profile.given()) {
        report.add(
            RULE.at(&name.span, format!("`{}` cannot be used", name.value))
                .here(why.clone())
                .help("run `bulkhead profile`"),
        );
    }
}
