//! Inputs and outputs are connected

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::rule! {
    Error, "pipe-input",
    "each stage of a pipe has something to read, and no more inputs and outputs than its function handles",
    "A pipeline begins and ends at devices. A function's WCET covers the inputs and outputs that it declares, and no more.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    super::report_misfits(draft, &RULE, report);
}
