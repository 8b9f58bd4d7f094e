//! What a pipe is made of is there

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::rule! {
    Error, "pipe-function",
    "every function that a pipe names is described",
    "Functions are described in their partitions, with what they take and what they need. A name that several partitions use is written with its partition's before it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    super::report_misfits(draft, &RULE, report);
}
