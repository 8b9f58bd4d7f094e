//! Devices follow to the standby

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "standby-devices",
    "a standby lists no devices",
    "It has just those of the partition it stands in for, which follow it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (primary, name, standby) in super::pairs(draft) {
        if let Some(devices) = standby
            .devices
            .given()
            .filter(|list| !list.value.is_empty())
        {
            let message = format!("`{}` cannot have devices of its own", name.value);
            report.add(
                RULE.at(&devices.span, message)
                    .here("leave them out")
                    .label(
                        &name.span,
                        format!("those of `{}` follow it", primary.name.value),
                    )
                    .help(format!("list them at `{}` only", primary.name.value)),
            );
        }
    }
}
