//! A standby has as much memory

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "standby-memory",
    "a standby of the same image has no less memory",
    "What ran in the partition must run in its standby. One with another image may be smaller.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (primary, name, standby) in super::pairs(draft) {
        let sizes = (primary.memory.given(), standby.memory.given());
        let (Some(required), Some(memory)) = sizes else {
            continue;
        };
        let built = |one: &crate::draft::PartitionDraft| {
            one.image.given().map(|image| image.value.sources())
        };
        if memory.value < required.value && built(primary) == built(standby) {
            let message = format!("`{}` has less memory for the same image", name.value);
            report.add(
                RULE.at(&memory.span, message)
                    .here("standby")
                    .label(&required.span, format!("`{}`", primary.name.value))
                    .help("give it as much"),
            );
        }
    }
}
