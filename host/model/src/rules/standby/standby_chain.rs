//! A standby has no standby

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "standby-chain",
    "a standby has no standby itself",
    "Devices, interrupts and channel ends are prepared for one take-over. A standby that fails restarts \
     or halts.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (primary, name, standby) in super::pairs(draft) {
        if let Some(next) = standby.standby.given() {
            let message = format!("`{}` has a standby itself", standby.name.value);
            report.add(
                RULE.at(&next.span, message)
                    .here("second take-over")
                    .label(
                        &name.span,
                        format!("it stands in for `{}`", primary.name.value),
                    )
                    .help("leave one of the two out"),
            );
        }
    }
}
