//! No pipe function took longer than it says

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::measured_wcet;
use crate::profile::{MARGIN, with_margin};
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "function-measured",
    "the WCET of a pipe function is no less than what was measured, with the margin",
    "A budget that a job was seen to need more than would cut it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let margin = draft.system.margin.or(MARGIN).unwrap_or(MARGIN);
    for (partition, function, measured) in measured_wcet::functions(draft) {
        let (Some(wcet), Some(measured)) = (function.wcet.given(), measured) else {
            continue;
        };
        let needed = with_margin(measured.wcmt_ns, margin);
        if wcet.value < needed {
            let message = format!(
                "`{}.{}` was seen to take {}",
                partition.name.value,
                function.name.value,
                time_text(measured.wcmt_ns)
            );
            report.add(
                RULE.at(&wcet.span, message)
                    .here(format!("less than that and {margin} %"))
                    .help(format!(
                        "write `wcet = \"{}\"` or more, or leave it out",
                        time_text(needed)
                    )),
            );
        }
    }
}
