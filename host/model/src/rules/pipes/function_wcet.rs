//! The WCET of a pipe function is known

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::measured_wcet;

crate::rules::declaration::rule! {
    Error, "function-wcet",
    "a pipe function has a `wcet`, or was measured",
    "Budgets are computed from it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, function, _) in measured_wcet::functions(draft) {
        if function.wcet.is_absent() {
            let name = format!("{}.{}", partition.name.value, function.name.value);
            let help = match draft.system.profile.is_absent() {
                true => {
                    "write `wcet = \"100 us\"`; or name a file, `profile = \"profile.toml\"` in [system], and have `bulkhead profile` fill it"
                }
                false => "write `wcet = \"100 us\"`, or run `bulkhead profile`",
            };
            report.add(
                RULE.at(
                    &function.name.span,
                    format!("the worst-case execution time of `{name}` is unknown"),
                )
                .here("has no `wcet`")
                .help(help),
            );
        }
    }
}
