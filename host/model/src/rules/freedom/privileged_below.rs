//! Privilege over the more critical

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Note, "privileged-below",
    "a privileged partition is as critical as those it controls",
    "A privileged partition may restart or halt all others and type at their consoles. Where it is less \
     critical than they are, their availability (not their memory) rests on it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let privileged = draft
        .partitions
        .iter()
        .filter(|one| one.privileged.value() == Some(true));
    for partition in privileged.filter(|one| super::is_below_another(draft, one)) {
        let message = format!(
            "`{}` may halt more critical partitions",
            partition.name.value
        );
        report.add(
            RULE.at(&partition.place(&partition.privileged), message)
                .here("privileged")
                .help("fine for a demonstration; elsewhere give the privilege to a critical one"),
        );
    }
}
