//! A function gets the buffers that it allows

use crate::diagnostic::Report;
use crate::pipes::solution::Solution;

crate::rules::declaration::rule! {
    Error, "pipe-buffering",
    "the buffers of a pipe are those that all its functions allow",
    "A function that needs every message cannot do with four-slot buffers, and one that needs the newest cannot with a ring: it says so in `buffering`.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    super::report_misfits(solution, &RULE, report);
}
